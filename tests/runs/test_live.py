"""A live endpoint under virtual time: the same episode, however slow or fast the network is."""

import hashlib
import random
from collections.abc import Iterator
from functools import partial
from typing import Any

import pytest

from tests.agents.stage import book, play, tokens
from tests.servers.fake import FakeServer, Say, Think, Wait
from timeful.agents.agile import agile, agile_concurrent
from timeful.models.chat import OpenAIModel
from timeful.records.events import Entry, Wall
from timeful.records.recorder import record_hash


def script(body: dict[str, Any], delays: random.Random | None) -> Iterator[Any]:
    """Think and answer by what was asked alone; be silent at random, if at all."""
    asked = body["messages"][-1]["content"]
    words = random.Random(hashlib.sha256(asked.encode()).digest())
    for i in range(words.randrange(3, 30)):
        if delays is not None and delays.random() < 0.3:
            yield Wait(delays.random() * 4)
        yield Think(f"word{i} ") if i % 3 else Say("hm ")
    yield Say(f"\\boxed{{{words.choice('UDS')}}}")


def episode(agent: Any, delays: random.Random | None) -> list[Entry]:
    with FakeServer(lambda body: script(body, delays)) as server:
        planner = OpenAIModel(model="planner", base_url=server.base_url)
        reactor = OpenAIModel(model="reactor", base_url=server.base_url)
        try:
            played = play(
                partial(
                    agent, planner=planner, reactor=reactor, prompts=book(), reserve=tokens(12)
                ),
                turns=4,
                step=24,
            )
        finally:
            planner.close()
            reactor.close()
    assert played.ok, played.events
    return [event for event in played.events if not isinstance(event, Wall)]


@pytest.mark.parametrize("agent", [agile, agile_concurrent])
def test_the_same_episode_to_the_byte_whatever_the_network_does(agent: Any) -> None:
    expected = episode(agent, None)
    assert any(event for event in expected if "word" in repr(event)), "the models were heard"
    for seed in range(50):
        assert record_hash(episode(agent, random.Random(seed))) == record_hash(expected), seed
