"""Stories as data: rooms, things, and rules that change them.

A rule is a command that does something in its story: a verb, the thing it is done to, perhaps a
second thing, what must hold, what it does and what is then said. Conditions and effects are
short texts with words between blanks, in this little language:

| condition | holds if |
| --- | --- |
| `has lamp` | you carry it |
| `at cellar` | you are there |
| `is lit` | the flag is set |
| `not ...` | the rest does not hold |

| effect | does |
| --- | --- |
| `set lit`, `clear lit` | a flag |
| `move key kitchen` | puts a thing into a room, into a thing, into `hands`, or `away` |
| `burn 120` | so many moves until the light goes out |
| `win` | ends the story well |
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

AWAY = "away"
HANDS = "hands"


@dataclass(frozen=True, slots=True, kw_only=True)
class Room:
    """A place. `ways` leads from directions to rooms; `shut` bars some until a condition holds."""

    title: str
    text: str
    ways: Mapping[str, str]
    shut: Mapping[str, tuple[str, str]] = field(default_factory=dict)
    dark: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Thing:
    """Something that can be named.

    Attributes:
        name: Its words, the last one the noun; each of them names it.
        at: The room where it is, or `AWAY`.
        text: What is seen when it is looked at.
        weight: What it weighs in your hands; 0 if it cannot be taken.
        lies: How a room mentions it; empty if the room's own text does.
        also: Further words for it.
    """

    name: str
    at: str
    text: str
    weight: int = 0
    lies: str = ""
    also: str = ""

    @property
    def words(self) -> frozenset[str]:
        """All words that name it."""
        return frozenset(f"{self.name} {self.also}".split())


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """A command that does something, once all its `needs` hold; the first that fits is done.

    Attributes:
        verb: The verb, in the form that the parser knows it by, and others that do the same.
        thing: What it is done to, or empty.
        second: What it is done with; if it is not named, having it at hand will do.
        needs: Conditions, separated by commas.
        does: Effects, separated by commas.
        text: What is said.
        points: Points, given the first time; rules that say the same give them only once.
        hidden: Kept out of the list of actions until this condition holds.
    """

    verb: str
    thing: str = ""
    second: str = ""
    needs: str = ""
    does: str = ""
    text: str
    points: int = 0
    hidden: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Story:
    """All of a game but its state.

    Attributes:
        opening: What is said first.
        ending: What is said once it is won.
        start: The first room.
        rooms: By key.
        things: By key.
        rules: In the order in which they are tried.
        visits: Points for the first visit of a room.
        strength: The most weight that can be carried.
        light: The thing that gives light while the flag `lit` is set.
    """

    opening: str
    ending: str
    start: str
    rooms: Mapping[str, Room]
    things: Mapping[str, Thing]
    rules: tuple[Rule, ...]
    visits: Mapping[str, int]
    strength: int
    light: str

    @property
    def max_score(self) -> int:
        """All points there are."""
        rules = {rule.text: rule.points for rule in self.rules}
        return sum(rules.values()) + sum(self.visits.values())


def parse_clauses(text: str) -> list[list[str]]:
    """Conditions or effects, each as its words."""
    return [clause.split() for clause in text.split(",") if clause.strip()]
