"""The endpoint of a program: an HTTP server on this machine that hands requests to the timeline.

Requests for thoughts and tools are `Exchange`s, which wait until the timeline takes them. Others,
such as the list of tools, are answered at once and cost nothing.
"""

import hmac
import shutil
import socket
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from contextlib import closing
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from socketserver import TCPServer, ThreadingMixIn
from threading import Condition, Thread
from typing import Any

from timeful.agents.program.dialect import BadRequestError, Reply, error_reply
from timeful.core.clock import monotonic_ns
from timeful.errors import ProgramError

MOST_BYTES = 16 << 20
"""Of the body of a request."""


@dataclass(slots=True, kw_only=True)
class Exchange:
    """A request that takes simulated time, or may.

    Attributes:
        order: What sorts requests that come at one instant.
        content: The request.
        is_late: Whether it came while time moved.
    """

    order: tuple[int, str, str]
    content: Any
    is_late: bool = False
    reply: Future[Reply] = field(default_factory=Future)


Route = Callable[[bytes], Exchange | Reply]
"""Reads the body of a request; raises BadRequestError if it cannot be answered."""


class Door:
    """Requests on their way from the program to the timeline.

    Args:
        routes: What reads the requests, by method and path.
        key: The secret that requests must show.
        settle_s: The real seconds without a request after which a program waits for answers.
        patience_s: The real seconds for which time waits for a request.
        finish: Answers a request after the end of the world.
    """

    def __init__(
        self,
        routes: dict[str, Route],
        *,
        key: str,
        settle_s: float,
        patience_s: float,
        finish: Callable[[Exchange], Reply],
    ) -> None:
        self._routes = routes
        self._key = key.encode()
        self._settle_ns = round(settle_s * 1e9)
        self._patience_ns = round(patience_s * 1e9)
        self._finish = finish
        self._condition = Condition()
        self._waiting: list[Exchange] = []
        self._open: dict[int, Exchange] = {}
        self._active_ns = monotonic_ns()
        self._is_moving = False
        self._is_over = False
        self.has_ended = False
        """Whether the program has ended."""
        self._servers: list[_Server | _SocketServer] = []
        server = _Server(self)
        self.port: int = server.server_address[1]
        """The port of the server at the loopback address."""
        self._start(server)

    @property
    def address(self) -> str:
        """The beginning of all its URLs."""
        return f"http://127.0.0.1:{self.port}"

    def listen(self, path: Path) -> Path:
        """Listen at a socket too, whose folder is removed in the end; return its path."""
        self._start(_SocketServer(self, path))
        return path

    def _start(self, server: "_Server | _SocketServer") -> None:
        self._servers.append(server)
        Thread(target=server.serve_forever, args=(0.05,), daemon=True).start()

    # --- what the timeline uses --------------------------------------------------------------

    def take(self, *, open_count: int, wanted: int, is_wall: bool) -> list[Exchange]:
        """Wait in real time until the program waits for answers, and take its requests.

        Args:
            open_count: The number of requests that are being answered.
            wanted: The number of requests after which no further one is waited for.
            is_wall: Whether time passes meanwhile: then the first request is taken.

        Returns:
            The requests in order; empty if the program waits for open ones, or has ended.

        Raises:
            ProgramError: If no request came for the whole patience.
        """
        with self._condition:
            self._is_moving = False
            while not (self._is_over or self.has_ended):
                quiet_ns = monotonic_ns() - self._active_ns
                count = len(self._waiting)
                is_busy = count > 0 or (open_count > 0 and not is_wall)
                if count >= wanted or (count and is_wall):
                    break
                if is_busy and quiet_ns >= self._settle_ns:
                    break
                if quiet_ns >= self._patience_ns and not open_count:
                    span_s = self._patience_ns / 1e9
                    raise ProgramError(f"the program sent no request for {span_s:g} s")
                left_ns = (self._settle_ns if is_busy else self._patience_ns) - quiet_ns
                self._condition.wait(None if open_count and not is_busy else left_ns / 1e9)
            for exchange in self._waiting[wanted:]:  # more than it may send at once
                exchange.is_late = not is_wall
            exchanges = sorted(self._waiting, key=lambda exchange: exchange.order)
            self._waiting.clear()
            self._is_moving = not is_wall
            self._open |= {id(exchange): exchange for exchange in exchanges}
            return exchanges

    def answer(self, exchange: Exchange, reply: Reply) -> None:
        """Answer a request; the program may compute from now on."""
        with self._condition:
            self._open.pop(id(exchange), None)
            self._is_moving = False
            self._active_ns = monotonic_ns()
        exchange.reply.set_result(reply)

    def stop(self) -> None:
        """Answer all requests, open and later ones, by `finish`."""
        with self._condition:
            self._is_over = True
            exchanges = [*self._open.values(), *self._waiting]
            self._open.clear()
            self._waiting.clear()
            self._condition.notify_all()
        for exchange in exchanges:
            exchange.reply.set_result(self._finish(exchange))

    def end(self) -> None:
        """Take no more requests, since the program has ended."""
        with self._condition:
            self.has_ended = True
            self._condition.notify_all()

    def close(self) -> None:
        """Close the servers."""
        for server in self._servers:
            server.shutdown()
            server.server_close()

    # --- what the server uses ----------------------------------------------------------------

    def handle(self, method: str, path: str, keys: Sequence[str], data: bytes) -> Reply:
        """Answer a request, in a thread of the server."""
        path = path.partition("?")[0]
        route = self._routes.get(f"{method} {path}")
        own_path = path.encode().endswith(b"/" + self._key)
        if not own_path and not any(hmac.compare_digest(k.encode(), self._key) for k in keys):
            return error_reply("the API key is missing or wrong", 401)
        if route is None:
            known = ", ".join(name for name in self._routes if not name.endswith("/mcp"))
            return error_reply(f"{method} {path} does not exist; there are {known}", 404)
        try:
            exchange = route(data)
        except BadRequestError as error:
            exchange = error_reply(str(error), error.status)
        if isinstance(exchange, Exchange):
            self._put(exchange)
            return exchange.reply.result()
        with self._condition:
            self._active_ns = monotonic_ns()
        return exchange

    def _put(self, exchange: Exchange) -> None:
        with self._condition:
            self._active_ns = monotonic_ns()
            if not self._is_over:
                exchange.is_late = self._is_moving
                self._waiting.append(exchange)
                self._condition.notify_all()
                return
        exchange.reply.set_result(self._finish(exchange))


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    block_on_close = False
    request_queue_size = 128

    def __init__(self, door: Door) -> None:
        self.door = door
        super().__init__(("127.0.0.1", 0), _Handler)

    def handle_error(self, *_: object) -> None:
        """Say nothing: a program may close its connections at any time."""


class _SocketServer(ThreadingMixIn, TCPServer):
    address_family = getattr(socket, "AF_UNIX", socket.AF_INET)  # Windows has none
    daemon_threads = True
    block_on_close = False
    request_queue_size = 128

    def __init__(self, door: Door, path: Path) -> None:
        self.door = door
        self._path = path
        super().__init__(str(path), _SocketHandler)  # type: ignore[arg-type]

    def handle_error(self, *_: object) -> None:
        """Say nothing: a program may close its connections at any time."""

    def server_close(self) -> None:
        """Close the socket and remove its folder."""
        super().server_close()
        shutil.rmtree(self._path.parent, ignore_errors=True)


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    wbufsize = -1  # head and body in one packet
    server: "_Server | _SocketServer"

    def do_GET(self) -> None:
        self._reply()

    def do_POST(self) -> None:
        self._reply()

    def do_DELETE(self) -> None:
        self._reply()

    def log_message(self, *_: object) -> None:
        """Log nothing."""

    def _reply(self) -> None:
        length = self.headers.get("content-length") or "0"
        is_valid = length.isdecimal() and int(length[:12]) <= MOST_BYTES
        if is_valid and "transfer-encoding" not in self.headers:
            data = self.rfile.read(int(length))
            bearer = self.headers.get("authorization", "").rpartition(" ")[2]
            keys = (bearer, self.headers.get("x-api-key", ""))
            reply = self.server.door.handle(self.command, self.path, keys, data)
        else:
            reply = error_reply(f"a body needs a length of at most {MOST_BYTES} bytes", 413)
            self.close_connection = True
        self.send_response(reply.status)
        self.send_header("content-type", reply.kind)
        if reply.pieces is None:
            self.send_header("content-length", str(len(reply.body)))
            self.end_headers()
            self.wfile.write(reply.body)
            return
        self.send_header("transfer-encoding", "chunked")
        self.end_headers()
        with closing(reply.pieces):  # a program that hangs up ends them
            for piece in reply.pieces:
                self.wfile.write(b"%x\r\n%b\r\n" % (len(piece), piece))
                self.wfile.flush()
        self.wfile.write(b"0\r\n\r\n")


class _SocketHandler(_Handler):
    disable_nagle_algorithm = False  # a socket of a file system has no packets
