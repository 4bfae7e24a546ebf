"""A training by reinforcement: TRL's GRPO over rollouts on the timeline, from settings.

Everything that is chance hangs on the seed and the number of the update, so a training that was
killed goes on from its last checkpoint to the numbers it would have come to.
"""

from collections.abc import Callable, Mapping, Sequence
from math import ceil
from pathlib import Path
from typing import Any

import torch
from accelerate.utils import gather_object
from peft import PeftModel
from transformers import PrinterCallback, TrainerCallback

from timeful.core.units import seconds
from timeful.models.local.checkpoint import Checkpoint, hold
from timeful.models.local.request import GenerationConfig
from timeful.models.local.sampler import Sampler
from timeful.models.pace import Pace
from timeful.training.checkpoints import last_checkpoint, update_of
from timeful.training.config import Config
from timeful.training.folder import PACE, POLICY, PUSHED, save_pace
from timeful.training.loading import adapter, load_model, load_tokenizer, save
from timeful.training.metrics_callback import MetricsCallback
from timeful.training.remote_samplers import Pusher, ServerSampler, VllmSampler
from timeful.training.rolling import RolloutFunction
from timeful.training.rollout_tasks import RolloutTask
from timeful.training.rollouts import Player, RewardFunction
from timeful.training.trainer_arguments import grpo_arguments
from timeful.training.trl_trainer import TimedGRPOTrainer

Progress = Callable[[int, int], None]
"""Told after each update how many are done, and of how many."""


def train_grpo(
    config: Config,
    scenes: Mapping[str, RolloutTask],
    rewards: RewardFunction,
    *,
    progress: Progress = lambda done, of: None,
    warn: Callable[[str], None] = lambda text: None,
    measured: Callable[[str], None] = lambda text: None,
    stops: Callable[[], bool] = lambda: False,
    api_key: str = "",
) -> Path:
    """Train, or go on where a training of the same settings stopped.

    Args:
        config: The settings, checked.
        scenes: What it learns from; at least as many as an update has cases.
        rewards: What the groups of an update are rewarded with.
        progress: See there.
        warn: Told when an alarm rings for the first time.
        measured: Told after each update what was measured, in a few words.
        stops: Asked before the first update and after each whether to stop there.
        api_key: That of a rollout server.

    Returns:
        The folder of the trained model.

    Raises:
        SettingsError: If the model cannot be loaded.
        KeyboardInterrupt: If it was stopped; a checkpoint is written then.
    """
    out = Path(config.run.out)
    if config.run.threads is not None:
        torch.set_num_threads(config.run.threads)
    tokenizer = load_tokenizer(config.model)
    trainer = TimedGRPOTrainer(
        load_model(config.model),
        keys=order(list(scenes), config),
        args=grpo_arguments(config),
        ratio=config.optimiser.ratio,
        processing_class=tokenizer,
        peft_config=adapter(config.model),
        callbacks=[ProgressCallback(progress, stops, every=config.optimiser.epochs)],
    )
    trainer.remove_callback(PrinterCallback)
    policy = trainer.accelerator.unwrap_model(trainer.model)
    # LoRA's layers are within the model that PEFT wraps, which alone says what it takes.
    acts = policy.get_base_model() if isinstance(policy, PeftModel) else policy
    rank = trainer.accelerator.process_index
    journal = MetricsCallback(config, rank=rank, warn=warn, measured=measured)
    share = trainer.args.per_device_train_batch_size * trainer.args.steps_per_generation
    sampler = _sampler(config, trainer, hold(acts, tokenizer, name=POLICY), api_key)
    trainer.roll = RolloutFunction(
        player=Player(
            sampler,
            style=GenerationConfig(temperature=config.rollout.temperature),
            pace=Pace(per_token=seconds(config.cases.token_seconds)),
            at_once=config.rollout.at_once,
        ),
        scenes=scenes,
        rewards=rewards,
        seed=config.run.seed,
        by_turn=config.reward.credit == "turn",
        discount=config.reward.discount,
        scale=config.optimiser.scale == "group",
        tell=journal.tell,
        gather=gather_object,
        first=lambda: rank * share % config.rollout.samples,
    )
    latest = last_checkpoint(out)
    journal.open(update_of(latest))
    trainer.add_callback(journal)
    try:
        if update_of(latest) < config.optimiser.steps:
            run_trainer(trainer, latest)
        else:  # it was killed before the policy was written; transformers would do one update more
            trainer._load_from_checkpoint(latest)
    finally:
        if isinstance(sampler, ServerSampler):
            sampler.close()
    if trainer.accelerator.is_main_process:
        save_pace(Pace(per_token=seconds(config.cases.token_seconds)), out / PACE)
        save(policy, tokenizer, config.model, out)
    trainer.accelerator.wait_for_everyone()
    return out / POLICY


def order(keys: Sequence[str], config: Config) -> list[str]:
    """The cases of each update, one after the other: the keys again and again, for all updates.

    They are laid out here, since a sampler that draws an order for each pass draws the first one's
    again where a training goes on in a later pass.
    """
    rollout, every = config.rollout, range(len(keys))
    chance = torch.Generator().manual_seed(config.run.seed)
    # An update has different cases, so what is left of a pass is dropped.
    whole = len(keys) // rollout.cases
    passes = ceil(ceil(config.optimiser.steps / config.optimiser.epochs) / whole)
    found: list[str] = []
    for _ in range(passes):
        drawn = torch.randperm(len(keys), generator=chance).tolist() if rollout.shuffle else every
        found += [keys[i] for i in drawn[: whole * rollout.cases]]
    return found


def _sampler(config: Config, trainer: Any, checkpoint: Checkpoint, api_key: str) -> Sampler:
    """Who samples."""
    policy = trainer.accelerator.unwrap_model(trainer.model)
    rollout, out = config.rollout, Path(config.run.out)
    if rollout.server == "local":
        return Sampler(checkpoint)
    if rollout.server == "vllm":
        return VllmSampler(checkpoint, engine=trainer.vllm_generation)
    server = ServerSampler(
        checkpoint, base_url=rollout.server, served=rollout.served, api_key=api_key
    )
    if rollout.push == "lora":
        rank = str(trainer.accelerator.process_index)
        server.refresh = Pusher(policy, server, out / PUSHED / rank)
    return server


def run_trainer(trainer: Any, checkpoint: str | None) -> None:
    """Train to the end.

    Raises:
        KeyboardInterrupt: If it was stopped on the way.
    """
    trainer.train(resume_from_checkpoint=checkpoint)
    if trainer.state.global_step < trainer.state.max_steps:
        raise KeyboardInterrupt


class ProgressCallback(TrainerCallback):  # type: ignore[misc]  # transformers is not followed by mypy
    """Tells after each update how many are done, and stops with a checkpoint if it is asked to.

    Args:
        tell: What is told.
        stops: Whether to stop; of several processes, one suffices.
        every: It stops after a multiple of so many updates, as checkpoints are written.
    """

    def __init__(self, tell: Progress, stops: Callable[[], bool], *, every: int = 1) -> None:
        self._tell = tell
        self._stops = stops
        self._every = every

    def on_train_begin(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        """Ask for the first time: from now on, an update is to be waited for."""
        self._stops()

    def on_step_end(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        """Tell it, and stop."""
        self._tell(state.global_step, state.max_steps)
        if any(gather_object([self._stops()])) and state.global_step % self._every == 0:
            control.should_save = control.should_training_stop = True
