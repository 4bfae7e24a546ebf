"""Conversations drawn: a page for each, with its turns and what each agent made of them."""

from collections.abc import Mapping, Sequence
from pathlib import Path

from timeful.errors import SettingsError, unknown
from timeful.metrics.proactor.episodes import Conversed, read_conversation
from timeful.records.recorder import read_record
from timeful.reports.html import render
from timeful.reports.page import Block, Entry, Figure, Paragraph, Section, Tone
from timeful.reports.page import Grid as Table
from timeful.suites.proactor.numbers import Cell, main_cells, timed_cells
from timeful.suites.proactor.rows import Verdict, verdict
from timeful.suites.proactor.timeline import draw
from timeful.suites.proactor.words import TIMINGS, text, tokens_a_second

TITLE = "timeful: ProActor"
"""The heading of every page."""

ON_PAGE = 3
"""So many conversations stand in the report itself, the first ones that are drawn."""

SAMPLE = 20
"""So many are drawn unless more are asked for."""

Pages = int | str
"""Which conversations are drawn: the first so many, "all", or one by its name."""

_TONES: dict[Verdict, Tone] = {
    "in time": "",
    "early": "",
    "too late": "alarm",
    "false": "alarm",
    "not ready": "quiet",
}

_COLUMNS = 2
"""So many agents have a column in the table of turns; all of them have a figure."""


def dialogues(cells: Sequence[Cell], out: Path, pages: Pages) -> list[Section]:
    """Draw conversations, each on a page of its own in the folder `dialogues`.

    Args:
        cells: All cells of the run.
        out: The run folder; where a record is missing, nothing is shown.
        pages: Which of them. Pages of earlier reports stay if one is asked for by its name.

    Returns:
        The first ones as sections, and a list of all with links to those that are drawn.

    Raises:
        SettingsError: If there is none of this name.
    """
    shown = [*main_cells(cells), *_slow(timed_cells(cells))]
    names = {row.place: row.dialogue for cell in shown for row in cell.ok}
    folder = out / "dialogues"
    if isinstance(pages, int) or pages == "all":
        for old in folder.glob("*.html"):
            old.unlink()
    drawn = [
        (place, section)
        for place in chosen(names, pages)
        for section in _section(shown, place, out)
    ]
    for index, (place, section) in enumerate(drawn):
        folder.mkdir(exist_ok=True)
        beside = [Entry("the report", link="../report.html")]
        for word, near in (("before", index - 1), ("next", index + 1)):
            if 0 <= near < len(drawn):
                there, other = drawn[near]
                beside.append(Entry(f"{word}: {other.title}", link=_page(folder, there).name))
        page = render(
            title=section.title,
            subtitle=TITLE,
            sections=[Section("Said and predicted", section.blocks)],
            links=beside,
        )
        _page(folder, place).write_text(page, encoding="utf-8", newline="\n")
    found = [section for _, section in drawn]
    if not names:
        return []
    bars = (
        "Bars are the turns at which an action is ready in the reference, marks are predictions of "
        "it; a filled one said that it is ready. Pointed at, a mark says what was predicted."
    )
    return [
        Section("Dialogues", (Paragraph(bars),)),
        *found[:ON_PAGE],
        _all(shown, names, folder),
    ]


def chosen(names: Mapping[int, str], pages: Pages) -> list[int]:
    """The places of the conversations that are drawn.

    Raises:
        SettingsError: If there is none of this name.
    """
    if isinstance(pages, int) or pages == "all":
        return sorted(names)[: None if pages == "all" else int(pages)]
    found = [place for place in sorted(names) if names[place] == pages]
    if not found:
        raise SettingsError(unknown("dialogue", pages, names.values()))
    return found


def _page(folder: Path, place: int) -> Path:
    return folder / f"{place + 1:03d}.html"


def _all(cells: Sequence[Cell], names: Mapping[int, str], folder: Path) -> Section:
    """Every conversation, with what the first agent made of it."""
    rows: list[tuple[str | Entry, ...]] = []
    for place in sorted(names):
        row = next(row for cell in cells for row in cell.ok if row.place == place)
        page = _page(folder, place)
        link = f"{folder.name}/{page.name}" if page.exists() else ""
        means = [
            text(row.sums[name] / row.scored if row.scored else None, 3)
            for name in ("ac", "pt", "ftr", "rar")
        ]
        entry = Entry(names[place], link=link)
        rows.append((entry, row.subflow or "(unknown)", str(row.turns), *means))
    words = Paragraph(
        "A name that is a link has a page. `timeful report RUN --pages all` draws all of them, "
        "and `--pages NAME` one."
    )
    head = ("dialogue", "workflow", "turns", "AC", "PT", "FTR", "RAR")
    caption = f"The numbers are those of {cells[0].title}, in its first run"
    table = Table(head=head, rows=tuple(rows), caption=caption, words=2)
    return Section("All dialogues", (words, table), is_folded=True)


def _slow(cells: Sequence[Cell]) -> list[Cell]:
    """Of what was timed, one agent at its slowest: enough to see turns go by."""
    if not cells:
        return []
    first = [cell for cell in cells if cell.title == cells[0].title]
    return first[-1:]


def _section(cells: Sequence[Cell], place: int, out: Path) -> list[Section]:
    found: list[tuple[Cell, Conversed]] = []
    for cell in cells:
        row = next((row for row in cell.ok if row.place == place), None)
        path = out / "episodes" / f"{row.key}.jsonl" if row is not None else None
        if path is None or not path.exists():
            continue
        conversed = read_conversation(read_record(path))
        if conversed is not None:
            found.append((cell, conversed))
    if not found:
        return []
    blocks: list[Block] = []
    drawn: dict[str, str] = {}
    for cell, conversed in found:
        figure = draw(conversed)
        title = f"{cell.title}; {TIMINGS[cell.timing]}"
        if cell.timing != "by-turn":
            title += f", {tokens_a_second(cell)} tokens/s, {len(conversed.lost)} turns lost"
        if figure in drawn:
            blocks.append(Paragraph(f"{title}: mark for mark as {drawn[figure]}"))
            continue
        drawn[figure] = title
        blocks += [Paragraph(title), Figure(image=figure, alt=_words(title, conversed))]
    first = found[0][1]
    blocks.append(_turns(found[:_COLUMNS]))
    made = "made by a seed" if first.synthetic else "from the data"
    runs = len(found[0][0].runs)
    which = "" if runs == 1 else f" Of {runs} runs the first is drawn."
    intro = Paragraph(f"Workflow: {first.subflow or 'unknown'}. The conversation is {made}.{which}")
    return [Section(f"Dialogue {first.dialogue}", (intro, *blocks))]


def _words(title: str, conversed: Conversed) -> str:
    """What a figure shows, for who cannot see it."""
    counts: dict[str, int] = {}
    for turn in conversed.turns:
        for one in turn.predictions:
            what = verdict(one, turn.turn, turn.ready_ranges.get(one.name, ()))
            counts[what] = counts.get(what, 0) + 1
    said = ", ".join(f"{count} {what}" for what, count in counts.items())
    return f"{title}: predictions over {len(conversed.turns)} turns, {said or 'none'}"


def _turns(found: Sequence[tuple[Cell, Conversed]]) -> Table:
    """Each turn with what was said, what the reference holds ready, and what was predicted."""
    rows: list[tuple[str | Entry | tuple[Entry, ...], ...]] = []
    first = found[0][1]
    for index, (turn, said) in enumerate(zip(first.turns, first.transcript, strict=True)):
        done = ", ".join(one.name for one in said.observed)
        due = [name for name, some in turn.ready_ranges.items() if turn.turn in some]
        rows.append(
            (
                str(turn.turn),
                Entry(said.text or "-", f"{said.speaker}{': took ' + done if done else ''}"),
                Entry(", ".join(due) or "-", tone="quiet"),
                *(_said(conversed, index) for _, conversed in found),
            )
        )
    head = ("turn", "said", "ready in the reference", *(cell.title for cell, _ in found))
    return Table(head=head, rows=tuple(rows), words=len(head))


def _said(conversed: Conversed, index: int) -> tuple[Entry, ...]:
    """What was predicted at a turn, a line for each verdict."""
    turn = conversed.turns[index]
    if turn.turn in conversed.lost:
        return (Entry("lost", tone="alarm"),)
    names: dict[Verdict, list[str]] = {what: [] for what in _TONES}
    for one in turn.predictions:
        names[verdict(one, turn.turn, turn.ready_ranges.get(one.name, ()))].append(one.name)
    lines = (
        Entry(f"{what}: {', '.join(some)}", tone=_TONES[what])
        for what, some in names.items()
        if some
    )
    return tuple(lines) or (Entry("nothing", tone="quiet"),)
