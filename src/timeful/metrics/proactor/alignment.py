"""Whether a reference foresaw what was done: the early-ready criterion, EC (appendix D.3).

An action g was observed at turn t. Its start is the first turn at which its name is ready in the
reference, and EC(g) = 1 if start + sigma <= t, else 0 (equations 18 and 19). Repeated actions
share one start, so all but the first are nearly always in time.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean, pstdev
from typing import Literal

from timeful.dialogues.dialogue import Dialogue

KEEP_ABOVE = 0.8
"""A dialogue is kept whose mean is above this, not equal to it (appendix D.3.2)."""

SIGMAS = (4, 3, 2, 1, 0)
"""The thresholds of Table 3, in its order."""

Unmatched = Literal["skip", "zero"]
"""What becomes of an observed action whose name is never ready in the reference.

It is left out, or counts as 0. The paper does not say, its numbers do: all five rows of Table 3
have 29,509 actions, which is 80.89 % of ABCD's 36,482, the coverage that appendix I names. So
"skip" is the default **(chosen)**, and what it leaves out is reported as coverage.
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Alignment:
    """EC over dialogues, a row of Table 3.

    Attributes:
        sigma: How many turns earlier than observed an action must have been ready, 0 or more.
        unmatched: What became of observed actions that the reference does not have.
        n_observed: How many actions were observed.
        n_matched: How many of them the reference has at some turn.
        n_actions: How many are in the mean: those matched, or all.
        n_hit: How many of these have EC = 1.
        n_dialogues: How many dialogues have a mean; those without an action that counts have none.
        dialogue_mean: The mean of the dialogues' means, None without any.
        dialogue_std: Their standard deviation, that of the population.
        n_kept: How many dialogues have a mean above 0.8.
    """

    sigma: int
    unmatched: Unmatched
    n_observed: int
    n_matched: int
    n_actions: int
    n_hit: int
    n_dialogues: int
    dialogue_mean: float | None
    dialogue_std: float | None
    n_kept: int

    @property
    def action_level(self) -> float | None:
        """EC(G): the share of actions with EC = 1 (equation 20)."""
        return self.n_hit / self.n_actions if self.n_actions else None

    @property
    def coverage(self) -> float | None:
        """The share of observed actions that the reference has at all."""
        return self.n_matched / self.n_observed if self.n_observed else None

    @property
    def share_above(self) -> float | None:
        """The share of dialogues that are kept, of those with a mean."""
        return self.n_kept / self.n_dialogues if self.n_dialogues else None


def margins(
    observed: Iterable[tuple[int, str]], ranges: Mapping[str, Sequence[int]]
) -> list[int | None]:
    """By how many turns each observed action was ready before; None if its name never is.

    Args:
        observed: The turn and the name of each.
        ranges: The turns at which each name is ready in the reference.
    """
    return [turn - min(ready) if (ready := ranges.get(name)) else None for turn, name in observed]


def early_ready(dialogue: Dialogue, sigma: int) -> list[bool | None]:
    """EC of each observed action; None for one whose name is never ready (equations 18, 19)."""
    return _foreseen(_margins(dialogue), sigma)


def dialogue_score(
    dialogue: Dialogue, sigma: int, *, unmatched: Unmatched = "skip"
) -> float | None:
    """The mean EC of a dialogue's actions, None if it has none that counts (equation 20)."""
    scored = _select(early_ready(dialogue, sigma), unmatched)
    return sum(scored) / len(scored) if scored else None


def is_kept(dialogue: Dialogue, *, sigma: int = 0, unmatched: Unmatched = "skip") -> bool:
    """Whether a dialogue's reference is good enough to keep; one without a mean is not."""
    score = dialogue_score(dialogue, sigma, unmatched=unmatched)
    return score is not None and score > KEEP_ABOVE


def alignment(
    dialogues: Iterable[Dialogue], sigma: int, *, unmatched: Unmatched = "skip"
) -> Alignment:
    """EC of dialogues for one threshold; each dialogue is looked at once and not held."""
    return alignments(dialogues, (sigma,), unmatched=unmatched)[0]


def alignments(
    dialogues: Iterable[Dialogue],
    sigmas: Sequence[int] = SIGMAS,
    *,
    unmatched: Unmatched = "skip",
) -> list[Alignment]:
    """EC of dialogues for some thresholds, in turns: Table 3 as it stands, in one pass.

    Raises:
        ValueError: If a threshold is below 0.
    """
    return tally(map(_margins, dialogues), sigmas, unmatched=unmatched)


def tally(
    dialogues: Iterable[Sequence[int | None]],
    sigmas: Sequence[int] = SIGMAS,
    *,
    unmatched: Unmatched = "skip",
) -> list[Alignment]:
    """The same from the `margins` of each dialogue."""
    tables = [_Tally(sigma, unmatched) for sigma in sigmas]
    for margins_of_dialogue in dialogues:
        for table in tables:
            table.add(_foreseen(margins_of_dialogue, table.sigma))
    return [table.done() for table in tables]


class _Tally:
    """What is counted for one threshold."""

    def __init__(self, sigma: int, unmatched: Unmatched) -> None:
        if sigma < 0:
            raise ValueError(f"sigma is a number of turns, 0 or more, got {sigma}")
        self.sigma = sigma
        self._unmatched: Unmatched = unmatched
        self._observed = self._matched = self._actions = self._hit = 0
        self._means: list[float] = []

    def add(self, criteria: list[bool | None]) -> None:
        scored = _select(criteria, self._unmatched)
        self._observed += len(criteria)
        self._matched += sum(criterion is not None for criterion in criteria)
        self._actions += len(scored)
        self._hit += sum(scored)
        if scored:
            self._means.append(sum(scored) / len(scored))

    def done(self) -> Alignment:
        means = self._means
        return Alignment(
            sigma=self.sigma,
            unmatched=self._unmatched,
            n_observed=self._observed,
            n_matched=self._matched,
            n_actions=self._actions,
            n_hit=self._hit,
            n_dialogues=len(means),
            dialogue_mean=fmean(means) if means else None,
            dialogue_std=pstdev(means) if means else None,
            n_kept=sum(mean > KEEP_ABOVE for mean in means),
        )


def _margins(dialogue: Dialogue) -> list[int | None]:
    observed = ((turn, action.name) for turn, action in dialogue.observed)
    return margins(observed, dialogue.ready_ranges)


def _foreseen(margins_of_dialogue: Sequence[int | None], sigma: int) -> list[bool | None]:
    return [None if margin is None else margin >= sigma for margin in margins_of_dialogue]


def _select(criteria: list[bool | None], unmatched: Unmatched) -> list[bool]:
    if unmatched == "skip":
        return [criterion for criterion in criteria if criterion is not None]
    return list(map(bool, criteria))
