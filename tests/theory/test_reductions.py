"""Reductions keep beliefs and values: equality with solvers of the reduced model, not likeness."""

from collections.abc import Hashable

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.theory import plain_pomdp
from tests.theory.models import pomdps, stochastic, tiger
from timeful.errors import SettingsError
from timeful.theory.alpha import discounted, recursion
from timeful.theory.belief import certain, likelihood, marginal, update
from timeful.theory.bellman import observed, observed_recursion, search
from timeful.theory.policy import evaluate_forever
from timeful.theory.process import NOTHING, Array, Events, Intervention, Process
from timeful.theory.reductions import (
    Deciding,
    Option,
    Pomdp,
    Underway,
    from_options,
    from_pomdp,
    from_smdp,
)

PUBLISHED_HORIZONS = {
    1: [(-100.0, 10.0), (-1.0, -1.0), (10.0, -100.0)],
    2: [(-101.0, 9.0), (-16.85, 7.35), (-2.0, -2.0), (7.35, -16.85), (9.0, -101.0)],
    3: [
        (-102.0, 8.0),
        (-30.4725, 7.7525),
        (-5.2275, 4.9475),
        (2.72, 2.72),
        (4.9475, -5.2275),
        (7.7525, -30.4725),
        (8.0, -102.0),
    ],
}
"""Alpha vectors of Tiger without discount, by ticks to go: pomdp-solve (Cassandra, 2015), as the
documentation of the R package pomdp 1.2 prints them (`value_function`, method "enum")."""

PUBLISHED_GRAPH = [
    # value if the tiger is left, if right, action, next node after hearing it left, right
    (-98.549921, 11.450079, 1, 2, 2),
    (-10.854299, 6.516937, 0, 2, 0),
    (1.933439, 1.933439, 0, 3, 1),
    (6.516937, -10.854299, 0, 4, 2),
    (11.450079, -98.549921, 2, 2, 2),
]
"""Tiger without a horizon at discount 0.75: the policy graph that pomdp-solve finds from the even
belief, from the same documentation (`solve_POMDP`)."""

PUBLISHED_95 = [(-81.5975, 28.4025), (3.01448, 24.6954), (19.3711, 19.3711)]
"""At discount 0.95, by SARSOP to a precision of 0.001, as a test of RobustValueIteration.jl quotes
it; the mirror images are left out."""


def without_last_action(process: Process, vectors: Array) -> Array:
    """Vectors over pairs of state and last action, of which the last action is worth nothing."""
    per_action = vectors.reshape(len(vectors), -1, 2)
    assert np.ptp(per_action, axis=1) == pytest.approx(0, abs=1e-9)
    return per_action[:, 0]


@pytest.mark.parametrize("horizon", [1, 2, 3])
def test_tiger_has_the_published_alpha_vectors(horizon: int) -> None:
    process = from_pomdp(tiger(1.0))
    found = without_last_action(process, recursion(process, horizon)[horizon].vectors)
    ordered = found[np.argsort(found[:, 0])]
    assert ordered == pytest.approx(np.array(PUBLISHED_HORIZONS[horizon]), abs=1e-9)


@pytest.mark.parametrize("discount", [0.75, 0.95, 1.0])
def test_tiger_has_the_values_of_the_plain_pomdp(discount: float) -> None:
    pomdp = tiger(discount)
    process = from_pomdp(pomdp)
    for horizon in (1, 2, 3, 4):
        value = plain_pomdp.value(pomdp, pomdp.start, horizon)
        assert search(process, horizon).value == pytest.approx(value, abs=1e-9)
        assert recursion(process, horizon)[-1].value(process.start) == pytest.approx(
            value, abs=1e-9
        )


def test_tiger_over_ten_ticks_has_the_published_value() -> None:
    process = from_pomdp(tiger(0.75))
    assert search(process, 10).value == pytest.approx(1.661560, abs=5e-7)  # pomdp-solve, printed


def test_tiger_without_a_horizon_has_the_value_of_the_published_policy_graph() -> None:
    pomdp = tiger(0.75)
    process = from_pomdp(pomdp)
    found = discounted(process, error=1e-10)
    actions = [action for _, _, action, _, _ in PUBLISHED_GRAPH]
    links = [{0: left, 1: right} for _, _, _, left, right in PUBLISHED_GRAPH]
    exact = plain_pomdp.graph_values(pomdp, actions, links)
    published = [(left, right) for left, right, *_ in PUBLISHED_GRAPH]
    assert exact.tolist() == [pytest.approx(pair, abs=5e-7) for pair in published]
    assert found.gap < 1e-8, "the value is optimal up to this, at every belief"
    assert found.value(process.start) == pytest.approx(exact[2] @ pomdp.start, abs=1e-9)
    controller = found.controller()
    assert evaluate_forever(process, controller) == pytest.approx(exact[2, 0], abs=1e-9)
    for node, vector in enumerate(exact):
        near = np.abs(without_last_action(process, found.vectors) - vector).max(axis=1)
        assert near.min() < 1e-9, f"node {node} of the published graph is one of the vectors"


@pytest.mark.slow
def test_tiger_at_another_discount_has_the_published_vectors() -> None:
    process = from_pomdp(tiger(0.95))
    found = discounted(process, error=1e-9)
    vectors = without_last_action(process, found.vectors)
    for published in PUBLISHED_95:
        assert np.abs(vectors - published).max(axis=1).min() < 1e-3
    assert found.value(process.start) == pytest.approx(19.3713684, abs=5e-7)


def test_tiger_has_the_same_beliefs() -> None:
    """Hear it left, again left, then right, and open a door: 0.85, 0.97, 0.85, 0.5."""
    process = from_pomdp(tiger(0.95))
    belief, left = process.start, []
    heard = ["hear-left", "hear-left", "hear-right"]
    for did, saw in zip(["listen"] * 3 + ["open-left"], [*heard, "hear-left"], strict=True):
        belief = update(process, belief, frozenset({did}), frozenset({saw}))
        left.append(marginal(process, belief, lambda state: state[0])["tiger-left"])  # type: ignore[index]
    odds = 0.85 / 0.15
    assert left == pytest.approx([0.85, odds**2 / (1 + odds**2), 0.85, 0.5], abs=1e-12)


@settings(max_examples=40, deadline=None)
@given(pomdps(), st.data())
def test_a_pomdp_and_its_process_agree_on_beliefs_and_values(
    pomdp: Pomdp, data: st.DataObject
) -> None:
    process = from_pomdp(pomdp)
    value = plain_pomdp.value(pomdp, pomdp.start, 3)
    assert search(process, 3).value == pytest.approx(value, abs=1e-9)
    assert recursion(process, 2)[-1].value(process.start) == pytest.approx(
        plain_pomdp.value(pomdp, pomdp.start, 2), abs=1e-9
    )
    plain, belief = pomdp.start, process.start
    for _ in range(4):
        action = data.draw(st.integers(0, len(pomdp.actions) - 1))
        seen = data.draw(st.integers(0, len(pomdp.observations) - 1))
        did = frozenset({pomdp.actions[action]})
        saw = frozenset({pomdp.observations[seen]})
        chance = plain_pomdp.likelihood(pomdp, plain, action, seen)
        assert likelihood(process, belief, did, saw) == pytest.approx(chance, abs=1e-12)
        if chance < 1e-6:
            return
        plain = plain_pomdp.posterior(pomdp, plain, action, seen)
        belief = update(process, belief, did, saw)
        folded = belief.reshape(len(pomdp.actions), -1)
        assert folded.sum(axis=0) == pytest.approx(plain, abs=1e-12)


def smdp_values(kernel: Array, reward: Array, discount: float, able: Array) -> Array:
    """Policy iteration on an SMDP: V(s) = max_a r + sum over s', n of P(s', n | s, a) d^n V(s').

    Args:
        kernel: P(s', n | s, a), shape (A, S, S, N); entry n - 1 is a duration of n.
        reward: Shape (A, S).
        discount: Per tick.
        able: Whether an action can be taken, shape (A, S).
    """
    durations = discount ** np.arange(1, kernel.shape[3] + 1)
    jumps = kernel @ durations
    worth = np.where(able, reward, -np.inf)
    states = np.arange(kernel.shape[1])
    choices = worth.argmax(axis=0)
    while True:
        values = np.linalg.solve(
            np.eye(len(states)) - jumps[choices, states], worth[choices, states]
        )
        better = (worth + jumps @ values).argmax(axis=0)
        gain = (worth + jumps @ values).max(axis=0) - values
        if gain.max() < 1e-11:
            return values
        choices = np.where(gain > 1e-11, better, choices)


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 2**32 - 1), st.floats(0.3, 0.98))
def test_an_smdp_and_its_process_have_the_same_values(seed: int, discount: float) -> None:
    rng = np.random.default_rng(seed)
    states, actions, longest = int(rng.integers(2, 5)), int(rng.integers(1, 4)), 4
    kernel = stochastic(rng, actions, states, states * longest).reshape(
        actions, states, states, longest
    )
    reward = rng.normal(size=(actions, states))
    able = rng.random((actions, states)) < 0.8
    able[0] = True

    def begins(action: int, state: Hashable) -> dict[tuple[Hashable, int], float]:
        assert isinstance(state, int)
        if not able[action, state]:
            return {}
        row = np.ndenumerate(kernel[action, state])
        return {(after, ticks + 1): float(chance) for (after, ticks), chance in row if chance > 0}

    process = from_smdp(
        dict.fromkeys(range(states), 1 / states),
        {a: (lambda state, a=a: begins(a, state)) for a in range(actions)},
        reward=lambda state, action: float(reward[action, state]),  # type: ignore[call-overload]
        discount=discount,
    )
    values = observed(process).values
    mine = [values[process.state_at(Deciding(state))] for state in range(states)]
    assert mine == pytest.approx(smdp_values(kernel, reward, discount, able), abs=1e-9)
    # The state is seen whenever there is something to decide, so that beliefs change nothing.
    horizon = observed_recursion(process, 4)[-1].values
    sure = certain(process, Deciding(0))
    assert search(process, 4, sure).value == pytest.approx(horizon[process.state_at(Deciding(0))])


def test_the_silence_of_an_smdp_tells_how_long_it_may_still_take() -> None:
    slow = from_smdp(
        {"home": 1.0},
        {"walk": lambda _: {("home", 1): 0.5, ("home", 2): 0.25, ("home", 3): 0.25}},
        reward=lambda *_: 1.0,
        discount=0.9,
    )
    walk = frozenset({"walk"})
    silent = update(slow, slow.start, walk, NOTHING)
    left = marginal(slow, silent, lambda state: getattr(state, "left", 0))
    assert {ticks: chance for ticks, chance in left.items() if chance} == {1: 0.5, 2: 0.5}


def option_values(world: Process, options: dict[str, Option]) -> Array:
    """An SMDP over options by their multi-time models (Sutton, Precup and Singh, 1999, section 3).

    For each option: R = r + d P (1 - ends) R and M = d P ends + d P (1 - ends) M, solved exactly;
    then policy iteration over the options as over single actions.
    """
    size = len(world.states)
    rewards, models, able = [], [], []
    for option in options.values():
        known = [state in option.policy for state in world.states]
        ends = np.array([option.ends.get(state, 1.0) for state in world.states])
        moves, worth = np.zeros((size, size)), np.zeros(size)
        for number, state in enumerate(world.states):
            if known[number]:
                choice = world.intervention_at(option.policy[state])
                moves[number] = world.discount * world.transition[choice, number]
                worth[number] = world.utility[choice, number]
        going = np.eye(size) - moves * (1 - ends)
        rewards.append(np.linalg.solve(going, worth))
        models.append(np.linalg.solve(going, moves * ends))
        able.append([option.can_begin(state) for state in world.states])
    # The models hold the discount already: a duration of one tick at a discount of 1.
    jumps = np.array(models)[..., np.newaxis]
    return smdp_values(jumps, np.array(rewards), 1.0, np.array(able))


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 2**32 - 1), st.floats(0.3, 0.95))
def test_options_and_their_process_have_the_same_values(seed: int, discount: float) -> None:
    rng = np.random.default_rng(seed)
    states, names = int(rng.integers(2, 5)), "opq"[: int(rng.integers(1, 4))]
    acts = tuple(frozenset({act}) for act in "ab")
    world = Process(
        states=tuple(range(states)),
        interventions=acts,
        event_sets=tuple(frozenset({("at", state)}) for state in range(states)),
        transition=stochastic(rng, 2, states, states),
        observation=np.eye(states),
        utility=rng.normal(size=(2, states)),
        discount=discount,
        start=np.full(states, 1 / states),
    )
    options = {
        name: Option(
            policy={state: acts[rng.integers(2)] for state in range(states)},
            ends={state: float(rng.random()) for state in range(states)},
        )
        for name in names
    }
    process = from_options(world, options)
    values = observed(process).values
    mine = [values[process.state_at(Deciding(state))] for state in range(states)]
    assert mine == pytest.approx(option_values(world, options), abs=1e-9)
    anywhere = from_options(world, options, decide="any-tick")
    at_once = observed(anywhere).values
    for state in range(states):
        assert at_once[anywhere.state_at(Deciding(state))] >= mine[state] - 1e-9


def corridor() -> tuple[Process, dict[str, Option]]:
    """A corridor of four cells, 0 to 3; reaching 3 pays 10, and each tick costs 1."""
    left, right = frozenset({"left"}), frozenset({"right"})

    def walk(cell: Hashable, did: Intervention) -> dict[Hashable, float]:
        """One cell on; with a chance of 0.2 nowhere."""
        assert isinstance(cell, int)
        to = cell if cell == 3 else max(cell - 1, 0) if did == left else cell + 1
        return {cell: 1.0} if to == cell else {to: 0.8, cell: 0.2}

    world = Process.from_functions(
        {0: 1.0},
        [left, right],
        transition=walk,
        observation=lambda cell: {frozenset({("at", cell)}): 1.0},
        utility=lambda cell, did: (
            0.0 if cell == 3 else (7.0 if (cell, did) == (2, right) else -1.0)
        ),
        discount=0.9,
    )
    options = {
        "to the end": Option(policy=dict.fromkeys(range(4), right), ends={0: 0, 1: 0, 2: 0}),
        "one step": Option(policy=dict.fromkeys(range(4), right), ends={}),
        "back": Option(policy=dict.fromkeys(range(4), left), ends={1: 0, 2: 0, 3: 1}),
    }
    return world, options


def test_options_in_a_corridor_have_the_values_of_their_smdp() -> None:
    world, options = corridor()
    process = from_options(world, options)
    values = observed(process).values
    mine = [values[process.state_at(Deciding(cell))] for cell in world.states]
    assert mine == pytest.approx(option_values(world, options), abs=1e-9)
    # Walking on is optimal, in one go or step by step: the same as without options.
    assert mine == pytest.approx(observed(world).values, abs=1e-9)
    whole = values[process.state_at(Underway(1, "to the end"))]
    assert whole == pytest.approx(mine[1], abs=1e-9)


def call_on_the_way() -> tuple[Process, dict[str, Option]]:
    """A walk of three ticks; at each of its two stops a call may come, once, for one tick only.

    The call can be heard and not seen: the state is hidden but for its events.
    """
    walk, answer = frozenset({"walk"}), frozenset({"answer"})

    def transition(state: Hashable, did: Intervention) -> dict[Hashable, float]:
        assert isinstance(state, tuple)
        steps, _, called = state
        if called or steps == 3 or did != walk or steps == 2:
            return {(min(steps + (did == walk), 3), "quiet", called): 1.0}
        steps += 1
        return {(steps, "calling", True): 0.3, (steps, "quiet", False): 0.7}

    def utility(state: Hashable, did: Intervention) -> float:
        assert isinstance(state, tuple)
        steps, line, _ = state
        arrives = 5.0 if (steps, did) == (2, walk) else 0.0
        return arrives + (10.0 if line == "calling" and did == answer else 0.0)

    def observation(state: Hashable) -> dict[Events, float]:
        assert isinstance(state, tuple)
        steps, line, _ = state
        arrived: Events = frozenset({"arrived"}) if steps == 3 else NOTHING
        rings: Events = frozenset({"ring"}) if line == "calling" else NOTHING
        return {arrived | rings: 1.0}

    world = Process.from_functions(
        {(0, "quiet", False): 1.0},
        [walk, answer],
        transition=transition,
        observation=observation,
        utility=utility,
        discount=0.95,
    )
    options = {
        "walk": Option(
            policy=dict.fromkeys(world.states, walk),
            ends={state: float(state[0] == 3) for state in world.states},  # type: ignore[index]
        ),
        "answer": Option(policy=dict.fromkeys(world.states, answer), ends={}),
    }
    return world, options


def test_an_observation_inside_an_option_helps_whoever_may_act_on_it() -> None:
    world, options = call_on_the_way()
    boundary = search(from_options(world, options), 6)
    any_tick = search(from_options(world, options, decide="any-tick"), 6)
    d, p = 0.95, 0.3
    # At boundaries one can only walk, and never answer: the call is over on arrival.
    assert boundary.value == pytest.approx(5 * d**2, abs=1e-12)
    # Else one walks, answers at the stop where it rings, and walks on, a tick later.
    first_stop = d * (10 + 5 * d**2)
    second_stop = d**2 * (10 + 5 * d)
    best = p * first_stop + (1 - p) * (p * second_stop + (1 - p) * 5 * d**2)
    assert any_tick.value == pytest.approx(best, abs=1e-12)
    assert any_tick.value > 2 * boundary.value


def test_the_end_of_an_option_is_an_event_beside_those_of_the_world() -> None:
    world, options = corridor()
    process = from_options(world, options)
    started = certain(process, Deciding(0))
    along = update(process, started, frozenset({"to the end"}), frozenset({("at", 1)}))
    assert along[process.state_at(Underway(1, "to the end"))] == 1
    ended = update(process, started, frozenset({"one step"}), frozenset({("at", 1), "ended"}))
    assert ended[process.state_at(Deciding(1))] == 1


def test_what_options_cannot_be_is_refused() -> None:
    world, options = corridor()
    with pytest.raises(SettingsError, match=r"unknown time to decide 'anytime'.*any-tick"):
        from_options(world, options, decide="anytime")  # type: ignore[arg-type]
    lost = {"lost": Option(policy={0: frozenset({"right"})}, ends={1: 0.0})}
    with pytest.raises(SettingsError, match="'lost' has no policy in state 1"):
        from_options(world, lost)
    with pytest.raises(SettingsError, match="at least 1 tick, got 0"):
        from_smdp({0: 1.0}, {"a": lambda _: {(0, 0): 1.0}}, reward=lambda *_: 0.0, discount=0.5)
