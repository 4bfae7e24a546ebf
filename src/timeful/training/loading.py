"""The model that learns: its tokenizer, its weights, what LoRA adds, and what becomes of both."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
from huggingface_hub.constants import HF_HUB_OFFLINE
from msgspec.structs import replace
from peft import LoraConfig, PeftModel, get_peft_model
from transformers import AutoConfig, AutoModelForCausalLM, AutoTokenizer

from timeful.errors import SettingsError
from timeful.records.store import replace_atomically
from timeful.training.checks import check_hub, check_targets, is_at_hub
from timeful.training.config import ModelPart
from timeful.training.folder import ADAPTER, POLICY


def load_tokenizer(part: ModelPart) -> Any:
    """Its tokenizer, with something to pad with.

    Raises:
        SettingsError: If it cannot be had, or has no chat template.
    """
    try:
        tokenizer = _had(AutoTokenizer.from_pretrained, part)
    except (OSError, ValueError) as error:
        raise SettingsError(
            f"the tokenizer of {part.path} cannot be had: {_first(error)}"
        ) from error
    if not tokenizer.chat_template:
        raise SettingsError(
            f"{part.path} has no chat template, so it can hold no conversation: take a model that "
            "was tuned to instructions"
        )
    if tokenizer.pad_token_id is None:
        tokenizer.pad_token = tokenizer.eos_token
    return tokenizer


def load_model(part: ModelPart) -> Any:
    """Its weights.

    Raises:
        SettingsError: If they cannot be had.
    """
    options: dict[str, Any] = {"dtype": getattr(torch, training_dtype(part))}
    if part.quantise == "nf4":
        from transformers import BitsAndBytesConfig  # noqa: PLC0415 - needs another extra

        options["quantization_config"] = BitsAndBytesConfig(
            load_in_4bit=True,
            bnb_4bit_quant_type="nf4",
            bnb_4bit_compute_dtype=getattr(torch, part.dtype),
        )
    try:
        model, report = _had(
            AutoModelForCausalLM.from_pretrained, part, output_loading_info=True, **options
        )
    except (OSError, ValueError) as error:
        raise SettingsError(f"{part.path} cannot be loaded: {_first(error)}") from error
    if missing := sorted(report["missing_keys"]):
        raise SettingsError(
            f"{part.path} lacks weights of its own model, such as {missing[0]}: it was saved from "
            "another one"
        )
    return model


def load_empty_model(part: ModelPart) -> Any:
    """The model without weights, as wide and as deep, with LoRA's matrices.

    Raises:
        SettingsError: If its configuration cannot be had, or LoRA finds no such layers.
    """
    try:
        config = _had(AutoConfig.from_pretrained, part)
    except (OSError, ValueError) as error:
        raise SettingsError(
            f"the settings of {part.path} cannot be had: {_first(error)}"
        ) from error
    with torch.device("meta"):
        model = AutoModelForCausalLM.from_config(config, dtype=getattr(torch, training_dtype(part)))
        lora = lora_config(part)
        if lora is None:
            return model
        names = {name.rpartition(".")[2] for name, _ in model.named_modules()}
        check_targets(part, names)
        return get_peft_model(model, lora)


def training_dtype(part: ModelPart) -> str:
    """In what type its weights are held while it learns.

    Where all of them learn it is float32, whatever they are before and after: a step of a millionth
    is less than bfloat16 can tell apart, and would be lost.
    """
    return "float32" if part.adapter == "full" else part.dtype


def lora_config(part: ModelPart) -> LoraConfig | None:
    """What LoRA adds; None if all weights learn."""
    if part.adapter == "full":
        return None
    return LoraConfig(
        r=part.rank,
        lora_alpha=part.alpha,
        lora_dropout=0.0,
        target_modules=list(part.targets),
        task_type="CAUSAL_LM",
    )


def save(model: Any, tokenizer: Any, part: ModelPart, out: Path) -> Path:
    """Write the trained model as any checkpoint; `local:PATH` and `timeful serve` read it.

    What LoRA learnt is written beside it, and into it: the policy is the model with the adapter
    merged, so that nobody who uses it needs PEFT. Where the base was held in 4 bits, the adapter is
    merged into its weights as they were before.

    Returns:
        Its folder, which is there whole or not at all.
    """
    if isinstance(model, PeftModel):
        model.save_pretrained(out / ADAPTER)
        if part.quantise != "none":
            base = load_model(replace(part, quantise="none"))
            model = PeftModel.from_pretrained(base, str(out / ADAPTER))
        model = model.merge_and_unload()
    with replace_atomically(out / POLICY) as partial:
        model.to(getattr(torch, part.dtype)).save_pretrained(partial)
        tokenizer.save_pretrained(partial)
    return out / POLICY


def _had(load: Callable[..., Any], part: ModelPart, **options: Any) -> Any:
    """Load what is here, and fetch only what is not.

    Whoever asks the hub for a file asks again and again where there is no network, for minutes; so
    it is asked for the model first, once.
    """
    try:
        return load(part.path, local_files_only=True, **options)
    except (OSError, ValueError):
        if not is_at_hub(part):
            raise
    check_hub(part.path, is_offline=HF_HUB_OFFLINE)
    return load(part.path, **options)


def _first(error: Exception) -> str:
    """The first line of what a library says, which has the cause; further ones give advice."""
    return str(error).partition("\n")[0]
