"""What TRL is told: the settings by the names that it has for them."""

from math import ceil
from pathlib import Path
from typing import Any

import torch
from accelerate import PartialState
from trl import GRPOConfig, SFTConfig

from timeful.models.local.request import GenerationConfig
from timeful.training.config import Config, OptimiserPart, SftConfig, SftPart
from timeful.training.folder import CHECKPOINTS


def grpo_arguments(config: Config) -> GRPOConfig:
    """Those of a training by reinforcement."""
    rollout, optimiser = config.rollout, config.optimiser
    rows = rollout.samples * rollout.cases
    return GRPOConfig(
        num_generations=rollout.samples,
        max_completion_length=rollout.max_tokens,
        temperature=rollout.temperature,
        shuffle_dataset=False,  # see `learning.order`
        max_steps=optimiser.steps,
        epsilon=optimiser.clip_low,
        epsilon_high=optimiser.clip_high,
        delta=optimiser.ratio_cap,
        beta=optimiser.kl,
        scale_rewards=optimiser.scale,
        loss_type=optimiser.loss,
        entropy_coef=optimiser.entropy,
        num_iterations=optimiser.epochs,
        gradient_checkpointing=optimiser.recompute,
        **_vllm(config),
        # Not in the midst of a batch's epochs: it would be played again, by other weights.
        **_common(config, optimiser, rows, every=optimiser.epochs),
    )


def sft_arguments(config: SftConfig) -> SFTConfig:
    """Those of a training by examples."""
    return SFTConfig(
        num_train_epochs=config.sft.epochs,
        max_length=None,  # what is too long was cut before
        completion_only_loss=True,
        **_common(config, config.sft, config.sft.batch),
    )


def _common(
    config: Config | SftConfig, part: OptimiserPart | SftPart, rows: int, *, every: int = 1
) -> dict[str, Any]:
    """Those of every training.

    Args:
        config: The settings.
        part: Those of how it learns.
        rows: Of an update, on all processes.
        every: Checkpoints are written after a multiple of so many updates.
    """
    run, cpu = config.run, not torch.cuda.is_available()
    share = rows // _processes()
    micro = part.micro_batch or share
    return {
        "per_device_train_batch_size": micro,
        "gradient_accumulation_steps": share // micro,
        "learning_rate": part.learning_rate,
        "warmup_steps": part.warmup,
        "lr_scheduler_type": part.schedule,
        "max_grad_norm": part.max_grad_norm,
        "output_dir": str(Path(run.out) / CHECKPOINTS),
        "save_steps": ceil(run.save_every / every) * every,
        "save_total_limit": run.keep,
        "seed": run.seed,
        "logging_steps": 1,
        "report_to": [run.track] if run.track else [],
        "run_name": run.out,
        "use_cpu": cpu,
        "bf16": not cpu and config.model.dtype == "bfloat16",
        "ddp_find_unused_parameters": False,
        "dataloader_pin_memory": False,
        "disable_tqdm": True,
    }


def _vllm(config: Config) -> dict[str, Any]:
    if config.rollout.server != "vllm":
        return {}
    stop = list(GenerationConfig().stop)
    return {
        "use_vllm": True,
        "vllm_mode": "colocate",
        # Where the ratio is taken against vLLM's own probabilities it corrects for them already.
        "vllm_importance_sampling_correction": config.optimiser.ratio == "trainer",
        "generation_kwargs": {"stop": stop, "include_stop_str_in_output": True},
    }


def _processes() -> int:
    """How many processes train together."""
    found: int = PartialState(cpu=not torch.cuda.is_available()).num_processes
    return found
