"""A game from one call."""

import pytest

from tests.agents.stage import Tape
from timeful.agents.session import Session
from timeful.errors import TimefulError
from timeful.records.events import EpisodeStarted, Event
from timeful.runs.game import play_game


async def idle(session: Session) -> None:
    while not session.over:
        await session.wait_for_tick()


async def slip(session: Session) -> None:
    raise ValueError("a slip")


def settings(events: tuple[Event, ...]) -> dict[str, object]:
    assert isinstance(events[0], EpisodeStarted)
    return events[0].settings


def test_a_record_names_the_difficulty_of_a_game_that_was_made_by_it() -> None:
    played = play_game(idle, "snake", difficulty="hard", seed=3)
    assert settings(played.events) == {
        "game": "snake",
        "difficulty": "hard",
        "seed": 3,
        "mode": "compat",
    }
    assert played.late == played.turns


def test_a_record_claims_no_difficulty_for_a_game_that_came_ready_made() -> None:
    played = play_game(idle, Tape(3), seed=5)
    assert settings(played.events) == {"game": "tape", "seed": 5}


def test_an_error_of_the_agent_names_the_agent() -> None:
    with pytest.raises(TimefulError, match="failed at the agent: ValueError: a slip"):
        play_game(slip, Tape(3))
