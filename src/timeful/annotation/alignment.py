"""Whether references foresaw what was done, as a table, and a data set of those that did (D.3).

The measure is `metrics/proactor/alignment.py`; here are files, both conventions for observed
actions without a reference, and the numbers that the paper has of its own annotation of ABCD.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from timeful.annotation.hindsight import LABEL as RULE
from timeful.annotation.transcript_oracle import WORDS_LABEL as RULE_WORDS
from timeful.dialogues.abcd import read_abcd
from timeful.dialogues.abcd_shape import is_abcd_shape, write_abcd
from timeful.dialogues.dialogue import Dialogue
from timeful.dialogues.jsonl import read_jsonl, write_jsonl
from timeful.domains.generator import LABEL as GENERATOR
from timeful.errors import SettingsError
from timeful.metrics.proactor.alignment import (
    KEEP_ABOVE,
    SIGMAS,
    Alignment,
    Unmatched,
    alignments,
    is_kept,
)
from timeful.metrics.proactor.tables import alignment_json, foregone


@dataclass(frozen=True, slots=True, kw_only=True)
class PublishedRow:
    """A row of Table 3: numbers of actions, shares in percent, the dialogues' mean and spread."""

    sigma: int
    n_hit: int
    share: float
    mean: float
    std: float
    above: float


PUBLISHED = (
    PublishedRow(sigma=4, n_hit=3_477, share=11.78, mean=0.1217, std=0.2443, above=4.07),
    PublishedRow(sigma=3, n_hit=4_982, share=16.88, mean=0.1837, std=0.2883, above=6.62),
    PublishedRow(sigma=2, n_hit=7_424, share=25.16, mean=0.2850, std=0.3326, above=11.42),
    PublishedRow(sigma=1, n_hit=12_602, share=42.71, mean=0.4682, std=0.3499, above=21.10),
    PublishedRow(sigma=0, n_hit=25_715, share=87.14, mean=0.8877, std=0.1926, above=70.27),
)
"""ProActor, Table 3: gpt-4o-mini's annotation of ABCD, 29,509 actions (all rows fit that number,
80.89 % of the 36,482 observed)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Aligned:
    """EC of a file, by both conventions, for some thresholds from the largest.

    Attributes:
        skip: What the reference does not have is left out.
        zero: It counts as 0.
        annotators: Who made the references, and of how many dialogues; "" is not known.
        n_dialogues: How many dialogues the file has.
    """

    skip: list[Alignment]
    zero: list[Alignment]
    annotators: dict[str, int]
    n_dialogues: int


def align(path: Path, sigmas: Sequence[int] = SIGMAS) -> Aligned:
    """Measure a file of annotated dialogues, JSONL or ABCD's shape.

    Args:
        path: The file.
        sigmas: The thresholds, in turns.

    Raises:
        SettingsError: If it cannot be read, or nothing is ready in it.
    """
    annotators: dict[str, int] = {}
    n_ready = 0
    for dialogue in read_annotated(path):
        annotators[dialogue.annotator] = annotators.get(dialogue.annotator, 0) + 1
        n_ready += len(dialogue.ready_ranges)
    thresholds = sorted(set(sigmas), reverse=True)
    rows: dict[Unmatched, list[Alignment]] = {
        convention: alignments(read_annotated(path), thresholds, unmatched=convention)
        for convention in _CONVENTIONS
    }
    if not annotators:
        raise SettingsError(f"{path.name} holds no dialogue")
    if not n_ready:
        raise SettingsError(f"{path.name} has no ready range: `timeful annotate` makes them")
    return Aligned(
        skip=rows["skip"],
        zero=rows["zero"],
        annotators=annotators,
        n_dialogues=sum(annotators.values()),
    )


_CONVENTIONS: tuple[Unmatched, ...] = ("skip", "zero")

_RULES = ("", RULE, RULE_WORDS, GENERATOR)
"""Who made references by rule, and who is not said: a file in ABCD's shape never says it."""

_NOTHING = "no action was observed in it, so that there is nothing to align with"


def write_kept(path: Path, out: Path, *, sigma: int = 0, unmatched: Unmatched = "skip") -> int:
    """Write those dialogues whose mean EC is above 0.8, as they are.

    Args:
        path: The file of annotated dialogues.
        out: The filtered file: JSONL, or ABCD's shape if it is called `.json` or `.json.gz`.
        sigma: The threshold, in turns.
        unmatched: What becomes of observed actions without a reference.

    Returns:
        How many were kept.

    Raises:
        SettingsError: If it is the same file, the dialogues cannot be read, or nothing was
            observed in them.
    """
    if out.resolve() == path.resolve():
        raise SettingsError(f"{out} is the file that is filtered; choose another")
    if not any(dialogue.observed for dialogue in read_annotated(path)):
        raise SettingsError(f"{path.name} cannot be filtered: {_NOTHING}")
    count = 0

    def select_kept() -> Iterator[Dialogue]:
        nonlocal count
        for dialogue in read_annotated(path):
            if is_kept(dialogue, sigma=sigma, unmatched=unmatched):
                count += 1
                yield dialogue

    out.parent.mkdir(parents=True, exist_ok=True)
    partial = out.with_name(f"part-{out.name}")
    (write_abcd if is_abcd_shape(out) else write_jsonl)(partial, select_kept())
    partial.replace(out)
    return count


def read_annotated(path: Path) -> Iterator[Dialogue]:
    """Read annotated dialogues, JSONL or ABCD's shape by the file's name.

    Raises:
        SettingsError: If they cannot be read.
    """
    if is_abcd_shape(path):
        return read_abcd(path, needs_ranges=True)
    return read_jsonl(path)


def align_json(aligned: Aligned) -> dict[str, Any]:
    """The measures by name."""
    first = aligned.skip[0]
    return {
        "annotators": aligned.annotators,
        "n_dialogues": aligned.n_dialogues,
        "n_observed": first.n_observed,
        "n_matched": first.n_matched,
        "coverage": first.coverage,
        "skip": [alignment_json(row) for row in aligned.skip],
        "zero": [alignment_json(row) for row in aligned.zero],
    }


def align_table(aligned: Aligned) -> str:
    """Table 3 by both conventions, and the published one beneath; at most 80 columns."""
    ec = aligned.skip[0]
    annotators = ", ".join(
        f"{name or 'not said'} ({count:,})" for name, count in aligned.annotators.items()
    )
    if not ec.n_observed:
        return (
            f"references by: {annotators}\n\n"
            f"{_NOTHING[0].upper()}{_NOTHING[1:]}\n"
            "(coverage: 0 of 0). The references can be used, but EC cannot check them."
        )
    lines = [
        f"references by: {annotators}",
        "",
        f"{'unmatched left out':>46}{'unmatched as 0':>33}",
        f"{'sigma':<5}{'EC = 1':>8}" + f"{'share':>8}{'dialogue mean':>17}{'> 0.8':>8}" * 2,
    ]
    for skip, zero in zip(aligned.skip, aligned.zero, strict=True):
        lines.append(f"{skip.sigma:>5}{skip.n_hit:>8,}{_cells(skip)}{_cells(zero)}")
    lines += [
        "",
        f"{ec.n_matched:,} of {ec.n_observed:,} observed actions are ready at some turn of the "
        "reference",
        f"({_percent(ec.coverage)} coverage), in {ec.n_dialogues:,} of {aligned.n_dialogues:,} "
        "dialogues; a dialogue is kept",
        f"if its mean is above {KEEP_ABOVE}",
        *foregone(aligned.skip, by_rule=not {*aligned.annotators}.isdisjoint(_RULES)),
        "",
        "published, of another annotation: ProActor, Table 3, ABCD by gpt-4o-mini",
    ]
    sigmas = {row.sigma for row in aligned.skip}
    for row in PUBLISHED:
        if row.sigma in sigmas:
            mean = f"{row.mean:.4f} ± {row.std:.4f}"
            lines.append(
                f"{row.sigma:>5}{row.n_hit:>8,}{row.share:>7.2f}%{mean:>17}{row.above:>7.2f}%"
            )
    if len(sigmas & {row.sigma for row in PUBLISHED}) == 0:
        lines.append("(not for these sigmas)")
    return "\n".join(lines)


def _cells(row: Alignment) -> str:
    mean = "-"
    if row.dialogue_mean is not None and row.dialogue_std is not None:
        mean = f"{row.dialogue_mean:.4f} ± {row.dialogue_std:.4f}"
    return f"{_percent(row.action_level):>8}{mean:>17}{_percent(row.share_above):>8}"


def _percent(value: float | None) -> str:
    return "-" if value is None else f"{value:.2%}"
