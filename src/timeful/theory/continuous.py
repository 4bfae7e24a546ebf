"""Continuous time: ticks replaced by real-valued instants (the paper, section 3.1).

Between interventions the state jumps at random, each jump with a rate, and some jumps are told of
by an event set: a Markov chain in continuous time with marked arrivals (Neuts, 1979; He and
Neuts, 1998, "Markov chains with marked transitions"). Silence is then an observation that lasts:
the longer an alarm has not rung, the less a fire is likely. Holding times that are not
exponential are made of phases, as hidden states.
"""

from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass
from itertools import combinations
from math import exp, expm1

import numpy as np

from timeful.errors import SettingsError, WorldError
from timeful.theory.belief import check_belief
from timeful.theory.process import NOTHING, Array, Events, Intervention, Process, named

Flow = Callable[[Array], Array]
"""The exponential of a square matrix."""


def exponential(matrix: Array) -> Array:
    """The exponential of a matrix whose numbers off the diagonal are not negative.

    The diagonal is shifted until no number is negative, so that nothing cancels in the series
    (uniformisation); the argument is halved until 30 terms are exact, and the result squared.
    """
    shift = max(0.0, float(-matrix.diagonal().min()))
    size = np.eye(len(matrix))
    shifted = matrix + shift * size
    halvings = max(0, int(np.ceil(np.log2(max(float(np.abs(shifted).sum(axis=1).max()), 1e-300)))))
    step = shifted / 2**halvings
    term, total = size, size
    for number in range(1, 31):
        term = term @ step / number
        total = total + term
    total = total * exp(-shift / 2**halvings)
    for _ in range(halvings):
        total = total @ total
    return total


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Continuous:
    """A finite Engagement Process in continuous time.

    Spans are real numbers in any one unit of time; rates are per that unit.

    Attributes:
        states: The states S.
        interventions: The intervention sets; each acts at an instant.
        impulse: Shape (I, S, S): where an intervention set puts the state at once.
        hidden: Shape (S, S): rates of jumps that nobody is told of; the diagonal is not read.
        told: For each event set that can be observed, shape (S, S): the rates of the jumps that
            show it. The diagonal counts: an event may leave the state as it is.
        utility: Shape (S,): the utility per unit of time.
        cost: Shape (I, S): the utility of an intervention itself, at once.
        decay: The rate of discounting, at least 0: a span is worth exp(-decay * span).
        start: The first belief.
        flow: Gives the exponential of a matrix; for many states, pass `scipy.linalg.expm`.

    Raises:
        SettingsError: If a shape is wrong, a rate negative, or an impulse no distribution.
    """

    states: tuple[Hashable, ...]
    interventions: tuple[Intervention, ...]
    impulse: Array
    hidden: Array
    told: Mapping[Events, Array]
    utility: Array
    cost: Array
    decay: float
    start: Array
    flow: Flow = exponential

    def __post_init__(self) -> None:
        i, s = len(self.interventions), len(self.states)
        shapes = {"impulse": (i, s, s), "hidden": (s, s), "utility": (s,), "cost": (i, s)}
        for name, shape in shapes.items():
            if (shape_of_array := np.shape(getattr(self, name))) != shape:
                raise SettingsError(
                    f"the {name} must have shape {shape} for {i} interventions and {s} states, "
                    f"got {shape_of_array}"
                )
        _check_rates("hidden jumps", self.hidden[~np.eye(s, dtype=bool)])
        for events, rates in self.told.items():
            if np.shape(rates) != (s, s):
                raise SettingsError(f"the rates of {named(events)} must have shape {(s, s)}")
            _check_rates(named(events), rates)
        if NOTHING in self.told:
            raise SettingsError("jumps that nobody is told of belong into `hidden`")
        if not 0 <= self.decay < np.inf:
            raise SettingsError(f"the rate of discounting must be at or above 0, got {self.decay}")
        self.ticked(1.0)  # the process in ticks checks the impulses, the costs and the start

    def silence(self, span: float) -> Array:
        """P(s' at the end, and no event on the way | s), shape (S, S); rows sum to at most 1."""
        return self.flow(self._generator(NOTHING) * _span(span))

    def elapse(self, span: float) -> Array:
        """P(s' at the end | s) whatever is told of on the way, for whoever does not listen."""
        return self.flow(self._generator(self._all_events()) * _span(span))

    def wait(self, belief: Array, span: float) -> Array:
        """The belief after a span in which nothing was observed.

        Raises:
            WorldError: If so long a silence is impossible.
        """
        check_belief(belief, len(self.states))
        return _normalised(belief @ self.silence(span), f"a silence of {span}")

    def notice(self, belief: Array, span: float, events: Events) -> Array:
        """The belief after a silent span that this event set ended.

        Raises:
            WorldError: If these events cannot come then.
        """
        check_belief(belief, len(self.states))
        if events not in self.told:
            raise WorldError(f"{named(events)} is never told of")
        then = belief @ self.silence(span) @ self.told[events]
        return _normalised(then, f"{named(events)} after {span}")

    def density(self, belief: Array, span: float, events: Events) -> float:
        """How likely the next event is this one, at the end of this span, per unit of time."""
        return float((belief @ self.silence(span) @ self.told[events]).sum())

    def intervene(self, belief: Array, intervention: Intervention) -> Array:
        """The belief right after an intervention."""
        if intervention not in self.interventions:
            labels = ", ".join(map(named, self.interventions))
            raise SettingsError(f"no intervention {named(intervention)}; there are: {labels}")
        after: Array = belief @ self.impulse[self.interventions.index(intervention)]
        return after

    def discount(self, span: float) -> float:
        """What a utility is worth that comes a span later."""
        return exp(-self.decay * _span(span))

    def ticked(self, span: float) -> Process:
        """The process in ticks of a span: interventions at its start, events at its end.

        Nothing is approximated but the agent: it looks and acts once a tick, and is told the set
        of all that happened in the tick. A state of the result is the state and that set.
        """
        exactly = self._exactly(_span(span))
        sets = tuple(exactly)
        moves = self.impulse @ np.concatenate([exactly[events] for events in sets], axis=1)
        worth = self.cost + self.impulse @ self._accrued(span)
        states = [(state, events) for events in sets for state in self.states]
        zeros = np.zeros(len(self.states) * (len(sets) - 1))
        return Process(
            states=tuple(states),
            interventions=self.interventions,
            event_sets=sets,
            transition=np.tile(moves, (1, len(sets), 1)),
            observation=np.repeat(np.eye(len(sets)), len(self.states), axis=0),
            utility=np.tile(worth, (1, len(sets))),
            discount=self.discount(span),
            start=np.concatenate([self.start, zeros]),
        )

    def _exactly(self, span: float) -> dict[Events, Array]:
        """P(s' at the end, and these and no other events on the way | s), for each set.

        By inclusion and exclusion over the sets that the events might have stayed within.
        """
        atoms = sorted(self._all_events(), key=repr)
        every = [frozenset(some) for k in range(len(atoms) + 1) for some in combinations(atoms, k)]
        within = {some: self.flow(self._generator(some) * span) for some in every}
        exactly: dict[Events, Array] = {}
        for events in every:
            terms = [(-1) ** len(events - some) * within[some] for some in every if some <= events]
            # Sets that cannot come as a whole leave rounding, which is no probability.
            exactly[events] = np.where((kernel := sum(terms)) > 1e-15, kernel, 0.0)
        return {events: kernel for events, kernel in exactly.items() if kernel.any()}

    def _all_events(self) -> Events:
        return frozenset().union(*self.told)

    def _generator(self, within: Events) -> Array:
        """The rates of moving on while only event sets within these are told of."""
        rates = self.hidden * (1 - np.eye(len(self.states)))
        leaving = rates + sum(self.told.values(), np.zeros_like(rates))
        staying = sum((rate for events, rate in self.told.items() if events <= within), rates)
        generator: Array = staying - np.diag(leaving.sum(axis=1))
        return generator

    def _accrued(self, span: float) -> Array:
        """The expected utility of a span from each state, discounted to its start."""
        low, size = float(self.utility.min()), len(self.states)
        generator = np.zeros((size + 1, size + 1))
        generator[:size, :size] = self._generator(self._all_events()) - self.decay * np.eye(size)
        generator[:size, size] = self.utility - low  # so that no rate is negative
        weight = -expm1(-self.decay * span) / self.decay if self.decay > 0 else span
        accrued: Array = self.flow(generator * span)[:size, size] + low * weight
        return accrued


def _check_rates(name: str, rates: Array) -> None:
    if not ((rates >= 0) & (rates < np.inf)).all():
        raise SettingsError(f"the rates of {name} must be finite and at or above 0, got {rates}")


def _span(span: float) -> float:
    if not 0 <= span < np.inf:
        raise SettingsError(f"a span must be finite and not negative, got {span!r}")
    return span


def _normalised(mass: Array, name: str) -> Array:
    if not (total := mass.sum()) > 0:
        raise WorldError(f"{name} is impossible with this belief")
    belief: Array = mass / total
    return belief
