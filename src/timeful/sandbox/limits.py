"""The limits of a run of a program, and its truncated output."""

from dataclasses import dataclass

from timeful.errors import SettingsError


class PositiveLimits:
    """Limits whose fields must be above 0 and finite."""

    __slots__: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        for name in self.__slots__:
            if not 0 < getattr(self, name) < float("inf"):
                raise SettingsError(
                    f"limit {name} must be above 0 and finite, got {getattr(self, name)}"
                )


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkLimits(PositiveLimits):
    """Limits of one run of a program, with all processes it starts; each above 0.

    Attributes:
        wall_s: Seconds of wall time; then all its processes are killed.
        memory_bytes: Memory of all processes together, and of each.
        processes: Processes and threads.
        file_bytes: The size of a file, those that are read back included.
        disk_bytes: All files of the workspace together.
        output_bytes: The printed bytes that are kept: half from each end.
    """

    wall_s: float = 60.0
    memory_bytes: int = 4 << 30
    processes: int = 64
    file_bytes: int = 200 << 20
    disk_bytes: int = 1 << 30
    output_bytes: int = 64 << 10


class Output:
    """The beginning and the end of the printed text."""

    def __init__(self, most: int) -> None:
        self._half = (most + 1) // 2
        self._head, self._tail = bytearray(), bytearray()
        self.total = 0

    def add(self, piece: bytes) -> None:
        """Append printed bytes."""
        self.total += len(piece)
        room = self._half - len(self._head)
        self._head += piece[:room]
        self._tail += piece[room:]
        if len(self._tail) > 4 * self._half:
            del self._tail[: -self._half]

    def text(self) -> str:
        """All of it, or its two ends with a line between them."""
        end = self._tail[-self._half :]
        if omitted := self.total - len(self._head) - len(end):
            between = f"\n[... {omitted} bytes left out ...]\n"
            return self._head.decode(errors="replace") + between + end.decode(errors="replace")
        return (self._head + end).decode(errors="replace")
