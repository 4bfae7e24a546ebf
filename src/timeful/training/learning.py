"""A training by reinforcement: TRL's GRPO over rollouts on the timeline, from settings.

Everything that is chance hangs on the seed and the number of the update, so a training that was
killed goes on from its last checkpoint to the numbers it would have come to.
"""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import torch
from peft import LoraConfig
from transformers import AutoModelForCausalLM, AutoTokenizer, TrainerCallback
from transformers.trainer_utils import get_last_checkpoint
from trl import GRPOConfig

from timeful.core.units import seconds
from timeful.models.local.checkpoint import hold
from timeful.models.local.request import Style
from timeful.models.local.sampler import Sampler
from timeful.models.pace import Pace
from timeful.training.adapter import TimedGRPOTrainer
from timeful.training.config import Config, ModelPart
from timeful.training.journal import Journal
from timeful.training.rolling import Rolling
from timeful.training.rollouts import GroupReward, Player
from timeful.training.scenes import Scene

POLICY = "policy"
"""The folder of the trained model, within that of the training."""


def learn(
    config: Config,
    scenes: Mapping[str, Scene],
    reward: GroupReward,
    *,
    progress: Callable[[int, int], None] = lambda done, of: None,
) -> Path:
    """Train, or go on where a training of the same settings stopped.

    Args:
        config: The settings, checked.
        scenes: What it learns from.
        reward: What a group is rewarded with.
        progress: Told after each update how many are done, and of how many.

    Returns:
        The folder of the trained model.
    """
    out = Path(config.run.out)
    if config.run.threads is not None:
        torch.set_num_threads(config.run.threads)
    tokenizer = AutoTokenizer.from_pretrained(config.model.path)
    if tokenizer.pad_token_id is None:
        tokenizer.pad_token = tokenizer.eos_token
    trainer = TimedGRPOTrainer(
        _model(config.model),
        keys=list(scenes),
        args=_arguments(config, out),
        ratio=config.optimiser.ratio,
        processing_class=tokenizer,
        peft_config=_adapter(config.model),
        callbacks=[_Progress(progress)],
    )
    policy = trainer.accelerator.unwrap_model(trainer.model)
    journal = Journal(out, rank=trainer.accelerator.process_index, records=config.run.records)
    samples, local = config.rollout.samples, trainer.args.per_device_train_batch_size
    trainer.roll = Rolling(
        player=Player(
            Sampler(hold(policy, tokenizer, name=POLICY)),
            style=Style(temperature=config.rollout.temperature),
            pace=Pace(per_token=seconds(config.cases.token_seconds)),
            at_once=config.rollout.at_once,
        ),
        scenes=scenes,
        reward=reward,
        seed=config.run.seed,
        by_turn=config.reward.credit == "turn",
        discount=config.reward.discount,
        tell=journal.tell,
        first=lambda: trainer.accelerator.process_index * local % samples,
    )
    latest = get_last_checkpoint(str(out / "checkpoints")) if out.is_dir() else None
    journal.open(0 if latest is None else int(latest.rpartition("-")[2]))
    trainer.add_callback(journal)
    trainer.train(resume_from_checkpoint=latest)
    if trainer.accelerator.is_main_process:
        trainer.save_model(str(out / POLICY))
    return out / POLICY


def _model(part: ModelPart) -> Any:
    options: dict[str, Any] = {"dtype": getattr(torch, part.dtype)}
    if part.quantise == "nf4":
        from transformers import BitsAndBytesConfig  # noqa: PLC0415 - needs another extra

        options["quantization_config"] = BitsAndBytesConfig(
            load_in_4bit=True, bnb_4bit_quant_type="nf4"
        )
    return AutoModelForCausalLM.from_pretrained(part.path, **options)


def _adapter(part: ModelPart) -> LoraConfig | None:
    if part.adapter == "full":
        return None
    return LoraConfig(
        r=part.rank,
        lora_alpha=part.alpha,
        lora_dropout=0.0,
        target_modules=list(part.targets),
        task_type="CAUSAL_LM",
    )


def _arguments(config: Config, out: Path) -> GRPOConfig:
    """The settings by the names that TRL has for them."""
    rollout, optimiser, run = config.rollout, config.optimiser, config.run
    whole = rollout.samples * rollout.cases
    micro = optimiser.micro_batch or whole
    cpu = not torch.cuda.is_available()
    return GRPOConfig(
        output_dir=str(out / "checkpoints"),
        per_device_train_batch_size=micro,
        gradient_accumulation_steps=max(1, whole // micro),
        num_generations=rollout.samples,
        max_completion_length=rollout.max_tokens,
        temperature=rollout.temperature,
        max_steps=optimiser.steps,
        learning_rate=optimiser.learning_rate,
        warmup_steps=optimiser.warmup,
        lr_scheduler_type=optimiser.schedule,
        epsilon=optimiser.clip_low,
        epsilon_high=optimiser.clip_high,
        delta=optimiser.ratio_cap,
        beta=optimiser.kl,
        scale_rewards=optimiser.scale,
        loss_type=optimiser.loss,
        entropy_coef=optimiser.entropy,
        num_iterations=optimiser.epochs,
        max_grad_norm=optimiser.max_grad_norm,
        save_steps=run.save_every,
        save_total_limit=run.keep,
        seed=run.seed,
        logging_steps=1,
        report_to=[run.track] if run.track else [],
        use_cpu=cpu,
        bf16=not cpu and config.model.dtype == "bfloat16",
        gradient_checkpointing=False,
        dataloader_pin_memory=False,
        disable_tqdm=True,
    )


class _Progress(TrainerCallback):  # type: ignore[misc]  # transformers is not followed by mypy
    def __init__(self, tell: Callable[[int, int], None]) -> None:
        self._tell = tell

    def on_step_end(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        self._tell(state.global_step, state.max_steps)
