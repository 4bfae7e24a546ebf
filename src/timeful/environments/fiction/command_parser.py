"""What a player may type in our own stories: verbs and their likes, and phrases of two things."""

import re
from dataclasses import dataclass

DIRECTIONS = {
    "n": "north", "s": "south", "e": "east", "w": "west", "u": "up", "d": "down",
    "upstairs": "up", "downstairs": "down", "inside": "in", "outside": "out", "exit": "out",
    "north": "north", "south": "south", "east": "east", "west": "west", "up": "up",
    "down": "down", "in": "in", "out": "out",
}  # fmt: skip

_LIKES = {
    "take": "get grab carry catch pick fetch",
    "drop": "leave discard",
    "look": "l",
    "examine": "x inspect study search read",
    "inventory": "i inv",
    "wait": "z",
    "open": "",
    "close": "shut",
    "unlock": "",
    "move": "pull push drag shift roll lift",
    "put": "place insert fit hang fix attach set mount dip",
    "give": "feed offer throw show",
    "light": "ignite kindle",
    "fill": "refill",
    "pour": "empty",
    "turn": "wind crank rotate",
    "pry": "lever force break prise smash",
    "dial": "enter",
    "use": "",
    "go": "walk run climb",
    "score": "",
}
VERBS = {
    synonym: verb for verb, synonyms in _LIKES.items() for synonym in (verb, *synonyms.split())
}

_ARTICLES = frozenset({"the", "a", "an", "my", "some", "this", "that", "your"})
_BETWEEN = frozenset({"with", "in", "into", "on", "onto", "to", "at", "from", "using", "of"})
_PARTICLES = frozenset({"up", "at", "down", "out", "on", "off"})


@dataclass(frozen=True, slots=True)
class Command:
    """A command, taken apart: a verb and the words for one thing and another."""

    verb: str
    thing: tuple[str, ...] = ()
    second: tuple[str, ...] = ()


def parse_command(text: str) -> Command | None:
    """Take a command apart; None if its verb is unknown. Directions are the verb `go`."""
    words = [word for word in re.findall(r"[a-z0-9]+", text.lower()) if word not in _ARTICLES]
    if len(words) == 1 and words[0] in DIRECTIONS:
        return Command("go", (DIRECTIONS[words[0]],))
    verb = VERBS.get(words[0]) if words else None
    if verb is None:
        return None
    operands = words[1:]
    if verb == "go":
        return Command(verb, tuple(DIRECTIONS.get(word, word) for word in operands[:1]))
    if len(operands) > 1 and operands[0] in _PARTICLES:  # "pick up lamp", "look at dog"
        operands = operands[1:]
        verb = "examine" if verb == "look" else verb
    split = next((at for at, word in enumerate(operands) if at and word in _BETWEEN), len(operands))
    return Command(verb, tuple(operands[:split]), tuple(operands[split + 1 :]))
