"""The report of the inbox: a page, the numbers behind it, and the episodes."""

from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby
from pathlib import Path
from typing import Any

from timeful.core.units import in_seconds
from timeful.environments.inbox.settings import InboxSettings
from timeful.environments.inbox.task import DECOMPOSITIONS, FITTED
from timeful.runs.page import Block, Bullets, Entry, Notice, Paragraph, Section, Table, render
from timeful.runs.results import save_report
from timeful.suites.engagement.inbox.numbers import (
    COLUMNS,
    FURTHER,
    Cell,
    claims,
    make_cells,
    result_rows,
)
from timeful.suites.engagement.inbox.published import (
    BANDS,
    MAIN_MODEL,
    METRICS,
    MODELS,
    PUBLISHED,
)
from timeful.suites.engagement.inbox.rows import InboxRow
from timeful.suites.engagement.inbox.settings import shown
from timeful.suites.engagement.inbox.spec import METHODS
from timeful.suites.engagement.inbox.tables import STAND_IN, WHOLE, counted, text_published, title
from timeful.suites.engagement.parts import (
    entry,
    order_table,
    world_table,
)
from timeful.suites.parts import failures, unusable_notice

TITLE = "timeful: the inbox of the Engagement Process"


def write_report(rows: Sequence[InboxRow], out: Path, settings: Mapping[str, Any]) -> Path:
    """Write `report.html`, `results.json`, `table.csv` and `episodes.csv`.

    The same episodes give the same bytes, in whatever order they were played.

    Args:
        rows: The episodes.
        out: The folder; made if needed.
        settings: What the episodes have in common, as the run's folder keeps it.

    Returns:
        The path of the page.
    """
    episodes = sorted(rows, key=lambda row: (row.decomposition, row.policy, row.interface))
    episodes.sort(key=lambda row: (row.seed, row.episode))
    cells = make_cells(episodes)
    page = render(
        title=TITLE,
        subtitle="Engagement Process, section 5.2.1 and Appendix D: ours beside the published",
        sections=_sections(episodes, cells, settings),
    )
    return save_report(out, page, result_rows(cells), episodes, InboxRow)


def _sections(
    rows: Sequence[InboxRow], cells: Sequence[Cell], settings: Mapping[str, Any]
) -> list[Section]:
    tables = [_table(list(part)) for _, part in groupby(cells, key=title)]
    made = [
        _what_was_run(rows, settings),
        Section("Tables 3 and 18", tuple(tables)),
        _promises(cells),
        Section("What else was counted", (_further(cells),)),
        _world(settings),
        _not_run(),
    ]
    return made + failures(
        rows,
        lambda row: (
            f"{row.decomposition}, {row.interface}, {row.policy}, seed {row.seed}, episode "
            f"{row.episode}"
        ),
    )


def _what_was_run(rows: Sequence[InboxRow], settings: Mapping[str, Any]) -> Section:
    blocks: list[Block] = []
    if rows and all(row.stand_in for row in rows):
        blocks.append(Notice(STAND_IN))
    elif any(row.stand_in for row in rows):
        blocks.append(Notice("Some rows are stand-ins: there, rules sort the emails."))
    blocks.append(
        Paragraph(
            "The main task is one long thought, or four: tokens on a timeline that resume where "
            "they were interrupted. All methods meet the same emails and the same task; they "
            "differ in when the assistant sees what has come. It is the same assistant, which "
            "does not know under which of them it is. The reflex is ours: the engine handles an "
            "email of high urgency as it comes, without asking, and leaves the others."
        )
    )
    blocks += unusable_notice(
        *counted(rows),
        "Each cost its time and did nothing: the email stayed as it was, until a later look.",
    )
    if any(not row.stand_in for row in rows):
        blocks.append(Bullets(tuple(_of_models(settings))))
    facts = (
        ("episodes", f"{len(rows)}, of which {sum(row.status == 'failed' for row in rows)} failed"),
        ("seeds", str(len({row.seed for row in rows}))),
        ("who sorts emails", ", ".join(sorted({row.model for row in rows}))),
        ("who writes", ", ".join(sorted({row.writer for row in rows}))),
        ("a decision takes", _decision(settings)),
        ("interval of polls", f"{in_seconds(settings['poll']):g} s"),
        ("published", MAIN_MODEL),
        ("version", str(settings.get("version"))),
    )
    return Section("What was run", (*blocks, Table(head=("setting", "value"), rows=facts, words=2)))


def _decision(settings: Mapping[str, Any]) -> str:
    """What the time of a decision about an email is."""
    world = settings["world"]
    if settings["priced_by"] == "tokens":
        return f"{in_seconds(world['token']):g} s a token"
    return f"{in_seconds(world['triage']):g} s, however long the answer (Table 17)"


def _of_models(settings: Mapping[str, Any]) -> Iterator[str]:
    """What is to be said where a language model sorts the emails."""
    if settings["priced_by"] == "decision":
        yield (
            "A decision takes the same time whatever is said, as in the paper (Table 17): the "
            "model's reasoning about emails is free of time here. Only writing and acting are not. "
            "With --triage-pace tokens each of its tokens costs as much as one of the document."
        )
    if settings["hints"]:
        yield (
            "Each email came with a recommendation, as odds for each action; the paper says that "
            "its emails carry such, and prints none. These odds are the fitted policy of the "
            "stand-in: a model that follows them does as the stand-in does. --no-hints leaves them "
            "out."
        )
    else:
        yield "Nothing was recommended about emails (--no-hints)."


def _table(cells: Sequence[Cell]) -> Table:
    body: list[tuple[str | Entry, ...]] = []
    for cell in cells:
        name = METHODS.get(cell.interface, cell.interface)
        failed = f", {cell.failed} failed" if cell.failed else ""
        whose = Entry("ours", f"n={cell.episodes}{failed}")
        body.append(
            (
                name,
                whose,
                *(entry(cell.numbers.get(one.name), cell.band(one.name)) for one in COLUMNS),
            )
        )
        if any(cell.published(metric.name) for metric in COLUMNS):
            theirs = (text_published(cell.published(one.name), one) for one in COLUMNS)
            body.append(("", "published", *(Entry(text, tone="quiet") for text in theirs)))
    head = ("method", "whose", *(metric.name for metric in COLUMNS))
    return Table(caption=title(cells[0]), head=head, rows=tuple(body), words=2)


def _promises(cells: Sequence[Cell]) -> Section:
    words = Paragraph(
        f"{len(BANDS)} numbers have a band, given below them in the tables. The bands are for "
        f"{WHOLE:,} episodes of each kind, with fewer a number may be outside by chance; and for a "
        "stand-in whose parameters were fitted to the published numbers, so that being "
        "inside says only that the dynamics can bring them forth. The order of the "
        "interfaces is the finding; the ablation shows that it needs no fitted policy. The "
        "ablation also earns far more than was published, with less of the main task done: "
        "what holds the published assistant down is how it sorts emails."
    )
    return Section("Bands and orders", (words, *order_table(claims(cells))))


def _further(cells: Sequence[Cell]) -> Table:
    body = []
    for cell in cells:
        if cell.numbers:
            entries = [f"{cell.mean(one.name):.{one.decimals}f}" for one in FURTHER]
            method = METHODS.get(cell.interface, cell.interface)
            policy = cell.policy if cell.stand_in else cell.model
            body.append((f"{cell.decomposition}, {policy}, {method}", *entries))
    return Table(
        head=("", *(metric.name for metric in FURTHER)),
        rows=tuple(body),
        caption="Shares of the emails that arrived, and means an episode",
    )


def _world(settings: Mapping[str, Any]) -> Section:
    lengths = "; ".join(
        f"{name}: normal, mean {FITTED[name].mean:g}, standard deviation {FITTED[name].spread:g}"
        + (f", shares vary by {FITTED[name].unevenness:g}" if FITTED[name].unevenness else "")
        for name in DECOMPOSITIONS
    )
    return Section(
        "Settings (Tables 17 and 19)",
        (
            world_table(settings, InboxSettings(), shown),
            Paragraph(
                f"Tokens of the main task, fitted, since the paper prints none: {lengths}. "
                "What is recommended about emails is fitted too. One unit of the paper's time is "
                "one second here."
            ),
        ),
        is_folded=True,
    )


def _not_run() -> Section:
    tables = []
    for model in (model for model in MODELS if model != MAIN_MODEL):
        pairs = dict.fromkeys(key[:2] for key in PUBLISHED[model])
        rows = tuple(
            (
                f"{decomposition}, {METHODS[interface]}",
                *(
                    text_published(PUBLISHED[model][decomposition, interface, one.name], one)
                    for one in COLUMNS
                ),
            )
            for decomposition, interface in pairs
        )
        tables.append(Table(caption=f"{model}: not run", head=("", *METRICS), rows=rows))
    return Section("Published and not run", tuple(tables), is_folded=True)
