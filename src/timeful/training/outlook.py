"""What a training would do, in words: all is loaded but the weights."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from textwrap import wrap
from typing import Any

from timeful.errors import ModelError
from timeful.models.local.checkpoint import hold
from timeful.models.local.splice import Conversations
from timeful.models.model import Prompt
from timeful.models.pace import TOKEN_TIME, Pace
from timeful.records.recorder import Recorder
from timeful.training.checks import is_at_hub
from timeful.training.config import CasesPart, Config, ModelPart, SftConfig
from timeful.training.loading import learning_dtype, load_tokenizer, sketch
from timeful.training.scenes import Scene

WIDTH = 80
_SHOWN = 14
"""So many lines of a prompt are shown from its beginning, and as many from its end."""
_STATES = 2
"""What AdamW keeps of each number that learns."""
_NF4 = 4.5 / 8
"""The bytes of a number in 4 bits: of 64 of them, the largest is kept in 32 bits."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """The first prompt of a scene, as text and as tokens."""

    text: str
    tokens: int


class _OverheardError(ModelError):
    """Ends an episode at its first prompt."""


class _Listener:
    """A model that notes its first prompt, and says nothing."""

    name = "nobody"
    live = False
    pace: Pace | None = TOKEN_TIME

    def __init__(self, sketch: Any, tokenizer: Any) -> None:
        self._tokenizer = tokenizer
        self._conversations = Conversations(hold(sketch, tokenizer, name=self.name))
        self.asked: Asked | None = None

    def open(self, prompt: Prompt, *, max_tokens: int | None, seed: int) -> Any:
        ids, _ = self._conversations.write(prompt.messages, prompt.tools)
        self.asked = Asked(text=self._tokenizer.decode(ids), tokens=len(ids))
        raise _OverheardError("a dry run")


def first_prompt(scene: Scene, sketch: Any, tokenizer: Any) -> Asked | None:
    """What a model is asked first in a scene; None if the episode fails before."""
    listener = _Listener(sketch, tokenizer)
    scene.play(listener, Recorder(), sampling=0)
    return listener.asked


def outlook(config: Config | SftConfig, scenes: Mapping[str, Scene], *, processes: int = 1) -> str:
    """Say what a training would do.

    Args:
        config: The settings, checked.
        scenes: What it learns from; none for a training by examples.
        processes: How many processes train together.

    Raises:
        SettingsError: If the tokenizer or the model's configuration cannot be had.
    """
    tokenizer = load_tokenizer(config.model)
    model = sketch(config.model)
    if isinstance(config, SftConfig):
        parts = [_model(config.model, model), _memory(config, model, 0, processes)]
        return "\n\n".join([*parts, _run(config)])
    keys = list(scenes)
    prompts = [first_prompt(scenes[key], model, tokenizer) for key in _spread(keys)]
    heard = [one for one in prompts if one is not None]
    longest = max((one.tokens for one in heard), default=0)
    return "\n\n".join(
        [
            _model(config.model, model),
            _what(config, keys, heard, processes, context=_context(model)),
            _memory(config, model, longest, processes),
            _shown(heard[0]) if heard else "The first episode fails before anything is asked.",
            _run(config),
        ]
    )


def _spread(keys: Sequence[str]) -> list[str]:
    """Some of the keys, from the first to the last."""
    step = max(1, len(keys) // 8)
    return list(keys[::step][:8])


def _model(part: ModelPart, model: Any) -> str:
    total = sum(one.numel() for one in model.parameters())
    learns = [(name, one) for name, one in model.named_parameters() if one.requires_grad]
    trained = sum(one.numel() for _, one in learns)
    lines = [
        ("model", part.path),
        ("", f"{total:,} parameters, {trained:,} of them learn ({trained / total:.2%})"),
        ("", f"held in {'4 bits' if part.quantise != 'none' else learning_dtype(part)}"),
    ]
    if part.adapter == "lora":
        lines.append(("LoRA", f"rank {part.rank}, alpha {part.alpha:g}"))
        shapes: dict[str, tuple[str, int]] = {}
        for name, one in learns:
            layer = ".".join(name.rsplit(".", 4)[1:3])
            shape = " x ".join(map(str, one.shape))
            shapes[f"{layer} {shape}"] = (shape, shapes.get(f"{layer} {shape}", ("", 0))[1] + 1)
        lines += [("", f"{count:>4} of {name}") for name, (_, count) in shapes.items()]
    if is_at_hub(part):
        lines.append(("", "a name at the hub: transformers fetches its weights, or has them"))
    return _table(lines)


def _what(
    config: Config,
    keys: Sequence[str],
    heard: Sequence[Asked],
    processes: int,
    *,
    context: int | None,
) -> str:
    rollout, optimiser = config.rollout, config.optimiser
    share = rollout.cases * rollout.samples // processes
    lengths = sorted(one.tokens for one in heard)
    kind = config.cases.family if isinstance(config.cases, CasesPart) else "turns of dialogues"
    lines = [
        ("cases", f"{len(keys):,} {kind}"),
        ("reward", f"{config.reward.name}, credit by {config.reward.credit}"),
        ("update", f"{rollout.cases} cases x {rollout.samples} samples, {_processes(processes)}"),
        ("", f"{optimiser.micro_batch or share} rows at once of the {share} of a process"),
        ("all", f"{optimiser.steps} updates, {_episodes(config):,} episodes"),
        ("", f"{optimiser.steps * rollout.cases / len(keys):.1f} times through the cases"),
        ("", f"at most {_episodes(config) * rollout.max_tokens:,} tokens sampled, a thought each"),
        ("samples by", rollout.server),
    ]
    if lengths:
        lines.append(("prompts", f"{lengths[0]} to {lengths[-1]} tokens, of {len(lengths)} tried"))
        if context is not None and lengths[-1] + rollout.max_tokens > context:
            lines.append(
                ("", f"with max_tokens beyond the context of {context}, which ends thoughts")
            )
    if config.judge is not None:
        lines.append(("judge", f"{config.judge.asked}, {optimiser.steps * rollout.cases:,} groups"))
    return _table(lines)


def _context(model: Any) -> int | None:
    """The most tokens of a prompt and its answer; None if nobody says."""
    return getattr(model.config, "max_position_embeddings", None)


def _processes(count: int) -> str:
    return "1 process" if count == 1 else f"{count} processes"


def _episodes(config: Config) -> int:
    return config.optimiser.steps * config.rollout.cases * config.rollout.samples


def _memory(config: Config | SftConfig, model: Any, prompt: int, processes: int) -> str:
    """What a process holds; of activations only logits are counted, the rest hangs on much."""
    held = sum(one.numel() * one.element_size() for one in model.parameters())
    if config.model.quantise != "none":
        held -= sum(one.numel() * (one.element_size() - _NF4) for one in _shrunk(model))
    learns = sum(
        one.numel() * one.element_size() for one in model.parameters() if one.requires_grad
    )
    lines = [
        ("memory", f"{_size(held)} weights"),
        ("", f"{_size(learns)} gradients, {_size(_STATES * learns)} AdamW"),
    ]
    if isinstance(config, Config):
        rollout = config.rollout
        share = rollout.samples * rollout.cases // processes
        rows, length = min(rollout.at_once, share), prompt + rollout.max_tokens
        lines.append(("", f"{_size(rows * length * _kept(model))} of past tokens, {rows} episodes"))
        micro = config.optimiser.micro_batch or share
        logits = micro * rollout.max_tokens * model.config.vocab_size * 4
        lines.append(("", f"{_size(logits)} logits of {micro} rows of the longest answers"))
    lines.append(("", "an estimate for a process; activations come on top"))
    return _table(lines)


def _shrunk(model: Any) -> list[Any]:
    """The weights that bitsandbytes holds in 4 bits: of all layers but the first and the last."""
    ends = {id(model.get_input_embeddings().weight), id(model.get_output_embeddings().weight)}
    return [
        one
        for one in model.parameters()
        if one.ndim == 2 and not one.requires_grad and id(one) not in ends
    ]


def _kept(model: Any) -> int:
    """The bytes that are kept of a token: keys and values of each layer."""
    config = model.config
    heads = config.num_attention_heads
    width = getattr(config, "head_dim", None) or config.hidden_size // heads
    groups = getattr(config, "num_key_value_heads", None) or heads
    number = next(model.parameters()).element_size()
    return int(2 * config.num_hidden_layers * groups * width * number)


def _run(config: Config | SftConfig) -> str:
    run = config.run
    return _table(
        [
            ("folder", run.out),
            ("", f"a checkpoint every {run.save_every} updates, the last {run.keep} are kept"),
            ("metrics", "metrics.jsonl" + (f" and {run.track}" if run.track else "")),
        ]
    )


def _shown(asked: Asked) -> str:
    """The first prompt, its middle left out."""
    lines = [part for line in asked.text.splitlines() for part in wrap(line, WIDTH - 2) or [""]]
    if len(lines) > 2 * _SHOWN:
        left = len(lines) - 2 * _SHOWN
        lines = [*lines[:_SHOWN], f"... {left} lines ...", *lines[-_SHOWN:]]
    head = f"The first prompt, {asked.tokens} tokens:"
    return "\n".join([head, *(f"  {line}".rstrip() for line in lines)])


def _size(count: float) -> str:
    for unit in ("B", "KB", "MB"):
        if count < 1000:
            return f"{count:.3g} {unit}"
        count /= 1000
    return f"{count:.3g} GB" if count < 1000 else f"{count / 1000:.3g} TB"


def _table(lines: Sequence[tuple[str, str]]) -> str:
    found = []
    for name, text in lines:
        parts = wrap(text, WIDTH - 12, break_on_hyphens=False) or [""]
        found.append(f"{name:<11} {parts[0]}")
        found += [f"{'':<11} {part}" for part in parts[1:]]
    return "\n".join(found)
