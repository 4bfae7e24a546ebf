"""The trainer's arguments: TRL's `GRPOConfig` and `SFTConfig` from the tables of a training.

The tables `[grpo]` and `[sft]` have TRL's own names. Fields that follow from other tables, and
fields of TRL's own sampling, which episodes on the timeline replace, are refused.
"""

from dataclasses import fields
from difflib import get_close_matches
from math import ceil
from pathlib import Path
from typing import Any, get_args, get_type_hints

import msgspec
import torch
from accelerate import PartialState
from trl import GRPOConfig, SFTConfig

from timeful.errors import SettingsError
from timeful.models.local.request import GenerationConfig
from timeful.training.config import Config, SftConfig
from timeful.training.folder import CHECKPOINTS

_UNUSED = frozenset(
    {
        *("top_k", "top_p", "min_p", "repetition_penalty", "generation_kwargs"),
        *("chat_template_kwargs", "max_tool_calling_iterations", "cache_implementation"),
        *("use_transformers_paged", "use_transformers_continuous_batching", "vllm_mode"),
        *("gradient_accumulation_steps", "generation_batch_size", "steps_per_generation"),
        *("reward_weights", "packing", "dataset_text_field"),
    }
)
"""Fields of TRL that have no effect or contradict how episodes are sampled."""


def grpo_arguments(config: Config) -> GRPOConfig:
    """The arguments of a training by reinforcement; raises as `trainer_arguments`."""
    return GRPOConfig(**trainer_arguments(config, processes=_processes()))


def sft_arguments(config: SftConfig) -> SFTConfig:
    """The arguments of a training by examples; raises as `trainer_arguments`."""
    return SFTConfig(**trainer_arguments(config, processes=_processes()))


def trainer_arguments(config: Config | SftConfig, *, processes: int) -> dict[str, Any]:
    """What TRL is called with; no device is touched.

    Args:
        config: The settings.
        processes: How many processes train together.

    Raises:
        SettingsError: If a field of `[grpo]` or `[sft]` is unknown, wrong, or follows from another
            table, or if the processes cannot share out the rows of an update.
    """
    if isinstance(config, Config):
        table = _typed(config.grpo, GRPOConfig, "grpo")
        every = table["num_iterations"]
        # Not within the iterations of a batch: it would be played again, by other weights.
        save_steps = ceil(config.run.save_steps / every) * every
        own = {"save_steps": save_steps, **_vllm(config)}
        replaced: dict[str, Any] = {"shuffle_dataset": False}  # see `grpo.order_tasks`
        rows = config.rollout.cases * table["num_generations"]
    else:
        table = _typed(config.sft, SFTConfig, "sft")
        own, replaced = {"save_steps": config.run.save_steps}, {"max_length": None}  # cut before
        rows = config.examples.batch
    own |= _common(config)
    for field in table:
        if field in own or field in _UNUSED:
            raise SettingsError(
                f"{field} of the trainer follows from other tables ([run], [rollout], [model]); "
                "leave it out"
            )
    return {**table, **own, **replaced, **_batches(table, rows, processes)}


def _typed(table: dict[str, Any], kind: Any, name: str) -> dict[str, Any]:
    """The table with its values as the fields of TRL have them."""
    hints = get_type_hints(kind)
    names = {field.name for field in fields(kind)}
    values = dict(table)
    for field, value in table.items():
        if field not in names:
            near = get_close_matches(field, names, n=1)
            hint = f" Did you mean {near[0]!r}?" if near else ""
            raise SettingsError(f"[{name}]: {kind.__name__} has no field {field!r}.{hint}")
        if value == "none" and type(None) in get_args(hints[field]):
            values[field] = value = None
        try:
            values[field] = msgspec.convert(value, hints[field])
        except msgspec.ValidationError as error:
            raise SettingsError(f"{name}.{field}: {error}") from None
        except TypeError:
            pass  # msgspec does not know the type, such as an enumeration or a text; TRL checks it
    return values


def _common(config: Config | SftConfig) -> dict[str, Any]:
    run, cpu = config.run, not torch.cuda.is_available()
    return {
        "output_dir": str(Path(run.out) / CHECKPOINTS),
        "save_total_limit": run.save_total_limit,
        "seed": run.seed,
        "logging_steps": 1,
        "report_to": [run.report_to] if run.report_to else [],
        "run_name": run.out,
        "use_cpu": cpu,
        "bf16": not cpu and config.model.dtype == "bfloat16",
        "ddp_find_unused_parameters": False,
        "dataloader_pin_memory": False,
        "disable_tqdm": True,
    }


def _batches(table: dict[str, Any], rows: int, processes: int) -> dict[str, int]:
    """How an update is divided; `rows` are those of an update on all processes."""
    share, remainder = divmod(rows, processes)
    if remainder:
        raise SettingsError(f"{processes} processes cannot share out the {rows} rows of an update")
    size = table.get("per_device_train_batch_size", share)
    if share % size:
        raise SettingsError(
            f"per_device_train_batch_size must divide the {share} rows that a process has of an "
            f"update, got {size}"
        )
    return {"per_device_train_batch_size": size, "gradient_accumulation_steps": share // size}


def _processes() -> int:
    count: int = PartialState(cpu=not torch.cuda.is_available()).num_processes
    return count


def _vllm(config: Config) -> dict[str, Any]:
    if config.rollout.server != "vllm":
        return {}
    stop = list(GenerationConfig().stop)
    return {
        "use_vllm": True,
        "vllm_mode": "colocate",
        # Where the ratio is taken against vLLM's own probabilities it corrects for them already.
        "vllm_importance_sampling_correction": config.rollout.old_logprobs == "trainer",
        "generation_kwargs": {"stop": stop, "include_stop_str_in_output": True},
    }
