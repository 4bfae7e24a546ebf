"""Policies over information states, and their exact value.

An information state w = phi(h, t) is whatever an agent keeps of its history (the paper, sections
3.3 and B.1): the node of a finite controller, a belief, the last few event sets, a clock.
"""

from collections.abc import Callable, Hashable, Iterator, Mapping
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from timeful.errors import SettingsError, WorldError
from timeful.theory.belief import check_belief, predict, update
from timeful.theory.process import Array, Events, Intervention, Process, named


class Policy(Protocol):
    """What to do in each information state, and which one comes next."""

    @property
    def first(self) -> Hashable:
        """The information state before the first tick."""
        ...

    def act(self, memory: Hashable) -> Mapping[Intervention, float]:
        """The distribution over intervention sets."""
        ...

    def next(self, memory: Hashable, intervention: Intervention, events: Events) -> Hashable:
        """The information state after a tick."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Controller:
    """A finite-state controller: at each node one intervention set, and a node to go to.

    Attributes:
        choices: The intervention set of each node.
        links: For each node, where each event set leads; what is not named stays.
        first: The node to begin at.
    """

    choices: tuple[Intervention, ...]
    links: tuple[Mapping[Events, int], ...]
    first: int = 0

    def act(self, memory: Hashable) -> Mapping[Intervention, float]:
        """The one intervention set of the node."""
        return {self.choices[_node(memory)]: 1.0}

    def next(self, memory: Hashable, intervention: Intervention, events: Events) -> Hashable:
        """The node that the event set leads to."""
        return self.links[_node(memory)].get(events, memory)


class BeliefPolicy:
    """A policy whose information state is the belief, as a tuple of probabilities.

    Args:
        process: What the beliefs are about.
        choose: The distribution over intervention sets for a belief of shape (S,).
        belief: The belief before the first tick; the process's start if None.
    """

    def __init__(
        self,
        process: Process,
        choose: Callable[[Array], Mapping[Intervention, float]],
        belief: Array | None = None,
    ) -> None:
        self._process = process
        self._choose = choose
        self.first: Hashable = tuple((process.start if belief is None else belief).tolist())

    def act(self, memory: Hashable) -> Mapping[Intervention, float]:
        """What the belief calls for."""
        return self._choose(np.array(memory))

    def next(self, memory: Hashable, intervention: Intervention, events: Events) -> Hashable:
        """The exact posterior."""
        belief = update(self._process, np.array(memory), intervention, events)
        return tuple(belief.tolist())


def evaluate(process: Process, policy: Policy, horizon: int, belief: Array | None = None) -> float:
    """The value of a policy over a horizon: E sum_t gamma^t U(s_t, A_t), t below the horizon.

    The joint distribution of state and information state is carried forward; nothing is drawn.

    Args:
        process: The process.
        policy: Any policy; without loops its information states grow with the horizon.
        horizon: In ticks, at least 0.
        belief: Where the state starts; the process's start if None.

    Raises:
        SettingsError: If the policy names an unknown intervention or gives no distribution.
        WorldError: If it makes one where it is not admissible.
    """
    joint = {policy.first: _start(process, belief)}
    value, weight = 0.0, 1.0
    for _ in range(horizon):
        after: dict[Hashable, Array] = {}
        for memory, mass in joint.items():
            for intervention, chance in _acts(policy, memory):
                total = float(mass.sum())
                predicted = predict(process, mass / total, intervention) * total * chance
                value += weight * chance * _expected_utility(process, mass, intervention)
                for events, share in _observed_events(process, predicted):
                    then = policy.next(memory, intervention, events)
                    after[then] = after[then] + share if then in after else share
        joint, weight = after, weight * process.discount
    return value


def evaluate_forever(
    process: Process, policy: Policy, belief: Array | None = None, *, limit: int = 4_000
) -> float:
    """The discounted value of a policy with finitely many information states, without end.

    One linear equation for each pair of information state and state that can be reached.

    Args:
        process: A process with a discount below 1.
        policy: A policy that comes back to its information states.
        belief: Where the state starts; the process's start if None.
        limit: The greatest number of pairs.

    Raises:
        SettingsError: As `evaluate`, for a discount of 1, and beyond the limit.
        WorldError: As `evaluate`.
    """
    check_discounted(process)
    begin = _start(process, belief)
    pairs = {(policy.first, int(state)): None for state in np.flatnonzero(begin)}
    queue, rows = list(pairs), []
    for memory, state in queue:  # it grows while it is read
        worth, row = _pair(process, policy, memory, state)
        rows.append((worth, row))
        queue += [pair for pair in row if pair not in pairs]
        pairs |= dict.fromkeys(row)
        if len(pairs) > limit:
            raise SettingsError(
                f"more than {limit} pairs of information state and state are reached; "
                "use a policy with fewer information states, or `evaluate` over a horizon"
            )
    index = {pair: number for number, pair in enumerate(queue)}
    matrix, worths = np.eye(len(queue)), np.array([worth for worth, _ in rows])
    for number, (_, row) in enumerate(rows):
        for pair, chance in row.items():
            matrix[number, index[pair]] -= process.discount * chance
    values = np.linalg.solve(matrix, worths)
    states = np.flatnonzero(begin).tolist()
    return float(sum(begin[state] * values[index[policy.first, state]] for state in states))


def check_discounted(process: Process) -> None:
    """Refuse to look for ever ahead without a discount.

    Raises:
        SettingsError: If the discount is 1.
    """
    if process.discount >= 1:
        raise SettingsError("without a horizon the discount must be below 1, got 1")


def _pair(
    process: Process, policy: Policy, memory: Hashable, state: int
) -> tuple[float, dict[tuple[Hashable, int], float]]:
    """The utility of one tick from a pair, and the chances of the pairs after it."""
    here = np.zeros(len(process.states))
    here[state] = 1.0
    worth, row = 0.0, dict[tuple[Hashable, int], float]()
    for intervention, chance in _acts(policy, memory):
        predicted = predict(process, here, intervention) * chance
        worth += chance * _expected_utility(process, here, intervention)
        for events, share in _observed_events(process, predicted):
            then = policy.next(memory, intervention, events)
            for after in np.flatnonzero(share).tolist():
                row[then, after] = row.get((then, after), 0.0) + float(share[after])
    return worth, row


def _acts(policy: Policy, memory: Hashable) -> list[tuple[Intervention, float]]:
    acts = policy.act(memory)
    if not (all(chance >= 0 for chance in acts.values()) and abs(sum(acts.values()) - 1) < 1e-9):
        distribution = {named(intervention): chance for intervention, chance in acts.items()}
        raise SettingsError(
            f"a policy must give a distribution over interventions, got {distribution}"
        )
    return [(intervention, chance) for intervention, chance in acts.items() if chance > 0]


def _observed_events(process: Process, predicted: Array) -> Iterator[tuple[Events, Array]]:
    """Each event set that can come now, with the mass of the states that show it."""
    shares = predicted[:, np.newaxis] * process.observation
    for index in np.flatnonzero(shares.any(axis=0)).tolist():
        yield process.event_sets[index], shares[:, index]


def _expected_utility(process: Process, mass: Array, intervention: Intervention) -> float:
    """The utility of a tick, over the states that have mass: 0 times -inf is 0."""
    utility = process.utility[process.intervention_at(intervention)]
    return float((mass[mass > 0] * utility[mass > 0]).sum())


def _start(process: Process, belief: Array | None) -> Array:
    begin = process.start if belief is None else belief
    check_belief(begin, len(process.states))
    return begin


def _node(memory: Hashable) -> int:
    if not isinstance(memory, int):
        raise WorldError(
            f"a controller's information state is the number of a node, got {memory!r}"
        )
    return memory
