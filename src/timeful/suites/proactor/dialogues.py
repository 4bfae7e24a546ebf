"""Dialogues as pages: the turns, the references, and the predictions of each agent."""

from collections.abc import Mapping, Sequence
from pathlib import Path

from timeful.dialogues.opportunity import Opportunity
from timeful.errors import check_known
from timeful.experiments.suite import ReportData
from timeful.metrics.proactor.episodes import Conversed, read_conversation
from timeful.records.recorder import read_record
from timeful.reports.html import render
from timeful.reports.page import Block, Entry, Grid, Page, Paragraph, Row, Section
from timeful.suites.proactor.cells import TIMINGS, Group, make_groups, show_pace
from timeful.suites.proactor.episode import Pages
from timeful.suites.proactor.rows import Verdict
from timeful.suites.proactor.timeline import LEGEND, MARKS, WRONG, describe, draw, judge

TITLE = "timeful: ProActor"
"""The subtitle of every page."""

ON_PAGE = 3
"""The number of dialogues in the report itself, the first ones that are drawn."""

_COLUMNS = 2
"""The number of agents with a column in the table of turns; all of them have a timeline."""


def draw_dialogues(data: ReportData) -> list[Section]:
    """Draw dialogues, each on a page of its own in the folder `dialogues`.

    Pages of earlier reports stay if one dialogue is asked for by its name. Where a record is
    missing, nothing is shown.

    Returns:
        The first ones as sections, and a list of all with links to the pages.

    Raises:
        SettingsError: If there is no dialogue of this name.
    """
    groups = make_groups(data.rows)
    agents = [group for group in groups if group.where["part"] == "main"]
    agents += _slowest(groups, agents)
    names = {row.place: row.dialogue for group in agents for row in group.rows}
    pages: Pages = data.options["pages"]
    folder = data.out / "dialogues"
    if isinstance(pages, int) or pages == "all":
        for old in folder.glob("*.html"):
            old.unlink()
    sections = [
        (place, section)
        for place in select_places(names, pages)
        for section in _section(agents, place, data.out)
    ]
    for index, (place, section) in enumerate(sections):
        folder.mkdir(exist_ok=True)
        links = [Entry("the report", link="../report.html")]
        for word, neighbour in (("previous", index - 1), ("next", index + 1)):
            if 0 <= neighbour < len(sections):
                number, section_there = sections[neighbour]
                links.append(
                    Entry(f"{word}: {section_there.title}", link=_page(folder, number).name)
                )
        page = Page(
            title=section.title,
            subtitle=TITLE,
            sections=[Section("Turns and predictions", section.blocks)],
            links=links,
        )
        _page(folder, place).write_text(render(page), encoding="utf-8", newline="\n")
    if not names:
        return []
    return [
        Section("Dialogues", (Paragraph(LEGEND),)),
        *(section for _, section in sections[:ON_PAGE]),
        _list(agents[0], names, folder),
    ]


def select_places(names: Mapping[int, str], pages: Pages) -> list[int]:
    """The indices of the dialogues that are drawn.

    Raises:
        SettingsError: If there is no dialogue of this name.
    """
    if isinstance(pages, int) or pages == "all":
        return sorted(names)[: None if pages == "all" else int(pages)]
    check_known("dialogue", pages, names.values())
    return [place for place in sorted(names) if names[place] == pages]


def _page(folder: Path, place: int) -> Path:
    return folder / f"{place + 1:03d}.html"


def _list(group: Group, names: Mapping[int, str], folder: Path) -> Section:
    """All dialogues, with the numbers of the first agent."""
    rows: list[Row] = []
    for row in group.rows:
        if row.run == group.rows[0].run:
            page = _page(folder, row.place)
            link = f"{folder.name}/{page.name}" if page.exists() else ""
            means = [row.mean(name) for name in ("ac", "pt", "ftr", "rar")]
            numbers = ["-" if mean is None else f"{mean:.3f}" for mean in means]
            entry = Entry(names[row.place], link=link)
            rows.append((entry, row.subflow or "(unknown)", str(row.turns), *numbers))
    text = Paragraph(
        "A name that is a link has a page. `timeful report RUN --pages all` draws all of them, "
        "and `--pages NAME` one."
    )
    head = ("dialogue", "workflow", "turns", "AC", "PT", "FTR", "RAR")
    caption = f"{group.method}, its first run"
    grid = Grid(head=head, rows=tuple(rows), caption=caption, words=2)
    return Section("All dialogues", (text, grid), is_folded=True)


def _slowest(groups: Sequence[Group], main: Sequence[Group]) -> list[Group]:
    """One agent at its slowest, which shows lost turns."""
    timed = [group for group in groups if group.where["part"] == "time" and main]
    timed = [group for group in timed if group.where["timing"] != "by-turn"]
    first = [group for group in timed if group.method == timed[0].method]
    return first[-1:]


def _section(groups: Sequence[Group], place: int, out: Path) -> list[Section]:
    episodes: list[tuple[Group, Conversed]] = []
    for group in groups:
        row = next((row for row in group.rows if row.place == place), None)
        path = out / "episodes" / f"{row.key}.jsonl" if row is not None else None
        if path is None or not path.exists():
            continue
        conversed = read_conversation(read_record(path))
        if conversed is not None:
            episodes.append((group, conversed))
    if not episodes:
        return []
    blocks: list[Block] = []
    titles: dict[tuple[Row, ...], str] = {}
    for group, conversed in episodes:
        title = f"{group.method}; {TIMINGS[str(group.where['timing'])]}"
        if group.where["timing"] != "by-turn":
            title += f", {show_pace(group.where)} tokens/s, {len(conversed.lost)} turns lost"
        grid = draw(conversed, title)
        if grid.rows in titles:
            blocks.append(Paragraph(f"{title}: mark for mark as {titles[grid.rows]}"))
        else:
            titles[grid.rows] = title
            blocks.append(grid)
    group, first = episodes[0]
    blocks.append(_turns(episodes[:_COLUMNS]))
    origin = "synthetic" if first.synthetic else "from the data"
    runs = len(group.runs)
    remark = "" if runs == 1 else f" Of {runs} runs the first is drawn."
    intro = f"Workflow: {first.subflow or 'unknown'}. The conversation is {origin}.{remark}"
    return [Section(f"Dialogue {first.dialogue}", (Paragraph(intro), *blocks))]


def _turns(episodes: Sequence[tuple[Group, Conversed]]) -> Grid:
    """The text of each turn, the ready actions of the reference, and the predictions."""
    rows: list[Row] = []
    first = episodes[0][1]
    for index, (turn, utterance) in enumerate(zip(first.turns, first.transcript, strict=True)):
        observed = ", ".join(action.name for action in utterance.observed)
        due = [name for name, numbers in turn.ready_ranges.items() if turn.turn in numbers]
        rows.append(
            (
                str(turn.turn),
                Entry(
                    utterance.text or "-",
                    utterance.speaker + (f": took {observed}" * bool(observed)),
                ),
                Entry(", ".join(due) or "-", tone="quiet"),
                *(_predicted(conversed, index) for _, conversed in episodes),
            )
        )
    head = ("turn", "text", "ready in the reference", *(group.method for group, _ in episodes))
    return Grid(head=head, rows=tuple(rows), words=len(head))


def _predicted(conversed: Conversed, index: int) -> tuple[Entry, ...]:
    """The predictions at a turn, a line for each verdict."""
    turn = conversed.turns[index]
    if turn.turn in conversed.lost:
        return (Entry("lost", tone="alarm"),)
    groups: dict[Verdict, list[Opportunity]] = {outcome: [] for outcome in MARKS}
    for prediction in turn.predictions:
        groups[judge(turn, prediction)].append(prediction)
    lines = (
        Entry(
            f"{outcome}: {', '.join(p.name for p in predictions)}",
            "; ".join(describe(turn, p) for p in predictions),
            tone="alarm" if outcome in WRONG else "quiet" if outcome == "not ready" else "",
        )
        for outcome, predictions in groups.items()
        if predictions
    )
    return tuple(lines) or (Entry("nothing", tone="quiet"),)
