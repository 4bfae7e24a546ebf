"""The model that learns: its tokenizer, its weights, what LoRA adds, and what becomes of both."""

import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import huggingface_hub as hub
import torch
from msgspec.structs import replace
from peft import LoraConfig, PeftModel, get_peft_model
from transformers import AutoConfig, AutoModelForCausalLM, AutoTokenizer

from timeful.errors import SettingsError
from timeful.records.store import replace_atomically
from timeful.training.config import CasesPart, Config, ModelPart, SftConfig
from timeful.training.folder import ADAPTER, POLICY


def load_tokenizer(settings: ModelPart) -> Any:
    """Its tokenizer, with something to pad with.

    Raises:
        SettingsError: If it cannot be loaded, or has no chat template.
    """
    tokenizer = _load(AutoTokenizer.from_pretrained, settings, "tokenizer")
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
    options["output_loading_info"] = True
    model, report = _load(AutoModelForCausalLM.from_pretrained, settings, "model", **options)
    if missing := sorted(report["missing_keys"]):
        raise SettingsError(
            f"{settings.path} lacks weights of its own model, such as {missing[0]}: it was saved "
            "from another one"
        )
    return model


@dataclass(frozen=True, slots=True, kw_only=True)
class EmptyModel:
    """A model without weights, as wide and as deep, with LoRA's matrices; and its tokenizer."""

    model: Any
    tokenizer: Any


def load_empty(config: Config | SftConfig) -> EmptyModel:
    """The model of a training without its weights: the check of all else that it needs.

    Raises:
        SettingsError: If its configuration or its tokenizer cannot be loaded, if LoRA finds no such
            layers, or if calls are left to a chat template that does not offer tools.
    """
    settings, cases = config.model, getattr(config, "cases", None)
    tokenizer = load_tokenizer(settings)
    template = str(tokenizer.chat_template)  # one, or several by names
    offers_tools = re.search(r"\btools\b", template) and "<tool_call>" in template
    if isinstance(cases, CasesPart) and cases.calls == "native" and not offers_tools:
        raise SettingsError(
            f"the chat template of {settings.path} does not offer tools with calls between "
            "<tool_call> and </tool_call>, which cases.calls = 'native' needs: take calls = 'text'"
        )
    model_config = _load(AutoConfig.from_pretrained, settings, "configuration")
    with torch.device("meta"):
        dtype = getattr(torch, training_dtype(settings))
        model = AutoModelForCausalLM.from_config(model_config, dtype=dtype)
        if (lora := lora_config(settings)) is not None:
            _check_targets(settings, model)
            model = get_peft_model(model, lora)
    return EmptyModel(model=model, tokenizer=tokenizer)


def _check_targets(settings: ModelPart, model: Any) -> None:
    """Check that a model has the layers that LoRA changes; PEFT accepts one of several."""
    weights = (name for name, weight in model.named_parameters() if weight.dim() == 2)
    layers = {name.removesuffix(".weight").rpartition(".")[2] for name in weights}
    if lacking := [target for target in settings.targets if target not in layers]:
        raise SettingsError(
            f"the model has no layers {', '.join(lacking)} for LoRA; it has: "
            f"{', '.join(sorted(layers))}. Name some of them in model.targets"
        )


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


def is_at_hub(model: ModelPart) -> bool:
    """Whether the model is a name at the hub, which transformers fetches or has fetched."""
    return not Path(model.path).is_dir()


def _load(load: Callable[..., Any], settings: ModelPart, part: str, **options: Any) -> Any:
    """Load a part of a model from this machine, and fetch it only if it is missing.

    Without a network transformers asks the hub for each file for minutes; so the hub is asked for
    the model first, once.
    """
    try:
        try:
            return load(settings.path, local_files_only=True, **options)
        except (OSError, ValueError):
            if not is_at_hub(settings):
                raise
        hub.HfApi().model_info(settings.path, timeout=10)
        return load(settings.path, **options)
    # The hub's client has errors of httpx or of httpx2, whichever it came with.
    except (hub.errors.HTTPError, OSError, ValueError) as error:  # type: ignore[attr-defined]
        hint = ", which is not a folder," if is_at_hub(settings) else ""
        # Further lines of what a library says give advice.
        cause = str(error).partition("\n")[0]
        raise SettingsError(
            f"the {part} of {settings.path}{hint} cannot be loaded: {cause}"
        ) from error
