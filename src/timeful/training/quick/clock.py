"""What a model does with the clock: how much it says after a reading, true or not, by device."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise, product
from pathlib import Path
from statistics import fmean
from typing import Literal

import msgspec

from timeful.metrics.budgets import right_in_time
from timeful.metrics.statistics import Estimate
from timeful.training.collapse_detection import LEAST_SPREAD
from timeful.training.quick.asked import Asked
from timeful.training.quick.claim import LEAST, in_short
from timeful.training.quick.recipe import BASE
from timeful.training.quick.rows import ClockRow, read_clocks
from timeful.training.quick.scores import Score, mean_of, model_of, standings
from timeful.training.quick.stages import Stage

TIMELY = "timely"
Exam = Literal["graded", "hurried", "misled"]
SLACK = 1.05
"""What is said after a later reading may be so much longer: two readings may ask for one way."""

_EXAMS: dict[str, Exam] = {"grade": "graded", "hurry": "hurried", "mislead": "misled"}


class Cell(msgspec.Struct, frozen=True, kw_only=True):
    """Answers of one model of one seed that had the same time, device and reading of the clock.

    `budget` is what there was room for, in seconds of a device that counts once, or the multiple of
    the unhurried time. `alpha` is how much thinking counted, `scale` what the timer multiplied the
    time by, `clock` how many eighths of the budget it told (None if it was not asked). `after` are
    the tokens that were said after that; all are means but `count`.
    """

    seed: int
    model: str
    exam: Exam
    budget: str
    alpha: float
    scale: float
    clock: int | None
    count: int
    tokens: float
    after: float
    on_time: float
    success: float
    accuracy: float


def read_cells(asked: Asked, out: Path) -> list[Cell]:
    """All cells of a run; what failed or was not reached is missing."""
    return [
        cell
        for stage in asked.stages(out)
        if stage.kind in _EXAMS and stage.is_done
        for cell in _cells(stage)
    ]


def _cells(stage: Stage) -> Iterator[Cell]:
    recipe = stage.recipe
    groups: dict[tuple[float, str, float, int | None], list[ClockRow]] = {}
    for row in read_clocks(stage.result):
        if row.status == "ok":
            is_hurried = stage.kind == "hurry"
            budget = row.budget if is_hurried else recipe.budget(row.room(recipe.language.pace))
            groups.setdefault((row.scale, budget, row.alpha, row.clock), []).append(row)
    for (scale, budget, alpha, clock), rows in groups.items():
        yield Cell(
            seed=stage.seed,
            model=model_of(stage),
            exam=_EXAMS[stage.kind],
            budget=budget,
            alpha=alpha,
            scale=scale,
            clock=clock,
            count=len(rows),
            tokens=fmean(row.tokens for row in rows),
            after=fmean(row.after for row in rows),
            on_time=fmean(row.is_on_time for row in rows),
            success=fmean(map(right_in_time, rows)),
            accuracy=fmean(row.value for row in rows),
        )


# --- tables ---------------------------------------------------------------------------------------

Measure = Literal["tokens", "after", "on_time", "success", "asked"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Grid:
    """A table: a row for each model, a mean over seeds in each cell; None where nothing is."""

    key: str
    title: str
    measure: Measure
    head: tuple[str, ...]
    rows: dict[str, tuple[Estimate | None, ...]]


_Columns = dict[str, list[Cell]]


def grids(asked: Asked, cells: Sequence[Cell]) -> list[Grid]:
    """The tables of the clock."""
    language, factors = asked.recipe.language, [f"{f:g}x" for f in asked.recipe.factors]
    models = [BASE, *(arm.name for arm in asked.learnt)]
    true = [one for one in cells if one.exam == "graded"]
    heard = _heard(asked, cells)
    hurried = {f: [one for one in cells if one.budget == f] for f in factors}
    shared = [one for one in true if _is_shared(asked, one)]
    told = ", ".join(map(str, _shared(asked))) or "no"
    clocks = sorted({language.clock(room) for room in language.allowed})

    def grid(key: str, title: str, measure: Measure, columns: _Columns) -> Grid:
        rows = {
            model: tuple(
                _over_seeds([one for one in column if one.model == model], measure)
                for column in columns.values()
            )
            for model in models
        }
        return Grid(key=key, title=title, measure=measure, head=tuple(columns), rows=rows)

    def by_device(some: Sequence[Cell]) -> _Columns:
        return {f"x{a:g}": [one for one in some if one.alpha == a] for a in language.devices}

    after = {f"{k}/8": [one for one in true if one.clock == k] for k in clocks}
    lies = {
        f"x{scale:g}": [one for one in heard if one.scale == scale]
        for scale in sorted({1.0, *asked.recipe.lies})
    }
    return [
        grid(
            "clock", "Tokens said after the clock, by how much was gone as it told", "after", after
        ),
        grid(
            "device",
            f"On time at {factors[0]}, by how much thinking counted",
            "on_time",
            by_device(hurried[factors[0]]),
        ),
        grid(
            "same budget",
            f"Tokens where {told} tokens were told, likewise",
            "tokens",
            by_device(shared),
        ),
        grid("asked", "How often the timer was asked", "asked", {"in turn": true, **hurried}),
        grid(
            "misled, after",
            "Tokens said after a clock that tells so many times the time, in words of lessons",
            "after",
            lies,
        ),
        grid("misled, on time", "On time, likewise", "on_time", lies),
    ]


def _heard(asked: Asked, cells: Sequence[Cell]) -> list[Cell]:
    """Cells by true and by wrong clocks, of the same rooms: where lessons had each reading's word.

    What follows a word that was never heard says nothing of whether the clock is believed.
    """
    recipe, clock = asked.recipe, asked.recipe.language.clock
    known = {clock(room) for room in recipe.language.allowed}
    fit = {
        recipe.budget(room)
        for room in recipe.language.allowed
        if all(clock(room / scale) in known for scale in recipe.lies)
    }
    return [c for c in cells if c.exam != "hurried" and c.clock is not None and c.budget in fit]


def _shared(asked: Asked) -> list[int]:
    """The budgets that are told on every device: they say nothing of it."""
    language = asked.recipe.language
    return [
        n
        for n in language.budgets
        if all(n / device in language.allowed for device in language.devices)
    ]


def _is_shared(asked: Asked, cell: Cell) -> bool:
    told = {
        (asked.recipe.budget(int(n / device)), device)
        for n in _shared(asked)
        for device in asked.recipe.language.devices
    }
    return (cell.budget, cell.alpha) in told


def _over_seeds(cells: Sequence[Cell], measure: Measure) -> Estimate | None:
    """The mean over seeds, each a mean over its answers; None without any."""
    seeds = sorted({one.seed for one in cells})
    values = [mean([c for c in cells if c.seed == seed], measure) for seed in seeds]
    return mean_of(values, measure) if values else None


def mean(cells: Sequence[Cell], measure: Measure) -> float:
    """Over the answers of cells; at least one."""
    count = sum(one.count for one in cells)
    if measure == "asked":
        return sum(one.count for one in cells if one.clock is not None) / count
    return float(sum(getattr(one, measure) * one.count for one in cells) / count)


# --- the claim ------------------------------------------------------------------------------------


class ClockVerdict(msgspec.Struct, frozen=True, kw_only=True):
    """What became of the claim over the seeds in which everything was graded.

    The seeds of which it holds that the timely arm is `punctual`, of all models the most often on
    time at the first multiple; that it `heeds` the clock: after no reading it says more than after
    an earlier one, and after the last at most 2/3 of what it says after the first; that it is
    `misled`: it says less after a clock that is fast, and more after one that is slow, where
    lessons had the word for what it tells; and that it `beats` the best that can be done by the
    budget that is told alone.
    `others` counts for each other model in how many seeds it heeds the clock.
    """

    timely: str
    seeds: tuple[int, ...]
    punctual: tuple[int, ...]
    heeds: tuple[int, ...]
    misled: tuple[int, ...]
    beats: tuple[int, ...]
    others: dict[str, int]
    success: float
    blind: float
    missing: tuple[str, ...]

    @property
    def holds(self) -> bool:
        """Whether it does, in every seed."""
        return self.seeds == self.punctual == self.heeds == self.misled == self.beats


def clock_verdict(
    asked: Asked, out: Path, scores: Sequence[Score], cells: Sequence[Cell]
) -> ClockVerdict | None:
    """Count; None if there is nothing to compare."""
    timely = next((arm.name for arm in asked.learnt if arm.reward == TIMELY), None)
    wanted = [stage for stage in asked.stages(out) if stage.kind in _EXAMS]
    missing = [stage for stage in wanted if not stage.is_done]
    lacking = {stage.seed for stage in missing}
    seeds = tuple(seed for seed in asked.seeds if seed not in lacking)
    if timely is None or not seeds:
        return None
    models = [BASE, *(arm.name for arm in asked.learnt)]
    mine = {
        (s, m): [c for c in cells if (c.seed, c.model) == (s, m)] for s in seeds for m in models
    }
    right = {one.seed: one.success for one in standings(scores) if one.model == timely}
    alone = blind(asked, out)
    return ClockVerdict(
        timely=timely,
        seeds=seeds,
        punctual=tuple(s for s in seeds if _most_punctual(asked, s, models, mine) == timely),
        heeds=tuple(s for s in seeds if _heeds(mine[s, timely])),
        misled=tuple(s for s in seeds if _is_misled(_heard(asked, mine[s, timely]))),
        beats=tuple(s for s in seeds if right[s] > alone.get(s, 0.0)),
        others={m: sum(_heeds(mine[s, m]) for s in seeds) for m in models if m != timely},
        success=fmean(right[s] for s in seeds),
        blind=fmean(alone.get(s, 0.0) for s in seeds),
        missing=tuple(f"seed {one.seed}, {model_of(one)}" for one in missing),
    )


def _most_punctual(
    asked: Asked, seed: int, models: Sequence[str], mine: dict[tuple[int, str], list[Cell]]
) -> str:
    first = f"{asked.recipe.factors[0]:g}x"
    shares = {m: mean([c for c in mine[seed, m] if c.budget == first], "on_time") for m in models}
    return max(shares, key=lambda model: shares[model])


def _heeds(cells: Sequence[Cell]) -> bool:
    """Whether it says the less the later it is told that it is."""
    by_clock: dict[int, list[Cell]] = {}
    for one in cells:
        if one.exam == "graded" and one.clock is not None:
            by_clock.setdefault(one.clock, []).append(one)
    said = [mean(by_clock[clock], "after") for clock in sorted(by_clock)]
    if len(said) < 2 or said[0] < LEAST_SPREAD * said[-1]:
        return False
    return all(later <= SLACK * earlier for earlier, later in pairwise(said))


def _is_misled(cells: Sequence[Cell]) -> bool:
    """Whether it says the less the faster the clock is."""
    said = [
        mean([one for one in cells if one.scale == scale], "after")
        for scale in sorted({one.scale for one in cells})
    ]
    return len(said) > 1 and all(more > less for more, less in pairwise(said))


def blind(asked: Asked, out: Path) -> dict[int, float]:
    """The best budgeted success, by seed, of whoever knows the budget told, and no clock.

    For each budget the best way is taken; how often a way is right is taken from the model of the
    seed that is best at it, and the call of the timer is saved.
    """
    language = asked.recipe.language
    lengths = [language.length(stride) for stride in language.strides]
    right: dict[tuple[int, int], list[float]] = {}
    for stage in asked.stages(out):
        if stage.kind != "grade" or not stage.is_done:
            continue
        rows = read_clocks(stage.result)
        for n in lengths:
            told = [r.value for r in rows if r.status == "ok" and r.tokens in (n, n - 1)]
            if len(told) >= max(1.0, LEAST * len(rows)):
                right.setdefault((stage.seed, n), []).append(fmean(told))
    pairs = list(product(language.allowed, language.devices))
    found = {}
    for seed in {seed for seed, _ in right}:
        best = {n: max(values) for (whose, n), values in right.items() if whose == seed}
        found[seed] = sum(
            max(
                sum(share for room, a in pairs if room * a == told and n - 1 <= room)
                for n, share in best.items()
            )
            for told in {room * a for room, a in pairs}
        ) / len(pairs)
    return found


def clock_sentences(told: ClockVerdict) -> list[str]:
    """The claim in words, as the numbers have it."""
    n, others = len(told.seeds), ", ".join(f"{m}: {count}" for m, count in told.others.items())
    said = [in_short(n, told.others, holds=told.holds)]
    said.append(
        f"{told.timely} is the most often on time in {len(told.punctual)} of {n} seeds. It acts on "
        f"the clock in {len(told.heeds)} of {n} ({others}): the later it is, the less it says."
    )
    said.append(
        f"A clock that lies is believed in {len(told.misled)} of {n} seeds: it says less where the "
        "clock is fast and more where it is slow, with the same problems and budgets."
    )
    said.append(
        "It beats the best that can be done by the budget that is told alone in "
        f"{len(told.beats)} of {n}: {told.success:.3f} against {told.blind:.3f} right and on time."
    )
    if told.missing:
        said.append(f"Left out are seeds that lack a model: {'; '.join(told.missing)}.")
    return said
