"""Settings of a server; imports nothing heavy."""

from dataclasses import dataclass, field
from ipaddress import ip_address
from pathlib import Path

from timeful.errors import SettingsError, check_known
from timeful.models.local.checkpoint import DTYPES, check, require

_NEEDED = ("torch", "transformers", "starlette", "uvicorn")


@dataclass(frozen=True, slots=True, kw_only=True)
class Serving:
    """The checkpoint to serve, and its address.

    Args:
        path: The folder of the checkpoint.
        host: The address to listen at.
        port: The port; 0 picks a free one.
        device: The device, as torch names it.
        dtype: One of `DTYPES`.
        threads: The number of threads of torch, 1 or more.
        api_key: The key that clients must send; "" for none.

    Raises:
        SettingsError: If a setting cannot work, an extra or part of the checkpoint is missing.
    """

    path: Path
    host: str = "127.0.0.1"
    port: int = 8000
    device: str = "cpu"
    dtype: str = "float32"
    threads: int = 1
    api_key: str = field(default="", repr=False)

    def __post_init__(self) -> None:
        require("serving", _NEEDED, extra="serve")
        check_known("type of numbers", self.dtype, DTYPES)
        if not 0 <= self.port <= 65535:
            raise SettingsError(f"a port is 0 to 65535, got {self.port}")
        if self.threads < 1:
            raise SettingsError(f"threads must be 1 or more, got {self.threads}")
        if not (self.api_key or is_loopback(self.host)):
            raise SettingsError(
                f"at {self.host!r} other machines can use the server: set TIMEFUL_API_KEY to a key "
                "that clients must send, or leave out --host"
            )
        check(self.path)


def is_loopback(host: str) -> bool:
    """Whether a name or address is that of this machine for itself alone."""
    try:
        return host == "localhost" or ip_address(host).is_loopback
    except ValueError:
        return False
