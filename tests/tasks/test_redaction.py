"""Promises of a record without words: nothing of an item is left in any event that can hold it."""

import msgspec
import pytest

from timeful.core.units import START
from timeful.records.events import Acted, EpisodeFailed, Happened, Noted, ThoughtEnded
from timeful.tasks.redaction import redact
from timeful.tools import ToolCall

SECRET = "words that must stay where they are"


def ended(state, cause):
    return ThoughtEnded(
        at=START,
        thought=1,
        state=state,
        cause=cause,
        tokens=3,
        finish=None,
        text_sha256="0",
        answer=SECRET,
    )


def acted(call, *, legal):
    error = None if legal else f"unknown tool {SECRET}"
    return Acted(at=START, turn=0, action=call, legal=legal, error=error)


@pytest.mark.parametrize(
    "event",
    [
        ended("completed", None),
        ended("failed", f"the endpoint refused the request: {SECRET}"),
        acted(str(ToolCall(name="get_duration", arguments={}, id=SECRET)), legal=True),
        acted(str(ToolCall(name="answer", arguments={"text": SECRET})), legal=True),
        acted(str(ToolCall(name=SECRET, arguments={SECRET: SECRET})), legal=False),
        acted(SECRET, legal=False),
        Happened(
            at=START,
            number=1,
            what="reply",
            data={"tool": "get_duration", "id": SECRET, "text": SECRET, "took": 0},
            reward=0.0,
            score=0.0,
        ),
        Noted(at=START, topic="call", text=SECRET),
        EpisodeFailed(at=START, boundary="model", error=f"ModelRefusedError: {SECRET}"),
    ],
)
def test_no_word_is_left(event):
    assert SECRET in msgspec.json.encode(event).decode()
    assert SECRET not in msgspec.json.encode(redact(event)).decode()


def test_what_holds_no_word_of_the_item_is_kept():
    kept = redact(ended("cancelled", "deadline"))
    assert (kept.state, kept.cause, kept.tokens, kept.answer) == ("cancelled", "deadline", 3, "")
    call = str(ToolCall(name="get_duration"))
    assert redact(acted(call, legal=True)).action == call
