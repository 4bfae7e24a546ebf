"""One episode from one call."""

import asyncio
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.agents.stage import Tape
from timeful.agents.session import Session
from timeful.core.units import seconds
from timeful.environments.patrol.settings import MODULE
from timeful.environments.patrol.world import Patrol
from timeful.environments.registry import GAME_NAMES
from timeful.errors import EpisodeError, ModelError, SettingsError
from timeful.interfaces.make import make_interface
from timeful.models.scripted import ScriptedModel
from timeful.records.events import Entry, EpisodeStarted
from timeful.records.recorder import read_record, record_hash
from timeful.registry import names
from timeful.runs.play import play


async def idle(session: Session) -> None:
    while not session.over:
        await session.wait_for_tick()


async def slip(session: Session) -> None:
    raise ValueError("a slip")


def settings(events: tuple[Entry, ...]) -> dict[str, object]:
    assert isinstance(events[0], EpisodeStarted)
    return events[0].settings


def patrol(seed: int) -> Patrol:
    return Patrol(MODULE, np.random.default_rng(seed))


def test_a_record_names_the_world_its_options_and_the_interface() -> None:
    episode = play(idle, "snake", difficulty="hard", seed=3)
    assert settings(episode.events) == {
        "world": "snake",
        "difficulty": "hard",
        "seed": 3,
        "interface": "fixed-rate",
    }
    assert episode.late == episode.turns > 0
    assert episode.status == "completed"


def test_a_record_claims_no_difficulty_for_a_game_that_came_ready_made() -> None:
    episode = play(idle, Tape(3), seed=5)
    assert settings(episode.events) == {"world": "tape", "seed": 5, "interface": "fixed-rate"}


async def sleeper(session: Session) -> None:
    while not session.over:
        await session.sleep(seconds(1))


@pytest.mark.parametrize("world", names("world"))
def test_every_named_world_is_played_and_the_seed_makes_it(world: str) -> None:
    interface = "fixed-rate" if world in GAME_NAMES else "event-driven"
    first, again, other = (
        play(sleeper, world, interface=interface, seed=seed).events for seed in (3, 3, 4)
    )
    assert settings(first)["world"] == world
    assert record_hash(first) == record_hash(again) != record_hash(other)


def test_an_unknown_option_of_a_named_world_is_refused() -> None:
    with pytest.raises(TypeError, match="colour"):
        play(sleeper, "inbox", interface="event-driven", colour="red")
    with pytest.raises(TypeError, match="step"):
        play(sleeper, "inbox", interface="event-driven", step=1)
    with pytest.raises(SettingsError, match="inbox"):
        play(sleeper, "inbix")


@pytest.mark.parametrize("world", [patrol, patrol(0), lambda: patrol(0)])
def test_a_world_is_made_by_a_function_or_comes_ready_made(world: Any) -> None:
    assert play(idle, world).turns == play(idle, patrol(0)).turns > 0


def test_a_world_that_was_played_is_reset() -> None:
    world = patrol(0)
    assert record_hash(play(idle, world).events) == record_hash(play(idle, world).events)


def test_an_interface_is_a_name_or_made() -> None:
    named = play(idle, patrol, interface="polling:2.5s")
    made = play(idle, patrol, interface=make_interface("polling", span=seconds(2.5)))
    assert [event.at for event in named.events[:-1]] == [event.at for event in made.events[:-1]]


@pytest.mark.parametrize(
    ("world", "interface"),
    [
        ("snake", "fixed-rate:1s"),
        ("snake", "fixedrate"),
        ("snake", "polling"),
        ("snake", "polling:30"),
        ("snake", "loop:30s"),
        ("snake", "reflex"),
        ("sneak", "loop"),
    ],
)
def test_an_interface_that_does_not_fit_is_a_settings_error(world: str, interface: str) -> None:
    with pytest.raises(SettingsError):
        play(idle, world, interface=interface)


@pytest.mark.parametrize("world", [3, None, object()])
def test_something_else_is_no_world(world: Any) -> None:
    with pytest.raises(TypeError):
        play(idle, world)


def test_a_ready_made_world_takes_no_options() -> None:
    with pytest.raises(TypeError):
        play(idle, Tape(3), difficulty="hard")


def test_an_error_of_the_agent_is_the_cause_of_the_error_that_is_raised() -> None:
    with pytest.raises(EpisodeError, match="agent") as caught:
        play(slip, Tape(3))
    assert isinstance(caught.value.__cause__, ValueError)
    episode = play(slip, Tape(3), check=False)
    assert isinstance(episode.error, ValueError)
    assert episode.status == "failed"
    assert "in slip" in episode.traceback


def test_an_error_of_a_model_names_the_model() -> None:
    async def agent(session: Session) -> None:
        await session.think(ScriptedModel([]), "anything")

    with pytest.raises(EpisodeError, match="model") as caught:
        play(agent, Tape(3))
    assert isinstance(caught.value.__cause__, ModelError)


def test_a_saved_record_equals_the_one_that_was_written(tmp_path: Path) -> None:
    episode = play(idle, Tape(3), record=str(tmp_path / "written.jsonl"))
    episode.save(tmp_path / "saved.jsonl")
    assert (tmp_path / "saved.jsonl").read_bytes() == (tmp_path / "written.jsonl").read_bytes()
    assert tuple(read_record(tmp_path / "saved.jsonl")) == episode.events


def test_an_episode_is_played_within_a_running_event_loop_and_in_threads() -> None:
    async def notebook() -> float:
        return play(idle, "snake").score

    with ThreadPoolExecutor(4) as pool:
        scores = list(pool.map(lambda _: play(idle, "snake").score, range(4)))
    assert {*scores, asyncio.run(notebook())} == {play(idle, "snake").score}
