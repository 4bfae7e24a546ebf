"""Beliefs are exact, sum to one, and agree with what is predicted."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.theory.models import alarm, processes
from timeful.errors import SettingsError, WorldError
from timeful.theory.belief import certain, likelihood, marginal, predict, predictive, update
from timeful.theory.process import NOTHING, Process, independent, subsets

RING = frozenset({"ring"})


def test_an_alarm_that_would_have_rung_and_did_not_tells_against_a_fire() -> None:
    house = alarm()
    fire = house.state_at("fire")
    predicted = 0.2 + 0.8 * 0.05  # what has been burning, and what begins to
    assert predict(house, house.start, NOTHING)[fire] == pytest.approx(predicted, abs=1e-15)
    silent = predicted * 0.2 / (predicted * 0.2 + (1 - predicted) * 0.9)
    rung = predicted * 0.8 / (predicted * 0.8 + (1 - predicted) * 0.1)
    assert update(house, house.start, NOTHING, NOTHING)[fire] == pytest.approx(silent, abs=1e-15)
    assert update(house, house.start, NOTHING, RING)[fire] == pytest.approx(rung, abs=1e-15)
    assert silent < predicted < rung


def test_an_alarm_that_rings_as_often_without_a_fire_tells_nothing() -> None:
    deaf = alarm(rings_if_fire=0.3, rings_if_not=0.3)
    predicted = predict(deaf, deaf.start, NOTHING)
    for seen in (NOTHING, RING):
        assert update(deaf, deaf.start, NOTHING, seen) == pytest.approx(predicted, abs=1e-15)


def test_what_cannot_be_observed_is_refused_with_what_can() -> None:
    sure = alarm(rings_if_fire=1.0, rings_if_not=0.0)
    burning = certain(sure, "fire")
    with pytest.raises(WorldError, match=r"\{\} cannot be observed .*possible are: \{'ring'\}"):
        update(sure, burning, NOTHING, NOTHING)
    with pytest.raises(WorldError, match=r"\{'smoke'\} cannot be observed"):
        update(sure, burning, NOTHING, frozenset({"smoke"}))
    assert likelihood(sure, burning, NOTHING, NOTHING) == 0
    assert likelihood(sure, burning, NOTHING, frozenset({"smoke"})) == 0


def test_two_events_at_once_count_for_more_than_either() -> None:
    process = Process.from_functions(
        {"fire": 0.5, "calm": 0.5},
        [NOTHING],
        transition=lambda state, _: {state: 1.0},
        observation=lambda state: independent(
            dict.fromkeys(("smoke", "ring"), 0.5 if state == "fire" else 0.25)
        ),
        utility=lambda *_: 0.0,
        discount=1.0,
    )
    one, two = frozenset({"ring"}), frozenset({"ring", "smoke"})
    fire = [update(process, process.start, NOTHING, seen)[0] for seen in (NOTHING, one, two)]
    assert fire == pytest.approx([4 / 13, 4 / 7, 4 / 5], abs=1e-15)


def test_a_belief_of_another_length_or_sum_is_refused() -> None:
    house = alarm()
    with pytest.raises(SettingsError, match="shape"):
        predict(house, np.array([1.0]), NOTHING)
    with pytest.raises(SettingsError, match="sum to 1"):
        predict(house, np.array([0.5, 0.4]), NOTHING)


def test_what_is_not_admissible_in_a_possible_state_is_refused() -> None:
    process = Process.from_functions(
        {"open": 0.5, "shut": 0.5},
        subsets(["enter"]),
        transition=lambda state, _: {state: 1.0},
        observation=lambda _: {NOTHING: 1.0},
        utility=lambda state, did: -np.inf if did and state == "shut" else 0.0,
        discount=1.0,
    )
    enter = frozenset({"enter"})
    with pytest.raises(WorldError, match=r"\{'enter'\} is not admissible in state 'shut'"):
        predict(process, process.start, enter)
    assert predict(process, certain(process, "open"), enter).tolist() == [1, 0]


@settings(max_examples=100, deadline=None)
@given(processes(), st.data())
def test_beliefs_sum_to_one_and_average_to_the_predicted_belief(
    process: Process, data: st.DataObject
) -> None:
    belief = process.start
    for _ in range(4):
        intervention = data.draw(st.sampled_from(process.interventions))
        chances = predictive(process, belief, intervention)
        posteriors = {seen: update(process, belief, intervention, seen) for seen in chances}
        assert sum(chances.values()) == pytest.approx(1, abs=1e-12)
        for posterior in posteriors.values():
            assert posterior.sum() == pytest.approx(1, abs=1e-12)
            assert (posterior >= 0).all()
        mean = sum(chance * posteriors[seen] for seen, chance in chances.items())
        assert mean == pytest.approx(predict(process, belief, intervention), abs=1e-12)
        belief = posteriors[data.draw(st.sampled_from(sorted(posteriors, key=sorted)))]


@settings(max_examples=50, deadline=None)
@given(processes(), st.data())
def test_the_belief_equals_the_share_of_histories_that_end_in_a_state(
    process: Process, data: st.DataObject
) -> None:
    """Against a sum over every path of states, with no recursion and no normalising on the way."""
    done = [data.draw(st.sampled_from(range(len(process.interventions)))) for _ in range(3)]
    seen = [data.draw(st.sampled_from(range(len(process.event_sets)))) for _ in range(3)]
    mass = np.zeros(len(process.states))
    for path in np.ndindex(*[len(process.states)] * 4):
        chance = process.start[path[0]]
        for tick in range(3):
            chance *= process.transition[done[tick], path[tick], path[tick + 1]]
            chance *= process.observation[path[tick + 1], seen[tick]]
        mass[path[-1]] += chance
    belief, total = process.start, 1.0
    try:
        for tick in range(3):
            did, saw = process.interventions[done[tick]], process.event_sets[seen[tick]]
            total *= likelihood(process, belief, did, saw)
            belief = update(process, belief, did, saw)
    except WorldError:
        assert mass.sum() == 0
    else:
        assert total == pytest.approx(mass.sum(), abs=1e-12)
        assert belief == pytest.approx(mass / mass.sum(), abs=1e-9)


def test_a_part_of_the_state_has_a_belief_of_its_own() -> None:
    house = alarm()
    assert marginal(house, house.start, lambda state: state == "fire") == {True: 0.2, False: 0.8}
