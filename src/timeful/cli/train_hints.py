"""The command that shows what was learnt: cases like those of a training, that it did not see."""

import shlex
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from timeful.training.config import CasesPart, Config, SftConfig, TurnsPart

_MOST = 50
"""Problems of a set, or dialogues, are not more than this: enough for a first look."""


def next_command(config: "Config | SftConfig", policy: Path) -> str:
    """The command, laid out for 80 columns after a label of 8."""
    from timeful.training.config import CasesPart, SftConfig
    from timeful.training.folder import PACE

    model = ["--model", f"local:{policy}"]
    out = ["--out", f"{policy.parent}-test"]
    if isinstance(config, SftConfig):  # whoever wrote the examples knows what they are of
        return laid_out(["timeful", "run", "timely/reasoning", *model, "--split", "test", *out])
    model += ["--pace", str(policy.with_name(PACE))]
    if isinstance(config.cases, CasesPart):
        asked = _episodes(config.cases, config.rollout.max_tokens)
        suite = f"timely/{config.cases.family}"
    else:
        asked, suite = _dialogues(config.cases), "proactor"
    return laid_out(["timeful", "run", suite, *model, *asked, *out])


def _episodes(part: "CasesPart", max_tokens: int) -> list[str]:
    words: list[str] = []
    if part.problems is not None:
        words += ["--problems", part.problems]
    else:
        name = "--game" if part.family == "fiction" else "--case"
        words += _each(name, part.sets)
    if part.family == "reasoning":
        words += ["--size", str(min(part.size or _MOST, _MOST))]
        if part.split != "all":
            words += ["--split", "train" if part.split == "test" else "test"]
    words += _each("--budget", part.budgets)
    words += ["--soft"] * part.soft
    if part.family != "reasoning":
        words += _each("--latency", part.latencies)
    # Of several a case draws one; then it is shown as it is by default.
    for name, values, usual in (
        ("--alpha", part.alphas, 1.0),
        ("--timer-scale", part.timer_scales, 1.0),
        ("--timer-jitter", (part.timer_jitter,), 0.0),
    ):
        if len(values) == 1 and values[0] != usual:
            words += [name, f"{values[0]:g}"]
    words += ["--calls", part.calls, "--max-tokens", str(max_tokens)]
    has_code = part.family == "coding" or any(one.startswith("gym:") for one in part.sets)
    return [*words, *(["--unsafe"] * (part.unsafe and has_code))]


def _dialogues(part: "TurnsPart") -> list[str]:
    words = ["--agent", part.agent]
    if part.abcd is None and part.catalog is None:
        words += ["--domain", part.domain]
    for name in ("data", "abcd", "catalog", "ontology"):
        if (given := getattr(part, name)) is not None:
            words += [f"--{name}", given]
    if not part.split:
        words += ["--split", "all"]  # else test, or all of a file that has none
    size = min(part.size or _MOST, _MOST)
    words += ["--dialogues", str(size), "--timing", part.timing, "--runs", "1"]
    return [*words, *(["--questions"] * part.asks)]


def _each(name: str, values: tuple[str, ...]) -> list[str]:
    return [word for value in values for word in (name, value)]


def laid_out(words: list[str]) -> str:
    """Words of a command in lines for any terminal, an option never apart from its value."""
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
