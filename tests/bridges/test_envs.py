"""The built-in worlds by their Gymnasium ids."""

from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env

from timeful.bridges.envs import make_game_env
from timeful.errors import SettingsError

WORLDS = ("Freeway", "Snake", "Overcooked", "Inbox", "Kitchen")
KINDS = ("", "-array", "-timed")
DOOR = "timeful.bridges.envs:timeful"


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", WORLDS)
def test_gymnasiums_checker_finds_nothing(name: str, kind: str) -> None:
    env = gymnasium.make(f"{DOOR}/{name}{kind}-v0", render_mode="ansi")
    check_env(env.unwrapped)  # its warnings are errors here


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", WORLDS)
def test_equal_seeds_give_equal_episodes_whose_observations_are_in_their_space(
    name: str, kind: str
) -> None:
    def episode() -> list[str]:
        env = gymnasium.make(f"{DOOR}/{name}{kind}-v0").unwrapped
        env.action_space.seed(3)
        seen, over, cut = [repr(env.reset(seed=5))], False, False
        for _ in range(300):
            if over or cut:
                break
            observation, *others = env.step(env.action_space.sample())
            assert observation in env.observation_space
            over, cut = others[1:3]
            seen.append(repr((observation, others)))
        return seen

    assert episode() == episode()


def finish(env: Any, action: Any) -> tuple[bool, bool, float]:
    env.reset(seed=0)
    over = cut = False
    total = 0.0
    while not (over or cut):
        _, reward, over, cut, _ = env.step(action)
        total += reward
    return over, cut, total


def test_a_horizon_truncates_and_an_end_terminates() -> None:
    make = gymnasium.make
    assert finish(make(f"{DOOR}/Overcooked-v0"), 0)[:2] == (False, True)
    assert finish(make(f"{DOOR}/Inbox-v0"), 0)[:2] == (False, True)
    assert finish(make(f"{DOOR}/Kitchen-v0"), 0)[:2] == (False, True)
    assert finish(make(f"{DOOR}/Kitchen-v0"), 1)[:2] == (True, False)
    assert finish(make(f"{DOOR}/Snake-v0"), 0) == (True, False, -1.0)  # into the wall
    freeway = {"mode": "compat", "seeds": [0], "difficulty": "easy"}
    assert finish(make(f"{DOOR}/Freeway-v0", **freeway), 2)[:2] == (False, True)  # always down
    env: Any = make(f"{DOOR}/Freeway-v0", **freeway).unwrapped
    env.reset(seed=0)
    over = cut = False
    while not over:
        game = env.world.game
        free = not game.road.danger(game.phase + 1) >> (game.y + 1) & 1
        _, _, over, cut, _ = env.step(1 if free else 3)
    assert (env.world.game.turn < 100, cut) == (True, False)


def test_a_thought_of_a_timed_action_takes_its_tokens() -> None:
    env = gymnasium.make(f"{DOOR}/Overcooked-timed-v0", step_ms=100)
    env.reset(seed=1)
    wait = {"action": 0, "tokens": np.int64(0)}
    assert env.step(wait)[4]["now"] == 100_000_000
    thought = {"action": 1, "tokens": np.int64(250)}
    assert env.step(thought)[4]["now"] == 400_000_000
    assert env.step({"action": 1, "tokens": np.int64(100)})[4]["now"] == 500_000_000


def test_worlds_are_vectorized_by_their_id() -> None:
    for kind in KINDS:
        envs = gymnasium.make_vec(f"{DOOR}/Snake{kind}-v0", num_envs=2)
        envs.reset(seed=1)
        assert envs.step(envs.action_space.sample())[1].shape == (2,)


@pytest.mark.parametrize(
    "settings", [{"difficulty": "huge"}, {"step_ms": 0}, {"thinking_ms": -1}, {"mode": "other"}]
)
def test_a_bad_setting_is_refused_by_make(settings: dict[str, Any]) -> None:
    with pytest.raises(SettingsError):
        make_game_env("snake", array=True, **settings)


VECTORS: dict[str, dict[str, Any]] = {
    "frozen": {},
    "hard": {"difficulty": "hard"},
    "thinking": {"thinking_ms": 2500, "step_ms": 500},
    "timed": {"timed": True, "step_ms": 300},
    "published": {"mode": "compat"},
}


@pytest.mark.parametrize("settings", VECTORS.values(), ids=VECTORS)
@pytest.mark.parametrize("game", ["Snake", "Freeway"])
def test_the_vector_environment_equals_one_environment_after_the_other(
    game: str, settings: dict[str, Any]
) -> None:
    settings = {"seeds": range(6), **settings}
    ours, sync = (
        gymnasium.make_vec(
            f"{DOOR}/{game}-array-v0", num_envs=5, vectorization_mode=mode, **settings
        )
        for mode in ("vector_entry_point", "sync")
    )
    assert ours.observation_space == sync.observation_space
    assert ours.action_space == sync.action_space
    sync.action_space.seed(2)
    np.testing.assert_equal(ours.reset(seed=4)[0], sync.reset(seed=4)[0])
    for _ in range(130):
        action = sync.action_space.sample()
        mine, theirs = ours.step(action), sync.step(action)
        for index in range(4):
            assert mine[index].dtype == theirs[index].dtype
            np.testing.assert_equal(mine[index], theirs[index])
        assert mine[0] in ours.observation_space
