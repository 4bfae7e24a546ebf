"""One policy evaluated over many episodes: the raw counts that every toy table is made from."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True, slots=True, kw_only=True)
class Evaluated:
    """A learned or fixed policy, and what each evaluation episode came to.

    Attributes:
        experiment: Such as "deliberation/single" or "patrol/depth-2".
        method: The row of the published table, such as "EP -> Step" or "PatchPro".
        learner: "paper-like", "converged" or, for hand-written policies, "fixed".
        seed: Of training, and of the evaluation's own stream.
        counts: Columns of equal length, one value an episode, such as "return" or "resolved".
    """

    experiment: str
    method: str
    learner: str
    seed: int
    counts: Mapping[str, NDArray[np.float64]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Metric:
    """A column of a published table: a ratio of aggregate counts, or a mean over episodes.

    `of` is None for a mean over episodes; `scale` is 100 for a percentage.
    """

    name: str
    count: str
    of: str | None = None
    scale: float = 1.0
