"""Small models for the tests: random ones, Tiger, and an alarm."""

import numpy as np
from hypothesis import strategies as st

from timeful.theory.process import Array, Process, independent, subsets
from timeful.theory.reductions import Pomdp

LEFT, RIGHT = "tiger-left", "tiger-right"


def stochastic(rng: np.random.Generator, *shape: int) -> Array:
    """Distributions along the last axis, some of whose numbers are exactly 0."""
    weights = rng.random(shape) * (rng.random(shape) < 0.7)
    weights[..., 0] += 1e-3  # none is all zeros
    rows: Array = weights / weights.sum(axis=-1, keepdims=True)
    return rows


@st.composite
def processes(draw: st.DrawFn, discount: float | None = None) -> Process:
    """Two to four states, sets of up to two actions, sets of up to two events."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    states = draw(st.integers(2, 4))
    interventions = subsets("ab", most=draw(st.integers(1, 2)))
    event_sets = subsets("yz", most=draw(st.integers(1, 2)))
    return Process(
        states=tuple(range(states)),
        interventions=interventions,
        event_sets=event_sets,
        transition=stochastic(rng, len(interventions), states, states),
        observation=stochastic(rng, states, len(event_sets)),
        utility=rng.normal(size=(len(interventions), states)),
        discount=draw(st.floats(0.3, 1.0)) if discount is None else discount,
        start=stochastic(rng, states),
    )


@st.composite
def pomdps(draw: st.DrawFn) -> Pomdp:
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    s, a, y = (draw(st.integers(2, 3)) for _ in range(3))
    return Pomdp(
        states=tuple(range(s)),
        actions=tuple("abc"[:a]),
        observations=tuple("xyz"[:y]),
        transition=stochastic(rng, a, s, s),
        observation=stochastic(rng, a, s, y),
        reward=rng.normal(size=(a, s)),
        discount=draw(st.floats(0.3, 0.95)),
        start=stochastic(rng, s),
    )


def tiger(discount: float) -> Pomdp:
    """The tiger problem (Kaelbling, Littman and Cassandra, 1998, section 5.1)."""
    half, stay = np.full((2, 2), 0.5), np.eye(2)
    return Pomdp(
        states=(LEFT, RIGHT),
        actions=("listen", "open-left", "open-right"),
        observations=("hear-left", "hear-right"),
        transition=np.array([stay, half, half]),
        observation=np.array([[[0.85, 0.15], [0.15, 0.85]], half, half]),
        reward=np.array([[-1.0, -1.0], [-100.0, 10.0], [10.0, -100.0]]),
        discount=discount,
        start=np.array([0.5, 0.5]),
    )


def alarm(rings_if_fire: float = 0.8, rings_if_not: float = 0.1) -> Process:
    """A fire may break out, and then an alarm rings now and then; one may go and look."""
    wait, look = subsets(["look"])
    fire = {"fire": 1.0}
    return Process.from_functions(
        {"fire": 0.2, "calm": 0.8},
        [wait, look],
        transition=lambda state, _: fire if state == "fire" else {"fire": 0.05, "calm": 0.95},
        observation=lambda state: independent(
            {"ring": rings_if_fire if state == "fire" else rings_if_not}
        ),
        utility=lambda state, did: (5.0 if state == "fire" else -2.0) if did else 0.0,
        discount=0.9,
    )
