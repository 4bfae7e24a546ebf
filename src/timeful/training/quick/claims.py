"""The claims of a run, counted over its seeds."""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise, product
from pathlib import Path
from statistics import fmean

from timeful.reports.claims import Claim
from timeful.training.collapse_detection import LEAST_SPREAD
from timeful.training.quick.answers import (
    Answer,
    find_collapses,
    mean_success,
)
from timeful.training.quick.plan import QuickRun
from timeful.training.quick.recipe import BASE, Recipe

AWARE, TIMELY = "ep_aware", "timely"
LEAST = 0.05
"""The least share of a model's answers that must have a length, to know its accuracy there."""

SLACK = 1.05
"""The length after a later reading may exceed that after an earlier one by this factor."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SeedClaim(Claim):
    """A claim about a model, checked in each seed in which every model was graded.

    Attributes:
        name: Its name in results.
        model: The model.
        seeds: The seeds that it was checked in.
        confirmed: The seeds in which it holds.
    """

    name: str
    model: str
    seeds: tuple[int, ...]
    confirmed: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class _Rule:
    """What a claim says of a model, and whether that holds in a seed."""

    name: str
    text: str
    holds: Callable[[int, str], bool]


@dataclass(frozen=True, slots=True, kw_only=True)
class OneLength:
    """The best fixed length of a seed, for a policy that always answers with it."""

    seed: int
    tokens: int
    accuracy: float
    success: float


def check_claims(run: QuickRun, out: Path, answers: Sequence[Answer]) -> list[SeedClaim]:
    """Check the claims of a run; none for an ablation, or where no seed is complete."""
    is_timed = bool(run.recipe.language.opening)
    reward = TIMELY if is_timed else AWARE
    model = next((arm.name for arm in run.trained_arms if arm.reward == reward), None)
    exams = [step for step in run.exams(out) if is_timed or step.kind == "grade"]
    missing = {step.seed for step in exams if not step.is_done}
    success = mean_success(answers)
    names = {step.model_name for step in exams}
    seeds = tuple(
        seed
        for seed in run.seeds
        if seed not in missing and all((None, seed, name) in success for name in names)
    )
    if model is None or run.fractions or not seeds:
        return []
    if is_timed:
        limit = without_clock(run, answers)
        first, follows, *rest = _clock_rules(run, answers)
        name, text = "beats the budget alone", "the best answer without a clock"
    else:
        limit = {length.seed: length.success for length in one_lengths(run, answers)}
        first, follows, *rest = _budget_rules(answers)
        name, text = "beats the best single way", "the best single length"
    means = fmean(success[None, s, model] for s in seeds), fmean(limit.get(s, 0.0) for s in seeds)
    beats = _Rule(
        name,
        f"beats {text} ({means[0]:.3f} against {means[1]:.3f})",
        lambda seed, name: success[None, seed, name] > limit.get(seed, 0.0),
    )
    rivals = [name for name in dict.fromkeys(name for _, _, name in success) if name != model]
    pairs = [(rule, model) for rule in (first, follows, *rest, beats)]
    pairs += [(follows, rival) for rival in rivals]
    claims = []
    for rule, name in pairs:
        confirmed = tuple(seed for seed in seeds if rule.holds(seed, name))
        claims.append(
            SeedClaim(
                text=f"{name} {rule.text}",
                held=len(confirmed),
                cases=len(seeds),
                is_promised=name == model,
                name=rule.name,
                model=name,
                seeds=seeds,
                confirmed=confirmed,
            )
        )
    return claims


def _budget_rules(answers: Sequence[Answer]) -> list[_Rule]:
    success, alarms = mean_success(answers), find_collapses(answers)
    models = list(dict.fromkeys(name for _, _, name in success))
    return [
        _Rule(
            "best",
            "has the best mean budgeted success",
            lambda seed, name: max(models, key=lambda m: success[None, seed, m]) == name,
        ),
        _Rule(
            "length follows the budget",
            "uses more tokens where the budget is longer",
            lambda seed, name: not alarms[None, seed, name],
        ),
    ]


def _clock_rules(run: QuickRun, answers: Sequence[Answer]) -> list[_Rule]:
    models = [BASE, *(arm.name for arm in run.trained_arms)]
    completed = [answer for answer in answers if answer.status == "ok"]
    first = f"{run.recipe.factors[0]:g}x"
    comparable = comparable_budgets(run.recipe)

    def select(seed: int, name: str) -> list[Answer]:
        return [a for a in completed if (a.seed, a.model) == (seed, name)]

    def on_time(seed: int, name: str) -> float:
        return fmean(a.on_time for a in select(seed, name) if a.budget == first)

    return [
        _Rule(
            "most often on time",
            f"is most often on time at {first}",
            lambda seed, name: max(models, key=lambda m: on_time(seed, m)) == name,
        ),
        _Rule(
            "acts on the clock",
            "uses fewer tokens after a later reading",
            lambda seed, name: heeds_clock(select(seed, name)),
        ),
        _Rule(
            "believes a clock that lies",
            "uses fewer tokens after a fast clock, and more after a slow one",
            lambda seed, name: is_misled(
                [a for a in select(seed, name) if is_comparable(a, comparable)]
            ),
        ),
    ]


def list_missing(run: QuickRun, out: Path) -> list[str]:
    """The gradings that failed or were not reached."""
    return [f"not done: {step.name}" for step in run.exams(out) if not step.is_done]


# --- fixed lengths --------------------------------------------------------------------------------


def one_lengths(run: QuickRun, answers: Sequence[Answer]) -> list[OneLength]:
    """The best fixed length of each seed, over all budgets."""
    language = run.recipe.language
    lengths = sorted({language.length(stride) for stride in language.strides})
    shares = {n: fmean(n <= budget for budget in language.budgets) for n in lengths}
    best = []
    for seed in run.seeds:
        accuracy = _best_accuracy(answers, seed, {n: (n,) for n in lengths})
        lengths_of_seed = [
            OneLength(seed=seed, tokens=n, accuracy=share, success=share * shares[n])
            for n, share in accuracy.items()
        ]
        if lengths_of_seed:
            best.append(max(lengths_of_seed, key=lambda length: (length.success, -length.tokens)))
    return best


def without_clock(run: QuickRun, answers: Sequence[Answer]) -> dict[int, float]:
    """The best budgeted success of each seed for a policy that knows the told budget alone.

    For each told budget it takes the best length, without the token of the call of the timer.
    """
    language = run.recipe.language
    lengths = {n: (n, n - 1) for n in map(language.length, language.strides)}
    pairs = list(product(language.allowed, language.devices))
    best = {}
    for seed in run.seeds:
        if accuracy := _best_accuracy(answers, seed, lengths):
            best[seed] = sum(
                max(
                    sum(share for room, alpha in pairs if room * alpha == budget and n - 1 <= room)
                    for n, share in accuracy.items()
                )
                for budget in {room * alpha for room, alpha in pairs}
            ) / len(pairs)
    return best


def _best_accuracy(
    answers: Sequence[Answer], seed: int, lengths: Mapping[int, tuple[int, ...]]
) -> dict[int, float]:
    """For each length, the accuracy of the model of a seed that is best at it."""
    best: dict[int, float] = {}
    graded = [a for a in answers if a.seed == seed and a.exam == "graded"]
    for model in dict.fromkeys(answer.model for answer in graded):
        members = [answer for answer in graded if answer.model == model]
        for n, counts in lengths.items():
            values = [a.accuracy for a in members if a.status == "ok" and a.tokens in counts]
            if len(values) >= max(1.0, LEAST * len(members)):
                best[n] = max(best.get(n, 0.0), fmean(values))
    return best


# --- the clock ------------------------------------------------------------------------------------


def comparable_budgets(recipe: Recipe) -> set[str]:
    """The budgets for which the lessons had a word for each reading, of right and wrong timers."""
    clock, rooms = recipe.language.clock, recipe.language.allowed
    readings = {clock(room) for room in rooms}
    return {
        recipe.budget(room)
        for room in rooms
        if all(clock(room / scale) in readings for scale in recipe.lies)
    }


def is_comparable(answer: Answer, budgets: Collection[str]) -> bool:
    """Whether an answer shows if its model believes the timer."""
    return answer.exam != "hurried" and answer.clock is not None and answer.budget in budgets


def heeds_clock(answers: Sequence[Answer]) -> bool:
    """Whether answers become shorter with the reading, from first to last by `LEAST_SPREAD`."""
    readings: dict[int, list[int]] = {}
    for answer in answers:
        if answer.exam == "graded" and answer.clock is not None:
            readings.setdefault(answer.clock, []).append(answer.after)
    lengths = [fmean(readings[clock]) for clock in sorted(readings)]
    if len(lengths) < 2 or lengths[0] < LEAST_SPREAD * lengths[-1]:
        return False
    return all(later <= SLACK * earlier for earlier, later in pairwise(lengths))


def is_misled(answers: Sequence[Answer]) -> bool:
    """Whether answers become shorter the faster the timer is."""
    scales = sorted({answer.scale for answer in answers})
    lengths = [fmean(a.after for a in answers if a.scale == scale) for scale in scales]
    return len(lengths) > 1 and all(more > less for more, less in pairwise(lengths))
