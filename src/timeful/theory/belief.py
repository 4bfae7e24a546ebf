"""Exact beliefs: what can be known of the state after interventions and event sets.

The paper, appendix B.2. Receiving nothing is an observation like any other: an alarm that has
not rung says that there is probably no fire, as far as a fire would have made it ring.
"""

from collections.abc import Callable, Hashable

import numpy as np

from timeful.errors import SettingsError, WorldError
from timeful.theory.process import SLACK, Array, Events, Intervention, Process, named


def predict(process: Process, belief: Array, intervention: Intervention) -> Array:
    """The belief about the next state before its events are seen: sum_s F(s' | s, A) b(s).

    Raises:
        SettingsError: If the belief is none, or the process has no such intervention.
        WorldError: If the intervention is not admissible in a state that may be the present one.
    """
    check_belief(belief, len(process.states))
    choice = process.intervention_at(intervention)
    for number in np.flatnonzero((belief > 0) & ~process.admissible[choice]):
        raise WorldError(
            f"{named(intervention)} is not admissible in state {named(process.states[number])}, "
            "which may be the present one"
        )
    predicted: Array = belief @ process.transition[choice]
    return predicted


def predictive(process: Process, belief: Array, intervention: Intervention) -> dict[Events, float]:
    """The probability of each event set at the next tick: P(Y | b, A), those above 0."""
    chances = predict(process, belief, intervention) @ process.observation
    pairs = zip(process.event_sets, chances.tolist(), strict=True)
    return {events: chance for events, chance in pairs if chance > 0}


def likelihood(
    process: Process, belief: Array, intervention: Intervention, events: Events
) -> float:
    """The probability of one event set at the next tick; 0 for one that no state ever shows."""
    return predictive(process, belief, intervention).get(events, 0.0)


def update(process: Process, belief: Array, intervention: Intervention, events: Events) -> Array:
    """The belief after an intervention and the event set of the next tick.

    b'(s') is proportional to O(Y | s') sum_s F(s' | s, A) b(s).

    Raises:
        WorldError: If this event set cannot follow; the message says which can.
    """
    predicted = predict(process, belief, intervention)
    if events in process.event_sets:
        joint = process.observation[:, process.events_at(events)] * predicted
        if (total := joint.sum()) > 0:
            posterior: Array = joint / total
            return posterior
    possible = predictive(process, belief, intervention)
    raise WorldError(
        f"{named(events)} cannot be observed after {named(intervention)} with this belief; "
        f"possible are: {', '.join(map(named, possible))}"
    )


def certain(process: Process, state: Hashable) -> Array:
    """The belief that knows the state."""
    belief = np.zeros(len(process.states))
    belief[process.state_at(state)] = 1.0
    return belief


def marginal(
    process: Process, belief: Array, of: Callable[[Hashable], Hashable]
) -> dict[Hashable, float]:
    """The belief about a part of the state.

    Args:
        process: The process.
        belief: A belief about its states.
        of: The part of a state that is asked about.
    """
    sums: dict[Hashable, float] = {}
    for state, chance in zip(process.states, belief.tolist(), strict=True):
        sums[of(state)] = sums.get(of(state), 0.0) + chance
    return sums


def check_belief(belief: Array, states: int) -> None:
    """Refuse what is no belief about so many states.

    Raises:
        SettingsError: If it is no distribution, or has another length.
    """
    if np.shape(belief) != (states,):
        raise SettingsError(f"a belief must have shape {(states,)}, got {np.shape(belief)}")
    if not ((belief >= 0).all() and abs(belief.sum() - 1) <= SLACK):
        raise SettingsError(f"a belief must be at or above 0 and sum to 1, got {belief}")
