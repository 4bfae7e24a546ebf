"""What the turns of a conversation are worth, from the record of its episode alone.

A rollout of one turn is worth what that turn is: its settings name it, and nobody was asked about
the others.
"""

from collections.abc import Iterable, Mapping, Sequence

from timeful.errors import RecordError
from timeful.metrics.proactor.episodes import Conversed, read_conversation
from timeful.records.events import Acted, Event, Noted
from timeful.rewards.proactor import LOST, TurnValues, turn_values

UNUSABLE = frozenset(
    ("no-json", "bad-json", "bad-shape", "bad-opportunity", "unknown-status", "unknown-action")
)
"""What agents note of an answer of which nothing, or not all, could be used."""


def read_turns(
    events: Iterable[Event], *, turn: int | None = None, needs_references: bool = True
) -> dict[int, TurnValues] | None:
    """What the turns of a conversation are worth, by their numbers; None if the episode failed.

    Args:
        events: The record.
        turn: The only one that is asked for; None for that of a rollout of one, else for all.
        needs_references: Whether it matters what was right; to a judge's score alone it does not.

    Raises:
        RecordError: If it is no whole record of a conversation, has no such turn, or of what was
            right only ready ranges are known: then silence would be paid at every turn.
    """
    events = list(events)
    read = read_conversation(events)
    if read is None:
        return None
    if not read.turns:
        raise RecordError("the conversation has no turn that could be rewarded")
    has_references = any(one.references for one in read.turns)
    if needs_references and read.turns[0].ready_ranges and not has_references:
        raise RecordError(
            "of this conversation only ready ranges are known; rewards need its references"
        )
    asked = read.settings.get("episode")
    if turn is None and isinstance(asked, Mapping):
        turn = asked.get("turn")
    lost = {*read.lost, *_unusable(events, read)}
    found = {
        one.turn: LOST
        if one.turn in lost
        else turn_values(one.turn, one.predictions, one.references, one.ready_ranges)
        for one in read.turns
        if turn in (None, one.turn)
    }
    if not found:
        raise RecordError(f"the conversation has no turn {turn}")
    return found


def _unusable(events: Sequence[Event], read: Conversed) -> set[int]:
    """The turns for which an empty set stands, since nothing of the answer could be used.

    An agent says an empty set then, so that the conversation goes on. Paid as silence, it would
    teach that words without sense are as good wherever there is nothing to do.
    """
    noted, marks = False, []
    for event in events:
        if isinstance(event, Noted):
            noted = noted or event.topic in UNUSABLE
        elif isinstance(event, Acted):
            marks += [noted] * event.legal
            noted = False
    stands = {
        sent.prediction.turn: is_marked and not sent.prediction.opportunities
        for sent, is_marked in zip(read.sent, marks, strict=True)
        if not sent.is_late
    }
    return {number for number, is_unusable in stands.items() if is_unusable}
