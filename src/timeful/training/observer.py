"""The observer of a training: it is told of progress and warnings, and may stop the training."""

from typing import Protocol


class TrainingObserver(Protocol):
    """Watches a training."""

    def advance(self, done: int, total: int) -> None:
        """Note after each update how many of all updates are done."""
        ...

    def report(self, metrics: str) -> None:
        """Note the metrics of the last update, in a few words."""
        ...

    def warn(self, text: str) -> None:
        """Note a warning, such as an alarm that rings for the first time."""
        ...

    def should_stop(self) -> bool:
        """Whether to stop; asked before the first update and after each."""
        ...


class NullObserver:
    """Ignores everything, and never stops a training."""

    def advance(self, done: int, total: int) -> None:
        """Ignore it."""

    def report(self, metrics: str) -> None:
        """Ignore it."""

    def warn(self, text: str) -> None:
        """Ignore it."""

    def should_stop(self) -> bool:
        """Never."""
        return False
