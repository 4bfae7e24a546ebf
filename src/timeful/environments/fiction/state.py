"""Where a story stands: what conditions ask of it, and what effects do to it (see `story.py`)."""

from dataclasses import dataclass, field

from timeful.environments.fiction.story import HANDS, Rule, parse_clauses
from timeful.errors import WorldError

FADING = 15
"""So many moves before the light goes out, it says so."""


@dataclass(slots=True)
class State:
    """All that changes in a story.

    Attributes:
        room: Where the player is.
        at: Where things are: a room, `HANDS` or `AWAY`.
        flags: Those that are set, sorted.
        done: What points were given for.
        score: The points.
        moves: The commands so far.
        oil: The moves until the light goes out, while it burns.
        won: Whether the story is told.
    """

    room: str
    at: dict[str, str]
    flags: list[str] = field(default_factory=list)
    done: list[str] = field(default_factory=list)
    score: int = 0
    moves: int = 0
    oil: int = 0
    won: bool = False

    def holds(self, needs: str) -> bool:
        """Whether all of some conditions hold."""
        return all(self._is(words) for words in parse_clauses(needs))

    def _is(self, words: list[str]) -> bool:
        match words:
            case ["not", *words_after]:
                return not self._is(words_after)
            case ["has", thing]:
                return self.at[thing] == HANDS
            case ["at", room]:
                return self.room == room
            case ["is", flag]:
                return flag in self.flags
        raise WorldError(f"a story has no condition {' '.join(words)!r}")

    def perform(self, action: Rule) -> str:
        """Do a rule, and return what is said."""
        for words in parse_clauses(action.does):
            match words:
                case ["set", flag]:
                    self.flags = sorted({*self.flags, flag})
                case ["clear", flag]:
                    self.flags = [name for name in self.flags if name != flag]
                case ["move", thing, room]:
                    self.at[thing] = room
                case ["burn", moves]:
                    self.oil = int(moves)
                case ["win"]:
                    self.won = True
                case _:
                    raise WorldError(f"a story has no effect {' '.join(words)!r}")
        self.award(action.text, action.points)
        return action.text

    def award(self, reason: str, points: int) -> None:
        """Give points for something, once."""
        if points and reason not in self.done:
            self.done.append(reason)
            self.score += points

    def burn(self) -> str:
        """Let the light burn down by one move; what is said of it."""
        if "lit" not in self.flags:
            return ""
        self.oil -= 1
        if self.oil == FADING:
            return "The flame shrinks; there is not much oil left."
        if self.oil > 0:
            return ""
        self.flags.remove("lit")
        return "The flame sputters and goes out."
