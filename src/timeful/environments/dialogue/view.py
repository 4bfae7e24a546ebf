"""What can be seen of a conversation: what has been said so far, and nothing of what is to come."""

from dataclasses import dataclass
from typing import Any

import msgspec

from timeful.core.units import Instant
from timeful.dialogues.dialogue import Turn
from timeful.dialogues.transcript import transcript


@dataclass(frozen=True, slots=True, kw_only=True)
class DialogueView:
    """A conversation as it was when something happened last.

    No reference, no subflow and no scenario is part of it: an agent has to find out.

    Attributes:
        at: When that was.
        turn: How much has happened.
        turns: The turns that are there, with what was done in them; `at` is when each began.
        speaking: Who has begun the next turn; empty if nobody has.
        predicted: Whether a prediction for the latest turn came in time.
        over: Whether the conversation is over.
    """

    at: Instant
    turn: int
    turns: tuple[Turn, ...] = ()
    speaking: str = ""
    predicted: bool = False
    over: bool = False

    @property
    def number(self) -> int:
        """The number of the latest turn; 0 before the first."""
        return self.turns[-1].number if self.turns else 0

    def text(self) -> str:
        """The turns, a line each."""
        speech = f"\n({self.speaking} has begun the next turn)" if self.speaking else ""
        return transcript(self.turns) + speech + ("\n(it is over)" if self.over else "")

    def json_state(self) -> dict[str, Any]:
        """The same as plain JSON values, times in nanoseconds."""
        return {
            "at": self.at,
            "turns": plain(self.turns),
            "speaking": self.speaking,
            "predicted": self.predicted,
            "over": self.over,
        }


def plain(value: object) -> Any:
    """A value as what JSON is decoded to: lists, never tuples."""
    return msgspec.json.decode(msgspec.json.encode(value))
