"""What a run of a program may use, and what is kept of its output."""

from dataclasses import dataclass

from timeful.errors import SettingsError


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkLimits:
    """What one run of a program may use, with all processes it starts; each above 0.

    Attributes:
        wall_s: Seconds of wall time. When they are over everything is killed.
        memory_bytes: Memory of all processes together; also what one may ask for.
        processes: Processes and threads.
        file_bytes: The size of a file, those that are read back included.
        disk_bytes: All files of the workspace together.
        output_bytes: How much of what is printed is kept: its beginning and its end.
    """

    wall_s: float = 60.0
    memory_bytes: int = 4 << 30
    processes: int = 64
    file_bytes: int = 200 << 20
    disk_bytes: int = 1 << 30
    output_bytes: int = 64 << 10

    def __post_init__(self) -> None:
        for name in self.__slots__:
            if not 0 < getattr(self, name) < float("inf"):
                raise SettingsError(
                    f"limit {name} must be above 0 and finite, got {getattr(self, name)}"
                )


class Output:
    """The beginning and the end of what is printed."""

    def __init__(self, most: int) -> None:
        self._half = (most + 1) // 2
        self._head, self._tail = bytearray(), bytearray()
        self.total = 0

    def add(self, piece: bytes) -> None:
        """Take what comes next."""
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
