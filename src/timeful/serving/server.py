"""The server: it binds its port, loads the checkpoint, and answers until it is stopped."""

import asyncio
import socket
from collections.abc import Callable

import uvicorn

from timeful.core.clock import unix_seconds
from timeful.errors import SettingsError
from timeful.models.local.checkpoint import load
from timeful.serving.app import App
from timeful.serving.settings import Serving

_GRACE_S = 5
_KEEP_ALIVE_S = 60
"""Longer than clients keep a connection, so that it is not closed while one is being used."""


def serve(settings: Serving, *, announce: Callable[[str, str], None]) -> None:
    """Serve a checkpoint until the process is interrupted; waiting requests then fail.

    Args:
        settings: The checkpoint and the address.
        announce: Called with the model's name and its URL once clients may connect.

    Raises:
        SettingsError: If the port is taken, or the checkpoint cannot be loaded.
    """
    with _listening(settings.host, settings.port) as port:
        checkpoint = load(
            settings.path.resolve(),
            device=settings.device,
            dtype=settings.dtype,
            threads=settings.threads,
        )
        app = App(checkpoint, created=unix_seconds(), api_key=settings.api_key)
        host, number = port.getsockname()[:2]
        where = f"[{host}]" if ":" in host else host
        port.listen(2048)  # from now on clients wait instead of being refused
        announce(checkpoint.name, f"http://{where}:{number}/v1")
        Server(app).run(sockets=[port])


class Server(uvicorn.Server):
    """Stops the sampler first, so that no request delays the shutdown."""

    def __init__(self, app: App) -> None:
        self._app = app
        super().__init__(
            uvicorn.Config(
                app.asgi,
                log_config=None,
                access_log=False,
                server_header=False,
                lifespan="on",
                ws="none",
                timeout_keep_alive=_KEEP_ALIVE_S,
                timeout_graceful_shutdown=_GRACE_S,
            )
        )

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Take no more requests, and end those that are being answered."""
        await asyncio.to_thread(self._app.stop)
        await super().shutdown(sockets)


def _listening(host: str, port: int) -> socket.socket:
    """Bind a port; the socket is a context manager that releases it."""
    try:
        family, kind, proto, _, where = socket.getaddrinfo(
            host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )[0]
        bound = socket.socket(family, kind, proto)
    except OSError as error:
        raise SettingsError(f"there is no address {host!r} here: {error}") from error
    try:
        # A port that a stopped server has just left may be taken again.
        bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        bound.bind(where)
    except OSError as error:
        bound.close()
        raise SettingsError(
            f"port {port} of {host} cannot be taken ({error.strerror}): give another --port, or 0 "
            "for any that is free"
        ) from error
    return bound
