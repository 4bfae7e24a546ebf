"""Tabular learners of how long to think: two speeds, and on the timeline."""

import sys
from dataclasses import replace
from functools import partial

import numpy as np
import pytest

from timeful.agents.tabular import deliberation
from timeful.agents.tabular.deliberation import (
    DeliberationLearner,
    DeliberationPolicy,
    deliberate,
    evaluate,
    train,
)
from timeful.core.clock import VirtualClock
from timeful.core.units import seconds
from timeful.environments.deliberation.settings import SEQUENTIAL, SINGLE
from timeful.environments.deliberation.world import Deliberation
from timeful.errors import SlowPathWarning
from timeful.interfaces.event_driven import EventDriven
from timeful.interfaces.fixed_rate import FixedRate
from timeful.interfaces.frozen import Frozen
from timeful.interfaces.loop import Loop
from timeful.interfaces.polling import Polling
from timeful.interfaces.reflex import Reflex
from timeful.records.recorder import Recorder
from timeful.runs.episode import EpisodeSetting, play_episode
from timeful.seeding import child

EDGES = tuple(seconds(edge) for edge in (0.4, 0.9, 1.6, 3.5, 5.5))
LEARNERS = (
    DeliberationLearner(slack_edges=EDGES),
    DeliberationLearner(slack_edges=EDGES, rate=0.1, epsilon=(1.0, 0.05), decay=0.8),
)
LAWS = {
    "EP": partial(EventDriven, full=False),
    "Step": partial(Frozen, patience=seconds(3600), full=False),
}


def without_numba(monkeypatch):
    monkeypatch.setitem(sys.modules, "numba", None)


@pytest.fixture
def plain(monkeypatch):
    """Run a function with numba hidden."""

    def run(job):
        with monkeypatch.context() as patch:
            without_numba(patch)
            with pytest.warns(SlowPathWarning, match=r"pip install 'timeful\[numba\]'"):
                done = job()
        return done

    return run


@pytest.mark.slow
@pytest.mark.parametrize("learner", LEARNERS, ids=["1/N", "constant rate"])
@pytest.mark.parametrize("is_step", [False, True], ids=["EP", "Step"])
def test_compiled_and_plain_loops_agree_bit_for_bit(plain, learner, is_step):
    world = SEQUENTIAL.as_step() if is_step else SEQUENTIAL

    def job():
        policy = train(world, learner, episodes=150, rng=child(3, "train"))
        return policy, evaluate(world, policy, episodes=60, rng=child(3, "evaluate"))

    (fast_policy, fast), (slow_policy, slow) = job(), plain(job)
    assert fast_policy.values.any()
    assert fast_policy.values.tobytes() == slow_policy.values.tobytes()
    assert fast.modes.tobytes() == slow.modes.tobytes()
    for name, column in fast.counts.items():
        assert column.tobytes() == slow.counts[name].tobytes(), name


def test_the_same_chance_gives_the_same_table():
    first, second = (
        train(SINGLE, LEARNERS[0], episodes=200, rng=child(1, "same")).values for _ in range(2)
    )
    assert first.tobytes() == second.tobytes()
    other = train(SINGLE, LEARNERS[0], episodes=200, rng=child(2, "same")).values
    assert first.tobytes() != other.tobytes()


@pytest.mark.parametrize("trained", ["EP", "Step"])
@pytest.mark.parametrize("law", ["EP", "Step"])
@pytest.mark.parametrize("settings", [SINGLE, SEQUENTIAL], ids=["single", "sequential"])
def test_the_timeline_gives_the_returns_of_the_loop(settings, law, trained):
    # The world is one and the same; what tells EP from Step is the interface.
    worlds = {"EP": settings, "Step": settings.as_step()}
    policy = train(worlds[trained], LEARNERS[1], episodes=400, rng=child(5, "train"))
    loop = evaluate(worlds[law], policy, episodes=40, rng=child(5, "episodes"))
    rng = child(5, "episodes")
    returns = [play(Deliberation(settings, rng), LAWS[law], policy).score for _ in range(40)]
    assert returns == list(loop.counts["return"])
    assert len(set(returns)) > 1


@pytest.mark.parametrize(
    "law",
    [
        partial(Loop, full=False),
        partial(Polling, interval=seconds(0.3), cost=0, full=False),
        partial(Reflex, rule=lambda view: None, delay=0, full=False),
        # Its ticks fall on all instants that there are.
        partial(FixedRate, period=seconds(0.1), full=False),
    ],
    ids=["loop", "polling", "reflex", "fixed rate"],
)
def test_laws_about_events_do_not_matter_to_who_waits_for_none(law):
    policy = train(SEQUENTIAL, LEARNERS[0], episodes=200, rng=child(6, "train"))
    loop = evaluate(SEQUENTIAL, policy, episodes=20, rng=child(6, "episodes"))
    rng = child(6, "episodes")
    returns = [play(Deliberation(SEQUENTIAL, rng), law, policy).score for _ in range(20)]
    assert returns == list(loop.counts["return"])


def play(world, law, policy):
    """Play an episode on the timeline and give back the world at its end."""
    agent = partial(deliberate, policy=policy, durations=SINGLE.durations)
    assert play_episode(
        EpisodeSetting(settings={}, seed=0),
        environment=world,
        interface=law,
        agent=agent,
        clock=VirtualClock(),
        recorder=Recorder(None),
    )
    return world


def test_evaluation_counts_what_the_table_would_do():
    """A table that always thinks deepest, counted by hand in a world of two tasks."""
    world = replace(SEQUENTIAL, tasks=2)
    values = np.zeros((6, 3, 5))
    values[..., 4] = 1.0
    policy = DeliberationPolicy(learner=LEARNERS[0], values=values)
    counts = evaluate(world, policy, episodes=500, rng=child(0, "hand")).counts
    rng = child(0, "hand")
    for episode in range(500):
        first, second = Deliberation(world, rng).view().tasks
        five = seconds(5)
        late = [five > first.deadline, 2 * five > second.deadline]
        expired = second.deadline <= five
        assert counts["timed out"][episode] == sum(late)
        assert counts["chosen"][episode] == counts["deepest"][episode] == 2 - expired
    assert counts["tasks"].tolist() == [2.0] * 500


def test_of_equal_values_the_first_mode_is_taken():
    policy = DeliberationPolicy(learner=LEARNERS[0], values=np.zeros((6, 3, 5)))
    assert policy.mode(seconds(1), 0.5) == 0


def test_a_policy_reads_the_bin_of_slack_and_difficulty():
    values = np.zeros((6, 3, 5))
    values[2, 1, 3] = 1.0
    policy = DeliberationPolicy(learner=LEARNERS[0], values=values)
    assert policy.mode(seconds(0.9), 0.33) == 3
    assert policy.mode(seconds(1.59), 0.65) == 3
    assert policy.mode(seconds(1.6), 0.33) == policy.mode(seconds(0.89), 0.5) == 0
    assert policy.mode(seconds(0.9), 0.66) == policy.mode(seconds(0.9), 0.32) == 0


def test_the_first_back_ups_are_those_of_q_learning():
    """One task, one bin, no exploration: the value of the first mode is the mean reward."""
    world = replace(SINGLE, gaps=(seconds(8),))
    learner = DeliberationLearner(slack_edges=(), difficulty_edges=(), epsilon=(0.0, 0.0))
    values = train(world, learner, episodes=1, rng=child(4, "one")).values
    rewards = evaluate(
        world,
        DeliberationPolicy(learner=learner, values=np.zeros((1, 1, 5))),
        episodes=1,
        rng=child(4, "one"),
    ).counts["return"]
    assert values[0, 0].tolist() == [rewards[0], 0, 0, 0, 0]


def test_penalties_of_tasks_that_expire_are_charged_to_the_choice_before():
    """Two tasks due early, thinking takes too long: both are lost to one choice, one discounted."""
    world = replace(
        SEQUENTIAL, tasks=2, gaps=(seconds(0.1),), durations=(seconds(1),), qualities=(0.0,)
    )
    learner = DeliberationLearner(slack_edges=(), difficulty_edges=())
    values = train(world, learner, episodes=10, rng=child(0, "late")).values
    assert values[0, 0, 0] == pytest.approx(-2 - 2 * 0.95 * 0.995)


def test_exploration_falls_in_a_line_and_then_stays():
    numbers = LEARNERS[1].numbers(SEQUENTIAL, 100)
    at = [deliberation.loop._epsilon(numbers, episode) for episode in (0, 40, 80, 99)]
    assert at == pytest.approx([1.0, 0.525, 0.05, 0.05])
