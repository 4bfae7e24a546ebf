"""POMDPs, SMDPs and options as Engagement Processes (the paper, appendices B.4 and B.5).

| from | what it becomes |
| --- | --- |
| an action each step | intervention sets of one action each |
| an observation each step | event sets of one event each |
| an observation that depends on the action | the last action is part of the state |
| an action that takes several steps | what is under way is part of the state, tick by tick |
| decisions at boundaries only | nothing but "go on" is admissible in between |

Beliefs and optimal values stay the same; `tests/theory` compares them with solvers that know
nothing of Engagement Processes.
"""

from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass
from typing import Literal

import numpy as np

from timeful.errors import SettingsError, check_known
from timeful.theory.process import (
    NOTHING,
    Array,
    Distribution,
    Events,
    Intervention,
    Process,
    named,
)

Chances = Mapping[Hashable, float]
"""The probability of each state."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Pomdp:
    """A partially observable Markov decision process (Kaelbling, Littman, Cassandra, 1998).

    Attributes:
        states: The states.
        actions: The actions.
        observations: The observations.
        transition: P(s' | s, a), shape (A, S, S).
        observation: P(y | s', a), shape (A, S, Y).
        reward: The expected reward of a in s, shape (A, S).
        discount: Per step, in (0, 1].
        start: The first belief, shape (S,).
    """

    states: tuple[Hashable, ...]
    actions: tuple[Hashable, ...]
    observations: tuple[Hashable, ...]
    transition: Array
    observation: Array
    reward: Array
    discount: float
    start: Array


def from_pomdp(pomdp: Pomdp) -> Process:
    """The synchronised Engagement Process of a POMDP.

    States are pairs (state, last action), since events depend on the state alone. Before the
    first step there is no last action; the first one listed stands in, and matters to nothing.

    Raises:
        SettingsError: As `Process` does; it names rows of the process.
    """
    actions, states = len(pomdp.actions), len(pomdp.states)
    size = actions * states
    moves = np.zeros((actions, actions, states, actions, states))
    for action in range(actions):
        moves[action, :, :, action, :] = pomdp.transition[action]
    return Process(
        states=tuple((state, action) for action in pomdp.actions for state in pomdp.states),
        interventions=tuple(frozenset({action}) for action in pomdp.actions),
        event_sets=tuple(frozenset({observation}) for observation in pomdp.observations),
        transition=moves.reshape(actions, size, size),
        observation=np.reshape(pomdp.observation, (size, -1)),
        utility=np.tile(pomdp.reward, (1, actions)),
        discount=pomdp.discount,
        start=np.concatenate([pomdp.start, np.zeros(size - states)]),
    )


@dataclass(frozen=True, slots=True)
class Deciding:
    """A state in which something new can be begun."""

    state: Hashable


@dataclass(frozen=True, slots=True)
class Underway:
    """A state in which something is under way.

    `left` counts the ticks that an SMDP's action still takes; it is 0 for an option, which ends
    when it ends.
    """

    state: Hashable
    doing: Hashable
    left: int = 0


def from_smdp(
    start: Chances,
    actions: Mapping[Hashable, Callable[[Hashable], Mapping[tuple[Hashable, int], float]]],
    *,
    reward: Callable[[Hashable, Hashable], float],
    discount: float,
) -> Process:
    """The Engagement Process of a semi-Markov decision process with durations in ticks.

    The state is seen when an action ends; until then nothing is, and nothing can be done.

    Args:
        start: The probability of each first state.
        actions: For each action, P(s', duration | s), with durations from 1; empty where the
            action cannot be taken.
        reward: The expected reward of an action in a state, counted when it begins.
        discount: Per tick, in (0, 1].

    Raises:
        SettingsError: If a duration is below 1, and as `Process` does.
    """

    def transition(where: Hashable, intervention: Intervention) -> Chances:
        if isinstance(where, Underway):
            return {_arriving(where.state, where.doing, where.left - 1): 1.0}
        assert isinstance(where, Deciding)
        [action] = intervention
        after: dict[Hashable, float] = {}
        for (state, ticks), chance in actions[action](where.state).items():
            if ticks < 1:
                raise SettingsError(f"a duration must be at least 1 tick, got {ticks}")
            then = _arriving(state, action, ticks - 1)
            after[then] = after.get(then, 0.0) + chance
        return after

    def utility(where: Hashable, intervention: Intervention) -> float:
        if isinstance(where, Underway):
            return -np.inf if intervention else 0.0
        assert isinstance(where, Deciding)
        able = [action for action in intervention if actions[action](where.state)]
        return reward(where.state, able[0]) if able else -np.inf

    return Process.from_functions(
        {Deciding(state): chance for state, chance in start.items()},
        [NOTHING, *(frozenset({action}) for action in actions)],
        transition=transition,
        observation=_at_the_end,
        utility=utility,
        discount=discount,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Option:
    """A way of acting that lasts (Sutton, Precup and Singh, 1999).

    Attributes:
        policy: The intervention set in each state where it can be under way.
        ends: The probability that it ends on arriving in a state; what is not named is 1.
        begins: Where it can be begun; wherever it has a policy if None.
    """

    policy: Mapping[Hashable, Intervention]
    ends: Mapping[Hashable, float]
    begins: frozenset[Hashable] | None = None

    def can_begin(self, state: Hashable) -> bool:
        """Whether it can be begun in a state."""
        return state in (self.policy if self.begins is None else self.begins)


def from_options(
    world: Process,
    options: Mapping[Hashable, Option],
    *,
    decide: Literal["at-boundaries", "any-tick"] = "at-boundaries",
) -> Process:
    """A process whose interventions begin options, and whose ticks are those of the world.

    The option under way is part of the state. The world's events arrive at every tick, also
    while an option is under way, and with the event `"ended"` when one has ended. Under
    "at-boundaries" nothing can be done about them before the option ends, as in an SMDP over
    options; under "any-tick" another option may be begun in its place.

    Args:
        world: The process that options act on.
        options: The options by name; the interventions of the result are the empty set (go on)
            and one set for each name.
        decide: When an option may be begun.

    Raises:
        SettingsError: If an option reaches a state for which it has no policy, as `Process`
            does, and for an unknown `decide`.
    """
    check_known("time to decide", decide, ("at-boundaries", "any-tick"))

    def doing(where: Hashable, intervention: Intervention) -> Hashable | None:
        """The option that acts in this tick; None if this is not admissible."""
        assert isinstance(where, Deciding | Underway)
        if not intervention:
            return where.doing if isinstance(where, Underway) else None
        [name] = intervention
        free = isinstance(where, Deciding) or decide == "any-tick"
        return name if free and options[name].can_begin(where.state) else None

    def step(where: Hashable, name: Hashable) -> tuple[int, int]:
        """The places of the world's intervention and state."""
        assert isinstance(where, Deciding | Underway)
        policy = options[name].policy
        if where.state not in policy:
            raise SettingsError(f"option {name!r} has no policy in state {named(where.state)}")
        return world.intervention_at(policy[where.state]), world.state_at(where.state)

    def transition(where: Hashable, intervention: Intervention) -> Chances:
        name = doing(where, intervention)
        after: dict[Hashable, float] = {}
        for state, chance in zip(world.states, world.transition[step(where, name)], strict=True):
            ends = options[name].ends.get(state, 1.0)
            after[Deciding(state)] = chance * ends
            after[Underway(state, name)] = chance * (1 - ends)
        return {where: chance for where, chance in after.items() if chance > 0}

    def observation(where: Hashable) -> Distribution:
        assert isinstance(where, Deciding | Underway)
        ended: Events = frozenset({"ended"}) if isinstance(where, Deciding) else NOTHING
        row = world.observation[world.state_at(where.state)].tolist()
        pairs = zip(world.event_sets, row, strict=True)
        return {events | ended: chance for events, chance in pairs if chance > 0}

    def utility(where: Hashable, intervention: Intervention) -> float:
        name = doing(where, intervention)
        return -np.inf if name is None else float(world.utility[step(where, name)])

    first = zip(world.states, world.start.tolist(), strict=True)
    return Process.from_functions(
        {Deciding(state): chance for state, chance in first if chance > 0},
        [NOTHING, *(frozenset({name}) for name in options)],
        transition=transition,
        observation=observation,
        utility=utility,
        discount=world.discount,
    )


def _arriving(state: Hashable, option: Hashable, remaining: int) -> Hashable:
    return Underway(state, option, remaining) if remaining else Deciding(state)


def _at_the_end(where: Hashable) -> Distribution:
    return {frozenset({where.state}) if isinstance(where, Deciding) else NOTHING: 1.0}
