"""The sections of the real-time report: words and tables made from cells, without figures."""

from collections.abc import Iterable, Mapping, Sequence

from timeful.records.rows import EpisodeRow
from timeful.reports.page import Bullets, Entry, Notice, Paragraph, Section
from timeful.reports.page import Grid as Table
from timeful.suites.realtime.cells import Cell
from timeful.suites.realtime.comparisons import ALPHA, Comparison
from timeful.suites.realtime.conditions import MEAN, agent_order, condition_of
from timeful.suites.realtime.published import Published
from timeful.suites.realtime.tables import STAND_IN, Grid, short_p, used_reserves

_SHOWN_FAILURES = 50

EMPTY = "No episodes: nothing was run, so there is nothing to show."
ALL_FAILED = "Every episode failed, so there are no scores. The errors are listed below."


def what_was_run(rows: Sequence[EpisodeRow], settings: Mapping[str, object]) -> Section:
    """Say what was run, and at once what it is not."""
    blocks: list[Notice | Paragraph | Table] = []
    stand_ins = sorted({row.model for row in rows if row.stand_in})
    if not rows:
        blocks.append(Notice(EMPTY))
    elif stand_ins and all(row.stand_in for row in rows):
        blocks.append(Notice(STAND_IN))
    elif stand_ins:
        names = ", ".join(stand_ins)
        blocks.append(Notice(f"Stand-in for some rows: {names} is no language model."))
    failed = sum(row.status == "failed" for row in rows)
    if failed and failed == len(rows):
        blocks.append(Notice(ALL_FAILED))
    facts = {"episodes": f"{len(rows)}, of which {failed} failed"}
    for name, kind in (("games", "game"), ("agents", "agent"), ("models", "model")):
        values = sorted({str(getattr(row, kind)) for row in rows})
        if values:
            facts[name] = ", ".join(values)
    for name, kind in (("game seeds", "game_seed"), ("sampling seeds", "sample")):
        facts[name] = str(len({getattr(row, kind) for row in rows}))
    facts |= {name: _shown(value) for name, value in settings.items()}
    table = Table(head=("setting", "value"), rows=tuple(facts.items()), words=2)
    return Section("What was run", (*blocks, table))


def _shown(value: object) -> str:
    """A setting in words rather than as Python writes it."""
    if value is None:
        return "none"
    if isinstance(value, Mapping):
        parts = {name: _shown(part) for name, part in value.items() if part is not None}
        return ", ".join(
            part if name == "spec" else f"{name}: {part}" for name, part in parts.items()
        )
    if isinstance(value, list | tuple):
        return ", ".join(map(_shown, value))
    return str(value)


def grid_table(grid: Grid, *, caption: str = "") -> Table:
    """One experiment and game: our mean and interval, theirs below it in small.

    The caption is the name of the game unless another is given.
    """
    usual = f" (n={grid.usual_n} unless said)" if grid.usual_n else ""
    body: list[tuple[str | Entry, ...]] = []
    for method in grid.methods:
        cells = [grid.at(method, column) for column in grid.columns]
        body.append((method, *(_entry(cell, grid) for cell in cells)))
    heads = [column.label(grid.experiment) for column in grid.columns]
    return Table(caption=f"{caption or grid.game}{usual}", head=("", *heads), rows=tuple(body))


def _entry(cell: Cell | None, grid: Grid) -> Entry:
    if cell is None:
        return Entry("not run" if grid.is_full else "", tone="quiet")
    small = [f"theirs {cell.published.value:.2f}"] if cell.published else []
    if cell.is_run and cell.ok != grid.usual_n:
        small.append(f"n={cell.ok}")
    if cell.failed:
        small.append(f"{cell.failed} failed")
    if cell.above_one:
        small.append(f"{cell.above_one} of ours above 1")
    below = ", ".join(small)
    if cell.score is None:
        return Entry(
            "failed" if cell.failed else "not run", below, "alarm" if cell.failed else "quiet"
        )
    score = cell.score
    if score.low is None or score.high is None:
        return Entry(f"{score.mean:.2f}", ", ".join(["one seed, no interval", *small]))
    return Entry(f"{score.mean:.2f} [{score.low:.2f}, {score.high:.2f}]", below)


def comparison_table(comparisons: Sequence[Comparison]) -> Table:
    """All paired tests, each condition once however many experiments show it."""
    unique = {(one.condition, one.method): one for one in comparisons}
    body = tuple(_comparison(one) for one in unique.values())
    head = ("condition", "compared", "difference", "p (t-test)", "p (sign flips)", "pairs")
    return Table(head=head, rows=body, words=2)


def _comparison(one: Comparison) -> tuple[str | Entry, ...]:
    is_clear = one.p_t is not None and one.p_t < ALPHA
    return (
        one.condition.text + (" †" if one.is_copies else ""),
        one.method,
        f"{one.difference:+.2f}",
        Entry(short_p(one.p_t), tone="alarm" if is_clear else ""),
        short_p(one.p_permutation),
        str(one.pairs),
    )


def comparison_words(comparisons: Iterable[Comparison]) -> Bullets:
    """How to read the tests, and where they say less than they seem to."""
    shown = list(comparisons)
    words = [
        "Pairs share a game seed; each score is the mean over its samples. One-sided: is "
        "AgileThinker better? (paper, App. C.2). Red: p of the t-test below 0.05.",
        "The second number is an exact test that flips the signs of the differences. With "
        "fewer than five pairs it cannot come below 0.05.",
        "No correction is made for the number of tests.",
    ]
    if any(one.p_t is None for one in shown):
        words.append("undef.: all differences are equal, or there is one pair; t is undefined.")
    if any(one.is_copies for one in shown):
        words.append(
            "† Overcooked in compat mode ignores its game seed: its pairs are copies of one "
            "game, not independent games, and p speaks of sampling noise only. Where there is no "
            "noise either, no p is given."
        )
    return Bullets(tuple(words))


def time_table(rows: Iterable[EpisodeRow]) -> Table:
    """How each agent used its time, by pressure: late turns, tokens, cut calls."""
    groups: dict[tuple[tuple[int, str], str, float, str], list[EpisodeRow]] = {}
    for row in rows:
        if row.status == "ok" and row.turns:
            at = condition_of(row)
            size = -float(at.tokens_per_step or 0) if row.clock == "token" else at.seconds_per_step
            key = (agent_order(row.agent), row.clock, size or 0.0, at.pressure)
            groups.setdefault(key, []).append(row)
    body = []
    for (agent, _, _, pressure), part in sorted(groups.items()):
        turns = sum(row.turns for row in part)
        calls = sum(len(row.reactor_tokens) for row in part)
        cut = sum(row.reactor_cut for row in part)
        body.append(
            (
                agent[1],
                pressure,
                str(len(part)),
                f"{turns / len(part):.1f}",
                f"{sum(row.late_turns for row in part) / turns:.0%}",
                f"{sum(row.tokens for row in part) / turns:.0f}",
                f"{cut / calls:.0%}" if calls else "",
            )
        )
    head = ("agent", "pressure", "episodes", "turns", "late turns", "tokens/turn", "calls cut")
    return Table(head=head, rows=tuple(body), words=2)


def failures(rows: Sequence[EpisodeRow]) -> Section | None:
    """List the episodes that failed, with their errors; None if there are none."""
    bad = [row for row in rows if row.status == "failed"]
    if not bad:
        return None
    body = tuple((_episode(row), row.error or "no error was recorded") for row in bad)
    table = Table(head=("episode", "error"), rows=body[:_SHOWN_FAILURES], words=2)
    words = f"Failed: {len(bad)} of {len(rows)}. They are in no mean; n counts the others."
    if len(bad) > _SHOWN_FAILURES:
        words += f" The first {_SHOWN_FAILURES} are shown; all are in episodes.csv."
    return Section("Failures", (Paragraph(words), table))


def _episode(row: EpisodeRow) -> str:
    seed = f"seed {row.game_seed}, sample {row.sample}"
    return f"{row.agent}, {condition_of(row).text}, {seed}"


def not_run(entries: Iterable[Published]) -> Section | None:
    """The published numbers of experiments that this run was not about."""
    rows = tuple(
        (entry.source, entry.condition.text, entry.method, f"{entry.value:.2f}")
        for entry in entries
        if entry.condition.game != MEAN
    )
    if not rows:
        return None
    words = Paragraph(
        "Theirs, of models that were not run here. Each of these experiments runs against any "
        "endpoint; until then there is nothing of ours to put beside them."
    )
    table = Table(head=("source", "condition", "method", "theirs"), rows=rows, words=3)
    return Section("Published, and not run here", (words, table), is_folded=True)


def notes(rows: Sequence[EpisodeRow], cells: Sequence[Cell]) -> Section:
    """What a reader must know before comparing anything."""
    words = [
        "The published numbers (theirs) are of other models: DeepSeek-V3 and R1 in Tables 2, 6, 7 "
        "and 11, DeepSeek-V3.2 in Tables 8 and 9, Gemini-2.5-Flash in Table 10 of Real-Time "
        "Reasoning Agents in Evolving Environments (arXiv 2511.04898). They stand beside ours for "
        "the shape of the curves and are no target for another model.",
        "Published numbers that disagree with each other are kept as printed: Table 6 at medium "
        "load and Table 7 at 8k are one setting, with a reactive budget of 8k and 4k tokens.",
        "Score = (R - R_min) / (R_max - R_min), with bounds 0 to 89 (Freeway), -1 to 15 (Snake) "
        "and 0 to 56 (Overcooked), the paper's Table 4. Nothing is clipped.",
        "Intervals are 95 % percentile intervals of a bootstrap that draws game seeds, then "
        "samples within them: episodes on one game seed are not independent games.",
    ]
    if any(cell.above_one for cell in cells):
        words.append(
            "Some episodes score above 1: Table 4 holds the best returns that the authors saw, "
            "not the best there are. A plain greedy snake reaches 24, a scripted cook 84."
        )
    if any(row.game == "overcooked" and row.mode == "compat" for row in rows):
        words.append(
            "Overcooked in compat mode ignores its game seed, as the released code does: its game "
            "seeds are copies of one game. Its intervals and tests speak of sampling noise only."
        )
    if any(row.mode == "paper" for row in rows):
        words.append(
            "Paper mode differs from the released code (compat), with which the published numbers "
            "were presumably made."
        )
    return Section("Notes", (Bullets(tuple(words)), *_reserve_table(cells)))


def _reserve_table(cells: Sequence[Cell]) -> tuple[Table, ...]:
    """Which budget each reactor had, if any has one."""
    used = used_reserves(cells)
    caption = "Reactor's budget outside the sweep (the paper does not print its own)"
    head = ("agent", "pressure", "budget", "games")
    return (Table(caption=caption, head=head, rows=used, words=4),) if used else ()
