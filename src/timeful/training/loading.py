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


def load_tokenizer(settings: ModelPart) -> Any:
    """Its tokenizer, with something to pad with.

    Raises:
        SettingsError: If it cannot be loaded, or has no chat template.
    """
    try:
        tokenizer = _load_local_first(AutoTokenizer.from_pretrained, settings)
    except (OSError, ValueError) as error:
        raise SettingsError(
            f"the tokenizer of {settings.path} cannot be loaded: {_first(error)}"
        ) from error
    if not tokenizer.chat_template:
        raise SettingsError(
            f"{settings.path} has no chat template: take a model that was tuned to instructions"
        )
    if tokenizer.pad_token_id is None:
        tokenizer.pad_token = tokenizer.eos_token
    return tokenizer


def load_model(settings: ModelPart) -> Any:
    """Its weights.

    Raises:
        SettingsError: If they cannot be loaded.
    """
    options: dict[str, Any] = {"dtype": getattr(torch, training_dtype(settings))}
    if settings.quantise == "nf4":
        from transformers import BitsAndBytesConfig  # noqa: PLC0415 - needs another extra

        options["quantization_config"] = BitsAndBytesConfig(
            load_in_4bit=True,
            bnb_4bit_quant_type="nf4",
            bnb_4bit_compute_dtype=getattr(torch, settings.dtype),
        )
    try:
        model, report = _load_local_first(
            AutoModelForCausalLM.from_pretrained, settings, output_loading_info=True, **options
        )
    except (OSError, ValueError) as error:
        raise SettingsError(f"{settings.path} cannot be loaded: {_first(error)}") from error
    if missing := sorted(report["missing_keys"]):
        raise SettingsError(
            f"{settings.path} lacks weights of its own model, such as {missing[0]}: it was saved "
            "from another one"
        )
    return model


def load_empty_model(settings: ModelPart) -> Any:
    """The model without weights, as wide and as deep, with LoRA's matrices.

    Raises:
        SettingsError: If its configuration cannot be loaded, or LoRA finds no such layers.
    """
    try:
        config = _load_local_first(AutoConfig.from_pretrained, settings)
    except (OSError, ValueError) as error:
        raise SettingsError(
            f"the settings of {settings.path} cannot be loaded: {_first(error)}"
        ) from error
    with torch.device("meta"):
        dtype = getattr(torch, training_dtype(settings))
        model = AutoModelForCausalLM.from_config(config, dtype=dtype)
        lora = lora_config(settings)
        if lora is None:
            return model
        names = {name.rpartition(".")[2] for name, _ in model.named_modules()}
        check_targets(settings, names)
        return get_peft_model(model, lora)


def training_dtype(settings: ModelPart) -> str:
    """The type of the weights during the training.

    Where all weights are trained it is float32: bfloat16 would lose a step of a millionth.
    """
    return "float32" if settings.adapter == "full" else settings.dtype


def lora_config(settings: ModelPart) -> LoraConfig | None:
    """The configuration of LoRA; None if all weights are trained."""
    if settings.adapter == "full":
        return None
    return LoraConfig(
        r=settings.rank,
        lora_alpha=settings.alpha,
        lora_dropout=0.0,
        target_modules=list(settings.targets),
        task_type="CAUSAL_LM",
    )


def save(model: Any, tokenizer: Any, settings: ModelPart, out: Path) -> Path:
    """Write the trained model as any checkpoint; `local:PATH` and `timeful serve` read it.

    What LoRA learnt is written beside it, and into it: the policy is the model with the adapter
    merged, so that nobody who uses it needs PEFT. Where the base was held in 4 bits, the adapter is
    merged into its weights as they were before.

    Returns:
        Its folder, which is there whole or not at all.
    """
    if isinstance(model, PeftModel):
        model.save_pretrained(out / ADAPTER)
        if settings.quantise != "none":
            base = load_model(replace(settings, quantise="none"))
            model = PeftModel.from_pretrained(base, str(out / ADAPTER))
        model = model.merge_and_unload()
    with replace_atomically(out / POLICY) as partial:
        model.to(getattr(torch, settings.dtype)).save_pretrained(partial)
        tokenizer.save_pretrained(partial)
    return out / POLICY


def _load_local_first(load: Callable[..., Any], settings: ModelPart, **options: Any) -> Any:
    """Load what is here, and fetch only what is not.

    Whoever asks the hub for a file asks again and again where there is no network, for minutes; so
    it is asked for the model first, once.
    """
    try:
        return load(settings.path, local_files_only=True, **options)
    except (OSError, ValueError):
        if not is_at_hub(settings):
            raise
    check_hub(settings.path, is_offline=HF_HUB_OFFLINE)
    return load(settings.path, **options)


def _first(error: Exception) -> str:
    """The first line of what a library says, which has the cause; further ones give advice."""
    return str(error).partition("\n")[0]
