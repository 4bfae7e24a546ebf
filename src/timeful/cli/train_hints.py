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


def _episodes(part: "CasesPart", max_tokens: int) -> list[str]:
    words: list[str] = []
    if part.problems is not None:
        words += ["--problems", part.problems]
    else:
        words += _repeat("--game" if part.family == "fiction" else "--case", part.sets)
    if part.family == "reasoning":
        words += ["--size", str(min(part.size or _LIMIT, _LIMIT))]
        if part.split != "all":
            words += ["--split", "train" if part.split == "test" else "test"]
    words += _repeat("--budget", part.budgets)
    words += ["--soft"] * part.soft
    if part.family != "reasoning":
        words += _repeat("--latency", part.latencies)
    # A case draws one of several; then the command has the default.
    for name, values, default in (
        ("--alpha", part.alphas, 1.0),
        ("--timer-scale", part.timer_scales, 1.0),
        ("--timer-jitter", (part.timer_jitter,), 0.0),
    ):
        if len(values) == 1 and values[0] != default:
            words += [name, f"{values[0]:g}"]
    words += ["--calls", part.calls, "--max-tokens", str(max_tokens)]
    has_code = part.family == "coding" or any(name.startswith("gym:") for name in part.sets)
    return [*words, *(["--unsafe"] * (part.unsafe and has_code))]


def _dialogues(part: "TurnsPart") -> list[str]:
    words = ["--agent", part.agent]
    if part.abcd is None and part.catalog is None:
        words += ["--domain", part.domain]
    for name in ("data", "abcd", "catalog", "ontology"):
        if (path := getattr(part, name)) is not None:
            words += [f"--{name}", path]
    if not part.split:
        words += ["--split", "all"]  # the default is test, or all of a file without splits
    size = min(part.size or _LIMIT, _LIMIT)
    words += ["--dialogues", str(size), "--timing", part.timing, "--runs", "1"]
    return [*words, *(["--questions"] * part.asks)]


def _repeat(option: str, values: Sequence[str]) -> list[str]:
    return [word for value in values for word in (option, value)]


def format_command(words: Sequence[str]) -> str:
    """A command in lines of 80 columns, each option on the line of its value."""
    parts: list[str] = []
    for word in words:
        if word.startswith("--") or not parts:
            parts.append(shlex.quote(word))
        else:
            parts[-1] += f" {shlex.quote(word)}"
    lines = [" " * 8 + parts[0]]
    for part in parts[1:]:
        if len(lines[-1]) + len(part) > 76:
            lines[-1] += " \\"
            lines.append(f"          {part}")
        else:
            lines[-1] += f" {part}"
    return "\n".join(lines).strip()
