"""A candidate for RULER from the record of an episode: what its model was asked, and said."""

from collections.abc import Iterable
from typing import cast

from timeful.errors import RecordError
from timeful.models.model import Message, Role
from timeful.records.events import Event, ThoughtChunk, ThoughtEnded, ThoughtStarted


def candidate(events: Iterable[Event], *, thought: int | None = None) -> tuple[Message, ...]:
    """The messages of a thought and, after them, all that it said.

    An agent that talks to its model in one conversation, as the tool user does, has all of it in
    its last thought. Reasoning stands between `<think>` tags, as in ProActor's Figure 23.

    Args:
        events: The record, with full transcripts.
        thought: Which thought, from 1; None for the last.

    Raises:
        RecordError: If there is no such thought, or its messages were not kept.
    """
    started: dict[int, ThoughtStarted] = {}
    reasoning: dict[int, str] = {}
    answers: dict[int, str] = {}
    for event in events:
        match event:
            case ThoughtStarted():
                started[event.thought] = event
            case ThoughtChunk(channel="reasoning"):
                reasoning[event.thought] = reasoning.get(event.thought, "") + event.text
            case ThoughtEnded():
                answers[event.thought] = event.answer
            case _:
                pass
    number = max(answers, default=0) if thought is None else thought
    if number not in started or number not in answers:
        raise RecordError(f"there is no thought {number or ''} that ended in this record")
    messages = started[number].messages
    if messages is None:
        raise RecordError(
            f"the messages of thought {number} were not kept; play it with full transcripts"
        )
    thinking = f"<think>{reasoning[number]}</think>\n" if number in reasoning else ""
    asked = (Message(cast(Role, role), text) for role, text in messages)
    return (*asked, Message("assistant", thinking + answers[number]))
