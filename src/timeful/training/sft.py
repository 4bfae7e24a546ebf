"""A training by examples: TRL's SFT over conversations as token ids."""

from collections.abc import Callable
from pathlib import Path

import torch
from datasets import Dataset
from transformers import PrinterCallback
from trl import SFTTrainer

from timeful.training.checkpoints import SynchronizedCheckpoints, last_checkpoint, update_of
from timeful.training.config import SftConfig
from timeful.training.doubts import context_of
from timeful.training.examples import examples
from timeful.training.folder import METRICS, POLICY
from timeful.training.grpo import Progress, ProgressCallback, run_trainer
from timeful.training.loading import adapter, load_model, load_tokenizer, save
from timeful.training.sft_metrics import SftMetricsCallback
from timeful.training.trainer_arguments import sft_arguments


def train_sft(
    config: SftConfig,
    *,
    progress: Progress = lambda done, of: None,
    warn: Callable[[str], None] = lambda text: None,
    measured: Callable[[str], None] = lambda text: None,
    stops: Callable[[], bool] = lambda: False,
) -> Path:
    """Train on examples, or go on where a training of the same settings stopped.

    Args:
        config: The settings, checked.
        progress: Told after each update how many are done, and of how many.
        warn: Told what should be looked at: see `examples`.
        measured: Told after each update what was measured, in a few words.
        stops: Asked before the first update and after each whether to stop there.

    Returns:
        The folder of the trained model.

    Raises:
        KeyboardInterrupt: If it was stopped; a checkpoint is written then.
        SettingsError: If the model cannot be loaded, or a file holds what is no example.
    """
    out = Path(config.run.out)
    if config.run.threads is not None:
        torch.set_num_threads(config.run.threads)
    tokenizer = load_tokenizer(config.model)
    context = context_of(config.model)
    data = Dataset.from_list(list(examples(config.sft, tokenizer, warn, context=context)))
    tally = SftMetricsCallback(out / METRICS, measured)
    trainer = _Trainer(
        load_model(config.model),
        args=sft_arguments(config),
        train_dataset=data,
        processing_class=tokenizer,
        peft_config=adapter(config.model),
        callbacks=[ProgressCallback(progress, stops)],
    )
    trainer.remove_callback(PrinterCallback)
    latest = last_checkpoint(out)
    if trainer.accelerator.is_main_process:
        tally.open(update_of(latest))
        trainer.add_callback(tally)
    run_trainer(trainer, latest)
    if trainer.accelerator.is_main_process:
        policy = trainer.accelerator.unwrap_model(trainer.model)
        save(policy, tokenizer, config.model, out)
    trainer.accelerator.wait_for_everyone()
    return out / POLICY


class _Trainer(SynchronizedCheckpoints, SFTTrainer):  # type: ignore[misc]  # TRL is not followed by mypy
    """TRL's trainer by examples."""
