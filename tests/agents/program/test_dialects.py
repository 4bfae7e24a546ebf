"""The three dialects: requests as values, and answers as clients of each API read them."""

import json
from typing import Any

import pytest

from tests.agents.program.scripts import write_program
from timeful.agents.program.chat import chat
from timeful.agents.program.dialect import BadRequestError, Dialect, ModelAnswer
from timeful.agents.program.messages import messages
from timeful.agents.program.responses import responses
from timeful.models.model import Message
from timeful.tools import ToolCall

SCHEMA = {"type": "object", "properties": {"action": {"type": "string"}}, "required": ["action"]}
CALL = ToolCall(name="act", arguments={"action": "L"}, id="c1")
CONVERSATION = (
    Message("system", "Play."),
    Message("user", "Which way?"),
    Message("assistant", "Left.", calls=(CALL,)),
    Message("tool", "moved", call_id="c1"),
)
CHAT: dict[str, Any] = {
    "model": "m",
    "max_completion_tokens": 9,
    "messages": [
        {"role": "developer", "content": "Play."},
        {"role": "user", "content": [{"type": "text", "text": "Which way?"}]},
        {
            "role": "assistant",
            "content": "Left.",
            "tool_calls": [
                {"id": "c1", "function": {"name": "act", "arguments": '{"action": "L"}'}}
            ],
        },
        {"role": "tool", "tool_call_id": "c1", "content": "moved"},
    ],
    "tools": [{"type": "function", "function": {"name": "act", "parameters": SCHEMA}}],
    "stop": "END",
    "temperature": 0.5,
}
MESSAGES: dict[str, Any] = {
    "model": "m",
    "max_tokens": 9,
    "system": [{"type": "text", "text": "Play."}],
    "messages": [
        {"role": "user", "content": "Which way?"},
        {
            "role": "assistant",
            "content": [
                {"type": "thinking", "thinking": "hm", "signature": "s"},
                {"type": "text", "text": "Left."},
                {"type": "tool_use", "id": "c1", "name": "act", "input": {"action": "L"}},
            ],
        },
        {
            "role": "user",
            "content": [{"type": "tool_result", "tool_use_id": "c1", "content": "moved"}],
        },
    ],
    "tools": [{"name": "act", "input_schema": SCHEMA}],
    "stop_sequences": ["END"],
    "temperature": 0.5,
}
RESPONSES: dict[str, Any] = {
    "model": "m",
    "max_output_tokens": 9,
    "instructions": "Play.",
    "input": [
        {"role": "user", "content": "Which way?"},
        {"type": "message", "role": "assistant", "content": [{"text": "Left."}]},
        {"type": "reasoning", "summary": []},
        {"type": "function_call", "call_id": "c1", "name": "act", "arguments": '{"action": "L"}'},
        {"type": "function_call_output", "call_id": "c1", "output": "moved"},
    ],
    "tools": [{"type": "function", "name": "act", "parameters": SCHEMA}],
    "temperature": 0.5,
}
ALL = [(chat, CHAT), (messages, MESSAGES), (responses, RESPONSES)]


@pytest.mark.parametrize(("dialect", "body"), ALL)
def test_a_conversation_reads_the_same_in_each_dialect(
    dialect: Dialect, body: dict[str, Any]
) -> None:
    request = dialect.read(body)
    assert request.messages == CONVERSATION
    assert request.max_tokens == 9
    assert request.stops == (() if dialect is responses else ("END",))
    assert request.ignored == ("temperature",)
    [tool] = request.tools
    assert tool.schema()["function"] == {"name": "act", "description": "", "parameters": SCHEMA}
    assert not dialect.read({**body, "tool_choice": "none"}).tools


@pytest.mark.parametrize(
    ("dialect", "body", "change"),
    [
        *((dialect, body, {"tools": [{}]}) for dialect, body in ALL),
        *((dialect, body, {"tools": "act"}) for dialect, body in ALL),
        (chat, CHAT, {"messages": []}),
        (chat, CHAT, {"n": 2}),
        (chat, CHAT, {"response_format": {"type": "json_object"}}),
        (chat, CHAT, {"max_completion_tokens": 0}),
        (chat, CHAT, {"stop": [1]}),
        (chat, CHAT, {"messages": [{"role": "robot", "content": ""}]}),
        (chat, CHAT, {"messages": [{"role": "user", "content": [{"type": "image_url"}]}]}),
        (messages, MESSAGES, {"messages": [{"role": "user", "content": [{"type": "image"}]}]}),
        (responses, RESPONSES, {"previous_response_id": "resp_1"}),
        (responses, RESPONSES, {"input": [{"type": "item_reference", "id": "1"}]}),
        (responses, RESPONSES, {"tools": [{"type": "web_search"}]}),
    ],
)
def test_what_cannot_be_answered_is_refused(
    dialect: Dialect, body: dict[str, Any], change: dict[str, Any]
) -> None:
    with pytest.raises(BadRequestError) as refusal:
        dialect.read({**body, **change})
    assert len(str(refusal.value).splitlines()) == 1


ANSWER = ModelAnswer(number=3, at_s=7, text="Left.", calls=(CALL,), prompt_tokens=5, tokens=2)


@pytest.mark.parametrize(("dialect", "body"), ALL)
def test_an_answer_is_the_same_whole_and_streamed(dialect: Dialect, body: dict[str, Any]) -> None:
    whole = json.loads(dialect.write(dialect.read(body), ANSWER).body)
    streamed = dialect.write(dialect.read({**body, "stream": True}), ANSWER)
    assert streamed.kind == "text/event-stream"
    lines = streamed.body.decode().splitlines()
    events = [json.loads(line[6:]) for line in lines if line.startswith("data: {")]
    if dialect is responses:
        assert events[-1]["response"] == whole
        assert [event["sequence_number"] for event in events] == list(range(len(events)))
        assert [item["type"] for item in whole["output"]] == ["message", "function_call"]
    elif dialect is chat:
        [choice] = whole["choices"]
        deltas = [event["choices"][0]["delta"] for event in events]
        assert "".join(delta.get("content") or "" for delta in deltas) == "Left."
        [call] = [call for delta in deltas for call in delta.get("tool_calls", [])]
        assert [{"index": 0, **c} for c in choice["message"]["tool_calls"]] == [call]
        assert choice["finish_reason"] == "tool_calls"
        assert lines[-2] == "data: [DONE]"
    else:
        blocks = [event["content_block"] for event in events if "content_block" in event]
        assert [block["type"] for block in blocks] == [b["type"] for b in whole["content"]]
        assert whole["content"][1]["input"] == {"action": "L"}
        assert whole["stop_reason"] == "tool_use"


SDKS = """
import asyncio
import anthropic, openai
from mcp import Client

chat, claude = openai.OpenAI(), anthropic.Anthropic()
told = [{"role": "user", "content": "Which way?"}]
schema = {"type": "object", "properties": {"action": {"type": "string"}}}
functions = [{"type": "function", "function": {"name": "act", "parameters": schema}}]
choice = chat.chat.completions.create(model="m", messages=told, tools=functions).choices[0]
print(choice.message.content, choice.message.tool_calls[0].function.arguments)
stream = chat.chat.completions.create(
    model="m", messages=told, tools=functions, stream=True, stream_options={"include_usage": True}
)
chunks = list(stream)
print("".join(c.choices[0].delta.content or "" for c in chunks if c.choices), chunks[-1].usage)
functions = [{"type": "function", "name": "act", "parameters": schema, "strict": False}]
whole = chat.responses.create(model="m", input="Which way?", tools=functions)
with chat.responses.stream(model="m", input=told, tools=functions) as stream:
    last = stream.get_final_response()
print(whole.output_text, last.output_text, last.output[1].arguments)
functions = [{"name": "act", "input_schema": schema}]
whole = claude.messages.create(model="m", max_tokens=99, messages=told, tools=functions)
with claude.messages.stream(model="m", max_tokens=99, messages=told, tools=functions) as stream:
    last = stream.get_final_message()
print(whole.content[0].text, last.content[0].text, last.content[1].input)


async def call():
    async with Client(os.environ["TIMEFUL_MCP_URL"]) as client:
        print(sorted(tool.name for tool in (await client.list_tools()).tools))
        result = await client.call_tool("wait", {"seconds": 1})
        print(json.loads(result.content[0].text)["over"], result.is_error)
        print((await client.call_tool("act", {"action": "X"})).is_error)


asyncio.run(call())
"""


@pytest.mark.slow
def test_the_official_clients_read_what_they_are_sent(tmp_path: Any) -> None:
    for name in ("openai", "anthropic", "mcp"):
        pytest.importorskip(name)
    from timeful.models.scripted import ScriptedModel
    from timeful.records.events import Printed
    from timeful.runs.play import play

    call = '<tool_call>{"name": "act", "arguments": {"action": "L"}}</tool_call>'
    model = ScriptedModel(lambda _: f"Left. {call}")
    script = write_program(tmp_path, SDKS, model=model)
    program = type(script)(
        command=tuple(word for word in script.command if word not in ("-I", "-S")), model=model
    )
    printed = [e for e in play(program, "snake").events if isinstance(e, Printed)]
    [text] = [event.text for event in printed if event.stream == "stdout"]
    usage = "CompletionUsage(completion_tokens=6"
    lines = text.splitlines()
    assert lines[0] == 'Left. {"action": "L"}'
    assert lines[1].startswith(f"Left. {usage}")
    assert lines[2] == 'Left. Left. {"action": "L"}'
    assert lines[3] == "Left. Left. {'action': 'L'}"
    assert lines[4:] == ["['act', 'look', 'time', 'wait']", "False False", "True"]
