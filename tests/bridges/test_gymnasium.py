"""Gymnasium's environments as worlds, and worlds as Gymnasium's environments."""

import subprocess
import sys
from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium import spaces
from gymnasium.utils.env_checker import check_env

from timeful import Session, play, tokens
from timeful.bridges.gymnasium import GymnasiumGame, WorldEnv
from timeful.core.units import Duration, Instant, seconds
from timeful.environments.conformance_games import CHECKS, Setting
from timeful.environments.environment import Environment, Turn
from timeful.environments.game import DIFFICULTIES, MODES, View
from timeful.environments.patrol.settings import MODULE
from timeful.environments.patrol.world import CONTINUE, RESPOND, Patrol
from timeful.environments.registry import make_game
from timeful.environments.ticking import Ticking
from timeful.errors import SettingsError, WorldError, check_known
from timeful.seeding import child

SECOND = seconds(1)


class Lake(GymnasiumGame):
    """FrozenLake with the constructor that every game of the project has."""

    name = "lake"

    def __init__(self, *, difficulty: str, seed: int, mode: str = "compat") -> None:
        check_known("difficulty", difficulty, DIFFICULTIES)
        check_known("mode", mode, MODES)
        if seed < 0:
            raise SettingsError(f"no seed {seed}; seeds are 0 to 99")
        super().__init__(
            gymnasium.make("FrozenLake-v1"),
            actions={"L": 0, "D": 1, "R": 2, "U": 3},
            default="L",
            seed=seed,
            name="lake",
        )


@pytest.mark.slow
@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
def test_a_gymnasium_environment_keeps_every_promise_of_a_game(check: Any) -> None:
    for seed in (0, 5):
        check(Setting(kind=Lake, difficulty="easy", seed=seed, players=seed))


def cart() -> GymnasiumGame:
    return GymnasiumGame(
        gymnasium.make("CartPole-v1"), actions={"LEFT": 0, "RIGHT": 1}, default="LEFT", seed=3
    )


def test_a_pole_falls_while_nobody_acts_and_its_time_is_the_worlds() -> None:
    world = Ticking(cart(), SECOND)
    seen = world.advance(Instant(3 * SECOND))
    assert [turn.at for turn in seen] == [SECOND, 2 * SECOND, 3 * SECOND]
    assert all(isinstance(turn, Turn) and turn.late for turn in seen)
    assert [turn.action for turn in seen if isinstance(turn, Turn)] == ["LEFT"] * 3
    world.intervene(["RIGHT"], at=Instant(3 * SECOND))
    [turn] = world.advance(Instant(4 * SECOND))
    assert isinstance(turn, Turn)
    assert (turn.action, turn.late, turn.reward) == ("RIGHT", False, 1.0)
    world.advance(Instant(1000 * SECOND))
    assert world.next_change() is None
    assert world.score == world.game.turn < 20, "a pole pushed to one side falls"


def test_the_game_is_the_environment_step_by_step() -> None:
    game, env = cart(), gymnasium.make("CartPole-v1")
    observation, _ = env.reset(seed=3)
    rng = np.random.default_rng(0)
    while not game.done:
        assert game.view().json_state()["observation"] == observation.tolist()
        push = int(rng.integers(2))
        reward = game.step(("LEFT", "RIGHT")[push])
        observation, expected, terminated, truncated, _ = env.step(push)
        assert (reward, game.done) == (expected, terminated or truncated)


def test_a_continuous_action_space_takes_a_table() -> None:
    env = gymnasium.make("Pendulum-v1")
    with pytest.raises(SettingsError, match=r"have no names; give `actions`"):
        GymnasiumGame(env, default="0")
    table = {"BACK": np.array([-2.0]), "REST": np.array([0.0]), "PUSH": np.array([2.0])}
    game = GymnasiumGame(env, actions=table, default="REST", show=lambda seen: f"{seen[2]:+.1f}")
    assert game.name == "Pendulum-v1"
    assert game.horizon == 200
    assert game.step("PUSH") < 0
    assert game.view().text()[0] in "+-"


def test_an_agent_plays_a_gymnasium_environment_in_real_time() -> None:
    async def balance(session: Session) -> None:
        """Push towards the side to which the pole leans, as fast as a tick allows."""
        while not session.over:
            _, _, lean, turning = session.view.json_state()["observation"]
            session.act("RIGHT" if lean + 0.5 * turning > 0 else "LEFT")
            await session.wait_for_tick()

    played = play(balance, cart(), step=tokens(100))
    assert (played.turns, played.late) == (500, 0)

    async def slow(session: Session) -> None:
        while not session.over:
            _, _, lean, turning = session.view.json_state()["observation"]
            await session.sleep(tokens(550))
            session.act("RIGHT" if lean + 0.5 * turning > 0 else "LEFT")

    assert play(slow, cart(), step=tokens(100)).turns < 50


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"default": "WAIT"}, "the default 'WAIT' is no action; actions are 0, 1, 2, 3"),
        ({"env": gymnasium.make("FrozenLake-v1").unwrapped}, "give a `horizon`"),
    ],
)
def test_what_a_game_cannot_be_made_of_is_refused(changes: dict[str, Any], says: str) -> None:
    settings = {"env": gymnasium.make("FrozenLake-v1"), "default": "0"} | changes
    if "env" in changes:
        settings["env"].spec = None
    with pytest.raises(SettingsError, match=says):
        GymnasiumGame(**settings)


def test_a_saved_game_of_other_actions_is_refused() -> None:
    lake = Lake(difficulty="easy", seed=1)
    with pytest.raises(WorldError, match="another game"):
        lake.load(b'{"type":"gymnasium","seed":1,"actions":["JUMP"]}')


def snakes(period: Duration = SECOND) -> Any:
    def make(seed: int) -> Environment:
        return Ticking(make_game("snake", difficulty="easy", seed=seed, mode="paper"), period)

    return make


def grid(view: View) -> Any:
    """Which cells of the grid hold food."""
    rows = [row.split() for row in view.text().splitlines()]
    return np.array([[cell[-1].isdigit() for cell in row] for row in rows], dtype=np.float32)


WORLDS = {
    "frozen snake": lambda: WorldEnv(snakes(), "LRUDS", seeds=range(50)),
    "snake at a fixed rate": lambda: WorldEnv(
        snakes(), [*"LRUDS", None], seeds=range(50), thinking=seconds(2.5)
    ),
    "snake as numbers": lambda: WorldEnv(
        snakes(), "LRUDS", seeds=[7], encode=grid, space=spaces.Box(0, 1, (8, 8), np.float32)
    ),
    "freeway": lambda: WorldEnv(
        lambda seed: Ticking(make_game("freeway", difficulty="hard", seed=seed), SECOND),
        "UDS",
        seeds=range(8),
        thinking=seconds(0.5),
    ),
    "patrol": lambda: WorldEnv(
        lambda seed: Patrol(MODULE, child(seed, "alarms")),
        [CONTINUE, RESPOND],
        seeds=range(100),
    ),
}


@pytest.mark.parametrize("name", WORLDS)
def test_gymnasiums_own_checker_finds_nothing(name: str) -> None:
    check_env(WORLDS[name](), skip_render_check=True)  # its warnings are errors here


def test_a_world_of_events_can_be_left_alone_and_says_what_may_not_be_done() -> None:
    env = WORLDS["patrol"]()
    env.reset(seed=2)
    total, illegal, over = 0.0, 0, False
    while not over:
        _, reward, over, _, info = env.step(np.int64(1))  # to respond, alarm or not
        total, illegal = total + reward, illegal + (not info["legal"])
    assert total == pytest.approx(env.world.score, abs=1e-9)
    assert 0 < illegal < MODULE.horizon, "without an alarm there is nothing to respond to"


def test_without_thinking_a_step_is_a_turn() -> None:
    env, game = (
        WorldEnv(snakes(), "LRUDS", seeds=[4]),
        make_game("snake", difficulty="easy", seed=4, mode="paper"),
    )
    text, _ = env.reset(seed=0)
    rng, over = np.random.default_rng(1), False
    while not over:
        assert text == game.view().text()
        action = int(rng.integers(5))
        expected = game.step("LRUDS"[action])
        text, reward, over, cut, info = env.step(np.int64(action))
        assert (reward, over, cut, info["legal"]) == (expected, game.done, False, True)
        assert info["events"] == [(game.turn * SECOND, "turn")]


@pytest.mark.parametrize("thinking", [0.25, 1.0, 1.5, 3.0])
def test_with_thinking_it_is_the_fixed_rate_interface(thinking: float) -> None:
    """The same moves on the timeline and through Gymnasium lead through the same states."""
    moves = [int(move) for move in np.random.default_rng(2).integers(0, 5, size=200)]
    span = seconds(thinking)
    mine: list[tuple[int, str]] = []

    async def agent(session: Session) -> None:
        for move in moves:
            if session.over:
                return
            mine.append((session.turn, session.view.text()))
            await session.sleep(span)
            if not session.over:
                session.act("LRUDS"[move])
                turn = session.turn
                while session.turn == turn:
                    await session.wait_for_tick()

    game = make_game("snake", difficulty="easy", seed=4, mode="paper")
    played = play(agent, game, step=SECOND)
    env = WorldEnv(snakes(), "LRUDS", seeds=[4], thinking=span)
    text, _ = env.reset(seed=0)
    theirs, total, over, turns = [(0, text)], 0.0, False, 0
    for move in moves:
        if over:
            break
        text, reward, over, _, info = env.step(np.int64(move))
        total, turns = total + reward, turns + len(info["events"])
        theirs.append((turns, text))
    assert over
    assert (turns, total) == (played.turns, played.score)
    assert theirs[: len(mine)] == mine


def test_what_no_world_can_be_made_of_is_refused() -> None:
    with pytest.raises(SettingsError, match="at least one action"):
        WorldEnv(snakes(), "", seeds=[1])
    with pytest.raises(SettingsError, match="at least one action and one seed"):
        WorldEnv(snakes(), "LR", seeds=[])
    with pytest.raises(SettingsError, match="belong together"):
        WorldEnv(snakes(), "LR", seeds=[1], encode=grid)


@pytest.mark.parametrize("module", ["gymnasium", "tabular"])
def test_without_gymnasium_the_bridge_says_what_to_install(module: str) -> None:
    code = f"import sys; sys.modules['gymnasium'] = None; import timeful.bridges.{module}"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert run.returncode == 1
    assert "SettingsError" in run.stderr
    assert "pip install 'timeful[gymnasium]'" in run.stderr
