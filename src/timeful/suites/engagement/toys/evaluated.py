"""One policy evaluated over many episodes: the raw counts that every toy table is made from."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from timeful.errors import SettingsError

MOST_EPISODES = 10_000_000
"""Of training or evaluation: what a compiled loop plays in an hour or so."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """How much of an experiment is done: the same for every policy of a run.

    Attributes:
        seeds: Of training, and each also of its own evaluation streams; at least one. Ten in a
            row if not given: single tables of a noisy learner differ so much that the mean of
            five is a toss-up in places.
        training: Episodes to learn from, at least 1.
        evaluation: Episodes to evaluate, at least 1.

    Raises:
        SettingsError: If one of them cannot be.
    """

    seeds: tuple[int, ...] = tuple(range(42, 52))
    training: int = 8_000
    evaluation: int = 3_000

    def __post_init__(self) -> None:
        if not self.seeds or len(set(self.seeds)) < len(self.seeds):
            raise SettingsError(f"give each training seed once, and one at least: {self.seeds}")
        for name, number in (("training", self.training), ("evaluation", self.evaluation)):
            if not 1 <= number <= MOST_EPISODES:
                raise SettingsError(f"{name} takes 1 to {MOST_EPISODES:,} episodes, got {number}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Evaluated:
    """A learned or fixed policy, and what each evaluation episode came to.

    Attributes:
        experiment: Such as "deliberation/single" or "patrol/depth-2".
        method: The row of the published table, such as "EP -> Step" or "PatchPro".
        learner: "paper-like", "converged" or, for hand-written policies, "fixed".
        seed: Of training, and of the evaluation's own stream.
        counts: Columns of equal length, one value an episode, such as "return" or "resolved".
        totals: Arrays summed over all episodes, for figures: such as how often each mode
            (columns) was chosen at each slack (rows).
    """

    experiment: str
    method: str
    learner: str
    seed: int
    counts: Mapping[str, NDArray[np.float64]]
    totals: Mapping[str, NDArray[np.int64]] = field(default_factory=dict)


Job = Callable[[], list[Evaluated]]
"""A piece of an experiment that runs on its own: a `partial` of a plain function."""
