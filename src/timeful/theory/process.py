"""A finite Engagement Process as arrays: read this file first.

E = (S, A, Y, F, O, U) with a per-tick discount (the paper "Engagement Process", section 3.1). At
each tick an intervention *set* A goes in and an event *set* Y comes out, and either may be empty:

    s' ~ F(. | s, A)    Y ~ O(. | s')    u = U(s, A)

Everything else here is a function of these arrays.
"""

from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import combinations, product
from typing import Self, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from timeful.errors import SettingsError

Array = NDArray[np.float64]
Intervention = frozenset[Hashable]
"""Atomic actions that go in together at one tick; empty if nothing is done."""
Events = frozenset[Hashable]
"""What is observed at one tick; empty if nothing is, which can tell something too."""
Distribution = Mapping[Events, float]

H = TypeVar("H", bound=Hashable)

NOTHING: frozenset[Hashable] = frozenset()
"""No intervention, or no event."""

SLACK = 1e-9
"""By how much probabilities may miss a sum of 1."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Process:
    """A finite Engagement Process.

    Attributes:
        states: The states S, in the order of the arrays' axes.
        interventions: The admissible intervention sets I, each a frozenset of atomic actions.
        event_sets: The event sets that can be observed, each a frozenset of events.
        transition: F, shape (I, S, S): `transition[A, s]` is the distribution of s'.
        observation: O, shape (S, Y): `observation[s]` is the distribution over event sets at s,
            so that "no event" and "two events at once" are outcomes like any other.
        utility: U, shape (I, S): the expected utility of a tick. Shape (I, S, S) is taken as
            U(s, A, s') and averaged over F. `-inf` says that A is not admissible in s.
        discount: Per tick, in (0, 1].
        start: The belief before the first tick, shape (S,).

    Raises:
        SettingsError: If a shape is wrong, a distribution is none, or a state admits nothing;
            the message names the row.
    """

    states: tuple[Hashable, ...]
    interventions: tuple[Intervention, ...]
    event_sets: tuple[Events, ...]
    transition: Array
    observation: Array
    utility: Array
    discount: float
    start: Array
    _positions: Mapping[tuple[str, Hashable], int] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        for name in ("states", "interventions", "event_sets"):
            _keep(self, name, tuple(getattr(self, name)))
        for name in ("transition", "observation", "utility", "start"):
            _keep(self, name, _numbers(name, getattr(self, name)))
        _check_names(self)
        _check_shapes(self)
        _check_rows(self)
        if self.utility.ndim == 3:
            worth = np.where(self.transition > 0, self.utility, 0.0)  # 0 times -inf is 0 here
            _keep(self, "utility", (self.transition * worth).sum(axis=2))
        _check_utility(self)
        for name in ("transition", "observation", "utility", "start"):
            getattr(self, name).flags.writeable = False
        positions: dict[tuple[str, Hashable], int] = {}
        positions |= {("state", name): at for at, name in enumerate(self.states)}
        positions |= {("intervention", name): at for at, name in enumerate(self.interventions)}
        positions |= {("event set", name): at for at, name in enumerate(self.event_sets)}
        _keep(self, "_positions", positions)

    @classmethod
    def from_functions(
        cls,
        start: Mapping[Hashable, float],
        interventions: Iterable[Intervention],
        *,
        transition: Callable[[Hashable, Intervention], Mapping[Hashable, float]],
        observation: Callable[[Hashable], Distribution],
        utility: Callable[[Hashable, Intervention], float],
        discount: float,
        limit: int = 10_000,
    ) -> Self:
        """Make the arrays from functions of hashable states, as far as states can be reached.

        Args:
            start: The probability of each first state.
            interventions: The admissible intervention sets.
            transition: The distribution of s' given s and A; asked where A is admissible.
            observation: The distribution over event sets at s'.
            utility: The expected utility of A in s; `-inf` where A is not admissible.
            discount: Per tick, in (0, 1].
            limit: The greatest number of states.

        Raises:
            SettingsError: As the class does, and if there are more states than the limit.
        """
        action_sets = tuple(interventions)
        worth: dict[tuple[int, Hashable], float] = {}
        moves: dict[tuple[int, Hashable], Mapping[Hashable, float]] = {}
        reachable = dict.fromkeys(start)
        queue = list(reachable)
        for state in queue:  # it grows while it is read
            for number, intervention in enumerate(action_sets):
                worth[number, state] = utility(state, intervention)
                stays = worth[number, state] == -np.inf
                to = {state: 1.0} if stays else transition(state, intervention)
                moves[number, state] = to
                queue += [after for after in to if after not in reachable]
                reachable |= dict.fromkeys(to)
            if len(reachable) > limit:
                raise SettingsError(
                    f"more than {limit} states can be reached; make the states coarser, or raise "
                    "`limit`"
                )
        observations = {state: observation(state) for state in reachable}
        states, sets = (
            tuple(reachable),
            tuple(dict.fromkeys(y for row in observations.values() for y in row)),
        )
        every = range(len(action_sets))
        return cls(
            states=states,
            interventions=action_sets,
            event_sets=sets,
            transition=np.array([[_row(moves[a, s], states) for s in states] for a in every]),
            observation=np.array([_row(observations[s], sets) for s in states]),
            utility=np.array([[worth[a, s] for s in states] for a in every]),
            discount=discount,
            start=np.array(_row(start, states)),
        )

    def state_at(self, state: Hashable) -> int:
        """The place of a state; SettingsError if there is no such state."""
        return self._position("state", state)

    def intervention_at(self, intervention: Intervention) -> int:
        """The place of an intervention set; SettingsError if it is not admissible anywhere."""
        return self._position("intervention", intervention)

    def events_at(self, events: Events) -> int:
        """The place of an event set; SettingsError if no state ever shows it."""
        return self._position("event set", events)

    @property
    def admissible(self) -> NDArray[np.bool_]:
        """Which interventions may be made where, shape (I, S)."""
        return self.utility > -np.inf

    @property
    def over(self) -> NDArray[np.bool_]:
        """In which states nothing happens any more: none can be left, and all is worth 0."""
        stays = np.einsum("ass->as", self.transition) >= 1 - SLACK
        done: NDArray[np.bool_] = (~self.admissible | (stays & (self.utility == 0))).all(axis=0)
        return done

    def with_only(self, interventions: Iterable[Intervention]) -> Self:
        """The same process with some of its intervention sets.

        Raises:
            SettingsError: If one is unknown, or if a state then admits nothing.
        """
        rows = [self.intervention_at(intervention) for intervention in interventions]
        return replace(
            self,
            interventions=tuple(self.interventions[row] for row in rows),
            transition=self.transition[rows],
            utility=self.utility[rows],
        )

    def _position(self, kind: str, name: Hashable) -> int:
        try:
            return self._positions[kind, name]
        except KeyError:
            labels = ", ".join(named(label) for of, label in self._positions if of == kind)
            raise SettingsError(f"no {kind} {named(name)}; there are: {labels}") from None


def subsets(actions: Sequence[Hashable], *, most: int = 1) -> tuple[Intervention, ...]:
    """All sets of at most so many actions, the empty one first."""
    sizes = range(min(most, len(actions)) + 1)
    return tuple(frozenset(some) for size in sizes for some in combinations(actions, size))


def independent(chances: Mapping[Hashable, float]) -> dict[Events, float]:
    """The distribution over event sets when each event happens on its own with its chance."""
    sets: dict[Events, float] = {}
    for happens in product((False, True), repeat=len(chances)):
        pairs = list(zip(chances.items(), happens, strict=True))
        weight = float(np.prod([chance if did else 1 - chance for (_, chance), did in pairs]))
        if weight > 0:
            sets[frozenset(event for (event, _), did in pairs if did)] = weight
    return sets


def named(thing: object) -> str:
    """A name for messages: sets are written the same in every process."""
    if isinstance(thing, frozenset):
        return "{" + ", ".join(sorted(map(repr, thing))) + "}"
    return repr(thing)


def _keep(process: Process, name: str, value: object) -> None:
    object.__setattr__(process, name, value)


def _numbers(name: str, values: ArrayLike) -> Array:
    try:
        return np.array(values, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise SettingsError(f"the {name} must be an array of numbers: {error}") from error


def _row(chances: Mapping[H, float], names: tuple[H, ...]) -> list[float]:
    return [chances.get(name, 0.0) for name in names]


def _check_names(process: Process) -> None:
    for kind in ("states", "interventions", "event_sets"):
        names = getattr(process, kind)
        if not names or len(set(names)) < len(names):
            raise SettingsError(f"the {kind} must be one or more, all different, got {names!r}")
        if kind != "states" and not all(isinstance(name, frozenset) for name in names):
            raise SettingsError(f"each of the {kind} must be a frozenset, got {names!r}")
    if not 0 < process.discount <= 1:
        raise SettingsError(f"the discount must be in (0, 1], got {process.discount!r}")


def _check_shapes(process: Process) -> None:
    i, s, y = len(process.interventions), len(process.states), len(process.event_sets)
    shapes_by_name: dict[str, list[tuple[int, ...]]] = {
        "transition": [(i, s, s)],
        "observation": [(s, y)],
        "utility": [(i, s), (i, s, s)],
        "start": [(s,)],
    }
    for name, shapes in shapes_by_name.items():
        if (array_shape := getattr(process, name).shape) not in shapes:
            raise SettingsError(
                f"the {name} must have shape {' or '.join(map(str, shapes))} "
                f"for {i} interventions, {s} states and {y} event sets, got {array_shape}"
            )


def _check_rows(process: Process) -> None:
    for where, row in _rows(process):
        if not ((row >= 0).all() and abs(row.sum() - 1) <= SLACK):
            raise SettingsError(
                f"{where} is no distribution: it must be at or above 0 and sum to 1, "
                f"got {row.tolist()}, which sums to {row.sum():.12g}"
            )


def _rows(process: Process) -> Iterator[tuple[str, Array]]:
    yield "the start", process.start
    for number, state in enumerate(process.states):
        yield f"the observation at state {named(state)}", process.observation[number]
        for choice, intervention in enumerate(process.interventions):
            row = process.transition[choice, number]
            yield f"the transition from state {named(state)} under {named(intervention)}", row


def _check_utility(process: Process) -> None:
    for choice, number in np.argwhere(~(process.utility < np.inf)):
        where = f"{named(process.interventions[choice])} in state {named(process.states[number])}"
        raise SettingsError(
            f"the utility of {where} must be a number, or -inf where it is not admissible, "
            f"got {process.utility[choice, number]}"
        )
    for number in np.flatnonzero(~process.admissible.any(axis=0)):
        raise SettingsError(
            f"no intervention is admissible in state {named(process.states[number])}"
        )
