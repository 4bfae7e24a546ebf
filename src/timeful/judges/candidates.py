"""Reads a candidate for RULER, the messages of a model, from the record of an episode."""

from collections.abc import Iterable
from itertools import chain
from typing import cast

from timeful.errors import RecordError
from timeful.models.model import Message, Role
from timeful.records.events import Entry, ThoughtChunk, ThoughtEnded, ThoughtStarted


def candidate(events: Iterable[Entry], *, thought: int | None = None) -> tuple[Message, ...]:
    """The messages of a thought and its answer.

    The last thought of a conversation contains all its messages. Several conversations, such as
    those of a proactive agent about actions and questions, follow each other. Reasoning is between
    `<think>` tags, as in ProActor's Figure 23.

    Args:
        events: The record, with full transcripts.
        thought: The only thought, from 1; None is the last of each conversation.

    Raises:
        RecordError: If the thought does not exist or its messages are not in the record.
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
    conversations: dict[int, list[Message]] = {}
    for number in sorted(answers) if thought is None else [thought]:
        if number not in started or number not in answers:
            break
        thinking = f"<think>{reasoning[number]}</think>\n" if number in reasoning else ""
        messages = _messages(started[number])
        # A continued conversation replaces its earlier part.
        conversations = {
            n: earlier
            for n, earlier in conversations.items()
            if messages[: len(earlier) - 1] != earlier[:-1]
        }
        conversations[number] = [*messages, Message("assistant", thinking + answers[number])]
    if not conversations:
        raise RecordError(f"there is no thought {thought or ''} that ended in this record")
    return tuple(chain.from_iterable(conversations.values()))


def _messages(started: ThoughtStarted) -> list[Message]:
    if started.messages is None:
        raise RecordError(
            f"the messages of thought {started.thought} were not kept; play it with full "
            "transcripts"
        )
    return [Message(cast(Role, role), text) for role, text in started.messages]
