"""The observer of a training: it is told of progress and warnings, and may stop the training."""


class TrainingObserver:
    """Watches a training. This one ignores everything, and never stops it."""

    def advance(self, done: int, total: int) -> None:
        """Note after each update how many of all updates are done."""

    def report(self, metrics: str) -> None:
        """Note the metrics of the last update, in a few words."""

    def warn(self, text: str) -> None:
        """Note a warning, such as an alarm that rings for the first time."""

    def should_stop(self) -> bool:
        """Whether to stop; asked before the first update and after each."""
        return False
