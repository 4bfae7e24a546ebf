"""Finite processes and Gymnasium's tables: the same values both ways."""

from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium.envs.toy_text.cliffwalking import CliffWalkingEnv
from gymnasium.envs.toy_text.frozen_lake import FrozenLakeEnv
from gymnasium.utils.env_checker import check_env

from tests.theory.models import alarm, tiger
from timeful.bridges.tabular import ProcessEnv, from_table
from timeful.errors import SettingsError
from timeful.theory.belief import predictive
from timeful.theory.bellman import observed, search
from timeful.theory.policy import evaluate
from timeful.theory.process import NOTHING, Process, subsets
from timeful.theory.reductions import from_pomdp, from_smdp


def table_values(env: Any, discount: float) -> np.ndarray:
    """Value iteration over Gymnasium's table as it stands, to the last bit."""
    table = env.unwrapped.P
    values = np.zeros(len(table))
    while True:
        after = np.array(
            [
                max(
                    sum(p * (r + discount * values[to] * (not over)) for p, to, r, over in outcomes)
                    for outcomes in table[state].values()
                )
                for state in table
            ]
        )
        if np.abs(after - values).max() < 1e-13:
            return after
        values = after


@pytest.mark.parametrize(
    ("make", "settings", "discount"),
    [
        (FrozenLakeEnv, {}, 0.95),
        (FrozenLakeEnv, {"is_slippery": False}, 0.9),
        (FrozenLakeEnv, {"map_name": "8x8"}, 0.99),
        (CliffWalkingEnv, {}, 0.9),
    ],
)
def test_a_table_of_gymnasium_and_its_process_have_the_same_values(
    make: Any, settings: dict[str, Any], discount: float
) -> None:
    env = make(**settings)
    process = from_table(env, discount)
    values, expected = observed(process).values, table_values(env, discount)
    reached = [state for state in process.states if isinstance(state, int)]
    assert len(reached) > 10
    for state in reached:
        assert values[process.state_at(state)] == pytest.approx(expected[state], abs=1e-9)
    begun = env.unwrapped.initial_state_distrib @ expected  # type: ignore[attr-defined]
    assert process.start @ values == pytest.approx(begun, abs=1e-9)


def test_a_learner_of_the_process_meets_the_table_again() -> None:
    """From Gymnasium to a process and back: step by step the same chances."""
    lake = gymnasium.make("FrozenLake-v1")
    process = from_table(lake, 0.95)
    table = lake.unwrapped.P  # type: ignore[attr-defined]
    for state in (0, 6, 14):
        for action in range(4):
            expected: dict[int, float] = {}
            for chance, to, _, _ in table[state][action]:
                expected[to] = expected.get(to, 0.0) + chance
            belief = np.eye(len(process.states))[process.state_at(state)]
            seen = predictive(process, belief, frozenset({action}))
            assert {next(iter(events)): chance for events, chance in seen.items()} == pytest.approx(
                expected, abs=1e-12
            )


def slow_walk() -> Process:
    """An SMDP: while an action lasts, nothing else is admissible."""
    return from_smdp(
        {0: 1.0},
        {"walk": lambda at: {(1 - at, 3): 1.0}, "stay": lambda at: {} if at else {(0, 2): 1.0}},  # type: ignore[operator]
        reward=lambda *_: 1.0,
        discount=0.9,
    )


@pytest.mark.parametrize(
    "process",
    [alarm(), from_pomdp(tiger(0.95)), slow_walk()],
    ids=["alarm", "tiger", "smdp"],
)
@pytest.mark.parametrize("horizon", [None, 5])
def test_gymnasiums_own_checker_finds_nothing(process: Process, horizon: int | None) -> None:
    check_env(ProcessEnv(process, horizon=horizon), skip_render_check=True)


def walk() -> Process:
    """Two steps to the end of a corridor without chance; the second pays 3, a third costs."""
    return Process.from_functions(
        {0: 1.0},
        subsets(["go"]),
        transition=lambda cell, did: {min(2, cell + len(did)): 1.0},  # type: ignore[operator, type-var]
        observation=lambda cell: {frozenset({"end"}) if cell == 2 else NOTHING: 1.0},
        utility=lambda cell, did: 0.0 if cell == 2 else (3.0 * bool(did) if cell else -1.0),
        discount=1.0,
    )


def test_an_episode_gives_the_events_and_utilities_of_the_process() -> None:
    env, process = ProcessEnv(walk()), walk()
    first, _ = env.reset(seed=0)
    assert first == len(process.event_sets), "before the first tick nothing is seen"
    wait, go = 0, 1
    silent, end = process.events_at(NOTHING), process.events_at(frozenset({"end"}))
    steps = [env.step(np.int64(action)) for action in (wait, go, go)]
    assert [step[0] for step in steps] == [silent, silent, end]
    assert [step[1] for step in steps] == [-1.0, -1.0, 3.0]
    assert [step[2] for step in steps] == [False, False, True]
    assert steps[-1][4] == {"events": ["'end'"]}


def test_a_horizon_cuts_an_episode_off() -> None:
    env = ProcessEnv(alarm(), horizon=3)
    env.reset(seed=1)
    assert [env.step(np.int64(0))[2:4] for _ in range(3)] == [(False, False)] * 2 + [(False, True)]
    with pytest.raises(SettingsError, match="at least 1 tick, got 0"):
        ProcessEnv(alarm(), horizon=0)


def test_the_mean_return_of_many_episodes_is_the_value() -> None:
    process, horizon = alarm(), 6
    policy = search(process, horizon)
    env, returns = ProcessEnv(process, horizon=horizon), []
    env.reset(seed=0)
    for _ in range(2_000):
        env.reset()
        memory, total = policy.first, 0.0
        for tick in range(horizon):
            [did] = policy.act(memory)
            events, reward, *_ = env.step(np.int64(process.intervention_at(did)))
            total += process.discount**tick * reward
            if tick + 1 < horizon:
                memory = policy.next(memory, did, process.event_sets[events])
        returns.append(total)
    error = np.std(returns) / np.sqrt(len(returns))
    assert abs(np.mean(returns) - evaluate(process, policy, horizon)) < 4 * error


def test_what_is_not_admissible_is_told_and_what_is_happens_in_its_place() -> None:
    process = Process.from_functions(
        {"shut": 1.0},
        subsets(["enter"]),
        transition=lambda state, _: {state: 1.0},
        observation=lambda _: {NOTHING: 1.0},
        utility=lambda _, did: -np.inf if did else 1.0,
        discount=1.0,
    )
    env = ProcessEnv(process)
    env.reset(seed=0)
    assert list(env.action_masks()) == [True, False]
    _, reward, _, _, info = env.step(np.int64(1))
    assert (reward, info["illegal"]) == (1.0, "{'enter'}")
    _, reward, _, _, info = env.step(np.int64(0))
    assert reward == 1.0
    assert "illegal" not in info


def test_an_environment_without_a_table_is_refused() -> None:
    with pytest.raises(SettingsError, match="no table `P`"):
        from_table(gymnasium.make("CartPole-v1"), 0.9)
