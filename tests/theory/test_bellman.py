"""Optimal values: each way to compute them against the others, and against brute force."""

from collections.abc import Hashable
from itertools import pairwise, product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.theory.models import alarm, processes
from timeful.errors import SettingsError, WorldError
from timeful.theory.alpha import discounted, recursion
from timeful.theory.belief import certain
from timeful.theory.bellman import observed, observed_recursion, search
from timeful.theory.policy import (
    BeliefPolicy,
    Controller,
    evaluate,
    evaluate_forever,
)
from timeful.theory.process import NOTHING, Array, Events, Intervention, Process, subsets

LOOK = frozenset({"look"})


def brute(process: Process, belief: Array, horizon: int) -> float:
    """The optimal value by plain recursion over unnormalised beliefs: no tables, no pruning."""
    best = -np.inf
    for choice in range(len(process.interventions)):
        value = float(belief @ process.utility[choice])
        if horizon > 1:
            moved = belief @ process.transition[choice]
            for place in range(len(process.event_sets)):
                shown = moved * process.observation[:, place]
                value += process.discount * brute(process, shown, horizon - 1)
        best = max(best, value)
    return best


@pytest.mark.slow
@settings(max_examples=40, deadline=None)
@given(processes())
def test_alpha_vectors_and_reachable_beliefs_equal_brute_force(process: Process) -> None:
    stages = recursion(process, 3)
    for horizon in (1, 2, 3):
        value = brute(process, process.start, horizon)
        assert stages[horizon].value(process.start) == pytest.approx(value, abs=1e-9)
        assert search(process, horizon).value == pytest.approx(value, abs=1e-9)


@pytest.mark.slow
@settings(max_examples=30, deadline=None)
@given(processes())
def test_the_policy_that_was_found_has_the_value_that_was_found(process: Process) -> None:
    found = search(process, 4)
    assert evaluate(process, found, 4) == pytest.approx(found.value, abs=1e-9)
    assert found.worth[found.intervention] == found.value == max(found.worth.values())


@settings(max_examples=30, deadline=None)
@given(processes())
def test_more_interventions_never_lower_the_optimal_value(process: Process) -> None:
    values = []
    for count in range(1, len(process.interventions) + 1):
        fewer = process.with_only(process.interventions[:count])
        values.append(search(fewer, 3).value)
    assert all(after >= before - 1e-12 for before, after in pairwise(values))


@settings(max_examples=30, deadline=None)
@given(processes())
def test_seeing_the_state_is_never_worth_less_than_not_seeing_it(process: Process) -> None:
    seen = observed_recursion(process, 3)[-1].values @ process.start
    assert seen >= search(process, 3).value - 1e-12


@settings(max_examples=15, deadline=None)
@given(processes(discount=0.1))
def test_the_discounted_value_lies_between_its_controller_and_its_gap(process: Process) -> None:
    found = discounted(process, error=1e-3)
    value = found.value(process.start)
    assert evaluate_forever(process, found.controller()) == pytest.approx(value, abs=1e-9)
    # A horizon of 4, and what the rest can come to at most and at least.
    rest = 0.1**4 / (1 - 0.1)
    near = search(process, 4).value
    low, high = process.utility.min() * rest, process.utility.max() * rest
    assert near + low - 1e-9 <= value + found.gap
    assert value <= near + high + 1e-9


@settings(max_examples=25, deadline=None)
@given(processes(discount=0.9))
def test_where_the_state_is_seen_all_ways_agree(process: Process) -> None:
    states = len(process.states)
    seen = Process(
        states=process.states,
        interventions=process.interventions,
        event_sets=tuple(frozenset({state}) for state in process.states),
        transition=process.transition,
        observation=np.eye(states),
        utility=process.utility,
        discount=process.discount,
        start=process.start,
    )
    table, vectors = observed(seen), discounted(seen, error=1e-10)
    stages, alphas = observed_recursion(seen, 3), recursion(seen, 3)
    for number, state in enumerate(seen.states):
        sure = certain(seen, state)
        assert vectors.value(sure) == pytest.approx(table.values[number], abs=1e-9)
        assert alphas[3].value(sure) == pytest.approx(stages[2].values[number], abs=1e-9)
        assert search(seen, 3, sure).value == pytest.approx(stages[2].values[number], abs=1e-9)


@settings(max_examples=25, deadline=None)
@given(processes(discount=0.8))
def test_tables_are_the_fixed_point_of_the_bellman_equation(process: Process) -> None:
    values = observed(process).values
    worth = process.utility + process.discount * process.transition @ values
    assert worth.max(axis=0) == pytest.approx(values, abs=1e-9)


def test_a_policy_that_is_better_by_very_little_is_found() -> None:
    """A step costs 1e-5, and every tick after it brings 1e-5."""
    pennies = Process.from_functions(
        {"here": 1.0, "there": 0.0},
        subsets(["step"]),
        transition=lambda state, did: {"there" if did else state: 1.0},
        observation=lambda _: {NOTHING: 1.0},
        utility=lambda state, did: 1e-5 * ((state == "there") - len(did)),
        discount=0.9,
    )
    found = observed(pennies)
    assert found.choices == (1, 0)
    assert found.values == pytest.approx([1e-5 * (9 - 1), 1e-5 * 10], abs=1e-12)


@settings(max_examples=20, deadline=None)
@given(processes(discount=0.7), st.data())
def test_a_controllers_value_is_that_of_every_history_it_can_have(
    process: Process, data: st.DataObject
) -> None:
    nodes = st.integers(0, 1)
    controller = Controller(
        choices=tuple(data.draw(st.sampled_from(process.interventions)) for _ in range(2)),
        links=tuple({seen: data.draw(nodes) for seen in process.event_sets} for _ in range(2)),
    )
    value = 0.0
    for path in product(range(len(process.states)), repeat=3):
        for shown in product(range(len(process.event_sets)), repeat=2):
            chance, node = process.start[path[0]], 0
            for tick in range(3):
                choice = process.intervention_at(controller.choices[node])
                if tick == 2 or chance == 0:
                    break
                chance *= process.transition[choice, path[tick], path[tick + 1]]
                chance *= process.observation[path[tick + 1], shown[tick]]
                node = controller.links[node][process.event_sets[shown[tick]]]
            value += 0.7**2 * chance * process.utility[choice, path[2]]
    two, three = evaluate(process, controller, 2), evaluate(process, controller, 3)
    assert three - two == pytest.approx(value, abs=1e-9)
    forever = evaluate_forever(process, controller)
    tail = 0.7**60 / 0.3 * np.abs(process.utility).max()
    assert evaluate(process, controller, 60) == pytest.approx(forever, abs=tail + 1e-9)


class Coin:
    """A policy that looks with a chance, and remembers nothing."""

    first: Hashable = None

    def __init__(self, chance: float) -> None:
        self.chance = chance

    def act(self, memory: Hashable) -> dict[Intervention, float]:
        return {NOTHING: 1 - self.chance, LOOK: self.chance}

    def next(self, memory: Hashable, intervention: Intervention, events: Events) -> Hashable:
        return None


def test_a_random_policy_is_worth_its_mixture() -> None:
    house = alarm()
    never, always, half = (evaluate_forever(house, Coin(chance)) for chance in (0.0, 1.0, 0.5))
    assert never == 0
    # Looking changes nothing in this house, so the mixture is plain.
    assert half == pytest.approx((never + always) / 2, abs=1e-12)
    assert evaluate(house, Coin(0.5), 5) == pytest.approx(evaluate(house, Coin(1.0), 5) / 2)


def test_a_policy_over_beliefs_is_evaluated_exactly() -> None:
    house = alarm()
    ask = BeliefPolicy(house, lambda belief: {LOOK if belief[0] > 2 / 7 else NOTHING: 1.0})
    # Here the state does not depend on what is done: looking whenever it pays is optimal.
    assert evaluate(house, ask, 6) == pytest.approx(search(house, 6).value, abs=1e-12)


def test_a_policy_that_is_no_distribution_is_refused() -> None:
    with pytest.raises(SettingsError, match="distribution over interventions"):
        evaluate(alarm(), Coin(1.5), 2)


def test_a_policy_may_not_do_what_is_not_admissible() -> None:
    house = alarm()
    shut = Process.from_functions(
        {"shut": 1.0},
        house.interventions,
        transition=lambda state, _: {state: 1.0},
        observation=lambda _: {NOTHING: 1.0},
        utility=lambda _, did: -np.inf if did else 1.0,
        discount=0.5,
    )
    with pytest.raises(WorldError, match="not admissible in state 'shut'"):
        evaluate(shut, Coin(0.1), 2)
    assert evaluate_forever(shut, Coin(0.0)) == pytest.approx(2, abs=1e-12)
    assert search(shut, 3).value == 1.75
    assert observed(shut).values.tolist() == [2]
    with pytest.raises(SettingsError, match=r"\{'look'\} is not in state 'shut'; use"):
        recursion(shut, 2)


def test_states_that_look_alike_must_admit_something_in_common() -> None:
    process = Process.from_functions(
        {"left": 0.5, "right": 0.5},
        [frozenset({"left"}), frozenset({"right"})],
        transition=lambda state, _: {state: 1.0},
        observation=lambda _: {NOTHING: 1.0},
        utility=lambda state, did: 1.0 if state in did else -np.inf,
        discount=1.0,
    )
    with pytest.raises(SettingsError, match="'left', 'right', which look alike"):
        search(process, 1)
    assert search(process, 3, certain(process, "left")).value == 3


def test_an_interventions_set_of_two_can_be_worth_more_than_both_one_by_one() -> None:
    """A door with two locks that snap back: only turning both at once opens it."""
    door = Process.from_functions(
        {"shut": 1.0},
        subsets("ab", most=2),
        transition=lambda state, did: {"open" if len(did) == 2 or state == "open" else "shut": 1.0},
        observation=lambda state: {NOTHING if state == "shut" else frozenset({"click"}): 1.0},
        utility=lambda state, did: (1.0 if state == "open" else 0.0) - 0.1 * len(did),
        discount=1.0,
    )
    assert search(door, 5).value == pytest.approx(4 - 0.2, abs=1e-12)
    assert search(door, 5).intervention == frozenset("ab")
    assert search(door.with_only(subsets("ab", most=1)), 5).value == 0


def test_what_cannot_be_solved_is_refused() -> None:
    house = alarm()
    with pytest.raises(SettingsError, match="horizon must be at least 1"):
        search(house, 0)
    with pytest.raises(SettingsError, match="more than 3 beliefs"):
        search(house, 5, limit=3)
    with pytest.raises(SettingsError, match="rounds"):
        discounted(house, rounds=0)
    with pytest.raises(SettingsError, match="vectors to prune at once, more than 3"):
        recursion(house, 9, limit=3)
    with pytest.raises(SettingsError, match="plans over a horizon are no controller"):
        recursion(house, 2)[-1].controller()
    wait = BeliefPolicy(house, lambda _: {NOTHING: 1.0})
    with pytest.raises(SettingsError, match="more than 10 pairs"):
        evaluate_forever(house, wait, limit=10)
    endless = Process.from_functions(
        {"s": 1.0},
        [NOTHING],
        transition=lambda *_: {"s": 1.0},
        observation=lambda _: {NOTHING: 1.0},
        utility=lambda *_: 1.0,
        discount=1.0,
    )
    for solve in (observed, discounted, lambda p: evaluate_forever(p, Coin(0.0))):
        with pytest.raises(SettingsError, match="discount must be below 1"):
            solve(endless)
    assert evaluate(endless, Coin(0.0), 7) == 7
