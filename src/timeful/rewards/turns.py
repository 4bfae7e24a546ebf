"""The reward values of a conversation's turns, from the record of its episode.

The settings of a one-turn rollout name its turn; the other turns have no value.
"""

from collections.abc import Iterable, Mapping, Sequence

from timeful.errors import RecordError
from timeful.metrics.proactor.episodes import Conversed, read_conversation
from timeful.records.events import Acted, Entry, Noted
from timeful.rewards.proactor import LOST, TurnValues, turn_values

UNUSABLE = frozenset(
    ("no-json", "bad-json", "bad-shape", "bad-opportunity", "unknown-status", "unknown-action")
)
"""Notes of agents about an answer that is not, or not completely, usable."""


def read_turns(
    events: Iterable[Entry], *, turn: int | None = None, needs_references: bool = True
) -> dict[int, TurnValues] | None:
    """The reward values of a conversation by turn; None if the episode failed.

    Args:
        events: The record.
        turn: The only turn; None is the turn of a one-turn rollout, else all turns.
        needs_references: Whether references are needed; a judge's score does not need them.

    Raises:
        RecordError: If it is not a complete record of a conversation, lacks the turn, or has ready
            ranges without references: silence would be rewarded at every turn.
    """
    events = list(events)
    read = read_conversation(events)
    if read is None:
        return None
    if not read.turns:
        raise RecordError("the conversation has no turn that could be rewarded")
    has_references = any(scored.references for scored in read.turns)
    if needs_references and read.turns[0].ready_ranges and not has_references:
        raise RecordError(
            "of this conversation only ready ranges are known; rewards need its references"
        )
    episode = read.settings.get("episode")
    if turn is None and isinstance(episode, Mapping):
        turn = episode.get("turn")
    lost_turns = {*read.lost, *_unusable(events, read)}
    values = {
        scored.turn: LOST
        if scored.turn in lost_turns
        else turn_values(scored.turn, scored.predictions, scored.references, scored.ready_ranges)
        for scored in read.turns
        if turn in (None, scored.turn)
    }
    if not values:
        raise RecordError(f"the conversation has no turn {turn}")
    return values


def _unusable(events: Sequence[Entry], read: Conversed) -> set[int]:
    """The turns with an empty set because of an unusable answer.

    The agent sends an empty set then, so that the conversation continues. With the reward of
    silence, a model would learn that meaningless answers are good where no action is due.
    """
    is_noted, marks = False, []
    for event in events:
        if isinstance(event, Noted):
            is_noted = is_noted or event.topic in UNUSABLE
        elif isinstance(event, Acted):
            marks += [is_noted] * event.legal
            is_noted = False
    unusable = {
        message.prediction.turn: is_marked and not message.prediction.opportunities
        for message, is_marked in zip(read.predictions, marks, strict=True)
        if not message.is_late
    }
    return {number for number, is_unusable in unusable.items() if is_unusable}
