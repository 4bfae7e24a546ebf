"""The thread of streams: whoever is on its way out is left to close what it holds."""

import asyncio
import gc
from collections.abc import AsyncGenerator
from contextlib import suppress
from threading import Event

import pytest

import timeful.models.event_loop_thread
from timeful.core.source import End
from timeful.models.event_loop_thread import ClientState, EventLoopThread
from timeful.models.stream_buffer import StreamBuffer


@pytest.mark.parametrize("steps", [1, 2, 5])
def test_a_stream_that_is_cancelled_as_its_model_closes_still_cleans_up(steps: int) -> None:
    begun, cleaned = Event(), Event()

    async def work(shared: ClientState) -> None:
        try:
            begun.set()
            await asyncio.Event().wait()
        finally:
            for _ in range(steps):  # as closing a connection takes a few turns of the loop
                await asyncio.sleep(0)
            cleaned.set()

    background = EventLoopThread()
    cancel = background.start(work)
    assert begun.wait(10)
    cancel()
    background.close()
    assert cleaned.is_set()


def test_a_stream_that_still_runs_is_cancelled_when_its_model_closes() -> None:
    begun, ended = Event(), Event()

    async def work(shared: ClientState) -> None:
        try:
            begun.set()
            await asyncio.Event().wait()
        finally:
            ended.set()

    background = EventLoopThread()
    background.start(work)
    assert begun.wait(10)
    background.close()
    assert ended.is_set()


def test_a_stream_that_loses_its_cancelling_is_cancelled_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(timeful.models.event_loop_thread, "AGAIN_S", 0.01)
    begun, ended = Event(), Event()

    async def work(shared: ClientState) -> None:
        begun.set()
        with suppress(asyncio.CancelledError):
            await asyncio.Event().wait()
        try:
            await asyncio.Event().wait()
        finally:
            ended.set()

    background = EventLoopThread()
    background.start(work)
    assert begun.wait(10)
    background.close()
    assert ended.is_set()


def test_what_a_stream_has_begun_is_ended_by_the_stream_alone() -> None:
    begun, cancelled = Event(), list[int]()

    async def work(shared: ClientState) -> None:
        async with asyncio.TaskGroup() as group:
            inner = group.create_task(asyncio.Event().wait())
            begun.set()
            try:
                await asyncio.Event().wait()
            finally:
                cancelled.append(inner.cancelling())

    background = EventLoopThread()
    background.start(work)
    assert begun.wait(10)
    background.close()
    assert cancelled == [0]


@pytest.mark.parametrize("is_closed", [False, True])
def test_a_stream_that_has_come_to_its_end_hands_its_connection_back_undisturbed(
    is_closed: bool,
) -> None:
    """Two connections are given up together; to cancel after the first would leave the second."""
    has_ended, begun, others_end, given_up = Event(), Event(), asyncio.Event(), list[int]()
    source = StreamBuffer()

    async def work(shared: ClientState) -> None:
        task = asyncio.current_task()
        assert task is not None
        shared.leaving.add(task)
        source.append(End("stop", tokens=0))
        has_ended.set()
        for number in (1, 2):
            await others_end.wait()
            given_up.append(number)

    async def other(shared: ClientState) -> None:
        try:
            begun.set()
            await asyncio.Event().wait()
        finally:
            others_end.set()  # whoever is to be cancelled is by now

    background = EventLoopThread()
    source.on_close(background.start(work))
    background.start(other)
    assert has_ended.wait(10)
    assert begun.wait(10)
    if is_closed:
        source.close()
    background.close()
    assert given_up == [1, 2]


def _close_nested(*, is_kept: bool) -> list[int]:
    """Leave six generators, each of which reads the next one; the depths of those that closed."""
    kept: list[AsyncGenerator[int, None]] = []
    closed: list[int] = []
    read = Event()

    async def nest(depth: int) -> AsyncGenerator[int, None]:
        inner = nest(depth - 1) if depth else None
        try:
            if inner is None:
                yield 0
            else:
                async for value in inner:
                    yield value
        finally:
            for _ in range(3):  # as closing a connection takes a few turns of the loop
                await asyncio.sleep(0)
            if inner is not None and depth % 2:  # some clients leave that to the loop
                await inner.aclose()
            closed.append(depth)

    async def work(shared: ClientState) -> None:
        outer = nest(5)
        if is_kept:  # as the frames of an error keep them
            kept.append(outer)
        assert await anext(outer) == 0
        read.set()

    background = EventLoopThread()
    background.start(work)
    assert read.wait(10)
    background.close()
    return sorted(closed)


@pytest.mark.parametrize("is_kept", [True, False])
def test_generators_within_each_other_are_closed_one_by_one(
    is_kept: bool, caplog: pytest.LogCaptureFixture
) -> None:
    assert _close_nested(is_kept=is_kept) == list(range(6))
    assert not caplog.records


def test_a_collection_while_generators_are_closed_changes_nothing(
    caplog: pytest.LogCaptureFixture,
) -> None:
    threshold = gc.get_threshold()
    try:
        for count in range(5, 205):
            gc.set_threshold(count)
            assert _close_nested(is_kept=False) == list(range(6))
    finally:
        gc.set_threshold(*threshold)
    assert not caplog.records
