"""What a session writes down: each thought and call ends exactly once, with cause and instant."""

import threading
from collections import Counter
from typing import Any

import pytest

from tests.agents.stage import Played, play, tokens
from timeful.agents.session import Session
from timeful.core.activity import Interrupted
from timeful.core.units import Duration, Instant
from timeful.models.model import Message, Prompt
from timeful.models.scripted import ScriptedModel
from timeful.records.events import (
    CallEnded,
    CallStarted,
    ThoughtEnded,
    ThoughtPaused,
    ThoughtResumed,
    ThoughtStarted,
)

HALF = tokens(1) // 2
PROMPT = Prompt(label="plan", render=lambda: "count")


def counter() -> ScriptedModel:
    return ScriptedModel(lambda _: " ".join(f"n{i}" for i in range(1, 21)))


def one(played: Played, kind: type) -> object:
    [event] = [event for event in played.events if type(event) is kind]
    return event


def test_an_interruption_is_recorded_with_cause_instant_and_both_parts_of_the_thought() -> None:
    async def agent(session: Session) -> None:
        thought = session.think(counter(), PROMPT)
        await session.sleep_until(Instant(tokens(5) + HALF))
        assert thought.interrupt("a message")
        assert not thought.interrupt("again")
        await session.sleep(tokens(3))
        thought.resume()
        assert (await thought).split()[-1] == "n20"
        assert session.now == tokens(23)

    played = play(agent, turns=4)
    assert played.ok
    paused, resumed = one(played, ThoughtPaused), one(played, ThoughtResumed)
    assert isinstance(paused, ThoughtPaused)
    assert isinstance(resumed, ThoughtResumed)
    assert (paused.at, paused.cause, paused.tokens) == (tokens(5) + HALF, "a message", 5)
    assert paused.undelivered.strip() == "n6"
    assert resumed.at == tokens(8) + HALF
    ended = one(played, ThoughtEnded)
    assert isinstance(ended, ThoughtEnded)
    assert (ended.at, ended.state, ended.tokens) == (tokens(23), "completed", 20)


def test_every_thought_ends_exactly_once_in_the_record() -> None:
    async def agent(session: Session) -> None:
        await session.think(counter(), PROMPT)
        session.think(counter(), PROMPT, limit=tokens(3))
        cut = session.think(counter(), PROMPT)
        session.think(counter(), PROMPT)
        session.think(counter(), PROMPT).interrupt("for ever")
        await session.sleep(tokens(4))
        cut.cancel("enough")
        assert not cut.cancel("twice")
        await session.sleep(tokens(1000))

    played = play(agent, turns=4)
    begun = [e.thought for e in played.events if isinstance(e, ThoughtStarted)]
    ended = Counter(e.thought for e in played.events if isinstance(e, ThoughtEnded))
    assert ended == Counter(begun)
    states = {e.thought: (e.state, e.cause) for e in played.events if isinstance(e, ThoughtEnded)}
    assert states[1] == ("completed", None)
    assert states[2] == ("cancelled", "limit")
    assert states[3] == ("cancelled", "enough")
    assert states[4][0] == states[5][0] == "orphaned"


@pytest.mark.parametrize("stoppable", [False, True])
def test_an_interrupted_call_is_cancelled_if_it_can_be_stopped_else_orphaned(
    stoppable: bool,
) -> None:
    done: list[str] = []

    async def agent(session: Session) -> None:
        gate = threading.Event()

        def tool() -> None:
            gate.wait(30)
            done.append("the file is written")

        async def work() -> None:
            await session.call(tool, stop=gate.set if stoppable else None, name="write")

        task = session.spawn(work())
        await session.sleep_until(session.now)
        task.interrupt("changed my mind")
        await session.sleep_until(session.now)
        gate.set()

    played = play(agent, turns=2)
    assert played.ok, played.events[-2]
    ended = one(played, CallEnded)
    assert isinstance(ended, CallEnded)
    assert ended.state == ("cancelled" if stoppable else "orphaned")
    assert (ended.at, ended.cause) == (0, "interrupted")
    assert done == ["the file is written"], "what it did stays done"


def test_a_call_that_comes_back_or_fails_is_completed_with_its_error() -> None:
    async def agent(session: Session) -> None:
        assert await session.call(lambda: 7, name="seven") == 7
        with pytest.raises(ZeroDivisionError):
            await session.call(lambda: 1 // 0, name="zero")

    played = play(agent, turns=2)
    ends = [e for e in played.events if isinstance(e, CallEnded)]
    assert [(e.state, e.error) for e in ends] == [
        ("completed", None),
        ("completed", "ZeroDivisionError: integer division or modulo by zero"),
    ]
    assert len([e for e in played.events if isinstance(e, CallStarted)]) == 2


def test_an_error_in_something_spawned_fails_the_episode() -> None:
    async def agent(session: Session) -> None:
        async def broken() -> None:
            raise LookupError("nowhere")

        session.spawn(broken())
        await session.sleep(tokens(50))

    assert "LookupError" in play(agent).failure.error


def test_an_agent_may_clean_up_when_the_episode_ends_under_it() -> None:
    said: list[str] = []

    async def agent(session: Session) -> None:
        try:
            await session.sleep(tokens(10_000))
        finally:
            said.append("tidied")

    assert play(agent, turns=2).ok
    assert said == ["tidied"]


def test_observations_are_taken_once_and_carry_their_instants() -> None:
    taken: list[tuple[int, int]] = []

    async def agent(session: Session) -> None:
        while not session.over:
            await session.sleep(tokens(20))
            taken.extend((seen.at, seen.view.turn) for seen in session.observe())
            assert session.observe() == ()

    play(agent, turns=6, step=8)
    assert taken == [(tokens(8 * turn), turn) for turn in range(1, len(taken) + 1)]
    assert len(taken) >= 4


def test_tick_returns_at_once_if_the_world_has_moved_meanwhile() -> None:
    async def agent(session: Session) -> None:
        await session.sleep(tokens(20))
        await session.wait_for_tick()
        assert (session.now, session.turn) == (tokens(20), 2)
        await session.wait_for_tick()
        assert (session.now, session.turn) == (tokens(24), 3)

    assert play(agent, turns=4, step=8).ok


def test_a_negative_limit_is_an_error() -> None:
    async def agent(session: Session) -> None:
        with pytest.raises(ValueError, match="must not be negative"):
            session.think(counter(), PROMPT, limit=Duration(-1))

    assert play(agent, turns=1).ok


def test_an_interruption_can_be_caught_by_what_was_spawned() -> None:
    async def agent(session: Session) -> None:
        async def stubborn() -> str:
            try:
                await session.sleep(tokens(50))
            except Interrupted as signal:
                return f"{signal.cause} at {signal.at // tokens(1)}"
            return "undisturbed"

        task = session.spawn(stubborn())
        await session.sleep(tokens(3))
        assert task.interrupt("news")
        assert await task == "news at 3"
        assert not task.interrupt("too late")

    assert play(agent, turns=2).ok


def test_seconds_that_were_never_converted_are_an_error_that_says_what_to_write() -> None:
    async def agent(session: Session) -> None:
        for wait in (session.sleep, session.sleep_until):
            with pytest.raises(TypeError, match=r"got 1\.5; use seconds"):
                await wait(1.5)  # type: ignore[arg-type]

    assert play(agent, turns=1).ok


@pytest.mark.parametrize(
    "prompt",
    ["count", [Message("user", "count")], lambda: "count", lambda: [Message("user", "count")]],
)
def test_a_prompt_is_a_text_messages_or_a_function_of_these(prompt: Any) -> None:
    async def agent(session: Session) -> None:
        await session.think(model, prompt, label="own label")

    model = ScriptedModel(["one two"])
    [started] = [
        event for event in play(agent, turns=2).events if isinstance(event, ThoughtStarted)
    ]
    assert (started.purpose, started.messages) == ("own label", [("user", "count")])


@pytest.mark.parametrize("prompt", [3, ["count"], lambda: None])
def test_a_prompt_of_another_kind_is_refused(prompt: Any) -> None:
    async def agent(session: Session) -> None:
        with pytest.raises(TypeError):
            await session.think(ScriptedModel(["one"]), prompt)

    assert play(agent, turns=1).ok
