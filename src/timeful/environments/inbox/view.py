"""What can be seen of the inbox world: the letters that came, and how the main task stands."""

from dataclasses import dataclass
from typing import Any, Literal

from timeful.core.units import Duration, Instant, in_seconds
from timeful.environments.inbox.settings import URGENCIES, Urgency

State = Literal["open", "handled", "late", "expired"]
"""`late`: handled, but done with it after its deadline. `expired`: not handled at all by then."""

Focus = Literal["main", "inbox"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Letter:
    """An email as it lies in the inbox; its body can be read once it is opened.

    `set_aside` is "remind" or "ignore" once that was decided, and empty again when a reminder
    is due. `recommended` is as in `Email`.
    """

    number: int
    urgency: Urgency
    arrived: Instant
    deadline: Instant
    sender: str
    subject: str
    recommended: tuple[tuple[str, float], ...]
    body: str = ""
    opened: bool = False
    set_aside: str = ""
    state: State = "open"

    @property
    def rank(self) -> tuple[int, Instant, int]:
        """Its place in the order of attention: urgency, then deadline."""
        return URGENCIES.index(self.urgency), self.deadline, self.number


@dataclass(frozen=True, slots=True, kw_only=True)
class InboxView:
    """All that the assistant can see, as it was at an instant: that of the latest event.

    `units` holds the progress that each unit of the main task is worth, and `written` how many
    of them are delivered.
    """

    at: Instant
    turn: int
    horizon: Instant
    focus: Focus
    units: tuple[int, ...]
    written: int
    letters: tuple[Letter, ...]

    @property
    def is_written(self) -> bool:
        """Whether the whole main task is delivered."""
        return self.written == len(self.units)

    def waiting(self) -> list[Letter]:
        """The letters that are still to be handled, the most urgent first."""
        return sorted(
            (letter for letter in self.letters if letter.state == "open"), key=lambda o: o.rank
        )

    def letter(self, number: int) -> Letter:
        """A letter that has come, by its number."""
        return self.letters[number - 1]

    def left(self, letter: Letter) -> Duration:
        """How long there is until the deadline of an open letter."""
        return letter.deadline - self.at

    def text(self) -> str:
        """The clock, the main task, and one line for each letter that is still open."""
        lines = [
            f"time {in_seconds(self.at):.1f} of {in_seconds(self.horizon):g}; "
            f"main task: {self.written} of {len(self.units)} parts written; "
            f"attention on the {'inbox' if self.focus == 'inbox' else 'main task'}"
        ]
        waiting = self.waiting()
        lines += [self._line(letter) for letter in waiting]
        return "\n".join([*lines, *([] if waiting else ["no open emails"])])

    def _line(self, letter: Letter) -> str:
        status = "opened" if letter.opened else "unopened"
        aside = {"remind": ", reminder set", "ignore": ", ignored"}.get(letter.set_aside, "")
        return (
            f"email {letter.number}: {letter.urgency} urgency, due at "
            f"{in_seconds(letter.deadline):.1f} (in {in_seconds(self.left(letter)):.1f}), "
            f"from {letter.sender}: {letter.subject!r}, {status}{aside}"
        )

    def json_state(self) -> dict[str, Any]:
        """The same as plain JSON values, times in nanoseconds, with all letters."""
        return {
            "at": self.at,
            "horizon": self.horizon,
            "focus": self.focus,
            "units": list(self.units),
            "written": self.written,
            "letters": [
                {
                    "number": letter.number,
                    "urgency": letter.urgency,
                    "arrived": letter.arrived,
                    "deadline": letter.deadline,
                    "sender": letter.sender,
                    "subject": letter.subject,
                    "body": letter.body,
                    "recommended": dict(letter.recommended),
                    "opened": letter.opened,
                    "set_aside": letter.set_aside,
                    "state": letter.state,
                }
                for letter in self.letters
            ],
        }
