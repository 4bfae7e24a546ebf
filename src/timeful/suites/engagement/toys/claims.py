"""What must hold of the toy experiments whatever the seed, and what is to be said openly."""

from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise
from statistics import fmean

import numpy as np

from timeful.suites.engagement.comparison import Claim
from timeful.suites.engagement.toys.evaluated import Evaluated
from timeful.suites.engagement.toys.numbers import YARDSTICK, Number
from timeful.suites.engagement.toys.published import (
    DEPTH_2,
    DEPTH_3,
    MODULE,
    PUBLISHED,
    SEQUENTIAL,
    SINGLE,
)

FIXED = "fixed"


class Results:
    """The numbers by what they are about."""

    def __init__(self, numbers: Iterable[Number]) -> None:
        self._numbers = {(n.experiment, n.method, n.learner, n.metric.name): n for n in numbers}

    def learners(self, experiment: str, method: str) -> list[str]:
        """Who learned a row, in the order of the results."""
        found = [key[2] for key in self._numbers if key[:2] == (experiment, method)]
        return list(dict.fromkeys(found))

    def returns(self, experiment: str, method: str, learner: str) -> Number | None:
        """The return of a row; hand-written policies stand beside every learner."""
        own = self._numbers.get((experiment, method, learner, "return"))
        return own or self._numbers.get((experiment, method, FIXED, "return"))


def claims(numbers: Sequence[Number], rows: Iterable[Evaluated]) -> list[Claim]:
    """Everything that is claimed about the experiments that were run."""
    results = Results(numbers)
    played = [row for row in rows if row.experiment in (SINGLE, SEQUENTIAL)]
    return [*_deliberation(results, played), *_patrol(results)]


def _deliberation(results: Results, rows: Sequence[Evaluated]) -> Iterator[Claim]:
    if rows:
        exact = [
            np.array_equal(
                row.counts["return"], 6 * row.counts["succeeded"] - 2 * row.counts["tasks"]
            )
            for row in rows
        ]
        yield _claim("Return is 6 x successes - 2 x tasks in every episode", exact)
        steps = [not row.counts["timed out"].any() for row in rows if row.method.endswith("Step")]
        yield _claim("Nothing times out when played in Step", steps)
    for experiment in (SINGLE, SEQUENTIAL):
        for learner in results.learners(experiment, "EP -> EP"):
            where = f"{experiment}, {learner}"
            yield from _ordered(
                results,
                experiment,
                learner,
                ("EP -> EP", "Step -> EP"),
                text=f"{where}: learning in EP beats learning in Step, played in EP, per seed",
            )
            yield from _ordered(
                results,
                experiment,
                learner,
                ("Step -> Step", "EP -> Step"),
                on_means=True,
                text=f"{where}: learning in Step beats learning in EP, played in Step, on means",
            )


def _patrol(results: Results) -> Iterator[Claim]:
    for learner in results.learners(MODULE, "EP"):
        pair = results.returns(MODULE, "EP", learner), results.returns(MODULE, "Loop", learner)
        if pair[0] and pair[1]:
            gap = [pair[0].mean - pair[1].mean >= 850]
            yield _claim(f"{MODULE}, {learner}: EP beats Loop by 850 and more, on means", gap)
    order = ("EP", "PatchPro", "Patch", "Loop")
    for experiment in (DEPTH_2, DEPTH_3):
        for learner in results.learners(experiment, "EP"):
            where = f"{experiment}, {learner}"
            yield from _ordered(
                results,
                experiment,
                learner,
                order,
                on_means=True,
                text=f"{where}: EP > PatchPro > Patch > Loop, on means",
            )
            yield from _ordered(
                results,
                experiment,
                learner,
                order[:2],
                # One noisy table in some is worse than the best hand-written policy.
                is_promised=learner != "paper-like",
                text=f"{where}: EP > PatchPro, per seed",
            )


def _ordered(
    results: Results,
    experiment: str,
    learner: str,
    methods: Sequence[str],
    *,
    text: str,
    on_means: bool = False,
    is_promised: bool = True,
) -> Iterator[Claim]:
    """Claim that each method has a greater return than the next, if all were run."""
    found = [results.returns(experiment, method, learner) for method in methods]
    if not all(found):
        return
    columns = [
        [number.mean] if on_means else list(number.by_seed.values())
        for number in found
        if number is not None
    ]
    held = [
        all(better > worse for better, worse in pairwise(case))
        for case in zip(*columns, strict=True)
    ]
    yield _claim(text, held, is_promised=is_promised)


def _claim(text: str, held: Sequence[bool], *, is_promised: bool = True) -> Claim:
    return Claim(text=text, held=sum(held), cases=len(held), is_promised=is_promised)


def findings(numbers: Sequence[Number]) -> list[str]:
    """What is to be said openly about the published numbers, with ours."""
    results = Results(numbers)
    said = [
        "Published numbers come from one training seed, and their intervals from evaluation "
        "alone. Ours spread over training seeds by as much as the tables say, often wider than "
        "the published interval; so a number inside a published interval would prove little.",
        "Bins, learning rates, exploration and what is learned from the end of an episode are not "
        "published. Those of the paper-like learners were chosen because they give the published "
        "numbers: they are fitted.",
    ]
    for experiment in (SEQUENTIAL, MODULE, DEPTH_2, DEPTH_3):
        said += _better(results, experiment)
    said += _noisy(results)
    said += _unexplained(results)
    said += _fewer(numbers)
    said.append(
        "The published Figure 6 does not follow from the published rules: it has 12 ticks of "
        "handling left at tick 13, as if handling had begun at tick 5, but an agent that starts "
        "at its first checkpoint has 7 left by then. By its own counters the alarm would have 8 "
        "ticks left, and not 11, once the last 9 of handling are over."
    )
    return said


def _better(results: Results, experiment: str) -> Iterator[str]:
    """Say how much converged learners gain on the published return of EP."""
    method = "EP -> EP" if experiment == SEQUENTIAL else "EP"
    published = PUBLISHED[experiment, method, "return"].value
    gains = [
        f"'{learner}' gets {number.mean:.1f}"
        for learner in results.learners(experiment, method)
        if learner.startswith("converged")
        and (number := results.returns(experiment, method, learner)) is not None
        and number.mean > published
    ]
    if gains:
        yield (
            f"{experiment}: the published EP ({published:.1f}) is not the best that this world "
            f"allows: {', '.join(gains)}."
        )


def _noisy(results: Results) -> Iterator[str]:
    for experiment in (DEPTH_2, DEPTH_3):
        ours = results.returns(experiment, "EP", "paper-like")
        patch = results.returns(experiment, "PatchPro", "paper-like")
        if ours is None or patch is None:
            continue
        worse = [seed for seed, got in ours.by_seed.items() if got <= patch.by_seed[seed]]
        if worse:
            yield (
                f"{experiment}: with the paper-like learner EP is not better than PatchPro on "
                f"every seed; it is not on {len(worse)} of {len(ours.by_seed)}: "
                f"{', '.join(map(str, worse))}."
            )


def _unexplained(results: Results) -> Iterator[str]:
    published = PUBLISHED[MODULE, "Loop", "return"].value
    always = results.returns(MODULE, "Loop", YARDSTICK)
    if always is not None:
        yield (
            f"{MODULE}: the published Loop ({published:.1f}) is worse than one that responds at "
            f"every boundary ({always.mean:.1f}), which needs no learning."
        )
    loop = results.returns(DEPTH_3, "Loop", FIXED)
    if loop is not None:
        gap = loop.mean - PUBLISHED[DEPTH_3, "Loop", "return"].value
        yield (
            f"{DEPTH_3}: Loop, which learns nothing, differs from the published return by "
            f"{gap:+.1f}. No single change of the dynamics explains it without breaking depth 2."
        )


def _fewer(numbers: Sequence[Number]) -> Iterator[str]:
    """Say what the first five seeds alone would have shown, where more were run."""
    missed = []
    for number in numbers:
        first = list(number.by_seed.values())[:5]
        if len(number.by_seed) <= 5 or number.band is None or number.band.holds(fmean(first)):
            continue
        where = ", ".join(number.key[:2])
        missed.append(f"{where}, {number.learner}: {number.metric.name} {fmean(first):.4g}")
    if missed:
        yield (
            "Of the first five seeds alone these means would lie outside their bands: "
            f"{'; '.join(missed)}."
        )
