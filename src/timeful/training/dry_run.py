"""A dry run: the description of a training, with all loaded but the weights."""

from collections.abc import Iterator, Mapping
from math import ceil
from statistics import fmean
from textwrap import wrap
from typing import Any

from timeful.errors import ModelError
from timeful.models.local.checkpoint import hold
from timeful.models.local.prefix_cache import PrefixCache
from timeful.models.model import Prompt
from timeful.models.pace import TOKEN_TIME, Pace
from timeful.records.recorder import Recorder
from timeful.training.checks import budget_tokens
from timeful.training.config import CasesPart, Config, SftConfig
from timeful.training.examples import encode_examples
from timeful.training.judge import count_groups
from timeful.training.loading import EmptyModel, is_at_hub, training_dtype
from timeful.training.rollout_tasks import RolloutTask

WIDTH = 80
_SHOWN = 14
"""Lines of a prompt that are shown from its beginning, and from its end."""


def describe_training(
    config: Config,
    tasks: Mapping[str, RolloutTask],
    empty: EmptyModel | None,
    *,
    processes: int = 1,
) -> Iterator[str]:
    """Describe a training by reinforcement, paragraph by paragraph.

    Args:
        config: The settings, checked.
        tasks: Its tasks.
        empty: The model; None where it cannot be loaded.
        processes: How many processes train together.
    """
    grpo, size = config.grpo, config.rollout.cases
    steps, rows = grpo["max_steps"], size * grpo["num_generations"]
    kind = config.cases.family if isinstance(config.cases, CasesPart) else "turns of dialogues"
    lines = [
        *_model_lines(config, empty),
        ("cases", f"{len(tasks):,} {kind}"),
        ("reward", f"{config.reward.name}, credit by {config.reward.credit}"),
        ("update", f"{size} cases x {grpo['num_generations']} episodes, {processes} processes"),
        ("all", f"{steps:,} updates, {steps * rows:,} episodes"),
        ("", f"{steps * size / len(tasks):.1f} passes over the cases"),
        ("samples by", config.rollout.server),
        *_budget_lines(config),
    ]
    if config.judge is not None:
        lines.append(("judge", f"{config.judge.model_name}, {count_groups(config):,} groups"))
    yield _table([*lines, ("folder", config.run.out)])
    prompt = find_first_prompt(next(iter(tasks.values())), empty)
    yield _excerpt("The first prompt", prompt) if prompt else "The first episode asks no model."


def describe_sft(
    config: SftConfig, empty: EmptyModel | None, *, processes: int = 1
) -> Iterator[str]:
    """Describe a training by examples, paragraph by paragraph; arguments as above."""
    lines = [
        *_model_lines(config, empty),
        ("examples", ", ".join(config.examples.data)),
        ("update", f"{config.examples.batch} examples, {processes} processes"),
        ("folder", config.run.out),
    ]
    if empty is None:
        yield _table(lines)
        return
    warnings: list[str] = []
    context = getattr(empty.model.config, "max_position_embeddings", None) or float("inf")
    examples = encode_examples(config, empty.tokenizer, warnings.append, context=context)
    ids = [example["input_ids"] for example in examples]
    lengths = [len(tokens) for tokens in ids] or [0]
    updates = ceil(config.sft["num_train_epochs"] * ceil(len(ids) / config.examples.batch))
    mean = f"{len(ids):,} of {fmean(lengths):,.0f} tokens, the longest of {max(lengths):,}"
    yield _table([*lines, ("", mean), ("all", f"{updates:,} updates")])
    if ids:
        yield _excerpt("The first example", (empty.tokenizer.decode(ids[0]), len(ids[0])))
    if warnings:
        yield _table([("warning", warning) for warning in warnings])


class _PromptReachedError(ModelError):
    """Ends an episode at its first prompt."""


class _PromptListener:
    """A model that keeps its first prompt, and answers nothing."""

    name = "dry-run"
    live = False
    pace: Pace | None = TOKEN_TIME

    def __init__(self, empty: EmptyModel | None) -> None:
        self._empty = empty
        self.prompt: tuple[str, int] | None = None

    def open(self, prompt: Prompt, *, max_tokens: int | None, seed: int) -> Any:
        if self._empty is None:
            self.prompt = "\n".join(f"[{m.role}] {m.content}" for m in prompt.messages), 0
        else:
            checkpoint = hold(self._empty.model, self._empty.tokenizer, name=self.name)
            ids, _ = PrefixCache(checkpoint).write(prompt.messages, prompt.tools)
            self.prompt = self._empty.tokenizer.decode(ids), len(ids)
        raise _PromptReachedError("a dry run")


def find_first_prompt(task: RolloutTask, empty: EmptyModel | None) -> tuple[str, int] | None:
    """The first prompt of a task with its tokens, 0 without a tokenizer; None if there is none."""
    listener = _PromptListener(empty)
    task.play(listener, Recorder(), sampling=0)
    return listener.prompt


def _model_lines(config: Config | SftConfig, empty: EmptyModel | None) -> Iterator[tuple[str, str]]:
    settings = config.model
    yield "model", settings.path
    if empty is not None:
        sizes = [(p.numel(), p.requires_grad) for p in empty.model.parameters()]
        total, trained = sum(n for n, _ in sizes), sum(n for n, learns in sizes if learns)
        dtype = "4 bits" if settings.quantise != "none" else training_dtype(settings)
        yield (
            "",
            f"{total:,} parameters in {dtype}, {trained:,} are trained ({trained / total:.2%})",
        )
    if settings.adapter == "lora":
        yield (
            "LoRA",
            f"rank {settings.rank}, alpha {settings.alpha:g}, {', '.join(settings.targets)}",
        )
    if is_at_hub(settings):
        yield "", "a name at the hub: transformers fetches its weights, or has them"


def _budget_lines(config: Config) -> Iterator[tuple[str, str]]:
    cases, limit = config.cases, config.grpo["max_completion_length"]
    if isinstance(cases, CasesPart):
        budgets = [
            f"{budget} is {fewest:,}" + (f" to {most:,}" if most > fewest else "")
            for budget, fewest, most in budget_tokens(cases)
        ]
        yield "budgets", f"{', '.join(budgets)} tokens"
        yield "", "late answers are not cut off" if cases.soft else "late answers are cut off"
    elif cases.timing == "by-turn":
        yield "budgets", f"a turn is open for {cases.patience:g} s"
    token_s = cases.token_seconds
    longest = f"the longest thought ({limit:,} tokens) {limit * token_s:g} s"
    yield "", f"a token takes {token_s:g} s, {longest}"


def _excerpt(title: str, prompt: tuple[str, int]) -> str:
    text, tokens = prompt
    lines = [row for line in text.splitlines() for row in wrap(line, WIDTH - 2) or [""]]
    if len(lines) > 2 * _SHOWN:
        omitted = len(lines) - 2 * _SHOWN
        lines = [*lines[:_SHOWN], f"... {omitted} lines ...", *lines[-_SHOWN:]]
    size = f"{tokens:,} tokens" if tokens else "before the chat template"
    return "\n".join([f"{title}, {size}:", *(f"  {line}".rstrip() for line in lines)])


def _table(lines: list[tuple[str, str]]) -> str:
    rows = []
    for name, text in lines:
        first, *lines_below = wrap(text, WIDTH - 12, break_on_hyphens=False) or [""]
        rows += [f"{name:<11} {first}", *(f"{'':<11} {line_below}" for line_below in lines_below)]
    return "\n".join(rows)
