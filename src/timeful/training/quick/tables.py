"""The tables of the embedded run as plain text, in at most 80 columns."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from textwrap import fill

from timeful.metrics.statistics import Estimate
from timeful.suites.parts import with_half
from timeful.suites.timely.published import ABLATION as TABLE_3
from timeful.training.quick import published
from timeful.training.quick.asked import Asked
from timeful.training.quick.claim import OneWay, one_ways, sentences, verdict
from timeful.training.quick.clock import (
    Grid,
    clock_sentences,
    clock_verdict,
    grids,
    read_cells,
)
from timeful.training.quick.recipe import BASE
from timeful.training.quick.run import plainest
from timeful.training.quick.scores import (
    Exam,
    Measure,
    Score,
    Standing,
    mean_of,
    over_seeds,
    standings,
)

WIDTH = 80
_NAME, _CELL, _FEW = 22, 11, 4

MEASURES: Mapping[Measure, str] = {
    "success": "Budgeted success: right and within the budget",
    "accuracy": "Accuracy: right, whenever it came",
    "tokens": "Tokens of an answer",
}
HURRIED: Mapping[Measure, str] = {
    "on_time": "On time under multiples of the cold start's own unhurried time",
    "success": "Right and on time, likewise",
    "tokens": "Tokens, likewise",
}
NO_TIMER = "The budget is told at the beginning; no timer is asked on the way."
ASKED = "The timer may be asked on the way; how fast the device is nobody tells."
ELSEWHERE = "published, another model and another task"


def text_tables(asked: Asked, out: Path, scores: Sequence[Score]) -> str:
    """All tables of a run, and what is to be said about them."""
    blocks = _ablation(asked, scores) if asked.fractions else _run(asked, out, scores)
    return "\n\n".join("\n".join(block) for block in blocks) + "\n"


def _run(asked: Asked, out: Path, scores: Sequence[Score]) -> Iterator[Iterable[str]]:
    yield (_title(asked),)
    if asked.recipe.language.opening:
        yield from _clock(asked, out, scores)
        return
    for measure in MEASURES:
        yield main_table(asked, scores, measure)
    yield published_table()
    yield seeds_table(asked, scores)
    found = one_ways(asked, out)
    if found:
        yield one_way_table(found)
    if any(arm.is_relative for arm in asked.learnt):
        yield hurried_table(asked, scores)
    told = verdict(asked, out, scores)
    yield [fill(one, WIDTH) for one in sentences(told)] if told else ["Nothing can be compared."]


def _clock(asked: Asked, out: Path, scores: Sequence[Score]) -> Iterator[Iterable[str]]:
    """With a timer on the way: Table 3, then what the clock does, then all rooms."""
    cells = read_cells(asked, out)
    yield hurried_table(asked, scores)
    for grid in grids(asked, cells):
        yield grid_table(grid)
    for measure in MEASURES:
        yield main_table(asked, scores, measure)
    yield seeds_table(asked, scores)
    told = clock_verdict(asked, out, scores, cells)
    said = clock_sentences(told) if told else ["Nothing can be compared."]
    yield [fill(one, WIDTH) for one in said]


def grid_table(grid: Grid) -> Iterator[str]:
    """A table of the clock."""
    yield grid.title
    yield _line("", grid.head)
    for model, row in grid.rows.items():
        yield _line(model, [shown(one, grid.measure) for one in row])


def _title(asked: Asked) -> str:
    how = "; means over seeds ± half of their 95 % interval" if len(asked.seeds) > 1 else ""
    return fill(f"{seeds(asked)}, {problems(asked)} a budget{how}", WIDTH)


def seeds(asked: Asked) -> str:
    """How many there are, in words."""
    return "1 seed" if len(asked.seeds) == 1 else f"{len(asked.seeds)} seeds"


def problems(asked: Asked) -> str:
    """How many are graded, in words that name their side where it is not the final one."""
    recipe = asked.recipe
    return f"{recipe.problems} {'' if recipe.exam == 'test' else f'{recipe.exam} '}problems"


def models(asked: Asked) -> list[str]:
    """Who is graded under the steps of the budget."""
    return [BASE, *(arm.name for arm in asked.learnt if not arm.is_relative)]


def hurried_models(asked: Asked) -> dict[str, str]:
    """Who is graded under relative budgets, each with its name in Table 3 of the paper."""
    if asked.recipe.language.opening:
        return {name: name for name in models(asked)}
    plain = plainest(asked.learnt)
    late = {arm.name: arm.name for arm in asked.learnt if arm.is_relative}
    return {BASE: "cold start", **({plain: "+ GRPO"} if plain else {}), **late}


def budgets(asked: Asked) -> list[str]:
    """The steps of the budget as scores name them."""
    return [asked.recipe.budget(tokens) for tokens in asked.recipe.language.allowed]


def main_table(asked: Asked, scores: Sequence[Score], measure: Measure) -> Iterator[str]:
    """Table 5 in miniature: a measure under each budget, over seeds."""
    yield MEASURES[measure]
    yield _line("", [*(f"{n} tokens" for n in asked.recipe.language.allowed), "mean"])
    for model in models(asked):
        cells = [estimate(pick(scores, model, "graded", b), measure) for b in budgets(asked)]
        mean = over_budgets(scores, model, measure)
        yield _line(model, [*(shown(one, measure) for one in cells), mean])


def over_budgets(scores: Sequence[Score], model: str, measure: Measure) -> str:
    """The mean over budgets, then over seeds."""
    mine = [one for one in standings(scores) if one.model == model]
    values = [sum(getattr(s, measure) for s in one.scores) / len(one.scores) for one in mine]
    return shown(mean_of(values, measure) if values else None, measure)


def seeds_table(asked: Asked, scores: Sequence[Score]) -> Iterator[str]:
    """Every seed by itself, with what the alarm says of it."""
    steps = asked.recipe.language.allowed
    yield "Each seed: budgeted success, tokens, and whether length follows the budget"
    # Five steps leave less room for names.
    name = 19 if len(steps) <= _FEW else 10
    wide = 6 if len(steps) <= _FEW else 5
    head = "".join(f"{n:>5}" for n in steps) + "".join(f"{n:>{wide}}" for n in steps)
    yield f"{'seed':<5}{'':<{name}}{head}"
    found = {(one.seed, one.model): one for one in standings(scores)}
    for seed in asked.seeds:
        for model in models(asked):
            told = _standing(found.get((seed, model)))
            yield f"{seed:<5}{model[: name - 1]:<{name}}{told}"


def _standing(one: Standing | None) -> str:
    if one is None:
        return "  not graded: it failed, or was not reached"
    right = "".join(f"{_short(score.success):>5}" for score in one.scores)
    width, decimals = (6, 1) if len(one.scores) <= _FEW else (5, 0)
    long = "".join(f"{score.tokens:>{width}.{decimals}f}" for score in one.scores)
    return f"{right}{long}  {'one length' if one.alarm else 'follows'}"


def one_way_table(found: Sequence[OneWay]) -> Iterator[str]:
    """What always answering in one way would come to."""
    yield "Always answering in the best single way, as right as the model best at it"
    for one in found:
        told = f"{one.tokens} tokens, right {one.accuracy:.3f}"
        yield f"{one.seed:<5}{told}: budgeted success {one.success:.3f}"


def hurried_table(asked: Asked, scores: Sequence[Score]) -> Iterator[str]:
    """Table 3 of the Timely Machine in miniature."""
    factors = [f"{factor:g}x" for factor in asked.recipe.factors]
    named = hurried_models(asked)
    for measure, title in HURRIED.items():
        yield title
        yield _line("", factors)
        for model, name in named.items():
            cells = [estimate(pick(scores, model, "hurried", one), measure) for one in factors]
            yield _line(name, [shown(one, measure) for one in cells])
        yield ""
    first = factors[0]
    yield f"On time at {first}, each seed"
    yield _line("", list(named.values()))
    found = {(one.seed, one.model): one for m in named for one in pick(scores, m, "hurried", first)}
    for seed in asked.seeds:
        each = [found.get((seed, model)) for model in named]
        yield _line(str(seed), ["-" if one is None else f"{one.on_time:.3f}" for one in each])
    yield from ("", f"Table 3, {ELSEWHERE}: % on time at 0.75x")
    yield _line("", list(next(iter(TABLE_3.values()))))
    for name, row in TABLE_3.items():
        yield _line(name, [f"{value:.1f}" for value in row.values()])
    yield from ("", fill(" ".join(notes(asked)), WIDTH))


def notes(asked: Asked) -> tuple[str, ...]:
    """What is to be known of relative budgets: whether there is a timer, and who is who."""
    if asked.recipe.language.opening:
        return (ASKED,)
    return (
        NO_TIMER,
        "+ GRPO is the arm that is rewarded for being right alone, with the long cap.",
    )


def published_table() -> Iterator[str]:
    """Table 25 of the Engagement Process."""
    yield f"Table 25, {ELSEWHERE}: budgeted success and tokens"
    steps = published.BUDGETS
    yield f"{'':<13}" + "".join(f"{n:>8}" for n in steps) + "".join(f"{n:>8}" for n in steps)
    for name, row in published.ROWS.items():
        right = "".join(f"{value:>8.3f}" for value in row.success)
        yield f"{name:<13}{right}" + "".join(f"{value:>8.0f}" for value in row.tokens)


def _ablation(asked: Asked, scores: Sequence[Score]) -> Iterator[Iterable[str]]:
    yield (f"Ablation over the cold start fraction: {', '.join(asked.arms)} alone, {seeds(asked)}",)
    yield ablation_table(asked, scores, "success")
    yield ablation_table(asked, scores, "tokens")
    yield fraction_seeds(asked, scores)


def ablation_table(asked: Asked, scores: Sequence[Score], measure: Measure) -> Iterator[str]:
    """A measure by cold start fraction, and how many seeds collapsed."""
    yield MEASURES[measure]
    heads = [f"{n} tokens" for n in asked.recipe.language.budgets]
    yield _line("fraction", [*heads, "one length"])
    for name in asked.arms:
        for share in asked.fractions:
            mine = [one for one in scores if one.fraction == share]
            cells = [estimate(pick(mine, name, "graded", b), measure) for b in budgets(asked)]
            alarms = [one.alarm for one in standings(mine) if one.model == name]
            count = f"{sum(map(bool, alarms))} of {len(alarms)}"
            yield _line(f"{share:g}", [*(shown(one, measure) for one in cells), count])


def fraction_seeds(asked: Asked, scores: Sequence[Score]) -> Iterator[str]:
    """Every seed of an ablation by itself."""
    steps = asked.recipe.language.budgets
    yield "Each seed: budgeted success, tokens, and whether length follows the budget"
    head = "".join(f"{n:>5}" for n in steps) + "".join(f"{n:>6}" for n in steps)
    yield f"{'fraction':<11}{'seed':<13}{head}"
    found = {(one.fraction, one.seed, one.model): one for one in standings(scores)}
    for share in asked.fractions:
        for seed in asked.seeds:
            for name in (BASE, *asked.arms):
                who = f"{seed} {name}"[:12]
                yield f"{share:<11g}{who:<13}{_standing(found.get((share, seed, name)))}"


# --- pieces ---------------------------------------------------------------------------------------


def pick(scores: Sequence[Score], model: str, exam: Exam, budget: str) -> list[Score]:
    """The scores of a model under a budget, one for each seed."""
    return [s for s in scores if (s.model, s.exam, s.budget) == (model, exam, budget)]


def estimate(found: Sequence[Score], measure: Measure) -> Estimate | None:
    """Over seeds; None if there is no seed."""
    return over_seeds(found, measure) if found else None


def shown(one: Estimate | None, measure: str) -> str:
    """A mean and half of its interval, or a dash."""
    if one is None:
        return "-"
    decimals = 1 if measure in ("tokens", "after") else 3
    if one.low is None or one.high is None:
        return f"{one.mean:.{decimals}f}"
    return with_half(one.mean, (one.high - one.low) / 2, decimals)


def _line(name: str, cells: Sequence[str]) -> str:
    width = min(_NAME, WIDTH - _CELL * len(cells))
    return f"{name[: width - 1]:<{width}}" + "".join(f"{cell:>{_CELL}}" for cell in cells)


def _short(value: float) -> str:
    """A share in three places, such as .64 or 1.0."""
    return "1.0" if value >= 0.995 else f"{value:.2f}"[1:]
