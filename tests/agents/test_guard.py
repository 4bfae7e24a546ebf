"""Mistakes in an agent end its episode with an error that names them."""

import asyncio
import gc
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from timeful import Episode, Session, play, seconds
from timeful.agents.guard import MOST_CALLS
from timeful.errors import AgentError, EpisodeError
from timeful.records.events import EpisodeFailed
from timeful.records.recorder import read_record


def fail(agent: Callable[[Session], Any]) -> Episode:
    episode = play(agent, "snake", check=False)
    assert episode.error is not None
    return episode


async def act_for_ever(session: Session) -> None:
    while not session.over:
        session.act("U")


async def look_for_ever(session: Session) -> None:
    while not session.over:
        session.observe()


async def sleep_for_ever(session: Session) -> None:
    while not session.over:
        await session.sleep(0)  # type: ignore[arg-type]


@pytest.mark.parametrize("agent", [act_for_ever, look_for_ever, sleep_for_ever])
def test_a_loop_in_which_no_time_passes_ends(agent: Callable[[Session], Any]) -> None:
    episode = fail(agent)
    assert isinstance(episode.error, AgentError)
    assert len(episode.events) < MOST_CALLS
    assert episode.events[-2].at == 0


def drop(name: str, *arguments: Any) -> Callable[[Session], Awaitable[None]]:
    async def agent(session: Session) -> None:
        while not session.over:
            getattr(session, name)(*arguments)

    return agent


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("wait_for_tick", ()),
        ("sleep", (seconds(1),)),
        ("sleep_until", (seconds(1),)),
        ("run_until_event", ()),
        ("call", (int,)),
    ],
)
def test_a_missing_await_is_named(name: str, arguments: tuple[Any, ...]) -> None:
    error = fail(drop(name, *arguments)).error
    assert isinstance(error, AgentError)
    assert f"session.{name}" in str(error)
    gc.collect()  # a coroutine that is never awaited would warn here


def test_a_missing_await_is_named_when_the_agent_returns() -> None:
    async def agent(session: Session) -> None:
        session.sleep(seconds(1))  # type: ignore[unused-coroutine]

    assert isinstance(fail(agent).error, AgentError)


def test_a_coroutine_of_the_session_can_be_awaited_later_and_spawned() -> None:
    async def agent(session: Session) -> None:
        nap = session.sleep(seconds(1))
        spawned = session.spawn(session.sleep(seconds(2)))
        await nap
        assert session.now == seconds(1)
        await spawned
        assert session.now == seconds(2)

    assert play(agent, "snake").error is None


@pytest.mark.parametrize("is_in_loop", [False, True])
@pytest.mark.parametrize("span", [0, 0.001])
def test_asyncio_sleep_names_the_way_to_wait(span: float, is_in_loop: bool) -> None:
    async def agent(session: Session) -> None:
        await asyncio.sleep(span)

    async def inside() -> Episode:
        return fail(agent)

    episode = asyncio.run(inside()) if is_in_loop else fail(agent)
    assert isinstance(episode.error, AgentError)
    assert "session.sleep" in str(episode.error)


def test_a_record_holds_the_places_of_an_error_and_of_its_cause(tmp_path: Path) -> None:
    def read(table: dict[str, int]) -> int:
        return table["missing"]

    async def agent(session: Session) -> None:
        try:
            read({})
        except KeyError as error:
            raise ValueError("no such entry") from error

    path = tmp_path / "episode.jsonl"
    with pytest.raises(EpisodeError) as caught:
        play(agent, "snake", record=path)
    assert isinstance(caught.value.__cause__, ValueError)
    [end] = [event for event in read_record(path) if isinstance(event, EpisodeFailed)]
    places = [line.split(" in ")[-1] for line in end.trace]
    assert places[-1] == "read"
    assert places[0] == "agent"
    assert all(line.startswith(("test_guard.py:", "caused by KeyError")) for line in end.trace)
