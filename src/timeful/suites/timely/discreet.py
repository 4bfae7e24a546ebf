"""A record without words, for problems that must not be shown anywhere in plain text.

The makers of some benchmarks (GPQA among them) ask for that. Numbers, instants and hashes are
all there; of what was said nothing is, and of a call only which tool it was for.
"""

from collections.abc import Mapping
from typing import Any

from msgspec.structs import replace

from timeful.environments.timed.world import ANSWER
from timeful.records.events import (
    Acted,
    EpisodeFailed,
    Event,
    Happened,
    Noted,
    ThoughtChunk,
    ThoughtEnded,
    ThoughtStarted,
)
from timeful.records.recorder import Recorder
from timeful.tools import BadCallError, ToolCall, read_call

LEFT_OUT = "(left out: private)"


class DiscreetRecorder(Recorder):
    """Writes into another recorder, without words."""

    def __init__(self, outer: Recorder) -> None:
        super().__init__()
        self._outer = outer

    def write(self, event: Event) -> None:
        """Append one event, without its words."""
        self._outer.write(without_words(event))


def without_words(event: Event) -> Event:
    """An event of which nobody can tell what was asked or said."""
    match event:
        case ThoughtStarted():
            return replace(event, messages=None)
        case ThoughtChunk():
            return replace(event, text="")
        case ThoughtEnded():
            # An endpoint that refuses a request may repeat what it was asked.
            cause = LEFT_OUT if event.state == "failed" else event.cause
            return replace(event, answer="", cause=cause)
        case Acted():
            error = None if event.error is None else LEFT_OUT
            action = _bare(event.action) if event.legal else LEFT_OUT
            return replace(event, action=action, error=error)
        case Happened(what="reply"):
            return replace(event, data={**event.data, "text": LEFT_OUT, "id": ""})
        case Noted():
            return replace(event, text=LEFT_OUT)
        case EpisodeFailed():
            return replace(event, error=event.error.partition(":")[0])
    return event


def _bare(action: str) -> str:
    """A call without its arguments; of one that cannot be read, nothing."""
    try:
        call = read_call(action)
    except BadCallError:
        return LEFT_OUT
    arguments: Mapping[str, Any] = {"text": LEFT_OUT} if call.name == ANSWER else {}
    return ToolCall(name=call.name, arguments=arguments, id="").text()
