"""Records without words, for problems that must not appear anywhere in plain text.

The authors of some benchmarks (GPQA among them) ask for that. A redacted record has all numbers,
instants and hashes; of a call it has the tool only, and of prompts and answers nothing.
"""

from collections.abc import Mapping
from typing import Any

from msgspec.structs import replace

from timeful.environments.timed.world import ANSWER
from timeful.records.events import (
    Acted,
    Entry,
    EpisodeFailed,
    Happened,
    Noted,
    Printed,
    ThoughtChunk,
    ThoughtEnded,
    ThoughtStarted,
)
from timeful.records.recorder import Recorder
from timeful.tools import BadCallError, ToolCall, read_call

REDACTED = "(left out: private)"


class RedactingRecorder(Recorder):
    """Writes redacted events into another recorder."""

    def __init__(self, recorder: Recorder) -> None:
        super().__init__()
        self._recorder = recorder

    def write(self, event: Entry) -> None:
        """Append one event, redacted."""
        self._recorder.write(redact(event))


def redact(event: Entry) -> Entry:
    """Remove the words of prompts, answers and calls from an event."""
    match event:
        case ThoughtStarted():
            return replace(event, messages=None)
        case ThoughtChunk():
            return replace(event, text="")
        case ThoughtEnded():
            # The error of an endpoint that refuses a request may repeat the prompt.
            cause = REDACTED if event.state == "failed" else event.cause
            return replace(event, answer="", cause=cause)
        case Acted():
            error = None if event.error is None else REDACTED
            action = _redact_call(event.action) if event.legal else REDACTED
            return replace(event, action=action, error=error)
        case Happened(what="reply"):
            return replace(event, data={**event.data, "text": REDACTED, "id": ""})
        case Noted() | Printed():
            return replace(event, text=REDACTED)
        case EpisodeFailed():
            return replace(event, error=event.error.partition(":")[0], trace=())
    return event


def _redact_call(action: str) -> str:
    """A call without its arguments; nothing of a malformed call."""
    try:
        call = read_call(action)
    except BadCallError:
        return REDACTED
    arguments: Mapping[str, Any] = {"text": REDACTED} if call.name == ANSWER else {}
    return str(ToolCall(name=call.name, arguments=arguments, id=""))
