"""Proactiveness rating, PR: how proactive a judge finds predictions (appendix C, Figure 16)."""

import json
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from statistics import fmean

RATINGS: dict[int, str] = {
    -1: "cannot be judged from this conversation",
    1: "asked for, or nearly, and the action is missing",
    2: "asked for, the action is there, its parameters are not right",
    3: "asked for, the action is there with the right parameters",
    4: "not asked for, the action is there, its parameters are not right",
    5: "not asked for, the action is there with the right parameters",
}
"""The scale of Figure 16. Appendix C names its steps otherwise, by how much prompting there was."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MeanRating:
    """The mean of what was rated from 1 to 5; -1 is no rating and only counted **(chosen)**."""

    mean: float | None
    n_rated: int
    n_unjudged: int
    counts: dict[int, int]


def read_rating(answer: str) -> int:
    """Read a judge's answer, `{"reasoning": "...", "rating": 4}`.

    Raises:
        ValueError: If it is none, or its rating is not on the scale.
    """
    try:
        rating = json.loads(answer)["rating"]
    except (ValueError, TypeError, KeyError, RecursionError):
        raise ValueError('a rating is {"reasoning": "...", "rating": -1 or 1 to 5}') from None
    # 4.0 is 4, but true is not 1.
    if isinstance(rating, bool) or not isinstance(rating, int | float) or rating not in RATINGS:
        raise ValueError(f"a rating is -1 or 1 to 5, got {rating!r}")
    return int(rating)


def mean_rating(ratings: Iterable[int]) -> MeanRating:
    """Average ratings."""
    counts = Counter(ratings)
    rated = [rating for rating in counts.elements() if rating != -1]
    return MeanRating(
        mean=fmean(rated) if rated else None,
        n_rated=len(rated),
        n_unjudged=counts[-1],
        counts={rating: counts[rating] for rating in RATINGS},
    )
