"""The model behind a program may be an endpoint or a cassette."""

from pathlib import Path
from typing import Any

import pytest

from tests.agents.program.scripts import write_program
from tests.servers.fake import Call, FakeServer, Say
from timeful.models.chat import OpenAIModel
from timeful.models.pace import TOKEN_TIME
from timeful.models.recording import RecordingModel
from timeful.models.replay import ReplayModel
from timeful.records.events import Acted, ThoughtEnded
from timeful.records.recorder import record_hash
from timeful.runs.play import play

pytestmark = pytest.mark.slow

TOOLS = """
schema = {"type": "object", "properties": {"moves": {"type": "array", "items": {"type": "string"}}}}
tools = [{"type": "function", "function": {"name": "move", "parameters": schema}}]
messages = [{"role": "user", "content": "Which way?"}]
for _ in range(2):
    body = {"model": "any", "messages": messages, "tools": tools}
    message = send("/v1/chat/completions", body)[1]["choices"][0]["message"]
    [asked] = message["tool_calls"]
    move = json.loads(asked["function"]["arguments"])["moves"][0]
    tool("act", action=move)
    messages += [message, {"role": "tool", "tool_call_id": asked["id"], "content": "done"}]
"""


def answer(_: dict[str, Any]) -> list[Any]:
    return [Say("I go ", tokens=300), Call("move", '{"moves": ["U", "L"]}', id="x1", tokens=700)]


def test_an_endpoint_and_its_cassette_give_the_same_episode(tmp_path: Path) -> None:
    cassette = tmp_path / "tape.jsonl"
    with FakeServer(answer) as server:
        live = OpenAIModel(model="m", base_url=server.base_url, api_key="none", pace=TOKEN_TIME)
        recording = RecordingModel(live, cassette, scope="")
        first = play(write_program(tmp_path, TOOLS, model=recording), "snake")
        first_body, second_body = [request.body for request in server.requests]
    [offer] = first_body["tools"]
    assert offer["function"]["parameters"]["properties"]["moves"]["type"] == "array"
    assert [m["role"] for m in second_body["messages"]] == ["user", "assistant", "tool"]
    replay = ReplayModel(cassette, scope="", pace=TOKEN_TIME)
    second = play(write_program(tmp_path, TOOLS, model=replay), "snake")
    assert record_hash(first.events) == record_hash(second.events)
    acts = [event for event in first.events if isinstance(event, Acted)]
    assert [(act.action, act.at) for act in acts] == [("U", 700_000_000), ("U", 1_400_000_000)]
    usage = [event.usage for event in first.events if isinstance(event, ThoughtEnded)]
    assert all(usage)


def test_an_endpoint_that_refuses_fails_the_episode_at_the_model(tmp_path: Path) -> None:
    model = OpenAIModel(
        model="m", base_url="http://127.0.0.1:1/v1", api_key="none", pace=TOKEN_TIME, retries=0
    )
    episode = play(write_program(tmp_path, TOOLS, model=model), "snake", check=False)
    assert episode.events[-2].boundary == "model"  # type: ignore[union-attr]
