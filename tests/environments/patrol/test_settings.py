"""Settings that cannot work are refused before anything runs; policies are as printed."""

from dataclasses import replace

import pytest

from timeful.environments.patrol.policies import (
    Situation,
    always_respond,
    look_up,
    patch,
    patch_pro,
    tabulate,
)
from timeful.environments.patrol.settings import DEPTH_2, DEPTH_3, MODULE, Dynamics, Phase
from timeful.errors import SettingsError


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"alarm_probability": 1.2}, "alarm_probability.*1.2"),
        ({"alarm_probability": float("nan")}, "alarm_probability"),
        ({"horizon": -5}, "horizon.*-5"),
        ({"resolve_ticks": 0}, "resolve_ticks"),
        ({"resolve_ticks": 1.5}, "whole number"),
        ({"deadlines": (22, 14)}, "greatest deadline"),
        ({"deadlines": (0, 14)}, "least deadline"),
        ({"checkpoints": ((0, 0), (0, 8))}, r"\(0, 8\) is off the grid"),
        ({"checkpoints": ((0, 0), (-1, 3))}, "off the grid"),
        ({"checkpoints": ((0, 0), (0, 0))}, "differ"),
        ({"checkpoints": ()}, "at least one checkpoint"),
        ({"phases": ()}, "at least one phase"),
        ({"phases": (Phase(name="wait", ticks=0),)}, "phase 'wait'"),
        ({"phases": (Phase(name="pay", ticks=3, cost=-1),)}, "cost of phase 'pay'"),
        ({"alarm_distance": 15}, "no two cells"),
        ({"expire_penalty": float("inf")}, "expire_penalty"),
    ],
)
def test_a_patrol_that_cannot_be_played_is_refused(change, words):
    with pytest.raises(SettingsError, match=words):
        replace(MODULE, **change)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"after_alarm": "nearst"}, "Did you mean 'nearest'"),
        ({"after_interruption": "resume"}, "after_interruption"),
        ({"alarms": "everywhere"}, "place of alarms"),
        ({"switch_ticks": -1}, "switch_ticks"),
    ],
)
def test_dynamics_that_do_not_exist_are_refused(change, words):
    with pytest.raises(SettingsError, match=words):
        Dynamics(**change)


def test_patch_follows_its_table():
    def responds(world, phase, deadline):
        return patch(world, Situation(phase, 1, deadline, 3))

    for world in (DEPTH_2, DEPTH_3):
        assert responds(world, None, 12)
        assert responds(world, 0, 12)
    assert [responds(DEPTH_2, 1, deadline) for deadline in (6, 7)] == [True, False]
    assert [responds(DEPTH_3, 1, deadline) for deadline in (8, 9)] == [True, False]
    assert not responds(DEPTH_3, 2, 1)


@pytest.mark.parametrize(
    ("why", "seen", "responds"),
    [
        ("it cannot be reached", Situation(None, 0, 6, 5), False),
        ("it can just be reached", Situation(None, 0, 7, 5), True),
        ("it is very urgent, even late in a phase", Situation(1, 1, 3, 1), True),
        ("the routine can be finished first", Situation(1, 2, 9, 5), False),
        ("it cannot by one tick", Situation(1, 6, 8, 1), True),
        ("half of the phase is done", Situation(1, 5, 8, 5), False),
        ("it is not urgent enough for this phase", Situation(1, 9, 9, 5), False),
        ("at the start any is urgent enough", Situation(0, 4, 12, 5), True),
    ],
)
def test_patch_pro_weighs_reach_urgency_progress_and_cost(why, seen, responds):
    assert patch_pro(DEPTH_2, seen) is responds, why


def test_the_cutoff_of_patch_pro_can_be_read_as_inclusive():
    at_half = Situation(1, 5, 8, 5)
    lenient = replace(DEPTH_2, dynamics=Dynamics(is_cutoff_strict=False))
    assert patch_pro(lenient, at_half)
    assert not patch_pro(DEPTH_2, at_half)


def test_patches_are_for_the_depths_that_they_were_written_for():
    for policy in (patch, patch_pro):
        with pytest.raises(SettingsError, match="2 or 3 phases, not in 1"):
            tabulate(policy, MODULE)


def test_a_table_says_what_its_policy_says():
    table = tabulate(patch_pro, DEPTH_3)
    assert table.shape == DEPTH_3.situations == (4, 11, 13, 15)
    for seen in (Situation(None, 0, 9, 5), Situation(2, 8, 7, 4), Situation(1, 2, 8, 6)):
        assert look_up(table, seen) == patch_pro(DEPTH_3, seen)
    assert tabulate(always_respond, MODULE)[1, 20, 14, 7]
