"""One message of a stream, of clients that have no message of their own to read."""

from collections.abc import Sequence
from dataclasses import dataclass

from timeful.models.counting import Report
from timeful.models.sse import CallPiece


@dataclass(slots=True)
class PlainEvent:
    """One message of a stream; see `answer_stream.AnswerEvent`."""

    reasoning: str = ""
    content: str = ""
    calls: Sequence[CallPiece] = ()
    report: Report | None = None
    finish_reason: str | None = None

    @property
    def text(self) -> str:
        """All new text that costs tokens: reasoning, answer, names and arguments of calls."""
        if not self.calls:
            return self.reasoning or self.content
        return "".join(call.name + call.arguments for call in self.calls)

    @property
    def has_news(self) -> bool:
        """Whether there is anything but counts."""
        return bool(self.reasoning or self.content or self.calls or self.finish_reason)
