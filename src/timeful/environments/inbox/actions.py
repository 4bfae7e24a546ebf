"""What can be done in the inbox world.

| action | takes | what it does |
| --- | --- | --- |
| `check` | `check` | look into the inbox |
| `open N` | `open` | read email N |
| `handle N` | `handle` | do what email N asks for |
| `remind N` | `remind` | put email N off, until the assistant comes back to it |
| `remind N S` | `remind` | put it off; a reminder is due S seconds later |
| `ignore N` | nothing | leave email N be |
| `return` | `back` | go back to the main task |
| `deliver K` | nothing | part K of the main task is written |
| `end` | nothing | end the episode |

What an action needs beforehand is implied and takes its time as well: `handle 3`, said in the
middle of the main task about an email that was never opened, is check, open and handle in one.
"""

from dataclasses import dataclass

from timeful.core.units import Duration, seconds
from timeful.errors import IllegalActionError

ACTIONS = (
    "check",
    "open N",
    "handle N",
    "remind N",
    "remind N S",
    "ignore N",
    "return",
    "deliver K",
    "end",
)

IN_INBOX = ("check", "open", "handle", "remind", "ignore")
"""What is done with the attention on the inbox."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Doing:
    """An action, or one under way.

    Attributes:
        verb: The first word of it.
        number: Which email or part it is about; 0 if none.
        after: When a reminder is to be due, from its end.
        switched: Whether it takes the attention from the main task to the inbox, or back.
        interrupted: Whether it does so in the middle of writing.
    """

    verb: str
    number: int = 0
    after: Duration | None = None
    switched: bool = False
    interrupted: bool = False


def read_action(action: str) -> Doing:
    """Read an action: its words with one space between them.

    Raises:
        IllegalActionError: If it is none.
    """
    match action.split(" "):
        case ["check" | "return" | "end" as verb]:
            return Doing(verb=verb)
        case ["open" | "handle" | "ignore" | "remind" | "deliver" as verb, number] if is_count(
            number
        ):
            return Doing(verb=verb, number=int(number))
        case ["remind", number, after] if is_count(number) and is_span(after):
            return Doing(verb="remind", number=int(number), after=seconds(float(after)))
    raise IllegalActionError.named(action, ACTIONS)


def is_count(text: str) -> bool:
    """Whether it is a number from 1, written without a zero before it."""
    return len(text) < 10 and text.isascii() and text.isdecimal() and text[0] != "0"


def is_span(text: str) -> bool:
    """Whether it is a number of seconds above 0, such as 12 or 2.5."""
    whole, _, fraction = text.partition(".")
    is_number = text.isascii() and whole.isdecimal() and (fraction or "0").isdecimal()
    return len(text) < 10 and is_number and float(text) > 0
