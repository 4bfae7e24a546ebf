"""A chat endpoint on the loopback interface whose streams have a pace: 50 tokens/s each.

It does as little as it can, so that the client is what is measured: a chunk is one token of fixed
bytes, and all streams advance by one clock. `GET /totals` tells what it has sent. Run it as
`python -m benchmarks.endpoint PORT`.
"""

import asyncio
import json
import sys
from time import monotonic

TOKENS_PER_S = 50
SLOTS = 20
"""Groups of streams that send in turn, so that not all of them send at one instant."""

_HEADERS = (
    b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"
)


def _chunk(event: object) -> bytes:
    data = event if isinstance(event, bytes) else json.dumps(event).encode()
    data = b"data: " + data + b"\n\n"
    return b"%x\r\n%s\r\n" % (len(data), data)


def _delta(delta: dict[str, str], finish: str | None = None) -> dict[str, object]:
    choice = {"index": 0, "delta": delta, "finish_reason": finish}
    return {"id": "c", "object": "chat.completion.chunk", "model": "paced", "choices": [choice]}


def _end(tokens: int) -> bytes:
    usage = {"prompt_tokens": 9, "completion_tokens": tokens, "total_tokens": tokens + 9}
    last = {**_delta({}), "choices": [], "usage": usage}
    return _chunk(_delta({}, "stop")) + _chunk(last) + _chunk(b"[DONE]") + b"0\r\n\r\n"


def _usage_chunk(tokens: int) -> bytes:
    usage = {"prompt_tokens": 9, "completion_tokens": tokens, "total_tokens": tokens + 9}
    return _chunk({**_delta({"content": "word "}), "usage": usage})


class Totals:
    """What was sent, and when."""

    def __init__(self) -> None:
        self.requests = self.tokens = self.open = self.most_open = 0
        self.first = self.last = 0.0

    def show(self) -> bytes:
        return json.dumps(self.__dict__).encode()


class Connection(asyncio.Protocol):
    """One connection, which serves one request after the other."""

    def __init__(self, server: "Server") -> None:
        self._server = server
        self._received = b""
        self.left = self.tokens = 0
        self.is_streamed = True

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self.transport = transport

    def connection_lost(self, _: Exception | None) -> None:
        self._server.drop(self)

    def data_received(self, data: bytes) -> None:
        self._received += data
        head, mark, body = self._received.partition(b"\r\n\r\n")
        if not mark:
            return
        if head.startswith(b"GET"):
            self._received = b""
            self._whole(self._server.totals.show())
            return
        length = int(head.lower().partition(b"content-length:")[2].split(b"\r\n")[0])
        if len(body) >= length:
            self._received = b""
            self._answer(json.loads(body[:length]))

    def _answer(self, request: dict[str, object]) -> None:
        limit = request.get("max_tokens") or request.get("max_completion_tokens")
        self.tokens = self.left = int(str(limit))
        self.is_streamed = bool(request.get("stream"))
        if self.is_streamed:
            self.transport.write(_HEADERS)
        self._server.begin(self)

    def send(self, totals: Totals) -> bool:
        """Send a token; False at the end of the answer."""
        self.left -= 1
        totals.tokens += 1
        if self.is_streamed:
            self.transport.write(self._server.chunks[self.tokens - self.left])
            if not self.left:
                self.transport.write(_end(self.tokens))
        elif not self.left:
            message = {"role": "assistant", "content": "word " * self.tokens}
            usage = {"prompt_tokens": 9, "completion_tokens": self.tokens, "total_tokens": 9}
            choice = {"index": 0, "message": message, "finish_reason": "stop"}
            whole = {"id": "c", "object": "chat.completion", "created": 0, "model": "paced"}
            self._whole(json.dumps({**whole, "choices": [choice], "usage": usage}).encode())
        return self.left > 0

    def _whole(self, body: bytes) -> None:
        head = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n"
        self.transport.write(head % len(body) + body)


class Server:
    """All streams, in slots that advance one after the other."""

    def __init__(self) -> None:
        self.totals = Totals()
        self.chunks = [_usage_chunk(n) for n in range(5000)]
        self._slots: list[set[Connection]] = [set() for _ in range(SLOTS)]

    def begin(self, connection: Connection) -> None:
        totals = self.totals
        totals.first = totals.first or monotonic()
        totals.requests += 1
        totals.open += 1
        totals.most_open = max(totals.open, totals.most_open)
        min(self._slots, key=len).add(connection)

    def drop(self, connection: Connection) -> None:
        for slot in self._slots:
            if connection in slot:
                slot.remove(connection)
                self.totals.open -= 1

    async def run(self, port: int) -> None:
        loop = asyncio.get_running_loop()
        await loop.create_server(lambda: Connection(self), "127.0.0.1", port, backlog=2048)
        print("ready", flush=True)
        step, due = 1 / TOKENS_PER_S / SLOTS, monotonic()
        turn = 0
        while True:
            due += step
            await asyncio.sleep(max(0.0, due - monotonic()))
            slot = self._slots[turn % SLOTS]
            turn += 1
            for connection in list(slot):
                if not connection.send(self.totals):
                    slot.discard(connection)
                    self.totals.open -= 1
                    self.totals.last = monotonic()


if __name__ == "__main__":
    asyncio.run(Server().run(int(sys.argv[1])))
