"""Values for all beliefs at once: the best of finitely many linear functions (alpha vectors).

The optimal value over a horizon is convex and piecewise linear in the belief (Smallwood and
Sondik, 1973). A backup makes the vectors with one tick more to go, by incremental pruning
(Cassandra, Littman and Zhang, 1997); without a horizon, policy iteration over finite controllers
(Hansen, 1998) ends at values that a controller has exactly, with a bound on what is missing.
"""

from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from timeful.errors import SettingsError
from timeful.theory.policy import Controller, check_discounted
from timeful.theory.process import Array, Intervention, Process, named
from timeful.theory.pruning import SLACK, undominated, witness

Links = list[tuple[int, ...]]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Vectors:
    """A value for every belief, and a plan behind each vector.

    Attributes:
        process: What is valued.
        vectors: Shape (K, S); the value of a belief is the greatest product.
        choices: For each vector, the place of the intervention set its plan begins with.
        links: For each vector and event set, the vector of the plan to go on with. It is one of
            those with a tick less to go or, without a horizon, one of these.
        has_horizon: Whether the links lead to the vectors with a tick less to go.
        gap: By how much the optimal value may exceed these, at any belief; 0 over a horizon.
    """

    process: Process
    vectors: Array
    choices: tuple[int, ...]
    links: tuple[tuple[int, ...], ...]
    has_horizon: bool = True
    gap: float = 0.0

    def value(self, belief: Array) -> float:
        """The value of a belief."""
        return float((self.vectors @ belief).max())

    def intervention(self, belief: Array) -> Intervention:
        """The intervention set to begin with; the earliest listed of equals."""
        return self.process.interventions[self.choices[int((self.vectors @ belief).argmax())]]

    def controller(self, belief: Array | None = None) -> Controller:
        """The plans as a controller that begins where it is best for a belief.

        Raises:
            SettingsError: If there is a horizon: then the plans change from tick to tick.
        """
        if self.has_horizon:
            raise SettingsError(
                "plans over a horizon are no controller; `bellman.search` gives a policy"
            )
        begin = self.process.start if belief is None else belief
        sets = self.process.event_sets
        return Controller(
            choices=tuple(self.process.interventions[choice] for choice in self.choices),
            links=tuple(dict(zip(sets, links, strict=True)) for links in self.links),
            first=int((self.vectors @ begin).argmax()),
        )


class _Graph(NamedTuple):
    """The nodes of a controller, by number."""

    choices: tuple[int, ...]
    links: tuple[tuple[int, ...], ...]

    def followed(self, nodes: list[int]) -> "tuple[_Graph, list[int]]":
        """Some nodes and all that they lead to, and which of these nodes they are."""
        queue = list(nodes)
        numbers = {node: number for number, node in enumerate(queue)}
        for node in queue:  # it grows while it is read
            for then in self.links[node]:
                if then not in numbers:
                    numbers[then] = len(queue)
                    queue.append(then)
        choices = tuple(self.choices[node] for node in queue)
        return _Graph(
            choices, tuple(tuple(numbers[n] for n in self.links[m]) for m in queue)
        ), queue


def recursion(process: Process, horizon: int, *, limit: int = 10_000) -> tuple[Vectors, ...]:
    """Solve a horizon for all beliefs; entry k has k ticks to go, and entry 0 is zero.

    Args:
        process: The process.
        horizon: In ticks, at least 0.
        limit: The greatest number of vectors to prune at once; beyond, it would take minutes.

    Raises:
        SettingsError: If some intervention is not admissible everywhere: then the value is no
            longer the best of linear functions of all beliefs. Use `bellman.search`. Also beyond
            the limit.
    """
    _check_admissible(process)
    blank = np.zeros((1, len(process.states)))
    idle = (0,) * len(process.event_sets)
    stages = [Vectors(process=process, vectors=blank, choices=(0,), links=(idle,))]
    for _ in range(horizon):
        stages.append(_backup(process, stages[-1].vectors, limit=limit))
    return tuple(stages)


def discounted(
    process: Process, *, error: float = 1e-9, rounds: int = 500, limit: int = 10_000
) -> Vectors:
    """Solve a discounted process without end, for all beliefs.

    The vectors are the exact values of a finite controller. Where an optimal controller is
    finite it is found and the gap is rounding; otherwise the gap says how much is missing.

    Args:
        process: A process with a discount below 1.
        error: The greatest gap to accept, as a share of the largest value above 1. Below about
            1e-11 / (1 - discount) it is lost in rounding.
        rounds: The greatest number of policy iterations.
        limit: As for `recursion`.

    Raises:
        SettingsError: As `recursion`, for a discount of 1, and if the error is not reached.
    """
    check_discounted(process)
    _check_admissible(process)
    every = range(len(process.interventions))
    graph = _Graph(tuple(every), tuple((node,) * len(process.event_sets) for node in every))
    gap = np.inf
    # The nodes are pruned before a backup, which prunes twice an event set and once in the end.
    # Each loses at most the slack, and half of the gap is kept for that.
    prunings = 2 * len(process.event_sets) + 2
    for _ in range(rounds):
        vectors = _values(process, graph)
        scale = max(1.0, float(np.abs(vectors).max()))
        slack = max(4 * SLACK * scale, error * scale * (1 - process.discount) / (2 * prunings))
        best = undominated(vectors, slack=slack)
        better = _backup(process, vectors[best], slack=slack, limit=limit)
        margin = max(0.0, *(witness(vector, vectors)[0] for vector in better.vectors))
        gap = (margin + prunings * slack) / (1 - process.discount)
        if gap <= error * scale:
            graph, nodes = graph.followed(best)
            return Vectors(
                process=process,
                vectors=vectors[nodes],
                choices=graph.choices,
                links=graph.links,
                has_horizon=False,
                gap=gap,
            )
        links = tuple(tuple(best[then] for then in to) for to in better.links)
        graph = _improved(graph, vectors, replace(better, links=links))
    raise SettingsError(
        f"after {rounds} rounds the value may still miss {gap:.3g}, more than {error:.3g}; "
        "allow a larger `error`, more `rounds`, or take a horizon"
    )


def _backup(process: Process, after: Array, *, limit: int, slack: float = 0.0) -> Vectors:
    """The vectors with one tick more to go than those in `after`, shape (K, S)."""
    every = range(len(process.interventions))
    plans = [_plans(process, choice, after, slack=slack, limit=limit) for choice in every]
    stacked = np.concatenate([vectors for vectors, _ in plans])
    paths = [(choice, path) for choice, (_, paths) in enumerate(plans) for path in paths]
    best = undominated(stacked, slack=slack)
    return Vectors(
        process=process,
        vectors=stacked[best],
        choices=tuple(paths[number][0] for number in best),
        links=tuple(paths[number][1] for number in best),
    )


def _plans(
    process: Process, choice: int, after: Array, *, slack: float, limit: int
) -> tuple[Array, Links]:
    """The vectors that begin with one intervention set, and where each event set leads.

    A plan goes on with one of the vectors in `after` for each event set. They are summed up one
    event set after the other, and what is nowhere the best is dropped before the next.
    """
    sums: Array = process.utility[choice][np.newaxis]
    paths: Links = [()]
    for event_index in range(len(process.event_sets)):
        evidence = process.transition[choice] * process.observation[:, event_index]
        projected = process.discount * after @ evidence.T
        survivors = undominated(projected, slack=slack)
        if len(sums) * len(survivors) > limit:
            raise SettingsError(
                f"{len(sums) * len(survivors)} vectors to prune at once, more than {limit}; "
                "allow a larger `error` or `limit`, or use `bellman.search` from one belief"
            )
        crossed: Array = (sums[:, np.newaxis] + projected[survivors]).reshape(-1, sums.shape[1])
        longer = [(*path, plan) for path in paths for plan in survivors]
        best = undominated(crossed, slack=slack)
        sums, paths = crossed[best], [longer[number] for number in best]
    return sums, paths


def _values(process: Process, graph: _Graph) -> Array:
    """The exact value of each node of a controller in each state, shape (K, S)."""
    nodes, states = len(graph.choices), len(process.states)
    matrix = np.eye(nodes * states).reshape(nodes, states, nodes, states)
    for node, choice in enumerate(graph.choices):
        for event_index, then in enumerate(graph.links[node]):
            evidence = process.transition[choice] * process.observation[:, event_index]
            matrix[node, :, then] -= process.discount * evidence
    size = nodes * states
    worth = process.utility[list(graph.choices)].reshape(size)
    values: Array = np.asarray(np.linalg.solve(matrix.reshape(size, size), worth), dtype=np.float64)
    return values.reshape(nodes, states)


def _improved(graph: _Graph, vectors: Array, better: Vectors) -> _Graph:
    """A controller that is nowhere worse: each old node gives way to a new one above it.

    An old node that no new one equals or exceeds in all states is kept, if it is led to.
    """
    old, slack = len(vectors), SLACK * max(1.0, float(np.abs(vectors).max()))
    becomes = list(range(old + len(better.vectors)))
    for node, vector in enumerate(vectors):
        above = np.flatnonzero((better.vectors >= vector - slack).all(axis=1))
        if above.size:
            becomes[node] = old + int(above[0])
    links = tuple(tuple(becomes[then] for then in to) for to in graph.links + better.links)
    graph_of_both = _Graph(graph.choices + better.choices, links)
    return graph_of_both.followed(list(range(old, len(becomes))))[0]


def _check_admissible(process: Process) -> None:
    for choice, state in np.argwhere(~process.admissible):
        raise SettingsError(
            f"alpha vectors need interventions that are admissible everywhere, and "
            f"{named(process.interventions[choice])} is not in state "
            f"{named(process.states[state])}; use `bellman.search` or `bellman.observed`"
        )
