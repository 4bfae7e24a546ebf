"""What a training would do, in words: all is loaded but the weights."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import ceil, inf
from statistics import fmean
from textwrap import wrap
from types import MappingProxyType
from typing import Any

from timeful.errors import ModelError, SettingsError
from timeful.models.local.checkpoint import hold
from timeful.models.local.prefix_cache import PrefixCache
from timeful.models.model import Prompt
from timeful.models.pace import TOKEN_TIME, Pace
from timeful.records.recorder import Recorder
from timeful.training.config import CasesPart, Config, ModelPart, SftConfig
from timeful.training.doubts import doubts, tokens_of
from timeful.training.examples import examples
from timeful.training.hub import is_at_hub
from timeful.training.loading import load_empty_model, load_tokenizer, training_dtype
from timeful.training.memory import memory
from timeful.training.rollout_tasks import RolloutTask

WIDTH = 80
_SHOWN = 14
"""So many lines of a prompt are shown from its beginning, and as many from its end."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """The first prompt of a scene, as text and as tokens; 0 where no tokenizer could be had."""

    text: str
    tokens: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Learner:
    """The model without weights, and its tokenizer."""

    model: Any
    tokenizer: Any

    @property
    def context(self) -> int | None:
        """The most tokens of a prompt and its answer; None if nobody says."""
        return getattr(self.model.config, "max_position_embeddings", None)


class _OverheardError(ModelError):
    """Ends an episode at its first prompt."""


class _Listener:
    """A model that notes its first prompt, and says nothing."""

    name = "nobody"
    live = False
    pace: Pace | None = TOKEN_TIME

    def __init__(self, learner: Learner | None) -> None:
        self._learner = learner
        self.asked: Asked | None = None

    def open(self, prompt: Prompt, *, max_tokens: int | None, seed: int) -> Any:
        if self._learner is None:
            text = "\n".join(f"[{one.role}] {one.content}" for one in prompt.messages)
            self.asked = Asked(text=text, tokens=0)
        else:
            model, tokenizer = self._learner.model, self._learner.tokenizer
            held = hold(model, tokenizer, name=self.name)
            ids, _ = PrefixCache(held).write(prompt.messages, prompt.tools)
            self.asked = Asked(text=tokenizer.decode(ids), tokens=len(ids))
        raise _OverheardError("a dry run")


def first_prompt(scene: RolloutTask, learner: Learner | None) -> Asked | None:
    """What a model is asked first in a scene; None if the episode fails before."""
    listener = _Listener(learner)
    scene.play(listener, Recorder(), sampling=0)
    return listener.asked


def describe_training(
    config: Config | SftConfig,
    scenes: Mapping[str, RolloutTask],
    *,
    processes: int = 1,
    lacking: Mapping[str, SettingsError] = MappingProxyType({}),
) -> Iterator[str]:
    """Say what a training would do.

    Args:
        config: The settings, checked.
        scenes: What it learns from; none for a training by examples.
        processes: How many processes train together.
        lacking: What is not there: see `checks.lacks`.

    Yields:
        Paragraphs: all that can be said without what is lacking.

    Raises:
        SettingsError: In the end, if something is lacking.
    """
    lacks = dict(lacking)
    learner = None
    if "model" not in lacks:
        try:
            learner = Learner(
                tokenizer=load_tokenizer(config.model),
                model=load_empty_model(config.model),
            )
        except SettingsError as error:
            lacks["model"] = error
    warnings = doubts(config)
    yield _model(config.model, learner)
    if isinstance(config, SftConfig):
        yield from _of_examples(config, learner, processes, warn=warnings.append)
    else:
        yield from _of_scenes(config, scenes, learner, processes)
    yield _run(config)
    if warnings:
        yield _table([("warning", one) for one in warnings])
    if lacks:
        raise SettingsError("; ".join(map(str, lacks.values())))


def _of_scenes(
    config: Config, scenes: Mapping[str, RolloutTask], learner: Learner | None, processes: int
) -> Iterator[str]:
    keys = list(scenes)
    prompts = [first_prompt(scenes[key], learner) for key in _spread(keys)]
    heard = [one for one in prompts if one is not None]
    yield _what(config, keys, heard, processes, context=learner.context if learner else None)
    if learner is not None:
        longest = max((one.tokens for one in heard), default=0)
        yield _table(memory(config, learner.model, longest, processes))
    if not heard:
        yield "The first episode fails before anything is asked."
    else:
        yield _shown("The first prompt", heard[0])


def _of_examples(
    config: SftConfig, learner: Learner | None, processes: int, *, warn: Callable[[str], None]
) -> Iterator[str]:
    part = config.sft
    lines = [("examples", ", ".join(part.data))]
    if learner is None:
        yield _table(lines)
        return
    context = learner.context or inf
    found = [one["input_ids"] for one in examples(part, learner.tokenizer, warn, context=context)]
    if not found:
        raise SettingsError(f"{', '.join(part.data)}: nothing to learn is left of the examples")
    lengths = [len(ids) for ids in found]
    updates = part.epochs * ceil(len(found) / part.batch)
    lines += [
        ("", f"{len(found):,} of {fmean(lengths):,.0f} tokens, the longest of {max(lengths):,}"),
        ("update", f"{part.batch} examples, {_processes(processes)}"),
        ("all", f"{updates:,} updates, {part.epochs} times through the examples"),
    ]
    yield _table(lines)
    yield _table(memory(config, learner.model, max(lengths), processes))
    yield _shown(
        "The first example", Asked(text=learner.tokenizer.decode(found[0]), tokens=lengths[0])
    )


def _spread(keys: Sequence[str]) -> list[str]:
    """Some of the keys, from the first to the last."""
    step = max(1, len(keys) // 8)
    return list(keys[::step][:8])


def _model(part: ModelPart, learner: Learner | None) -> str:
    if learner is None:
        return _table([("model", part.path), ("", "not here: see the end")])
    model = learner.model
    total = sum(one.numel() for one in model.parameters())
    learns = [(name, one) for name, one in model.named_parameters() if one.requires_grad]
    trained = sum(one.numel() for _, one in learns)
    lines = [
        ("model", part.path),
        ("", f"{total:,} parameters, {trained:,} of them learn ({trained / total:.2%})"),
        ("", f"held in {'4 bits' if part.quantise != 'none' else training_dtype(part)}"),
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
    lines += _time(config)
    if any(lengths):
        lines.append(("prompts", f"{lengths[0]} to {lengths[-1]} tokens, of {len(lengths)} tried"))
        if context is not None and lengths[-1] + rollout.max_tokens > context:
            lines.append(
                ("", f"with max_tokens beyond the context of {context}, which ends thoughts")
            )
    if config.judge is not None:
        lines.append(
            ("judge", f"{config.judge.model_name}, {optimiser.steps * rollout.cases:,} groups")
        )
    return _table(lines)


def _time(config: Config) -> Iterator[tuple[str, str]]:
    """What budgets are in tokens, and how long the longest thought is."""
    part, most = config.cases, config.rollout.max_tokens
    if isinstance(part, CasesPart):
        held = [
            f"{budget} is {few:,}" + (f" to {many:,}" if many > few else "")
            for budget, few, many in tokens_of(part)
        ]
        yield "budgets", f"{', '.join(held)} tokens"
        yield "", "who is late goes on, and is late" if part.soft else "who is late is cut off"
    else:
        span = f"for {part.patience:g} s" if part.timing == "by-turn" else "as long as it was"
        yield "budgets", f"a turn is open {span}"
    each = part.token_seconds
    yield "", f"a token takes {each:g} s, and the {most:,} of a thought {most * each:g} s"


def _processes(count: int) -> str:
    return "1 process" if count == 1 else f"{count} processes"


def _episodes(config: Config) -> int:
    return config.optimiser.steps * config.rollout.cases * config.rollout.samples


def _run(config: Config | SftConfig) -> str:
    run = config.run
    return _table(
        [
            ("folder", run.out),
            ("", f"a checkpoint every {run.save_every} updates, the last {run.keep} are kept"),
            ("metrics", "metrics.jsonl" + (f" and {run.track}" if run.track else "")),
        ]
    )


def _shown(what: str, asked: Asked) -> str:
    """A text, its middle left out."""
    lines = [part for line in asked.text.splitlines() for part in wrap(line, WIDTH - 2) or [""]]
    if len(lines) > 2 * _SHOWN:
        left = len(lines) - 2 * _SHOWN
        lines = [*lines[:_SHOWN], f"... {left} lines ...", *lines[-_SHOWN:]]
    how = f"{asked.tokens:,} tokens" if asked.tokens else "before the chat template"
    head = f"{what}, {how}:"
    return "\n".join([head, *(f"  {line}".rstrip() for line in lines)])


def _table(lines: Sequence[tuple[str, str]]) -> str:
    found = []
    for name, text in lines:
        parts = wrap(text, WIDTH - 12, break_on_hyphens=False) or [""]
        found.append(f"{name:<11} {parts[0]}")
        found += [f"{'':<11} {part}" for part in parts[1:]]
    return "\n".join(found)
