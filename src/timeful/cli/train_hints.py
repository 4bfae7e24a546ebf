"""The command after a training: it plays cases like those of the training, of another split."""

import shlex
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from timeful.training.config import CasesPart, Config, SftConfig, TurnsPart

_LIMIT = 50
"""The most problems of a set, or dialogues: enough for a first look."""


def next_command(config: "Config | SftConfig", policy: Path) -> str:
    """The command, laid out for 80 columns after a label of 8."""
    from timeful.training.config import CasesPart, SftConfig
    from timeful.training.folder import PACE

    model = ["--model", f"local:{policy}"]
    out = ["--out", f"{policy.parent}-test"]
    if isinstance(config, SftConfig):  # the cases of the examples are unknown
        split = ["--split", "test"]
        return format_command(["timeful", "run", "timely/reasoning", *model, *split, *out])
    model += ["--pace", str(policy.with_name(PACE))]
    if isinstance(config.cases, CasesPart):
        options = _episodes(config.cases, config.grpo["max_completion_length"])
        suite = f"timely/{config.cases.family}"
    else:
        options, suite = _dialogues(config.cases), "proactor"
    return format_command(["timeful", "run", suite, *model, *options, *out])


def _episodes(cases: "CasesPart", max_tokens: int) -> list[str]:
    words: list[str] = []
    if cases.problems is not None:
        words += ["--problems", cases.problems]
    else:
        words += _repeat("--game" if cases.family == "fiction" else "--case", cases.sets)
    if cases.family == "reasoning":
        words += ["--size", str(min(cases.size or _LIMIT, _LIMIT))]
        if cases.split != "all":
            words += ["--split", "train" if cases.split == "test" else "test"]
    words += _repeat("--budget", cases.budgets)
    words += ["--soft"] * cases.soft
    if cases.family != "reasoning":
        words += _repeat("--latency", cases.latencies)
    # A case draws one of several; then the command has the default.
    for name, values, default in (
        ("--alpha", cases.alphas, 1.0),
        ("--timer-scale", cases.timer_scales, 1.0),
        ("--timer-jitter", (cases.timer_jitter,), 0.0),
    ):
        if len(values) == 1 and values[0] != default:
            words += [name, f"{values[0]:g}"]
    words += ["--calls", cases.calls, "--max-tokens", str(max_tokens)]
    has_code = cases.family == "coding" or any(name.startswith("gym:") for name in cases.sets)
    return [*words, *(["--unsafe"] * (cases.unsafe and has_code))]


def _dialogues(cases: "TurnsPart") -> list[str]:
    words = ["--agent", cases.agent]
    if cases.abcd is None and cases.catalog is None:
        words += ["--domain", cases.domain]
    for name in ("data", "abcd", "catalog", "ontology"):
        if (path := getattr(cases, name)) is not None:
            words += [f"--{name}", path]
    if not cases.split:
        words += ["--split", "all"]  # the default is test, or all of a file without splits
    size = min(cases.size or _LIMIT, _LIMIT)
    words += ["--dialogues", str(size), "--timing", cases.timing, "--runs", "1"]
    return [*words, *(["--questions"] * cases.asks)]


def _repeat(option: str, values: Sequence[str]) -> list[str]:
    return [word for value in values for word in (option, value)]


def format_command(words: Sequence[str]) -> str:
    """A command in lines of 80 columns, each option on the line of its value."""
    options: list[str] = []
    for word in words:
        if word.startswith("--") or not options:
            options.append(shlex.quote(word))
        else:
            options[-1] += f" {shlex.quote(word)}"
    lines = [" " * 8 + options[0]]
    for option in options[1:]:
        if len(lines[-1]) + len(option) > 76:
            lines[-1] += " \\"
            lines.append(f"          {option}")
        else:
            lines[-1] += f" {option}"
    return "\n".join(lines).strip()
