"""A checkpoint on disk: checked before anything heavy is imported, and loaded once.

A folder as `save_pretrained` writes it: `config.json`, weights, a tokenizer, a chat template. A
name of a hub is no folder; nothing is ever fetched.
"""

import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from timeful.errors import ModelError, SettingsError, check_known
from timeful.models.local.detokenizer import Detokenizer
from timeful.models.local.request import GenerationConfig

DTYPES = ("float32", "bfloat16", "float16")

_WEIGHTS = ("model.safetensors", "model.safetensors.index.json", "pytorch_model.bin")
_TOKENIZERS = ("tokenizer.json", "tokenizer.model", "vocab.json", "tokenizer_config.json")
_EMBEDDINGS = ("embed_tokens.weight", "wte.weight")
_HEADER = 100 << 20  # bytes; what safetensors allows itself


@dataclass(frozen=True, slots=True, eq=False)
class Checkpoint:
    """A model and its tokenizer in memory.

    Attributes:
        model: A causal language model of transformers, ready to answer.
        tokenizer: Its tokenizer.
        name: A short name for records and tables.
        stop_ids: The tokens that end a text.
        context: The most tokens of a prompt and its answer together.
        detokenizer: Turns its tokens into text.
        generation: Its default sampling parameters, from `generation_config.json`.
    """

    model: Any
    tokenizer: Any
    name: str
    stop_ids: tuple[int, ...]
    context: int
    detokenizer: Detokenizer
    generation: GenerationConfig = field(default_factory=GenerationConfig)

    def check_room(self, length: int, minimum: int) -> int:
        """The number of tokens that may follow a prompt.

        Raises:
            ModelError: If there is no prompt, or less room than wanted.
        """
        room = self.context - length
        if not length:
            raise ModelError(f"{self.name} was given an empty prompt")
        if room < minimum:
            raise ModelError(
                f"a prompt of {length} tokens leaves no room in the context of {self.name}, "
                f"which is {self.context} tokens"
            )
        return room


def hold(
    model: Any, tokenizer: Any, *, name: str, generation: GenerationConfig | None = None
) -> Checkpoint:
    """Take a model and a tokenizer that are in memory already, such as those being trained."""
    config = model.config
    sources = [
        getattr(model.generation_config, "eos_token_id", None),
        getattr(config, "eos_token_id", None),
        tokenizer.eos_token_id,
    ]
    stops: list[int] = []
    for ids in sources:
        stops += ids if isinstance(ids, list | tuple) else [] if ids is None else [ids]
    context = getattr(config, "max_position_embeddings", None)
    return Checkpoint(
        model=model,
        tokenizer=tokenizer,
        name=name,
        stop_ids=tuple(dict.fromkeys(stops)),
        context=context or 1 << 20,
        detokenizer=Detokenizer(tokenizer),
        generation=generation or GenerationConfig(),
    )


def check(path: Path) -> None:
    """Check that a checkpoint can be loaded; imports nothing heavy.

    Raises:
        SettingsError: If an extra is missing, or a part of the checkpoint, or if its weights are
            of another shape than its configuration says.
    """
    require()
    if not path.is_dir():
        problem = "is a file" if path.is_file() else "does not exist"
        raise SettingsError(
            f"there is no checkpoint {str(path)!r}: it {problem}; a local model is a folder with "
            "config.json, weights and a tokenizer, as save_pretrained writes it"
        )
    config = _json(path, "config.json")
    if config is None:
        raise SettingsError(f"{_named(path)} has no config.json, so it is no model")
    if not any((path / name).is_file() for name in _WEIGHTS):
        adapter = (path / "adapter_config.json").is_file()
        hint = "; it is a LoRA adapter: merge it into its base first" if adapter else ""
        raise SettingsError(f"{_named(path)} has no weights ({', '.join(_WEIGHTS)}){hint}")
    if not any((path / name).is_file() for name in _TOKENIZERS):
        raise SettingsError(f"{_named(path)} has no tokenizer ({', '.join(_TOKENIZERS)})")
    if not _has_template(path):
        raise SettingsError(
            f"{_named(path)} has no chat template, so it can hold no conversation: give it a "
            "chat_template.jinja, or take a model that was tuned to instructions"
        )
    _check_shape(path, config)
    _check_whole(path, config)
    _read_generation(path)


def require(
    feature: str = "a model in this process",
    libraries: Sequence[str] = ("torch", "transformers"),
    *,
    extra: str = "local",
) -> None:
    """Check that an extra is installed.

    Raises:
        SettingsError: If a library that it needs is not.
    """
    if missing := [name for name in libraries if find_spec(name) is None]:
        raise SettingsError(
            f"{feature} needs {' and '.join(missing)}: pip install 'timeful[{extra}]'"
        )


def load(
    path: Path, *, device: str = "cpu", dtype: str = "float32", threads: int | None = 1
) -> Checkpoint:
    """Load a checkpoint.

    Args:
        path: Its folder.
        device: Where it computes, as torch names it.
        dtype: One of `DTYPES`.
        threads: How many threads torch may use, in all of this process; None leaves that alone.
            One is the fastest for small models and on shared machines.

    Raises:
        SettingsError: As `check`, if there is no such device, or transformers cannot load it.
    """
    check_known("type of numbers", dtype, DTYPES)
    check(path)
    import torch  # noqa: PLC0415 - 200 MB, and only whoever has a local model needs it
    from transformers import AutoModelForCausalLM, AutoTokenizer  # noqa: PLC0415 - as torch

    if threads is not None:
        torch.set_num_threads(threads)
    try:
        torch.zeros(1, device=device).item()
    except (RuntimeError, AssertionError) as error:  # of a name, of a build without it
        why = str(error).splitlines()[0]
        raise SettingsError(f"nothing can be computed on {device!r} here: {why}") from error
    try:
        tokenizer = AutoTokenizer.from_pretrained(path, local_files_only=True)
        _check_words(path, len(tokenizer))
        with _quietly():
            model, report = AutoModelForCausalLM.from_pretrained(
                path,
                dtype=getattr(torch, dtype),
                local_files_only=True,
                output_loading_info=True,
            )
    except (OSError, ValueError, KeyError, RuntimeError) as error:
        raise SettingsError(f"{_named(path)} cannot be loaded: {error}") from error
    if missing := sorted(report["missing_keys"]):
        raise SettingsError(
            f"{_named(path)} lacks weights of its own model, such as {missing[0]}: it was "
            "saved from another one"
        )
    return hold(
        model.to(device).eval(), tokenizer, name=path.name, generation=_read_generation(path)
    )


@contextmanager
def _quietly() -> Iterator[None]:
    """Without progress bars, which would appear once a worker."""
    from transformers.utils import logging  # noqa: PLC0415 - as above

    was_shown = logging.is_progress_bar_enabled()
    logging.disable_progress_bar()
    try:
        yield
    finally:
        if was_shown:
            logging.enable_progress_bar()


# --- what is looked at before ---------------------------------------------------------------------


def _named(path: Path) -> str:
    return f"the checkpoint {str(path)!r}"


def _json(path: Path, name: str) -> dict[str, Any] | None:
    try:
        value = json.loads((path / name).read_text(encoding="utf-8"))
    except FileNotFoundError:
        return None
    except (OSError, ValueError, RecursionError) as error:
        raise SettingsError(f"{_named(path)}: {name} cannot be read ({error})") from error
    if not isinstance(value, dict):
        raise SettingsError(f"{_named(path)}: {name} is no JSON object")
    return value


def _read_generation(path: Path) -> GenerationConfig:
    """The checkpoint's own sampling parameters, read as inference servers read them."""
    data = _json(path, "generation_config.json") or {}
    if data.get("do_sample") is False:
        return GenerationConfig(temperature=0.0)
    names = ("temperature", "top_p", "top_k")
    try:
        return GenerationConfig(**{name: data[name] for name in names if data.get(name)})
    except (SettingsError, TypeError) as error:
        raise SettingsError(f"{_named(path)}: generation_config.json is wrong: {error}") from error


def _has_template(path: Path) -> bool:
    files = ("chat_template.jinja", "chat_template.json")
    if any((path / name).is_file() for name in files):
        return True
    return bool((_json(path, "tokenizer_config.json") or {}).get("chat_template"))


def _check_shape(path: Path, config: dict[str, Any]) -> None:
    """Compare the table of embeddings with the configuration, where both can be told."""
    sizes = (config.get("vocab_size"), config.get("hidden_size", config.get("n_embd")))
    shape = _embedding_shape(path / "model.safetensors")
    if shape is not None and None not in sizes and shape != list(sizes):
        raise SettingsError(
            f"{_named(path)} is of another shape than its config.json: its table of tokens is "
            f"{' x '.join(map(str, shape))}, and config.json says "
            f"{' x '.join(map(str, sizes))}"
        )


def _check_words(path: Path, words: int) -> None:
    """A tokenizer may have fewer tokens than the model's table, which is often rounded up."""
    size = (_json(path, "config.json") or {}).get("vocab_size")
    if size is not None and words > size:
        raise SettingsError(
            f"{_named(path)}: its tokenizer has {words} tokens, and its model only {size}; they "
            "do not belong together"
        )


def _check_whole(path: Path, config: dict[str, Any]) -> None:
    """Find weights that are cut off, or of fewer layers than the configuration says."""
    names = weights(path)
    layer_numbers = {int(word) for name in names for word in name.split(".") if word.isdecimal()}
    layers = config.get("num_hidden_layers", config.get("n_layer"))
    # Of a model with experts other parts of its names are numbers as well; the fewest say enough.
    if layer_numbers and layers is not None and len(layer_numbers) < layers:
        raise SettingsError(
            f"{_named(path)} is of another shape than its config.json: its weights have "
            f"{len(layer_numbers)} layers, and config.json says {layers}"
        )


def weights(path: Path) -> frozenset[str]:
    """The names of a checkpoint's weights, from its headers; none if they cannot be told.

    Raises:
        SettingsError: If they cannot be read, or a file of them is cut off or not there.
    """
    index = _json(path, "model.safetensors.index.json")
    if index is None:
        return frozenset(_header(path / "model.safetensors"))
    files = index.get("weight_map")
    if not isinstance(files, dict):
        raise SettingsError(f"{_named(path)}: its model.safetensors.index.json names no weights")
    for name in sorted(set(files.values())):
        if not (path / name).is_file():
            raise SettingsError(f"{_named(path)} lacks a part of its weights, {name}")
        _header(path / name)
    return frozenset(files)


def _embedding_shape(path: Path) -> list[int] | None:
    for name, about in _header(path).items():
        if name.endswith(_EMBEDDINGS):
            return list(about["shape"])
    return None


def _header(path: Path) -> dict[str, Any]:
    """The header of a safetensors file: its length in 8 bytes, then JSON, then the tensors."""
    if not path.is_file():
        return {}
    with path.open("rb") as file:
        length = int.from_bytes(file.read(8), "little")
        try:
            if length > _HEADER:
                raise ValueError(f"a header of {length} bytes")
            header: dict[str, Any] = json.loads(file.read(length))
            header.pop("__metadata__", None)
            last = max((tensor["data_offsets"][1] for tensor in header.values()), default=0)
        except (AttributeError, LookupError, RecursionError, TypeError, ValueError) as error:
            raise SettingsError(f"the weights {str(path)!r} cannot be read: {error}") from error
    if path.stat().st_size < 8 + length + last:
        raise SettingsError(f"the weights {str(path)!r} are cut off; fetch or copy them again")
    return header
