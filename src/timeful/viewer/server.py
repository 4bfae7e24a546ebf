"""The server of the page: it reads runs and writes nothing."""

import asyncio
import gzip
import secrets
import socket
from collections.abc import AsyncIterator, Callable
from typing import Any

import msgspec
import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response, StreamingResponse
from starlette.routing import Route
from starlette.types import ASGIApp

from timeful.errors import RecordError, SettingsError, TimefulError
from timeful.viewer.catalogue import Runs
from timeful.viewer.guard import Address, Guard
from timeful.viewer.page import load_code, render_page

LARGEST_PART = 16 << 20
"""The most bytes of an answer, compressed."""

CHECK_S = 0.5
"""The time between two looks for changes."""

_LEVEL = 3
_SMALL = 1_000
_PORTS = 100
_QUIET_CHECKS = 30


def make_app(
    runs: Runs, address: Address, token: str = "", *, is_stopping: Callable[[], bool] = bool
) -> ASGIApp:
    """The application: the page, its data, and changes of runs.

    Args:
        runs: What it shows.
        address: Where it listens.
        token: What requests must know; "" for none.
        is_stopping: Whether the server ends, and with it the lines of changes.
    """
    code = load_code()
    page = render_page(code, store="server")

    def catalogue(request: Request) -> Response:
        return _json(request, msgspec.json.encode(runs.catalogue()))

    def rows(request: Request) -> Response:
        number = request.path_params["run"]
        return _json(request, msgspec.json.encode(runs.rows(number)))

    def part(request: Request) -> Response:
        path = request.path_params
        return _json(request, runs.part(path["run"], path["episode"], path["part"]))

    async def changes(_: Request) -> Response:
        return StreamingResponse(_changes(runs, is_stopping), media_type="text/event-stream")

    def serve(text: str, kind: str) -> Callable[[Request], Response]:
        return lambda request: _compressed(request, text.encode(), kind)

    app = Starlette(
        routes=[
            Route("/", serve(page, "text/html")),
            Route("/page.js", serve(code.script, "text/javascript")),
            Route("/page.css", serve(code.style, "text/css")),
            Route("/api/runs", catalogue),
            Route("/api/runs/{run:int}/rows", rows),
            Route("/api/runs/{run:int}/e/{episode:int}/{part}", part),
            Route("/api/changes", changes),
            Route("/health", lambda request: _json(request, b'{"status":"ok"}')),
        ],
        exception_handlers={TimefulError: _say, OSError: _say},
    )
    return Guard(app, address, token)


def _say(_: Request, error: Exception) -> Response:
    """An error of a file or a number, as one line."""
    status = 404 if isinstance(error, RecordError) else 500
    text = error.strerror if isinstance(error, OSError) else None
    return PlainTextResponse(text or str(error), status)


def _json(request: Request, value: bytes) -> Response:
    return _compressed(request, value, "application/json")


def _compressed(request: Request, value: bytes, kind: str) -> Response:
    """An answer, compressed where the client reads that.

    Raises:
        RecordError: If it is too large.
    """
    headers = {"vary": "accept-encoding"}
    if "gzip" in request.headers.get("accept-encoding", "") and len(value) > _SMALL:
        value = gzip.compress(value, _LEVEL, mtime=0)
        headers["content-encoding"] = "gzip"
    if len(value) > LARGEST_PART:
        raise RecordError(
            f"this part of the episode has more than {LARGEST_PART >> 20} MB; `timeful show` "
            "prints the record"
        )
    return Response(value, media_type=kind, headers=headers)


async def _changes(runs: Runs, is_stopping: Callable[[], bool] = bool) -> AsyncIterator[str]:
    """A line at the start and whenever a run grew; a comment in between keeps the line open."""
    last: Any = None
    quiet = 0
    while not is_stopping():
        signature = await asyncio.to_thread(runs.signature)
        if signature != last:
            last, quiet = signature, 0
            yield "event: change\ndata: {}\n\n"
        elif (quiet := quiet + 1) % _QUIET_CHECKS == 0:
            yield ": still here\n\n"
        await asyncio.sleep(CHECK_S)  # noqa: TID251 - a server of real time, off the timeline


def bind(host: str, port: int) -> tuple[socket.socket, Address]:
    """Bind a port, or the next one that is free.

    Raises:
        SettingsError: If the host is not one of this machine, or no port is free.
    """
    try:
        family, kind, proto, _, where = socket.getaddrinfo(
            host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )[0]
    except OSError as error:
        raise SettingsError(f"there is no address {host!r} here: {error}") from None
    last = ""
    for number in range(port, min(port + _PORTS, 65536)):
        bound = socket.socket(family, kind, proto)
        try:
            bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            bound.bind((where[0], number))
            bound.listen(128)
        except OSError as error:
            bound.close()
            last = error.strerror or str(error)
            continue
        return bound, Address(host=host, port=bound.getsockname()[1])
    raise SettingsError(f"no port from {port} on can be taken at {host} ({last}); give --port")


def make_token() -> str:
    """A token that cannot be guessed."""
    return secrets.token_urlsafe(24)


def serve(runs: Runs, bound: socket.socket, address: Address, token: str) -> None:
    """Serve until the process is interrupted."""
    app = make_app(runs, address, token, is_stopping=lambda: server.should_exit)
    config = uvicorn.Config(
        app,
        log_config=None,
        access_log=False,
        server_header=False,
        lifespan="off",
        ws="none",
        timeout_graceful_shutdown=2,
    )
    server = uvicorn.Server(config)
    server.run(sockets=[bound])
