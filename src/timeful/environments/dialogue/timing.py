"""When turns come: laws of the time of a conversation.

| law | the next turn begins | and is there |
| --- | --- | --- |
| `ByTurn` | when this one has been predicted for, or after a patience | at once |
| `Stamped` | when it did in the data | at once, as a message does; or once it is spoken |
| `Paced` | after this one has been read, and a pause | once it has been spoken or typed |

The first turn is there at the start, or begins then where it takes time to say. The last turn
stays open as if another followed it.
"""

from dataclasses import dataclass
from itertools import pairwise
from math import exp

import numpy as np

from timeful.core.units import NO_TIME, START, Duration, Instant, in_seconds, seconds
from timeful.dialogues.dialogue import Dialogue, Turn
from timeful.errors import SettingsError, check_range

_MINUTE_S = 60.0
_PATIENCE = seconds(600)
_CLOSING = seconds(10)
_PAUSE = seconds(1)
_ACTION = seconds(4)


@dataclass(frozen=True, slots=True, kw_only=True)
class Said:
    """When a turn begins, and when all of it is there to be read."""

    begins: Instant
    arrives: Instant


@dataclass(frozen=True, slots=True, kw_only=True)
class Timetable:
    """When each turn of a dialogue is said, and when it is over; known to nobody in it."""

    turns: tuple[Said, ...]
    end: Instant


@dataclass(frozen=True, slots=True, kw_only=True)
class ByTurn:
    """The conversation waits for a prediction for each turn, but no longer than `patience`.

    Raises:
        SettingsError: If the patience is not above 0.
    """

    patience: Duration = _PATIENCE

    def __post_init__(self) -> None:
        check_range("patience in s", in_seconds(self.patience), above=0)


@dataclass(frozen=True, slots=True, kw_only=True)
class Stamped:
    """Turns begin when they did in the data; the first one at the start.

    Attributes:
        speaking_wpm: Words a minute; a turn is there when it has been spoken, though no later
            than the next begins. None: all of it is there when it begins, as a message is.
        closing: How long the last turn is open.

    Raises:
        SettingsError: If the pace is not above 0, or the span below 0.
    """

    speaking_wpm: float | None = None
    closing: Duration = _CLOSING

    def __post_init__(self) -> None:
        if self.speaking_wpm is not None:
            check_range("speaking_wpm", self.speaking_wpm, above=0)
        check_range("closing in ns", self.closing, least=0)

    def timetable(self, dialogue: Dialogue) -> Timetable:
        """When the turns of a dialogue are said.

        Raises:
            SettingsError: If a turn has no instant, or one before the turn before it.
        """
        at = []
        for turn in dialogue.turns:
            if turn.at is None:
                raise SettingsError(
                    f"dialogue {dialogue.id}: turn {turn.number} has no start_s; without the time "
                    "of every turn, let the conversation go by turn or at a pace"
                )
            at.append(turn.at)
        for (turn, early), late in zip(
            zip(dialogue.turns[1:], at, strict=False), at[1:], strict=True
        ):
            if late < early:
                raise SettingsError(
                    f"dialogue {dialogue.id}: turn {turn.number} has a start_s before the turn "
                    "before it"
                )
        begins = [Instant(instant - at[0]) for instant in at]
        turns, end = [], START
        for turn, (begin, following) in zip(dialogue.turns, pairwise([*begins, None]), strict=True):
            assert begin is not None
            end = begin + self._span(turn)
            arrives = end if following is None else min(end, following)
            turns.append(Said(begins=begin, arrives=arrives))
        return Timetable(turns=tuple(turns), end=end + self.closing)

    def _span(self, turn: Turn) -> Duration:
        if self.speaking_wpm is None:
            return NO_TIME
        return seconds(_MINUTE_S * _words(turn) / self.speaking_wpm)


@dataclass(frozen=True, slots=True, kw_only=True)
class Paced:
    """Turns are spoken or typed, read, and answered after a pause; a system's own take their time.

    Attributes:
        speaking_wpm: Words a minute that are spoken or typed, above 0.
        reading_wpm: Words a minute that are read before an answer begins; 0 where they are heard
            while they are spoken.
        pause: The pause before a turn.
        action: How long an action of the system takes.
        spread: How much each of these spans varies: it is multiplied by exp(spread z - spread²/2)
            with z normal, so that its mean stays. 0 for none.

    Raises:
        SettingsError: If one of them is out of its range.
    """

    speaking_wpm: float = 40.0
    reading_wpm: float = 240.0
    pause: Duration = _PAUSE
    action: Duration = _ACTION
    spread: float = 0.25

    def __post_init__(self) -> None:
        check_range("speaking_wpm", self.speaking_wpm, above=0)
        for name in ("reading_wpm", "pause", "action"):
            check_range(name, getattr(self, name), least=0)
        check_range("spread", self.spread, least=0, most=2)

    def timetable(self, dialogue: Dialogue, rng: np.random.Generator) -> Timetable:
        """When the turns of a dialogue are said."""
        turns: list[Said] = []
        now = START
        for index, turn in enumerate(dialogue.turns):
            if index:
                now = now + self._answer_span(dialogue.turns[index - 1], rng)
            span = (
                in_seconds(self.action)
                if turn.speaker == "action"
                else _MINUTE_S * _words(turn) / self.speaking_wpm
            )
            arrives = now + self._draw_span(span, rng)
            turns.append(Said(begins=now, arrives=arrives))
            now = arrives
        if dialogue.turns:
            now = now + self._answer_span(dialogue.turns[-1], rng)
        return Timetable(turns=tuple(turns), end=now)

    def _answer_span(self, turn: Turn, rng: np.random.Generator) -> Duration:
        """From when a turn is there until the next begins."""
        reading = _MINUTE_S * _words(turn) / self.reading_wpm if self.reading_wpm else 0.0
        return self._draw_span(reading, rng) + self._draw_span(in_seconds(self.pause), rng)

    def _draw_span(self, span_s: float, rng: np.random.Generator) -> Duration:
        # Drawn also where nothing varies, so that what one span is never shifts the others.
        factor = exp(self.spread * rng.standard_normal() - self.spread**2 / 2)
        return seconds(span_s * factor)


Timing = ByTurn | Stamped | Paced
"""A law of the time of a conversation."""


def _words(turn: Turn) -> int:
    return len(turn.text.split())
