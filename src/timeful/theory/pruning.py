"""Which of some linear functions of a belief are ever the best: exact, by a small linear program.

A vector w is needed beside others U if some belief b has w.b > u.b for every u in U. The greatest
margin, max_b min_u (w - u).b, is the value of a matrix game between nature, who picks the belief,
and an opponent, who picks the vector to compare with. One simplex tableau solves it; its sides
are the number of states and of vectors, so a solver from another library would be mostly call.
"""

from collections.abc import Sequence

import numpy as np

from timeful.theory.process import Array

SLACK = 1e-13
"""A margin below this share of the largest number is rounding, and no reason to keep a vector."""


def witness(vector: Array, alternatives: Array) -> tuple[float, Array]:
    """The greatest margin of a vector over alternatives, and a belief at which it has it.

    Args:
        vector: Shape (S,).
        alternatives: Shape (K, S), K at least 1.

    Returns:
        max over beliefs b of min over k of (vector - alternatives[k]).b, and such a b.
    """
    game = vector - alternatives
    scale = float(np.abs(game).max()) or 1.0
    belief = _nature(game / scale)
    return float((game @ belief).min()), belief


def undominated(vectors: Array, *, slack: float = 0.0) -> list[int]:
    """The places of the vectors that are the best somewhere, in the order given.

    Lark's filter: whenever a vector has a margin somewhere over those kept so far, the best of
    all vectors there is kept. Of equal vectors one is kept.

    Args:
        vectors: Shape (K, S).
        slack: How much the best may lose at any belief by what is dropped; at least rounding.
    """
    # Dropping goes in two rounds, and a vector may be dropped for one that is dropped itself.
    slack = max(slack, SLACK * max(1.0, float(np.abs(vectors).max(initial=0.0)))) / 2
    waiting = _not_below_another(vectors, slack)
    indices: list[int] = []
    while waiting:
        first = waiting[0]
        if indices:
            margin, belief = witness(vectors[first], vectors[indices])
            if margin <= slack:
                waiting.remove(first)
                continue
        else:
            belief = np.full(vectors.shape[1], 1 / vectors.shape[1])
        best = _best(vectors, waiting, belief)
        waiting.remove(best)
        indices.append(best)
    return sorted(indices)


def _best(vectors: Array, candidates: Sequence[int], belief: Array) -> int:
    """The best vector at a belief; of several, the one that is best in the first states.

    Without the rule for ties a vector could be kept that is the best at this one belief only.
    """
    worth = vectors[candidates] @ belief
    close = worth >= worth.max() - 1e-13 * max(1.0, float(np.abs(worth).max()))
    tied = [index for index, near in zip(candidates, close, strict=True) if near]
    return max(tied, key=lambda index: tuple(vectors[index].tolist()))


def _not_below_another(vectors: Array, slack: float) -> list[int]:
    """The places of the vectors that no other one equals or exceeds in every state."""
    survivors: list[int] = []
    for index in np.argsort(-vectors.sum(axis=1), kind="stable").tolist():
        if not (vectors[survivors] >= vectors[index] - slack).all(axis=1).any():
            survivors.append(index)
    return sorted(survivors)


def _nature(game: Array) -> Array:
    """The belief that makes the least payoff of a matrix game greatest.

    With all payoffs made positive, the opponent's mixture x maximises sum x with game.T x <= 1;
    zero is a first solution, and the prices of the constraints are the belief. Bland's rule
    (the first column, the first row) cannot cycle.

    Args:
        game: Shape (K, S), numbers in [-1, 1]; rows are the opponent's choices.
    """
    rows, states = game.shape
    tableau = np.zeros((states + 1, rows + states + 1))
    tableau[:states, :rows] = game.T + 2.0
    tableau[:states, rows : rows + states] = np.eye(states)
    tableau[:states, -1] = 1.0
    tableau[-1, :rows] = -1.0
    basis = list(range(rows, rows + states))
    while (improving := np.flatnonzero(tableau[-1, :-1] < -1e-13)).size:
        column = int(improving[0])
        usable = np.flatnonzero(tableau[:states, column] > 1e-13)
        ratios = tableau[usable, -1] / tableau[usable, column]
        least = usable[ratios <= ratios.min() + 1e-15]
        row = min(least.tolist(), key=lambda index: basis[index])
        tableau[row] /= tableau[row, column]
        other_rows = np.arange(states + 1) != row
        tableau[other_rows] -= np.outer(tableau[other_rows, column], tableau[row])
        basis[row] = column
    prices = np.clip(tableau[-1, rows : rows + states], 0.0, None)
    belief: Array = prices / prices.sum()
    return belief
