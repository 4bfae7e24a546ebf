"""The report of a training by a file of settings: a table, curves, and a page of both.

It is made of `settings.json`, `metrics.jsonl` and the logs of judges, so also of a training that is
not done or was killed; an incomplete last line is left out.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean
from textwrap import fill

from timeful.judges.ruler_log import read_judge_usage
from timeful.models.ledger import read_accounts
from timeful.records.folder import read_settings
from timeful.records.usage_total import read_usage
from timeful.reports.html import write_page
from timeful.reports.page import Block, Figure, Grid, Notice, Page, Paragraph, Section, bullets
from timeful.reports.text import render_text
from timeful.reports.usage import describe_usage, usage_sections
from timeful.training.collapse_detection import span_of
from timeful.training.folder import CURVES, METRICS, done, find_logs
from timeful.training.update_metrics import UpdateMetrics, read_metrics

_ENDS = 10
"""Updates that are averaged at either end."""


@dataclass(frozen=True, slots=True)
class TrainingReport:
    """A report: its table as text of 80 columns, its page, and the judge's requests as text."""

    text: str
    page: Path
    spending: str


def write_report(out: Path) -> TrainingReport:
    """Write `report.html` and `curves.svg` of a training.

    Raises:
        RecordError: If the folder holds no training, or its metrics cannot be read.
    """
    settings, lines = read_settings(out), read_metrics(out / METRICS)
    total = (settings.get("grpo") or {}).get("max_steps")
    count = f"{len(lines)} of {total}" if total else str(len(lines))
    state = f"{count} updates, " + ("trained" if done(out) else "not at its end")
    head, rows = _table(lines) if lines else ((), [])
    usage = read_usage((), (named for path in find_logs(out) for named in read_judge_usage(path)))
    accounts = read_accounts(out)
    spending = list(usage_sections(usage, accounts))
    notes, alarms = list(_notes(lines)), list(_alarms(lines))
    notes += [f"tokens   {name}: {tokens}" for name, tokens in describe_usage(usage).items()]
    blocks: list[Block] = [*map(Notice, alarms)]
    if lines:
        caption = "Means of the first updates and of the last."
        image = _draw(lines)
        (out / CURVES).write_text(image, encoding="utf-8", newline="\n")
        title, description = "Training by update", "Each point is the mean of up to five."
        blocks += [Grid(head=("", *head), rows=tuple(rows), caption=caption)]
        blocks += [Figure(image=image, alt=title, title=title, caption=description)]
    else:
        blocks += [Paragraph("No update is done yet.")]
    fields = [
        (f"{table}.{name}", str(value))
        for table, values in settings.items()
        for name, value in (values or {}).items()
        if value is not None
    ]
    sections = [
        Section("Results", (*blocks, *bullets(notes))),
        *spending,
        Section("Settings", (Grid(head=("setting", ""), rows=tuple(fields), words=2),), True),
    ]
    path = write_page(
        Page(title=f"timeful train: {out.name}", subtitle=state, sections=sections), out
    )
    body = [f"{a:<24}{b:>16}{c:>16}" for a, b, c in ([("", *head)] if lines else []) + rows]
    body += [fill(f"alarm    {alarm}", 80, subsequent_indent=" " * 9) for alarm in alarms]
    text = "\n".join([f"{out}: {state}", "", *body, "", *notes])
    tables = render_text(spending) if accounts.expenses else ""
    return TrainingReport(text, path, tables)


def _table(lines: Sequence[UpdateMetrics]) -> tuple[tuple[str, ...], list[tuple[str, ...]]]:
    """The metrics of the first updates and of the last: the heads, and a row for each metric."""
    count = max(1, min(_ENDS, len(lines) // 2))
    ends = lines[:count], lines[-count:]
    head = tuple(f"{some[0].update} to {some[-1].update}" for some in ends)
    rows: list[tuple[str, ...]] = [
        (name, *(_mean(map(read, end), digits) for end in ends))
        for name, read, digits in _metrics(lines)
    ]
    return head, rows


_Read = Callable[[UpdateMetrics], float | None]


def _metrics(lines: Sequence[UpdateMetrics]) -> Iterator[tuple[str, _Read, int]]:
    if _is_sft(lines):
        yield "loss", lambda line: line.trl.get("loss"), 4
        yield "right tokens", lambda line: line.trl.get("mean_token_accuracy"), 3
        return
    yield "reward", lambda line: line.reward, 3
    for name, metric, digits in (("right in", "right_in_time", 3), ("tokens in", "tokens", 1)):
        for budget in _budgets(lines):
            if any(budget in getattr(line, metric) for line in lines):
                label = f"{name} {budget}" if budget != "none" else name.removesuffix(" in")
                yield label, lambda line, m=metric, b=budget: getattr(line, m).get(b), digits  # type: ignore[misc]


def _is_sft(lines: Sequence[UpdateMetrics]) -> bool:
    return not lines[0].episodes


def _budgets(lines: Sequence[UpdateMetrics]) -> list[str]:
    return sorted({budget for line in lines for budget in line.tokens}, key=span_of)


def _mean(values: Iterable[float | None], digits: int) -> str:
    numbers = [value for value in values if value is not None]
    return f"{fmean(numbers):.{digits}f}" if numbers else "-"


def _notes(lines: Sequence[UpdateMetrics]) -> Iterator[str]:
    episodes = sum(line.episodes for line in lines)
    if episodes:
        yield f"failed   {sum(line.failed for line in lines)} of {episodes} episodes"
        if count := sum(line.unrewarded - line.failed for line in lines):
            yield f"unjudged {count} episodes that did not fail"
    if seconds := sum(line.trl.get("step_time", 0.0) for line in lines):
        yield f"time     {seconds:,.0f} s in updates"


def _alarms(lines: Sequence[UpdateMetrics]) -> Iterator[str]:
    alarms: dict[str, list[tuple[int, str]]] = {}
    for line in lines:
        for alarm in filter(None, line.alarm.split("; ")):
            alarms.setdefault(alarm.partition(":")[0], []).append((line.update, alarm))
    for same in alarms.values():
        yield f"updates {same[0][0]} to {same[-1][0]}, {len(same)} of them: {same[-1][1]}"


def _draw(lines: Sequence[UpdateMetrics]) -> str:
    # matplotlib takes a while to load, and only a figure needs it.
    from timeful.training import curves  # noqa: PLC0415

    if _is_sft(lines):
        return curves.draw_loss([(line.update, line.trl["loss"]) for line in lines])
    image = curves.draw_curves({"": [lines]}, {budget: budget for budget in _budgets(lines)})
    assert image is not None, "there are lines"
    return image
