"""Whether predicted actions follow each other as in the workflows: AD (equations 13 and 14)."""

from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from statistics import fmean

EPSILON = 1e-7
"""Added to each count, so that what was never seen is not impossible (equation 14)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DependencyAlignment:
    """AD over turns: its mean, how many turns there were, and how many predicted nothing."""

    mean: float | None
    n_turns: int
    n_skipped: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Transitions:
    """How often one action follows another in the workflows.

    `n_actions` is how many actions the catalog has: an action may follow any of them.
    """

    pairs: dict[tuple[str, str], int]
    totals: dict[str, int]
    n_actions: int

    def probability(self, after: str, before: str) -> float:
        """P(after | before) = (C(before, after) + e) / sum over a of (C(before, a) + e).

        Above 0 and at most 1; over all actions after one they sum to 1. An action that nothing
        follows in any workflow is followed by each with 1 / n.
        """
        total = self.totals.get(before, 0) + self.n_actions * EPSILON
        return (self.pairs.get((before, after), 0) + EPSILON) / total

    def alignment(self, predicted: Sequence[str], previous: Iterable[str]) -> float | None:
        """AD: the mean over P_t of the sum over P_(t-1) of P(b | a) (equation 13).

        It lies between 0 and the number of previous predictions, so above 1 for an agent that
        predicted several ways to the same action; a silent turn before is a sum over nothing, 0.

        Args:
            predicted: The names of the actions predicted at a turn.
            previous: The names of those predicted at the turn before.

        Returns:
            AD; None where nothing is predicted.
        """
        before = list(previous)
        if not predicted:
            return None
        return sum(self.probability(b, a) for b in predicted for a in before) / len(predicted)

    def mean(self, dialogues: Iterable[Sequence[Sequence[str]]]) -> DependencyAlignment:
        """Average AD over the turns of dialogues, each the names predicted turn by turn.

        Before the first turn nothing was predicted, so it has 0 unless it is silent
        **(chosen)**; silent turns are in no mean.
        """
        every = [
            self.alignment(predicted, previous)
            for turns in dialogues
            for previous, predicted in pairwise(((), *turns))
        ]
        scored = [value for value in every if value is not None]
        return DependencyAlignment(
            mean=fmean(scored) if scored else None,
            n_turns=len(every),
            n_skipped=len(every) - len(scored),
        )


def transitions(workflows: Iterable[Sequence[str]], actions: Collection[str]) -> Transitions:
    """Count which action follows which, each workflow once.

    Args:
        workflows: The actions of each workflow in their order, as in ABCD's `kb.json`.
        actions: The names in the catalog; those of workflows are counted in.
    """
    every = [tuple(workflow) for workflow in workflows]
    pairs = Counter(pair for workflow in every for pair in pairwise(workflow))
    totals: Counter[str] = Counter()
    for (before, _), count in pairs.items():
        totals[before] += count
    names = set(actions).union(*every)
    return Transitions(pairs=dict(pairs), totals=dict(totals), n_actions=len(names))
