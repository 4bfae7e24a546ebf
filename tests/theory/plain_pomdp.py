"""A plain POMDP, solved with no Engagement Process in sight: what reductions are compared with."""

from collections.abc import Mapping, Sequence

import numpy as np

from timeful.theory.process import Array
from timeful.theory.reductions import Pomdp


def posterior(pomdp: Pomdp, belief: Array, action: int, seen: int) -> Array:
    """b'(s') proportional to P(y | s', a) sum_s P(s' | s, a) b(s)."""
    joint = [
        pomdp.observation[action, after, seen]
        * sum(
            pomdp.transition[action, before, after] * belief[before]
            for before in range(len(pomdp.states))
        )
        for after in range(len(pomdp.states))
    ]
    return np.array(joint) / sum(joint)


def likelihood(pomdp: Pomdp, belief: Array, action: int, seen: int) -> float:
    return float(belief @ pomdp.transition[action] @ pomdp.observation[action, :, seen])


def value(pomdp: Pomdp, belief: Array, horizon: int) -> float:
    """The optimal value over a horizon, by the Bellman equation as it stands."""
    if horizon == 0:
        return 0.0
    worth = []
    for action in range(len(pomdp.actions)):
        total = float(belief @ pomdp.reward[action])
        for seen in range(len(pomdp.observations)):
            chance = likelihood(pomdp, belief, action, seen)
            if chance > 0:
                after = posterior(pomdp, belief, action, seen)
                total += pomdp.discount * chance * value(pomdp, after, horizon - 1)
        worth.append(total)
    return max(worth)


def graph_values(pomdp: Pomdp, actions: Sequence[int], links: Sequence[Mapping[int, int]]) -> Array:
    """The exact discounted value of a policy graph, shape (nodes, states)."""
    nodes, states = len(actions), len(pomdp.states)
    matrix, worth = np.eye(nodes * states), np.zeros(nodes * states)
    for node, action in enumerate(actions):
        for state in range(states):
            row = node * states + state
            worth[row] = pomdp.reward[action, state]
            for after in range(states):
                for seen, then in links[node].items():
                    chance = pomdp.transition[action, state, after]
                    chance *= pomdp.observation[action, after, seen]
                    matrix[row, then * states + after] -= pomdp.discount * chance
    values: Array = np.linalg.solve(matrix, worth).reshape(nodes, states)
    return values
