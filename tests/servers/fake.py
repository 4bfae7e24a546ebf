"""An OpenAI-compatible chat server that says exactly what a test tells it to.

    with FakeServer([Say("one "), Say("two")]) as server:
        OpenAIModel(model="fake", base_url=server.base_url)

A script is a list of steps, or a function from the request's body to an iterable of steps. The
server answers every request in a thread of its own and logs it in `server.requests`. Unless a
step does it otherwise, it opens the stream with the first thing to say, and ends it with a
finish reason, the usage if it was asked for, and `[DONE]`.
"""

import json
import select
import socket
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Self

Body = dict[str, Any]


@dataclass(frozen=True)
class Say:
    """A delta of the answer; `tokens` is the running total, sent along as usage."""

    text: str
    tokens: int | None = None


@dataclass(frozen=True)
class Think:
    """A delta of the reasoning, under the given names; `tokens` as of `Say`."""

    text: str
    names: tuple[str, ...] = ("reasoning_content",)
    tokens: int | None = None


@dataclass(frozen=True)
class Call:
    """Fragments of calls of tools in one delta; what is None is left out of its fragment."""

    name: str | None = None
    arguments: object = None
    id: str | None = None
    index: int | None = 0
    more: tuple["Call", ...] = ()
    tokens: int | None = None

    def wire(self) -> Body:
        function = {"name": self.name, "arguments": self.arguments}
        said = {name: value for name, value in function.items() if value is not None}
        piece = {"index": self.index, "id": self.id, "type": "function", "function": said}
        return {name: value for name, value in piece.items() if value is not None}


@dataclass(frozen=True)
class Usage:
    """The counts to report at the end, instead of counting deltas; None sends no usage.

    The total is left out if it is None, and so are the details.
    """

    completion: int | None
    prompt: int = 7
    reasoning: int | None = None
    cached: int | None = None
    total: int | None = None

    def wire(self, sent: int) -> Body:
        assert self.completion is not None
        counts: Body = {
            "prompt_tokens": self.prompt,
            "completion_tokens": sent if self.completion < 0 else self.completion,
        }
        if self.total is not None:
            counts["total_tokens"] = self.total
        if self.reasoning is not None:
            counts["completion_tokens_details"] = {"reasoning_tokens": self.reasoning}
        if self.cached is not None:
            counts["prompt_tokens_details"] = {"cached_tokens": self.cached}
        return counts


@dataclass(frozen=True)
class Finish:
    """The finish reason, instead of `stop`; None leaves it out."""

    reason: str | None


@dataclass(frozen=True)
class Wait:
    """Be silent for a few milliseconds, or less if the client hangs up."""

    ms: float


@dataclass(frozen=True)
class Start:
    """Send the headers now, before there is anything to say; with these in addition."""

    headers: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Hang:
    """Say nothing more until the client hangs up; send `keep_alive` comments, if any."""

    keep_alive: bool = False


@dataclass(frozen=True)
class Status:
    """Answer with a status and a JSON error instead of a stream; the script ends here.

    `body` is the JSON in place of the usual error.
    """

    code: int
    message: str = "scripted"
    headers: Mapping[str, str] = field(default_factory=dict)
    error_code: str | None = None
    body: object = None


@dataclass(frozen=True)
class Raw:
    """Send these bytes as part of the stream, whatever they are."""

    data: bytes


@dataclass(frozen=True)
class Die:
    """Cut the connection; `politely` ends the response as if all had been said."""

    politely: bool = False


Step = Say | Think | Call | Usage | Finish | Wait | Start | Hang | Status | Raw | Die
Script = Iterable[Step] | Callable[[Body], Iterable[Step]]


_PART = 1 << 16


class _ClientGoneError(Exception):
    pass


class Request:
    """A request as the server saw it.

    Attributes:
        body: The JSON that was sent.
        headers: Header fields by lower-case name.
        sent: How many deltas were sent so far.
        hung_up: Set when the client closed the connection before the answer was over.
        stalled: Set when the client did not read for `stall_s`; the answer then ends.
        over: Set when the server is done with it, one way or another.
    """

    def __init__(self, body: Body, headers: Mapping[str, str]) -> None:
        self.body = body
        self.headers = {name.lower(): value for name, value in headers.items()}
        self.sent = 0
        self.hung_up = threading.Event()
        self.stalled = threading.Event()
        self.over = threading.Event()


def _is_probe(body: Body) -> bool:
    messages = body.get("messages") or [{}]
    return bool(messages[-1].get("content") == "Reply with one word: ready")


class FakeServer:
    """Serves on a free loopback port from `with` to the end of its block.

    Args:
        script: What to answer, the same to every request unless it is a function.
        stall_s: How long a write may block before the request counts as stalled.
        dialect: The format of the answers.
        answers_probes: Whether the probes before a run are answered apart, and not logged.
    """

    def __init__(
        self,
        script: Script,
        *,
        stall_s: float = 5.0,
        dialect: "type[Answer] | None" = None,
        answers_probes: bool = False,
    ) -> None:
        self.answers_probes = answers_probes
        self.requests: list[Request] = []
        self.connections = 0
        self._script = script
        self._open: set[socket.socket] = set()
        self._lock = threading.Lock()
        self._server = ThreadingHTTPServer(
            ("127.0.0.1", 0), _handler(self, stall_s, dialect or Answer)
        )
        self._server.daemon_threads = False  # joined by server_close
        self._thread = threading.Thread(
            target=self._server.serve_forever, args=(0.01,), name="fake-server"
        )

    @property
    def address(self) -> str:
        """The server without a path."""
        return f"http://127.0.0.1:{self._server.server_port}"

    @property
    def base_url(self) -> str:
        """Where the API begins."""
        return f"{self.address}/v1"

    @property
    def work(self) -> list[Request]:
        """The requests without the probes before a run."""
        return [r for r in self.requests if not _is_probe(r.body)]

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._thread.join()
        with self._lock:
            for connection in self._open:
                with suppress(OSError):  # the client was quicker
                    connection.shutdown(socket.SHUT_RDWR)
        self._server.server_close()

    def _steps(self, body: Body) -> Iterator[Step]:
        return iter(self._script(body) if callable(self._script) else self._script)

    def _enter(self, connection: socket.socket) -> None:
        with self._lock:
            self.connections += 1
            self._open.add(connection)

    def _leave(self, connection: socket.socket) -> None:
        with self._lock:
            self._open.discard(connection)


def _handler(
    server: FakeServer, stall_s: float, dialect: "type[Answer]"
) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        disable_nagle_algorithm = True
        timeout = None

        def log_message(self, *_: object) -> None:
            pass

        def handle(self) -> None:
            server._enter(self.connection)
            try:
                super().handle()
            except ConnectionError:
                pass
            finally:
                server._leave(self.connection)

        def do_POST(self) -> None:
            length = int(self.headers["Content-Length"])
            request = Request(json.loads(self.rfile.read(length)), dict(self.headers.items()))
            is_ready = server.answers_probes and _is_probe(request.body)
            if not is_ready:
                server.requests.append(request)
            answer = dialect(self, request, stall_s)
            try:
                if self.path.partition("?")[0] == answer.path:
                    steps = iter([Say("ready")]) if is_ready else server._steps(request.body)
                    answer.give(steps)
                else:
                    answer.refuse(Status(404, f"no such path: {self.path}"))
            except (_ClientGoneError, ConnectionError):
                request.hung_up.set()
                self.close_connection = True
            except TimeoutError:
                request.stalled.set()
                self.close_connection = True
            finally:
                request.over.set()

    return Handler


class Answer:
    """The answer to one request, step by step."""

    path = "/v1/chat/completions"

    def __init__(self, handler: BaseHTTPRequestHandler, request: Request, stall_s: float) -> None:
        self._handler = handler
        self._request = request
        self._stall_s = stall_s
        self._has_started = False
        self._is_over = False
        self._usage = Usage(completion=-1)
        self._finish: str | None = "stop"
        self._headers: Mapping[str, str] = {}

    def give(self, steps: Iterator[Step]) -> None:
        for step in steps:
            self._do(step)
            if self._is_over:
                return
        self._end()

    def refuse(self, status: Status) -> None:
        error = {"message": status.message, "type": "fake", "code": status.error_code}
        self._refuse(status, {"error": error} if status.body is None else status.body)

    def _refuse(self, status: Status, body: object) -> None:
        data = json.dumps(body).encode()
        self._handler.send_response(status.code)
        for name, value in status.headers.items():
            self._handler.send_header(name, value)
        self._handler.send_header("Content-Type", "application/json")
        self._handler.send_header("Content-Length", str(len(data)))
        self._handler.end_headers()
        self._handler.wfile.write(data)
        self._is_over = True

    def _do(self, step: Step) -> None:  # noqa: C901 - one line for each kind of step
        match step:
            case Say(text, tokens):
                self._delta({"content": text}, tokens)
            case Think(text, names, tokens):
                self._delta(dict.fromkeys(names, text), tokens)
            case Call(more=more, tokens=tokens):
                self._delta({"tool_calls": [one.wire() for one in (step, *more)]}, tokens)
            case Usage():
                self._usage = step
            case Finish(reason):
                self._finish = reason
            case Wait(ms):
                self._listen(ms / 1000)
            case Start(headers):
                self._headers = headers
                self._start()
            case Hang(keep_alive):
                self._hang(keep_alive)
            case Status():
                self.refuse(step)
            case Raw(data):
                for start in range(0, len(data), _PART):  # many at once are not copied whole
                    self._write(data[start : start + _PART])
            case Die(politely):
                self._die(politely)

    def _delta(self, delta: Body, tokens: int | None) -> None:
        choice = {"index": 0, "delta": delta, "finish_reason": None}
        usage = None if tokens is None else {"prompt_tokens": 7, "completion_tokens": tokens}
        self._event({"choices": [choice], "usage": usage})
        self._request.sent += 1

    def _end(self) -> None:
        if self._finish is not None:
            choice = {"index": 0, "delta": {}, "finish_reason": self._finish}
            self._event({"choices": [choice], "usage": None})
        options = self._request.body.get("stream_options") or {}
        if options.get("include_usage") and self._usage.completion is not None:
            self._event({"choices": [], "usage": self._usage.wire(self._request.sent)})
        self._write(b"data: [DONE]\n\n")
        self._handler.wfile.write(b"0\r\n\r\n")

    def _start(self) -> None:
        if not self._has_started:
            self._has_started = True
            self._handler.connection.settimeout(self._stall_s)
            self._handler.send_response(200)
            self._handler.send_header("Content-Type", "text/event-stream")
            self._handler.send_header("Transfer-Encoding", "chunked")
            for name, value in self._headers.items():
                self._handler.send_header(name, value)
            self._handler.end_headers()

    def _event(self, event: dict[str, object]) -> None:
        self._write(b"data: " + json.dumps({"id": "fake", **event}).encode() + b"\n\n")

    def _write(self, data: bytes) -> None:
        self._start()
        self._handler.wfile.write(b"%x\r\n%s\r\n" % (len(data), data))

    def _hang(self, keep_alive: bool) -> None:
        while True:
            if keep_alive:
                self._write(b": still here\n\n")
            self._listen(0.002 if keep_alive else None)

    def _listen(self, span_s: float | None) -> None:
        """Wait, and notice if the client hangs up: nothing else makes its side readable."""
        readable, _, _ = select.select([self._handler.connection], [], [], span_s)
        if readable:
            raise _ClientGoneError

    def _die(self, politely: bool) -> None:
        self._start()
        if politely:
            self._handler.wfile.write(b"0\r\n\r\n")
        self._handler.close_connection = True
        self._is_over = True
