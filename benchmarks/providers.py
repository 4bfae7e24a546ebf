"""CPU time per token event of each dialect, from the socket to the chunk of a thought.

A server in a process of its own sends an answer of one token per event as fast as it is read. The
target for providers is 200 microseconds. Run the server as `python -m benchmarks.providers serve`.
"""

import asyncio
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from time import process_time

from timeful.core.source import Chunk
from timeful.models.chat import OpenAIModel
from timeful.models.live_answer import LiveModel
from timeful.models.model import make_prompt
from timeful.models.provider import ProviderModel

EVENTS, ROUNDS, TARGET_US = 5000, 3, 200
_OK = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\n\r\n"


def _event(name: str, **fields: object) -> bytes:
    data = json.dumps({"type": name, **fields}).encode()
    return b"event: %s\ndata: %s\n\n" % (name.encode(), data)


def _data(event: object) -> bytes:
    return b"data: " + json.dumps(event).encode() + b"\n\n"


def anthropic() -> Iterator[bytes]:
    usage = {"input_tokens": 9, "output_tokens": 1}
    message = {"id": "m", "type": "message", "role": "assistant", "model": "m", "content": []}
    yield _event("message_start", message={**message, "stop_reason": None, "usage": usage})
    yield _event("content_block_start", index=0, content_block={"type": "text", "text": ""})
    delta = {"type": "text_delta", "text": "word "}
    yield _event("content_block_delta", index=0, delta=delta) * EVENTS
    yield _event("content_block_stop", index=0)
    end = {"stop_reason": "end_turn", "stop_sequence": None}
    yield _event("message_delta", delta=end, usage={"output_tokens": EVENTS})
    yield _event("message_stop")


def google() -> Iterator[bytes]:
    for number in range(1, EVENTS + 1):
        usage = {"promptTokenCount": 9, "candidatesTokenCount": number}
        candidate: dict[str, object] = {"content": {"role": "model", "parts": [{"text": "word "}]}}
        if number == EVENTS:
            candidate["finishReason"] = "STOP"
        yield _data({"candidates": [candidate], "usageMetadata": usage, "responseId": "r"})


def responses() -> Iterator[bytes]:
    response = {"id": "r", "object": "response", "created_at": 1, "model": "m", "output": []}
    settings = {"parallel_tool_calls": True, "tool_choice": "auto", "tools": []}
    begin = {**response, **settings, "status": "in_progress"}
    yield _event("response.created", sequence_number=1, response=begin)
    item = {"id": "i", "type": "message", "role": "assistant", "content": [], "status": "completed"}
    yield _event("response.output_item.added", sequence_number=2, output_index=0, item=item)
    where = {"item_id": "i", "output_index": 0, "content_index": 0, "logprobs": []}
    delta = _event("response.output_text.delta", sequence_number=3, delta="word ", **where)
    yield delta * EVENTS
    usage = {
        "input_tokens": 9,
        "input_tokens_details": {"cached_tokens": 0},
        "output_tokens": EVENTS,
        "output_tokens_details": {"reasoning_tokens": 0},
        "total_tokens": EVENTS + 9,
    }
    end = {**begin, "status": "completed", "usage": usage}
    yield _event("response.completed", sequence_number=4, response=end)


def chat() -> Iterator[bytes]:
    for number in range(1, EVENTS + 1):
        usage = {"prompt_tokens": 9, "completion_tokens": number}
        choice = {"index": 0, "delta": {"content": "word "}, "finish_reason": None}
        yield _data({"id": "c", "choices": [choice], "usage": usage})
    yield _data({"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]})
    yield b"data: [DONE]\n\n"


ANSWERS = {"/v1/chat/": chat, "/v1/messages": anthropic, "/v1/responses": responses, "/": google}


async def serve() -> None:
    """Serve until killed; the port is the first line of the output."""
    answers = {path: b"".join(answer()) for path, answer in ANSWERS.items()}

    async def reply(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = await reader.readuntil(b"\r\n\r\n")
        length = next(x for x in head.lower().split(b"\r\n") if x.startswith(b"content-length:"))
        await reader.readexactly(int(length.partition(b":")[2]))
        path = head.split(b" ")[1].decode()
        writer.write(_OK + next(a for start, a in answers.items() if path.startswith(start)))
        await writer.drain()
        writer.close()

    server = await asyncio.start_server(reply, "127.0.0.1", 0)
    print(server.sockets[0].getsockname()[1], flush=True)
    await server.serve_forever()


@contextmanager
def endpoint() -> Iterator[str]:
    """The address of a server in another process."""
    command = [sys.executable, "-m", "benchmarks.providers", "serve"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server:
        assert server.stdout is not None
        try:
            yield f"http://127.0.0.1:{server.stdout.readline().strip()}"
        finally:
            server.terminate()


def measure(model: LiveModel) -> float:
    """CPU microseconds per event, the least of some rounds."""
    spans = []
    for _ in range(ROUNDS):
        source = model.open(make_prompt("count"), max_tokens=None, seed=0)
        began, count = process_time(), 0
        while isinstance(source.pull(), Chunk):
            count += 1
        spans.append((process_time() - began) / count * 1e6)
        assert count == EVENTS
    return min(spans)


def main() -> None:
    """Print the CPU time of each dialect."""
    os.environ["NO_PROXY"] = "127.0.0.1"
    print(f"{'dialect':<12}{'CPU us/event':>14}{'target':>8}")
    with endpoint() as url:
        models: dict[str, LiveModel] = {"chat": OpenAIModel(model="m", base_url=f"{url}/v1")}
        if find_spec("pydantic_ai") is not None:
            for api, base_url in (
                ("anthropic", url),
                ("google", url),
                ("responses", f"{url}/v1"),
            ):
                models[api] = ProviderModel(model=f"{api}:m", base_url=base_url)
        for name, model in models.items():
            model.warm_up()
            target = "" if name == "chat" else str(TARGET_US)
            print(f"{name:<12}{measure(model):>14.1f}{target:>8}")
            model.close()


if __name__ == "__main__":
    if sys.argv[1:] == ["serve"]:
        asyncio.run(serve())
    else:
        main()
