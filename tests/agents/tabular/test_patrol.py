"""Learning when to respond: what is told apart, how it is backed up, two speeds, one result."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from timeful.agents.tabular import patrol_loop
from timeful.agents.tabular.patrol import Bins, PatrolLearner, evaluate, train
from timeful.compiled import compiled
from timeful.environments.patrol.episodes import fresh_state
from timeful.environments.patrol.policies import always_respond, tabulate
from timeful.environments.patrol.settings import DEPTH_2, MODULE
from timeful.errors import SettingsError
from timeful.seeding import child

BINNED = PatrolLearner(bins=Bins(deadline=(3, 6, 9), distance=(3, 6, 9)), rate=0.1)


@settings(max_examples=10, deadline=None)
@given(
    seed=st.integers(0, 2**32),
    is_loop=st.booleans(),
    rate=st.sampled_from((None, 0.1)),
    bins=st.sampled_from((None, BINNED.bins)),
)
def test_compiled_learning_is_plain_learning_bit_for_bit(seed, is_loop, rate, bins):
    world = replace(DEPTH_2, horizon=200)
    learner = PatrolLearner(bins=bins, rate=rate)
    rows = learner.rows(world)
    learned = []
    for kernels in (patrol_loop, compiled(patrol_loop)):
        values, rng = np.zeros((rows.max() + 1, 2)), child(seed, "training")
        room = fresh_state(kernels)
        kernels.learn(world.rules(), room, learner.numbers(), rows, is_loop, rng, 3, values)
        learned.append((values.tobytes(), rng.bit_generator.state))
    assert learned[0] == learned[1]


def test_the_same_seed_learns_the_same_table_and_another_seed_another():
    def learned(seed: int) -> bytes:
        rng = child(seed, "training")
        return train(DEPTH_2, BINNED, is_loop=False, episodes=50, rng=rng).tobytes()

    assert learned(42) == learned(42) != learned(43)


def test_who_has_learned_nothing_goes_on():
    table = train(MODULE, BINNED, is_loop=False, episodes=0, rng=child(1, "training"))
    assert table.shape == MODULE.situations
    assert not table.any()


def test_bins_begin_at_their_edges():
    rows = BINNED.rows(DEPTH_2)
    assert rows.max() + 1 == 3 * 4 * 4  # navigation and two phases; deadlines; distances
    assert rows[1, 2, 5, 0] != rows[1, 2, 6, 0] == rows[1, 2, 8, 0]
    assert rows[1, 2, 6, 2] != rows[1, 2, 6, 3] == rows[1, 2, 6, 5]
    assert rows[1, 2, 6, 0] == rows[1, 9, 6, 0]  # what is left of a phase is not told apart


def test_who_sees_everything_has_a_row_for_every_situation():
    rows = PatrolLearner(bins=None).rows(DEPTH_2)
    assert len(np.unique(rows)) == rows.size == np.prod(DEPTH_2.situations)


ALARM_AT_ONCE = replace(
    MODULE, checkpoints=((0, 0), (0, 7)), alarm_probability=1.0, deadlines=(12, 12), horizon=10
)
"""The alarm goes off after tick 0, seven steps away; an answer at once is done with the episode."""


@pytest.mark.parametrize("is_loop", [False, True])
def test_a_decision_is_worth_the_discounted_rewards_of_the_ticks_that_follow(is_loop):
    learner = PatrolLearner(bins=None, rate=1.0, epsilon_decay=0.5, least_epsilon=0.0, discount=0.9)
    rows = learner.rows(ALARM_AT_ONCE)
    values, room = np.zeros((rows.max() + 1, 2)), fresh_state(patrol_loop)
    rules, rng = ALARM_AT_ONCE.rules(), child(4, "training")
    patrol_loop.learn(rules, room, learner.numbers(), rows, is_loop, rng, 40, values)
    if is_loop:  # the episode ends before handling does: there is nothing to decide
        assert not values.any()
        return
    worth = sum(-0.5 * 0.9**k for k in range(8)) + 25 * 0.9**8
    assert values[rows[1, 19, 12, 7], 1] == pytest.approx(worth, rel=1e-12)


def test_to_respond_always_is_learned_where_nothing_speaks_against_it():
    learner = PatrolLearner(bins=Bins(deadline=(), distance=()))
    table = train(MODULE, learner, is_loop=False, episodes=300, rng=child(7, "training"))
    assert table.all()
    always = tabulate(always_respond, MODULE)
    played = [
        evaluate(MODULE, one, is_loop=False, episodes=5, rng=child(7, "evaluation"))["return"]
        for one in (table, always)
    ]
    assert np.array_equal(*played)


def test_edges_must_rise():
    with pytest.raises(SettingsError, match="deadline bins must rise"):
        Bins(deadline=(6, 3), distance=())
