"""A training by examples: TRL's SFT over conversations as token ids."""

from math import inf
from pathlib import Path

import torch
from datasets import Dataset
from transformers import PrinterCallback
from trl import SFTTrainer

from timeful.training.checkpoints import SynchronizedCheckpoints, last_checkpoint, update_of
from timeful.training.config import SftConfig
from timeful.training.examples import encode_examples
from timeful.training.folder import POLICY
from timeful.training.grpo import ProgressCallback, run_trainer
from timeful.training.loading import load_model, load_tokenizer, lora_config, save
from timeful.training.metrics_callback import MetricsCallback
from timeful.training.observer import TrainingObserver
from timeful.training.trainer_arguments import sft_arguments


def train_sft(config: SftConfig, *, observer: TrainingObserver | None = None) -> Path:
    """Train on examples, or resume a training of the same settings.

    Args:
        config: The settings, checked.
        observer: Watches the training.

    Returns:
        The folder of the trained model.

    Raises:
        KeyboardInterrupt: If the observer stopped it; a checkpoint is written then.
        SettingsError: If the model cannot be loaded, or a line of a file is not an example.
    """
    out, observer = Path(config.run.out), observer or TrainingObserver()
    if config.run.threads is not None:
        torch.set_num_threads(config.run.threads)
    arguments = sft_arguments(config)
    tokenizer, model = load_tokenizer(config.model), load_model(config.model)
    context = getattr(model.config, "max_position_embeddings", None) or inf
    examples = encode_examples(config, tokenizer, observer.warn, context=context)
    metrics = MetricsCallback(out, steps=arguments.max_steps, patience=0, observer=observer)
    trainer = _Trainer(
        model,
        args=arguments,
        train_dataset=Dataset.from_list(list(examples)),
        processing_class=tokenizer,
        peft_config=lora_config(config.model),
        callbacks=[ProgressCallback(observer)],
    )
    trainer.remove_callback(PrinterCallback)
    latest = last_checkpoint(out)
    if trainer.accelerator.is_main_process:
        metrics.open(update_of(latest))
        trainer.add_callback(metrics)
    run_trainer(trainer, latest)
    if trainer.accelerator.is_main_process:
        policy = trainer.accelerator.unwrap_model(trainer.model)
        save(policy, tokenizer, config.model, out)
    trainer.accelerator.wait_for_everyone()
    return out / POLICY


class _Trainer(SynchronizedCheckpoints, SFTTrainer):  # type: ignore[misc]  # TRL is not followed
    """TRL's trainer by examples."""
