"""What happens in a conversation, turn by turn: words, and what they mean for the workflows."""

from dataclasses import dataclass

from timeful.dialogues.dialogue import Speaker


@dataclass(frozen=True, slots=True)
class Raised:
    """The customer raises a topic: the wish that a workflow is for."""

    topic: int
    workflow: str


@dataclass(frozen=True, slots=True)
class Told:
    """A value of a slot, for one topic or, where it lasts, for the conversation (None)."""

    topic: int | None
    slot: str
    value: str


@dataclass(frozen=True, slots=True)
class Done:
    """An action was taken, with its values by slot; of no topic (None) where nobody needs it."""

    topic: int | None
    action: str
    values: tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class Again:
    """An action must be repeated, as a value was wrong."""

    topic: int
    action: str


@dataclass(frozen=True, slots=True)
class Refused:
    """The customer does not want an action."""

    topic: int
    action: str


@dataclass(frozen=True, slots=True)
class Dropped:
    """The customer does not want to go on with a topic."""

    topic: int


Event = Raised | Told | Done | Again | Refused | Dropped


@dataclass(frozen=True, slots=True)
class Line:
    """A turn, and what it means."""

    speaker: Speaker
    text: str
    events: tuple[Event, ...] = ()


Script = tuple[Line, ...]
"""A conversation; turn t is line t - 1."""
