"""The report of a training by a file of settings: a table, curves, and a page of both.

It is made of `settings.json` and `metrics.jsonl` alone, so also of a training that goes on or was
killed; a line that is not whole yet is left out.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean
from textwrap import fill
from typing import Any

import msgspec

from timeful.errors import RecordError
from timeful.reports.html import render
from timeful.reports.page import Block, Bullets, Figure, Notice, Paragraph, Section
from timeful.reports.page import Grid as Table
from timeful.runs.experiment import read_settings
from timeful.training.collapse_detection import span_of
from timeful.training.folder import CURVES, METRICS, REPORT, done
from timeful.training.quick.rows import Line

_Told = dict[str, Any]
_ENDS = 10
"""So many updates at either end are averaged."""


@dataclass(frozen=True, slots=True)
class Written:
    """A report: its table as text of 80 columns, and where its page lies."""

    text: str
    page: Path


def write_report(out: Path) -> Written:
    """Write `report.html` and `curves.svg` of a training.

    Raises:
        RecordError: If the folder holds no training, or its metrics cannot be read.
    """
    settings, lines = read_settings(out), _read(out / METRICS)
    of = settings.get("optimiser", {}).get("steps")
    state = f"{len(lines)}{f' of {of}' * bool(of)} updates, " + (
        "trained" if done(out) else "not at its end"
    )
    heads, rows = _table(lines) if lines else ((), [])
    notes, alarms = list(_notes(lines)), list(_alarms(lines))
    blocks: list[Block] = [*map(Notice, alarms)]
    if lines:
        caption = "Means of the first updates and of the last."
        blocks += [Table(head=("", *heads), rows=tuple(rows), caption=caption)]
        image = _draw(lines)
        (out / CURVES).write_text(image, encoding="utf-8", newline="\n")
        says = "By update, each the mean of up to five."
        blocks += [Figure(image=image, alt=says, caption=says)]
    else:
        blocks += [Paragraph("No update is done yet.")]
    blocks += [Bullets(tuple(notes))] * bool(notes)
    fields = [
        (f"{table}.{name}", str(value))
        for table, some in settings.items()
        for name, value in (some or {}).items()
        if value is not None
    ]
    asked = Table(head=("setting", ""), rows=tuple(fields), words=2)
    sections = [Section("What it learnt", tuple(blocks)), Section("Settings", (asked,), True)]
    page = render(title=f"timeful train: {out.name}", subtitle=state, sections=sections)
    (out / REPORT).write_text(page, encoding="utf-8", newline="\n")
    body = [f"{a:<24}{b:>16}{c:>16}" for a, b, c in ([("", *heads)] if lines else []) + rows]
    body += [fill(f"alarm    {one}", 80, subsequent_indent=" " * 9) for one in alarms]
    return Written("\n".join([f"{out}: {state}", "", *body, "", *notes]), out / REPORT)


def _read(path: Path) -> list[_Told]:
    try:
        text = path.read_bytes() if path.exists() else b""
        whole = [line for line in text.splitlines(keepends=True) if line.endswith(b"\n")]
        return [msgspec.json.decode(line, type=_Told) for line in whole]
    except (OSError, msgspec.DecodeError) as error:
        raise RecordError(f"{path} cannot be read: {error}") from error


def _table(lines: Sequence[_Told]) -> tuple[tuple[str, ...], list[tuple[str, ...]]]:
    """What was measured at the beginning and at the end: the heads, and a row for each measure."""
    count = max(1, min(_ENDS, len(lines) // 2))
    ends = lines[:count], lines[-count:]
    first, last = (f"{some[0]['update']} to {some[-1]['update']}" for some in ends)
    rows: list[tuple[str, ...]] = [
        (name, *(_mean([_value(line, path) for line in some], digits) for some in ends))
        for name, path, digits in _measures(lines)
    ]
    return (first, last), rows


def _measures(lines: Sequence[_Told]) -> Iterator[tuple[str, tuple[str, ...], int]]:
    """What there is to tell: its name, where it stands in a line, and with how many digits."""
    if "reward" not in lines[0]:
        yield "loss", ("trl", "loss"), 4
        yield "right tokens", ("trl", "mean_token_accuracy"), 3
        return
    yield "reward", ("reward",), 3
    for name, what, digits in (("right in", "right_in_time", 3), ("tokens in", "tokens", 1)):
        for budget in _budgets(lines):
            if any(budget in line[what] for line in lines):
                told = f"{name} {budget}" if budget != "none" else name.removesuffix(" in")
                yield told, (what, budget), digits


def _budgets(lines: Sequence[_Told]) -> list[str]:
    found = {budget for line in lines for budget in line.get("tokens", ())}
    return sorted(found, key=span_of)


def _value(line: _Told, path: Sequence[str]) -> float | None:
    found: Any = line
    for name in path:
        found = (found or {}).get(name)
    return found  # type: ignore[no-any-return]


def _mean(values: Sequence[float | None], digits: int) -> str:
    known = [one for one in values if one is not None]
    return f"{fmean(known):.{digits}f}" if known else "-"


def _notes(lines: Sequence[_Told]) -> Iterator[str]:
    episodes = sum(line.get("episodes", 0) for line in lines)
    if episodes:
        yield f"failed   {sum(line['failed'] for line in lines)} of {episodes} episodes"
        if lost := sum(line["unrewarded"] - line["failed"] for line in lines):
            yield f"judged   all but {lost} of those that did not fail"
    took = sum(line["trl"].get("step_time", 0.0) for line in lines)
    if took:
        yield f"time     {took:,.0f} s in updates"


def _alarms(lines: Sequence[_Told]) -> Iterator[str]:
    """Each alarm in its last words, and when it rang."""
    rang: dict[str, list[tuple[int, str]]] = {}
    for line in lines:
        for one in filter(None, line.get("alarm", "").split("; ")):
            rang.setdefault(one.partition(":")[0], []).append((line["update"], one))
    for some in rang.values():
        yield f"updates {some[0][0]} to {some[-1][0]}, {len(some)} of them: {some[-1][1]}"


def _draw(lines: Sequence[_Told]) -> str:
    # matplotlib takes a while to load, and nothing but a figure needs it.
    from timeful.training.quick import figures  # noqa: PLC0415

    if "reward" not in lines[0]:
        return figures.by_loss([(line["update"], line["trl"]["loss"]) for line in lines])
    curve = [msgspec.convert(line, Line) for line in lines]
    found = figures.by_update({"": [curve]}, {one: one for one in _budgets(lines)})
    assert found is not None, "there are lines"
    return found
