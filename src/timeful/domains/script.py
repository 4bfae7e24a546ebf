"""The turns of a simulated conversation and their events in the workflows."""

from dataclasses import dataclass

from timeful.dialogues.dialogue import Speaker


@dataclass(frozen=True, slots=True)
class Raised:
    """The customer raises a topic, to which a workflow belongs."""

    topic: int
    workflow: str


@dataclass(frozen=True, slots=True)
class Told:
    """The customer provides a value, for one topic or for the whole conversation (None)."""

    topic: int | None
    slot: str
    value: str


@dataclass(frozen=True, slots=True)
class Done:
    """An action was taken, with its values by slot; topic None if no topic requires it."""

    topic: int | None
    action: str
    values: tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class Again:
    """An action must be repeated because of a wrong value."""

    topic: int
    action: str


@dataclass(frozen=True, slots=True)
class Refused:
    """The customer refuses an action."""

    topic: int
    action: str


@dataclass(frozen=True, slots=True)
class Dropped:
    """The customer drops a topic."""

    topic: int


ScriptEvent = Raised | Told | Done | Again | Refused | Dropped


@dataclass(frozen=True, slots=True)
class Line:
    """A turn and its events."""

    speaker: Speaker
    text: str
    events: tuple[ScriptEvent, ...] = ()


Script = tuple[Line, ...]
"""A conversation; turn t is line t - 1."""
