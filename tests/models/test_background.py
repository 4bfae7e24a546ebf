"""The thread of streams: whoever is on its way out is left to close what it holds."""

import asyncio
from threading import Event

import pytest

from timeful.models.background import Background, Shared


@pytest.mark.parametrize("steps", [1, 2, 5])
def test_a_stream_that_is_cancelled_as_its_model_closes_still_cleans_up(steps: int) -> None:
    begun, cleaned = Event(), Event()

    async def work(shared: Shared) -> None:
        try:
            begun.set()
            await asyncio.Event().wait()
        finally:
            for _ in range(steps):  # as closing a connection takes a few turns of the loop
                await asyncio.sleep(0)
            cleaned.set()

    background = Background()
    cancel = background.start(work)
    assert begun.wait(10)
    cancel()
    background.close()
    assert cleaned.is_set()


def test_a_stream_that_still_runs_is_cancelled_when_its_model_closes() -> None:
    begun, ended = Event(), Event()

    async def work(shared: Shared) -> None:
        try:
            begun.set()
            await asyncio.Event().wait()
        finally:
            ended.set()

    background = Background()
    background.start(work)
    assert begun.wait(10)
    background.close()
    assert ended.is_set()
