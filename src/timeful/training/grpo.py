"""GRPO over rollouts on the timeline: read this first.

An update: the trainer asks `RolloutFunction` for samples; it plays tasks, rewards the groups and
divides credit among turns; TRL works out advantages, clipping and the loss.

All random choices follow from the seed and the number of the update, so a training that was killed
resumes from its last checkpoint and comes to the same numbers.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from math import ceil
from pathlib import Path
from typing import Any

import torch
from accelerate.utils import gather_object
from peft import PeftModel
from transformers import PrinterCallback, TrainerCallback

from timeful.core.units import seconds
from timeful.errors import ModelError
from timeful.models.local.checkpoint import Checkpoint, hold
from timeful.models.local.request import GenerationConfig
from timeful.models.local.sampler import Sampler
from timeful.models.pace import Pace
from timeful.training.checkpoints import last_checkpoint, update_of
from timeful.training.config import Config
from timeful.training.credit import divide_reward, turn_advantages
from timeful.training.folder import PACE, POLICY, PUSHED, save_pace
from timeful.training.judge import share_traffic
from timeful.training.loading import load_model, load_tokenizer, lora_config, save
from timeful.training.metrics_callback import MetricsCallback
from timeful.training.observer import TrainingObserver
from timeful.training.remote_samplers import Pusher, ServerSampler, VllmSampler
from timeful.training.rollout_tasks import RolloutTask
from timeful.training.rollouts import Player, RewardFunction, Rollout, sampling_seed
from timeful.training.trainer_arguments import grpo_arguments
from timeful.training.trl_trainer import Sample, TimedGRPOTrainer


def train_grpo(
    config: Config,
    tasks: Mapping[str, RolloutTask],
    rewards: RewardFunction,
    *,
    observer: TrainingObserver | None = None,
    api_key: str = "",
) -> Path:
    """Train, or resume a training of the same settings.

    Args:
        config: The settings, checked.
        tasks: The tasks by their keys; at least as many as an update has cases.
        rewards: The rewards of the groups of an update.
        observer: Watches the training.
        api_key: The key of a rollout server.

    Returns:
        The folder of the trained model.

    Raises:
        SettingsError: If the model cannot be loaded.
        KeyboardInterrupt: If the observer stopped it; a checkpoint is written then.
    """
    out, rollout, observer = Path(config.run.out), config.rollout, observer or TrainingObserver()
    if config.run.threads is not None:
        torch.set_num_threads(config.run.threads)
    arguments = grpo_arguments(config)
    tokenizer = load_tokenizer(config.model)
    trainer = TimedGRPOTrainer(
        load_model(config.model),
        keys=order_tasks(list(tasks), config),
        args=arguments,
        old_logprobs=rollout.old_logprobs,
        processing_class=tokenizer,
        peft_config=lora_config(config.model),
        callbacks=[ProgressCallback(observer, every=arguments.num_iterations)],
    )
    trainer.remove_callback(PrinterCallback)
    policy = trainer.accelerator.unwrap_model(trainer.model)
    rank = trainer.accelerator.process_index
    metrics = MetricsCallback(
        out,
        steps=arguments.max_steps,
        # Credit by turn may tell apart what earned the same; a batch is learnt from several times.
        patience=arguments.num_iterations if config.reward.credit == "episode" else 0,
        has_records=config.run.records,
        rank=rank,
        observer=observer,
    )
    # LoRA's layers are within the model that PEFT wraps, whose forward takes the arguments.
    inner = policy.get_base_model() if isinstance(policy, PeftModel) else policy
    sampler = _make_sampler(config, trainer, hold(inner, tokenizer, name=POLICY), api_key)
    pace = Pace(per_token=seconds(config.cases.token_seconds))
    share = arguments.per_device_train_batch_size * arguments.steps_per_generation
    trainer.rollout_function = RolloutFunction(
        player=Player(
            sampler,
            generation=GenerationConfig(temperature=arguments.temperature),
            pace=pace,
            at_once=rollout.at_once,
        ),
        tasks=tasks,
        rewards=rewards,
        seed=config.run.seed,
        metrics=metrics,
        by_turn=config.reward.credit == "turn",
        discount=config.reward.discount,
        is_scaled=arguments.scale_rewards == "group",
        first_member=rank * share % arguments.num_generations,
    )
    latest = last_checkpoint(out)
    metrics.open(update_of(latest))
    trainer.add_callback(metrics)
    try:
        if update_of(latest) < arguments.max_steps:
            with share_traffic(trainer.accelerator):
                run_trainer(trainer, latest)
        else:  # killed before the policy was written; transformers would do one update more
            trainer._load_from_checkpoint(latest)
    finally:
        if isinstance(sampler, ServerSampler):
            sampler.close()
    if trainer.accelerator.is_main_process:
        save_pace(pace, out / PACE)
        save(policy, tokenizer, config.model, out)
    trainer.accelerator.wait_for_everyone()
    return out / POLICY


@dataclass(kw_only=True)
class RolloutFunction:
    """Plays groups of episodes, rewards them, and divides the credit.

    Args:
        player: Plays episodes by the trainer's own weights.
        tasks: The tasks by their keys.
        rewards: The rewards of the groups of an update.
        seed: The seed of what is sampled.
        metrics: Told what was played.
        by_turn: Whether credit is given by turn (`credit.py`).
        discount: The discount of later rewards, a turn.
        is_scaled: Whether credit is divided by the group's standard deviation.
        first_member: The number of the first member of the first group that this process plays;
            a group may be spread over processes.
    """

    player: Player
    tasks: Mapping[str, RolloutTask]
    rewards: RewardFunction
    seed: int
    metrics: MetricsCallback
    by_turn: bool = False
    discount: float = 1.0
    is_scaled: bool = True
    first_member: int = 0

    def __call__(self, keys: Sequence[str], update: int, progress: float) -> list[Sample]:
        """Play the tasks of these keys; equal keys next to each other are a group.

        Raises:
            ModelError: If all episodes of all processes fail: there is nothing to learn from.
        """
        self.player.sampler.policy = update
        rollouts = self.player.play(list(self._episodes(keys, update)))
        failures = gather_object([None if r.ok else r.failure for r in rollouts])
        if None not in failures:
            raise ModelError(
                f"every rollout of update {update} failed, the first one by: {failures[0]}"
            )
        groups: list[Sequence[Rollout]] = []
        for _, same in groupby(keys):
            start = sum(map(len, groups))
            groups.append(rollouts[start : start + len(list(same))])
        rewards = self.rewards(groups, update, progress)
        self.metrics.note(update, rollouts, [reward for group in rewards for reward in group])
        return [
            sample
            for group, group_rewards in zip(groups, rewards, strict=True)
            for sample in self._samples(group, group_rewards)
        ]

    def _episodes(self, keys: Sequence[str], update: int) -> Iterator[tuple[RolloutTask, int]]:
        start = self.first_member
        for key, same in groupby(keys):
            for member, _ in enumerate(same, start):
                yield self.tasks[key], sampling_seed(self.seed, update, key, member)
            start = 0

    def _samples(
        self, group: Sequence[Rollout], rewards: Sequence[float | None]
    ) -> Iterator[Sample]:
        turns: Sequence[tuple[float, ...] | None] = [None] * len(group)
        if self.by_turn:
            divided = [
                None if reward is None else divide_reward(reward, rollout.turn_rewards)
                for rollout, reward in zip(group, rewards, strict=True)
            ]
            turns = turn_advantages(divided, discount=self.discount, scale=self.is_scaled)
        for rollout, reward, advantages in zip(group, rewards, turns, strict=True):
            yield Sample(sequence=rollout.sequence, reward=reward, turns=advantages)


def order_tasks(keys: Sequence[str], config: Config) -> list[str]:
    """The keys of the tasks of all updates, in their order; each pass has each task once.

    The order is drawn here: a sampler that draws one for each pass would draw the first pass's
    again where a training resumes in a later pass.
    """
    size, shuffle = config.rollout.cases, config.grpo["shuffle_dataset"]
    updates = ceil(config.grpo["max_steps"] / config.grpo["num_iterations"])
    rng = torch.Generator().manual_seed(config.run.seed)
    # An update has different tasks, so the rest of a pass is dropped.
    whole = len(keys) // size
    order: list[str] = []
    for _ in range(ceil(updates / whole)):
        indices = torch.randperm(len(keys), generator=rng).tolist() if shuffle else range(len(keys))
        order += [keys[i] for i in indices[: whole * size]]
    return order


def _make_sampler(config: Config, trainer: Any, checkpoint: Checkpoint, api_key: str) -> Sampler:
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
        KeyboardInterrupt: If the observer stopped it.
    """
    trainer.train(resume_from_checkpoint=checkpoint)
    if trainer.state.global_step < trainer.state.max_steps:
        raise KeyboardInterrupt


class ProgressCallback(TrainerCallback):  # type: ignore[misc]  # transformers is not followed
    """Tells an observer of each update, and stops with a checkpoint if the observer asks for it.

    Args:
        observer: The observer; of several processes, one suffices to stop.
        every: It stops after a multiple of so many updates, as checkpoints are written.
    """

    def __init__(self, observer: TrainingObserver, *, every: int = 1) -> None:
        self._observer = observer
        self._every = every

    def on_train_begin(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        """Ask for the first time: from now on, an interrupt waits for the update."""
        self._observer.should_stop()

    def on_step_end(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        """Tell the observer, and stop."""
        self._observer.advance(state.global_step, state.max_steps)
        if any(gather_object([self._observer.should_stop()])) and not (
            state.global_step % self._every
        ):
            control.should_save = control.should_training_stop = True
