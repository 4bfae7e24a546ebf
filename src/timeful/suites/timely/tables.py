"""The tables of Timely-Eval as plain text: Table 1 in its three parts, and Tables 2 and 3."""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from statistics import fmean
from textwrap import fill

from timeful.metrics.statistics import Estimate
from timeful.suites.parts import unusable
from timeful.suites.timely.baselines import Kept
from timeful.suites.timely.numbers import (
    ALL,
    ANY_TIME,
    GAIN,
    HEADLINE,
    HURRY,
    IN_TIME,
    RIGHT,
    ROUNDS,
    TOKENS,
    TOOLS,
    VALID,
    Cell,
    Measure,
    budgets_of,
    make_cells,
)
from timeful.suites.timely.published import ABLATION, COLUMNS, HURRIED, ON_TIME, SCORES
from timeful.tasks.budgets import Baseline
from timeful.tasks.episode import FAMILIES, Family, group_of
from timeful.tasks.rows import TaskRow

STAND_IN = "Stand-in: rules work on the cases; no language model was run."
NOT_RUN = "published, not run here"

TITLES: dict[Family, str] = {
    "fiction": "Table 1, interactive fiction: points, averaged over budgets",
    "coding": "Table 1, machine learning: reward accuracy in %, averaged over budgets",
    "reasoning": "Table 1, reasoning: right and in time in %, averaged over budgets",
}

_BESIDE: dict[Family, tuple[Measure, ...]] = {
    "fiction": (GAIN, ROUNDS),
    "coding": (VALID, ROUNDS),
    "reasoning": (TOKENS,),
}
"""What is printed under each budget, beside the headline."""

_NAME, _ENTRY = 23, 11
_FIT = (80 - _NAME) // _ENTRY


def text_tables(rows: Sequence[TaskRow]) -> str:
    """All tables of episodes, in at most 80 columns, and what is to be said about them."""
    cells = make_cells(rows)
    blocks: list[str] = []
    for family in FAMILIES:
        mine = [cell for cell in cells if cell.family == family]
        if mine:
            blocks += ["\n".join(_table_1(family, mine)), "\n".join(_by_budget(family, mine))]
        if family == "reasoning" and HURRY in budgets_of(mine):
            blocks.append("\n".join(_table_2(mine)))
    return "\n\n".join([*blocks, "\n".join(_legend(cells, rows))]) + "\n"


# --- Table 1 --------------------------------------------------------------------------------------


def _table_1(family: Family, cells: Sequence[Cell]) -> Iterator[str]:
    yield TITLES[family]
    groups = list(dict.fromkeys(cell.group for cell in cells))
    for part in _parts(groups):
        yield _line("ours", [_fitted(group) for group in part])
        for name, mine in by_who(cells):
            by_group = {cell.group: cell for cell in mine}
            yield _line(name, [_headline(by_group.get(group)) for group in part])
    columns = [column.name for column in COLUMNS if column.family == family]
    yield _line(NOT_RUN, columns)
    for model, scores in SCORES.items():
        yield _line(model, [f"{scores[column]:.1f}" for column in columns])


def _headline(cell: Cell | None) -> str:
    if cell is None:
        return ""
    return text_number(cell.number(HEADLINE[cell.family]), HEADLINE[cell.family].decimals)


def whole(cells: Sequence[Cell]) -> Sequence[Cell]:
    """Those of all sets of problems together, if there are several; else all cells."""
    return [cell for cell in cells if cell.group == ALL] or cells


def by_who(cells: Iterable[Cell]) -> list[tuple[str, list[Cell]]]:
    """Cells by who worked, and by latency if there are several; each has one of a group."""
    cells = list(cells)
    several = len({cell.latency for cell in cells}) > 1
    named: dict[str, list[Cell]] = {}
    for cell in cells:
        name = f"{cell.who}, {cell.latency}" if several else cell.who
        named.setdefault(name, []).append(cell)
    return list(named.items())


def text_number(found: Estimate | None, decimals: int) -> str:
    """A mean and half of its interval, such as "45.0±5.2"; without one, the mean alone."""
    if found is None:
        return "failed"
    if found.low is None or found.high is None:
        return f"{found.mean:.{decimals}f}"
    return f"{found.mean:.{decimals}f}±{(found.high - found.low) / 2:.{decimals}f}"


# --- by budget ------------------------------------------------------------------------------------


def _by_budget(family: Family, cells: Sequence[Cell]) -> Iterator[str]:
    """What a larger budget brings: the numbers of Figures 2 to 4."""
    beside = _BESIDE[family]
    if any(row.value and not row.is_on_time for cell in cells for row in cell.rows):
        beside = (ANY_TIME, *beside)
    yield f"By budget: {', '.join(m.name for m in (HEADLINE[family], *beside))}"
    budgets, cells = budgets_of(cells), whole(cells)
    for group in dict.fromkeys(cell.group for cell in cells):
        mine = [cell for cell in cells if cell.group == group]
        for part in _parts(budgets):
            yield _line(group, part)
            for name, (cell,) in by_who(mine):
                yield _line(name, [_point(cell, HEADLINE[family], budget) for budget in part])
                for measure in beside:
                    entries = [_mean(cell, measure, budget) for budget in part]
                    yield _line(f"  {measure.name}", entries)


def _point(cell: Cell, measure: Measure, budget: str) -> str:
    return text_number(cell.number(measure, budget=budget), measure.decimals)


def _mean(cell: Cell, measure: Measure, budget: str) -> str:
    found = cell.number(measure, budget=budget)
    return "" if found is None else f"{found.mean:.{measure.decimals}f}"


# --- Tables 2 and 3 -------------------------------------------------------------------------------

_HURRIED = (IN_TIME, RIGHT, TOOLS)


def _table_2(cells: Sequence[Cell]) -> Iterator[str]:
    yield f"Tables 2 and 3: under {HURRY} of one's own unhurried time, in %"
    yield _line("", ["set", *(measure.name for measure in _HURRIED)])
    for name, mine in by_who(cells):
        for cell in whole(mine):
            yield _line(name, [cell.group, *(_point(cell, m, HURRY) for m in _HURRIED)])
    yield NOT_RUN
    sets = list(dict.fromkeys(column for row in HURRIED.values() for column, _ in row))
    for model, row in HURRIED.items():
        for name in sets:
            values = [row[name, measure.name] for measure in _HURRIED]
            yield _line(model, [name, *(f"{value:.1f}" for value in values)])
            model = ""
    yield _line(f"Table 3, {ON_TIME}", sets)
    for method, ablation in ABLATION.items():
        yield _line(method, [f"{ablation[name]:.1f}" for name in sets])


# --- unhurried runs -------------------------------------------------------------------------------


def unhurried_table(baselines: Iterable[Kept]) -> str:
    """What unhurried runs took, which budgets are multiples of: means over the cases of a set."""
    sets: dict[tuple[str, str, str], list[Baseline]] = {}
    for kept in baselines:
        known = kept.conditions
        of = known["latency"], known["who"]["spec"], group_of(known["family"], kept.case)
        sets.setdefault(of, []).append(kept.baseline)
    several = len({latency for latency, _, _ in sets}) > 1
    lines = ["Unhurried: means over cases", _line("", ["of", "seconds", "steps", "s a step"])]
    for (latency, who, group), found in sets.items():
        took, steps = fmean(one.counted for one in found) / 1e9, fmean(one.steps for one in found)
        numbers = (f"{took:.2f}", f"{steps:.1f}", f"{took / steps:.3f}")
        name = f"{who}, {latency}" if several else who
        lines.append(_line(name, [_fitted(group), *numbers]))
    return "\n".join(lines)


# --- parts ----------------------------------------------------------------------------------------


def _line(name: str, entries: Sequence[str]) -> str:
    """A name that is too long has a line of its own."""
    room = "\n" + " " * _NAME if len(name) > _NAME else " " * (_NAME - len(name))
    return (name + room + "".join(f" {e:>{_ENTRY - 1}}" for e in entries)).rstrip()


def _fitted(name: str) -> str:
    """The name of a column, of which the start and the end are kept."""
    return name if len(name) < _ENTRY else f"{name[:4]}…{name[6 - _ENTRY :]}"


def _parts(names: Sequence[str]) -> list[Sequence[str]]:
    """As many names at a time as fit on a line."""
    return [names[start : start + _FIT] for start in range(0, len(names), _FIT)]


def stopped(rows: Iterable[TaskRow]) -> Iterator[str]:
    """Who gave up because there are no more rounds, and how often; nothing if nobody did."""
    rows = list(rows)
    played = Counter(row.who for row in rows)
    counts = Counter((row.rounds, row.who) for row in rows if row.is_out_of_rounds)
    for most in sorted({rounds for rounds, _ in counts}):
        found = sorted((who, n) for (rounds, who), n in counts.items() if rounds == most)
        said = ", ".join(f"{who} in {n} of {played[who]} episodes" for who, n in found)
        yield f"Stopped at {most} rounds: {said}."


def _legend(cells: Sequence[Cell], rows: Sequence[TaskRow]) -> Iterator[str]:
    if all(cell.stand_in for cell in cells):
        yield STAND_IN
    elif any(cell.stand_in for cell in cells):
        names = sorted({cell.who for cell in cells if cell.stand_in})
        yield f"Stand-ins, and no language models: {', '.join(names)}."
    yield "Ours: the mean ± half of its 95 % bootstrap interval over cases; of a single"
    yield "case over its runs; one run of a single case has no ±. Published: language"
    yield "models on the benchmarks that are named, none of them run here; what stand-ins"
    yield "come to says nothing about models."
    yield from (fill(said, 80, break_on_hyphens=False) for said in stopped(rows))
    spoken = [row for row in rows if not row.stand_in and row.status == "ok"]
    if spoken:
        calls = sum(row.calls + row.timer_calls + row.bad_calls for row in spoken)
        yield unusable(sum(row.bad_calls for row in spoken), calls).replace("answers", "calls")
