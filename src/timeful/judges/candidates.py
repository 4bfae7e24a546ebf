"""A candidate for RULER from the record of an episode: what its model was asked, and said."""

from collections.abc import Iterable
from typing import cast

from timeful.errors import RecordError
from timeful.models.model import Message, Role
from timeful.records.events import Event, ThoughtChunk, ThoughtEnded, ThoughtStarted


def candidate(events: Iterable[Event], *, thought: int | None = None) -> tuple[Message, ...]:
    """What a model was asked and said: the messages of a thought and, after them, its answer.

    An agent that talks to its model in one conversation, as the tool user does, has all of it in
    its last thought. Of several conversations, such as that on actions and that on questions of
    a proactive agent, each follows the one before it. Reasoning stands between `<think>` tags, as
    in ProActor's Figure 23.

    Args:
        events: The record, with full transcripts.
        thought: Which thought alone, from 1; None for the last of each conversation.

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
    said: dict[int, list[Message]] = {}
    for number in sorted(answers) if thought is None else [thought]:
        if number not in started or number not in answers:
            break
        thinking = f"<think>{reasoning[number]}</think>\n" if number in reasoning else ""
        asked = _asked(started[number])
        # What goes on takes the place of what it goes on from.
        said = {n: one for n, one in said.items() if asked[: len(one) - 1] != one[:-1]}
        said[number] = [*asked, Message("assistant", thinking + answers[number])]
    if not said:
        raise RecordError(f"there is no thought {thought or ''} that ended in this record")
    return tuple(message for one in said.values() for message in one)


def _asked(started: ThoughtStarted) -> list[Message]:
    if started.messages is None:
        raise RecordError(
            f"the messages of thought {started.thought} were not kept; play it with full "
            "transcripts"
        )
    return [Message(cast(Role, role), text) for role, text in started.messages]
