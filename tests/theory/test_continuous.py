"""Continuous time: against closed forms, against scipy, and against the same process in ticks."""

from math import exp

import numpy as np
import pytest
import scipy
from hypothesis import given, settings
from hypothesis import strategies as st

from timeful.errors import SettingsError, WorldError
from timeful.theory.belief import predict, update
from timeful.theory.bellman import search
from timeful.theory.continuous import Continuous, exponential
from timeful.theory.process import NOTHING, Array, subsets

RING, SMOKE = frozenset({"ring"}), frozenset({"smoke"})
BOTH = RING | SMOKE


def house(*, ring: float = 2.0, false: float = 0.1, decay: float = 0.3) -> Continuous:
    """A fire breaks out at rate 0.2; the alarm rings at rate `ring` in a fire, else at `false`."""
    still = np.eye(2)
    return Continuous(
        states=("calm", "fire"),
        interventions=subsets(["douse"]),
        impulse=np.array([still, [[1.0, 0.0], [1.0, 0.0]]]),
        hidden=np.array([[0.0, 0.2], [0.0, 0.0]]),
        told={RING: np.diag([false, ring])},
        utility=np.array([0.0, -4.0]),
        cost=np.array([[0.0, 0.0], [-1.0, -1.0]]),
        decay=decay,
        start=np.array([1.0, 0.0]),
    )


@st.composite
def chains(draw: st.DrawFn) -> Continuous:
    """Two or three states; rings, smoke, and both at one instant, with any rates."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    size = draw(st.integers(2, 3))
    told = {events: rng.random((size, size)) for events in (RING, SMOKE, BOTH)}
    impulse = rng.random((2, size, size))
    impulse[0] = np.eye(size)
    return Continuous(
        states=tuple(range(size)),
        interventions=subsets("a"),
        impulse=impulse / impulse.sum(axis=2, keepdims=True),
        hidden=rng.random((size, size)) * (rng.random((size, size)) < 0.6),
        told=told,
        utility=rng.normal(size=size),
        cost=rng.normal(size=(2, size)),
        decay=draw(st.sampled_from([0.0, 0.5])),
        start=np.full(size, 1 / size),
    )


@settings(max_examples=100, deadline=None)
@given(st.integers(0, 2**32 - 1), st.integers(1, 5), st.floats(1e-6, 30))
def test_the_exponential_is_that_of_scipy(seed: int, size: int, span: float) -> None:
    rates = np.random.default_rng(seed).random((size, size))
    generator = rates - np.diag(rates.sum(axis=1) + 0.1)
    assert exponential(generator * span) == pytest.approx(
        scipy.linalg.expm(generator * span), abs=1e-12
    )


def test_the_longer_it_does_not_ring_the_less_there_is_a_fire_but_one_may_break_out() -> None:
    burning = np.array([0.5, 0.5])
    sure = house(ring=2.0, false=0.0)
    for span in (0.0, 0.25, 1.0, 4.0):
        # It was there and did not ring, or broke out at t and has not rung since.
        was = 0.5 * exp(-2.0 * span)
        began = 0.5 * 0.2 * (exp(-0.2 * span) - exp(-2.0 * span)) / (2.0 - 0.2)
        calm = 0.5 * exp(-0.2 * span)
        expected = (was + began) / (was + began + calm)
        assert sure.wait(burning, span)[1] == pytest.approx(expected, abs=1e-12)
    fire = [sure.wait(burning, span)[1] for span in (0.0, 0.25, 1.0, 4.0)]
    assert fire == sorted(fire, reverse=True)


def test_a_ring_tells_as_much_as_its_rates_differ() -> None:
    even = np.array([0.5, 0.5])
    assert house().notice(even, 0.0, RING)[1] == pytest.approx(2.0 / 2.1, abs=1e-12)
    assert house(ring=0.7, false=0.7).notice(even, 0.0, RING) == pytest.approx(even, abs=1e-12)
    with pytest.raises(WorldError, match=r"\{'ring'\} after 0.0 is impossible"):
        house(false=0.0).notice(np.array([1.0, 0.0]), 0.0, RING)
    with pytest.raises(WorldError, match=r"\{'smoke'\} is never told of"):
        house().notice(even, 1.0, SMOKE)


@settings(max_examples=30, deadline=None)
@given(chains(), st.floats(0, 2), st.floats(0, 2))
def test_two_silences_in_a_row_are_one(chain: Continuous, first: float, second: float) -> None:
    together = chain.silence(first + second)
    assert chain.silence(first) @ chain.silence(second) == pytest.approx(together, abs=1e-12)
    waited = chain.wait(chain.wait(chain.start, first), second)
    assert waited == pytest.approx(chain.wait(chain.start, first + second), abs=1e-12)


@settings(max_examples=30, deadline=None)
@given(chains(), st.floats(0, 2))
def test_whoever_does_not_listen_believes_the_mean_of_whoever_does(
    chain: Continuous, span: float
) -> None:
    ticked = chain.ticked(span)
    ends = predict(ticked, ticked.start, NOTHING).reshape(-1, len(chain.states)).sum(axis=0)
    assert chain.start @ chain.elapse(span) == pytest.approx(ends, abs=1e-9)
    assert (chain.silence(span) <= chain.elapse(span) + 1e-15).all()


@settings(max_examples=10, deadline=None)
@given(chains(), st.floats(0.1, 2))
def test_silence_and_the_densities_of_all_events_account_for_everything(
    chain: Continuous, span: float
) -> None:
    silent = float((chain.start @ chain.silence(span)).sum())
    rung = sum(
        scipy.integrate.quad(lambda at, y=y: chain.density(chain.start, at, y), 0, span)[0]
        for y in chain.told
    )
    assert silent + rung == pytest.approx(1, abs=1e-9)


@settings(max_examples=30, deadline=None)
@given(chains(), st.floats(0.05, 2))
def test_a_silent_tick_is_a_silent_span(chain: Continuous, span: float) -> None:
    ticked = chain.ticked(span)
    did = chain.interventions[1]
    belief = update(ticked, ticked.start, did, NOTHING)
    folded = belief.reshape(len(ticked.event_sets), -1).sum(axis=0)
    expected = chain.wait(chain.intervene(chain.start, did), span)
    assert folded == pytest.approx(expected, abs=1e-9)


def test_in_a_tick_it_rings_as_often_as_a_poisson_process_does() -> None:
    alarm = house(ring=1.5, false=1.5)
    chances = alarm.ticked(0.4).transition[0, 0] @ alarm.ticked(0.4).observation
    assert chances == pytest.approx([exp(-0.6), 1 - exp(-0.6)], abs=1e-12)


@settings(max_examples=30, deadline=None)
@given(chains(), st.floats(0.05, 2))
def test_two_ticks_are_one_of_twice_the_span_if_nothing_is_done(
    chain: Continuous, span: float
) -> None:
    once, twice = chain.ticked(2 * span), chain.ticked(span)

    def state(belief: Array) -> Array:
        return belief.reshape(-1, len(chain.states)).sum(axis=0)

    middle = predict(twice, twice.start, NOTHING)
    end = predict(twice, middle, NOTHING)
    assert state(end) == pytest.approx(state(predict(once, once.start, NOTHING)), abs=1e-9)
    # `cost` of doing nothing is paid at each tick; without it, utilities add up as well.
    free = chain.cost[0]
    paid = once.start @ once.utility[0] - chain.start @ free
    first = twice.start @ twice.utility[0] - chain.start @ free
    second = middle @ twice.utility[0] - state(middle) @ free
    assert paid == pytest.approx(first + twice.discount * second, abs=1e-9)


@settings(max_examples=10, deadline=None)
@given(chains(), st.floats(0.1, 2))
def test_a_tick_is_worth_the_integral_of_its_utility(chain: Continuous, span: float) -> None:
    size = len(chain.states)
    rates = (chain.hidden + sum(chain.told.values())) * (1 - np.eye(size))
    generator = rates - np.diag(rates.sum(axis=1))

    def rate(at: float) -> float:
        return float(chain.start @ scipy.linalg.expm(generator * at) @ chain.utility) * exp(
            -chain.decay * at
        )

    ticked = chain.ticked(span)
    worth = ticked.start @ ticked.utility[0]
    expected = scipy.integrate.quad(rate, 0, span)[0] + chain.start @ chain.cost[0]
    assert worth == pytest.approx(expected, abs=1e-9)
    assert ticked.discount == chain.discount(span) == pytest.approx(exp(-chain.decay * span))


def test_whoever_may_act_more_often_never_does_worse() -> None:
    values = [search(house().ticked(2.0 / 2**k), 2**k).value for k in range(4)]
    assert values == sorted(values)
    assert values[3] > values[0] + 0.1


def test_the_exponential_can_be_given() -> None:
    calls = []

    def flow(matrix: Array) -> Array:
        calls.append(matrix.shape)
        result: Array = scipy.linalg.expm(matrix)
        return result

    ours, given_one = house(), Continuous(**(fields(house()) | {"flow": flow}))
    assert given_one.silence(1.3) == pytest.approx(ours.silence(1.3), abs=1e-12)
    assert calls


def fields(chain: Continuous) -> dict[str, object]:
    return {name: getattr(chain, name) for name in Continuous.__dataclass_fields__}


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        (
            {"hidden": np.array([[0.0, -0.2], [0.0, 0.0]])},
            "rates of hidden jumps must be finite and at or",
        ),
        ({"told": {RING: np.eye(3)}}, r"rates of \{'ring'\} must have shape \(2, 2\)"),
        ({"told": {RING: np.diag([-1.0, 1.0])}}, r"rates of \{'ring'\}"),
        ({"told": {NOTHING: np.eye(2)}}, "nobody is told of belong into `hidden`"),
        ({"decay": -0.1}, "discounting must be at or above 0, got -0.1"),
        ({"impulse": np.ones((2, 2, 2))}, r"transition from state \('calm', frozenset"),
        ({"cost": np.zeros(2)}, r"cost must have shape \(2, 2\) .* got \(2,\)"),
        ({"start": np.array([0.4, 0.4])}, "start is no distribution"),
    ],
)
def test_what_cannot_be_is_refused(changes: dict[str, object], says: str) -> None:
    with pytest.raises(SettingsError, match=says):
        Continuous(**(fields(house()) | changes))  # type: ignore[arg-type]


def test_a_span_that_is_none_is_refused() -> None:
    for span in (-1.0, float("inf"), float("nan")):
        with pytest.raises(SettingsError, match="span must be finite and not negative"):
            house().silence(span)
    with pytest.raises(SettingsError, match=r"no intervention \{'shout'\}"):
        house().intervene(house().start, frozenset({"shout"}))
