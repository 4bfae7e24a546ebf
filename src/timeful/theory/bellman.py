"""Bellman recursions over intervention sets (the paper, appendix B.3).

    V(b) = max over A in I of  r(b, A) + discount * sum_Y P(Y | b, A) V(b')

Three exact solutions, each where it fits:

| the model | the solution |
| --- | --- |
| any, for a horizon, from one belief | `search`: the beliefs that can be reached |
| any, for all beliefs at once | `alpha.recursion`, `alpha.discounted`: alpha vectors |
| the state is seen at every tick | `observed`, `observed_recursion`: tables over states |
"""

from collections.abc import Hashable, Mapping
from dataclasses import dataclass

import numpy as np

from timeful.errors import SettingsError, WorldError
from timeful.theory.belief import check_belief
from timeful.theory.policy import check_discounted
from timeful.theory.process import Array, Events, Intervention, Process, named

DIGITS = 12
"""Beliefs that agree to so many digits are taken for one; they come from other orders of sums."""

_Key = tuple[int, bytes]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Search:
    """The optimal policy from one belief over a horizon; it can be evaluated as any policy.

    Attributes:
        value: The optimal expected utility over the horizon.
        intervention: An optimal first intervention set; the earliest listed of equals.
        worth: What each admissible first intervention set comes to, optimal afterwards.
        beliefs: How many pairs of belief and ticks to go were looked at.
    """

    value: float
    intervention: Intervention
    worth: Mapping[Intervention, float]
    beliefs: int
    first: Hashable
    _process: Process
    _table: Mapping[_Key, tuple[float, int]]

    def act(self, memory: Hashable) -> Mapping[Intervention, float]:
        """The optimal intervention set for a belief and the ticks to go."""
        _, choice = self._table[_key(*_recalled(memory))]
        return {self._process.interventions[choice]: 1.0}

    def next(self, memory: Hashable, intervention: Intervention, events: Events) -> Hashable:
        """The posterior, with one tick less to go."""
        ticks, belief = _recalled(memory)
        choice = self._process.intervention_at(intervention)
        event_index = self._process.events_at(events)
        for event_set, _, posterior in _branches(self._process, belief, choice):
            if event_set == event_index:
                return ticks - 1, tuple(posterior.tolist())
        raise SettingsError(f"{named(events)} cannot be observed here")


def search(
    process: Process, horizon: int, belief: Array | None = None, *, limit: int = 200_000
) -> Search:
    """Solve a horizon from one belief, by the beliefs that can be reached from it.

    Args:
        process: The process; interventions are made where they are admissible in every state
            that the belief holds possible.
        horizon: In ticks, at least 1.
        belief: Where to begin; the process's start if None.
        limit: The greatest number of pairs of belief and ticks to go.

    Raises:
        SettingsError: If the horizon is below 1, beyond the limit, or if some belief that can
            be reached admits nothing.
    """
    if horizon < 1:
        raise SettingsError(f"a horizon must be at least 1 tick, got {horizon}")
    begin = process.start if belief is None else belief
    check_belief(begin, len(process.states))
    levels: list[dict[bytes, Array]] = [{_key(0, begin)[1]: begin}]
    count = 1
    for _ in range(horizon - 1):
        reached: dict[bytes, Array] = {}
        for here in levels[-1].values():
            for choice in _admissible(process, here):
                for _, _, posterior in _branches(process, here, choice):
                    reached.setdefault(_key(0, posterior)[1], posterior)
        levels.append(reached)
        if (count := count + len(reached)) > limit:
            raise SettingsError(
                f"more than {limit} beliefs can be reached in {horizon} ticks; take a shorter "
                "horizon, a larger `limit`, or `alpha.recursion`"
            )
    table: dict[_Key, tuple[float, int]] = {}
    for ticks, level in enumerate(reversed(levels), start=1):
        for key, here in level.items():
            worth = _worth(process, here, ticks, table)
            choice = max(worth, key=lambda number: worth[number])
            table[ticks, key] = worth[choice], choice
    value, choice = table[_key(horizon, begin)]
    worth = _worth(process, begin, horizon, table)
    return Search(
        value=value,
        intervention=process.interventions[choice],
        worth={process.interventions[number]: q for number, q in worth.items()},
        beliefs=count,
        first=(horizon, tuple(begin.tolist())),
        _process=process,
        _table=table,
    )


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Table:
    """An optimal policy where the state is seen.

    Attributes:
        values: The optimal value of each state, shape (S,).
        choices: The place of an optimal intervention set for each state, shape (S,).
    """

    values: Array
    choices: tuple[int, ...]


def observed(process: Process) -> Table:
    """Solve a process whose state is seen at every tick, discounted and without end.

    Policy iteration with an exact linear solution at each round, so that the values are exact
    and not merely near. If the state is not seen, they are an upper bound.

    Raises:
        SettingsError: If the discount is 1.
    """
    check_discounted(process)
    states = np.arange(len(process.states))
    choices = np.argmax(process.utility, axis=0)
    while True:
        moves = process.transition[choices, states]
        values = np.linalg.solve(
            np.eye(len(states)) - process.discount * moves, process.utility[choices, states]
        )
        worth = process.utility + process.discount * process.transition @ values
        # Rounding must not make two equal choices change places for ever.
        slack = 1e-11 * max(1.0, float(np.abs(values).max()))
        better = worth.max(axis=0) > worth[choices, states] + slack
        if not better.any():
            return Table(values=values, choices=tuple(choices.tolist()))
        choices = np.where(better, worth.argmax(axis=0), choices)


def observed_recursion(process: Process, horizon: int) -> tuple[Table, ...]:
    """Solve a process whose state is seen, over a horizon; entry k has k + 1 ticks to go."""
    tables: list[Table] = []
    values = np.zeros(len(process.states))
    for _ in range(horizon):
        worth = process.utility + process.discount * process.transition @ values
        values = worth.max(axis=0)
        tables.append(Table(values=values, choices=tuple(worth.argmax(axis=0).tolist())))
    return tuple(tables)


def _worth(
    process: Process, belief: Array, ticks: int, table: Mapping[_Key, tuple[float, int]]
) -> dict[int, float]:
    """What each admissible intervention set comes to, with so many ticks to go."""
    worth = {}
    for choice in _admissible(process, belief):
        support = belief > 0
        value = float(belief[support] @ process.utility[choice, support])
        if ticks > 1:
            for _, chance, posterior in _branches(process, belief, choice):
                value += process.discount * chance * table[_key(ticks - 1, posterior)][0]
        worth[choice] = value
    return worth


def _admissible(process: Process, belief: Array) -> list[int]:
    choices: list[int] = np.flatnonzero(process.admissible[:, belief > 0].all(axis=1)).tolist()
    if not choices:
        support = [named(process.states[index]) for index in np.flatnonzero(belief)]
        raise SettingsError(
            f"nothing is admissible in all of the states {', '.join(support)}, which look alike; "
            "let events tell them apart, or admit something in all of them"
        )
    return choices


def _branches(process: Process, belief: Array, choice: int) -> list[tuple[int, float, Array]]:
    """The event sets that can come: the place, the probability and the posterior of each."""
    joint = (belief @ process.transition[choice])[:, np.newaxis] * process.observation
    chances = joint.sum(axis=0)
    indices = np.flatnonzero(chances).tolist()
    return [
        (event_index, float(chances[event_index]), joint[:, event_index] / chances[event_index])
        for event_index in indices
    ]


def _recalled(memory: Hashable) -> tuple[int, Array]:
    if not isinstance(memory, tuple):
        raise WorldError(f"the search's memory is ticks to go and a belief, got {memory!r}")
    ticks, belief = memory
    return ticks, np.array(belief)


def _key(ticks: int, belief: Array) -> _Key:
    return ticks, (np.round(belief, DIGITS) + 0.0).tobytes()  # + 0.0: no negative zero
