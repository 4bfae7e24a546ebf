"""What a person sees of a game: a few lines of text made from what is known, nothing more."""

import re
from dataclasses import dataclass
from textwrap import wrap

from timeful.environments.game import Game

BAR_WIDTH = 30
_NO_BREAK = "\N{NO-BREAK SPACE}"

_BOLD_GREEN, _GREEN, _YELLOW, _RED, _CYAN, _DIM = "1;32", "32", "33", "31", "1;36", "2"

# For each game, what its text shows in which colour; the first pattern that fits counts.
_COLOURS = {
    "freeway": ((r"P", _BOLD_GREEN), (r"[<>/\d]+|x", _YELLOW), (r"\.", _DIM)),
    "snake": (
        (r"\ba\b", _BOLD_GREEN),
        (r"\+[1-3]\b", _RED),
        (r"\+\d+", _YELLOW),
        (r"[a-zA-Z]", _GREEN),
        (r"[#.]", _DIM),
    ),
    "overcooked": (
        (r"[↑↓←→]0\w?", _BOLD_GREEN),
        (r"[↑↓←→]1\w?", _CYAN),
        (r"P\{\S*", _YELLOW),
        (r"X\w", _YELLOW),
        (r"X", _DIM),
    ),
}

_HINTS = {
    "freeway": "You are P; reach the top row. 2> moves 2 cells a turn, /2> a cell in 2 turns.",
    "snake": "a is your head. Food is worth 1 while its number of turns lasts; # kills.",
    "overcooked": (
        "You are 0, Bob is 1. Put 3 onions (O) into a pot (P), wait 5 turns for the soup, "
        "take it with a dish (D), serve it (S)."
    ),
}

_WORDS = {"U": "up", "D": "down", "L": "left", "R": "right", "S": "stay", "I": "interact"}
_ARROWS = {"U": "up", "D": "down", "L": "left", "R": "right"}


def keys_of(game: Game) -> dict[str, str]:
    """Which key means which action: arrows, the actions' letters, and the space bar."""
    keys = {key: action for action, key in _ARROWS.items() if action in game.actions}
    for letter in game.actions:
        keys[letter] = keys[letter.lower()] = letter
    for action in ("I", "S"):
        if action in game.actions:
            keys.setdefault("space", action)
    return keys


def in_words(game: Game, action: str) -> str:
    """An action for people, such as "up (U)"."""
    if action not in game.actions:
        return "straight on"  # Snake's default
    return f"{_WORDS[action]} ({action})" if action in _WORDS else action


def default_in_words(game: Game) -> str:
    """What will happen if no key comes in time."""
    words = in_words(game, game.default_action)
    heading = game.view().json_state().get("snake_dir")
    return f"{words}, {_WORDS[heading]}" if heading in _WORDS else words


@dataclass(frozen=True, slots=True, kw_only=True)
class Caption:
    """What is shown around the board of a game.

    Attributes:
        title: The game and its settings.
        left_s: What is left of the turn under way, out of `tick_s` seconds.
        message: The chosen action, or what to do.
        last: The outcome of the last turn.
    """

    title: str
    left_s: float
    tick_s: float
    message: str
    last: str


def draw(game: Game, caption: Caption, *, columns: int, rows: int, colour: bool) -> list[str]:
    """Draw a game for a terminal of some size; the last lines are left out if they do not fit.

    Returns:
        At most `rows` lines of fewer than `columns` characters, colours apart.
    """
    board = [line.rstrip() for line in game.view().text().splitlines()]
    width, height = max(map(len, board)) + 3, len(board) + 5
    if columns < width or rows < height:
        return [f"Make the window {width} x {height}."[: columns - 1]][:rows]
    head = [
        f" {caption.title}",
        f" turn {min(game.turn + 1, game.horizon)}/{game.horizon}   "
        f"return {game.score:g}   {_bar(caption)}",
        "",
    ]
    tail = ["", f" {caption.message}", f" {caption.last}", ""]
    for text in (_HINTS.get(game.name, ""), _legend(keys_of(game))):
        tail += [f" {line}".replace(_NO_BREAK, " ") for line in wrap(text, columns - 3)]
    lines = [line[: columns - 1] for line in head]
    lines += ["  " + _coloured(line, game.name, colour=colour) for line in board]
    lines += [line[: columns - 1] for line in tail]
    return lines[:rows]


def _bar(caption: Caption) -> str:
    """The clock: what is left of the turn, in seconds and as a bar that runs empty."""
    left_s = min(max(caption.left_s, 0.0), caption.tick_s)
    full = round(BAR_WIDTH * left_s / caption.tick_s)
    return f"time left {left_s:4.1f} s [{'=' * full}{' ' * (BAR_WIDTH - full)}]"


def _legend(keys: dict[str, str]) -> str:
    """The keys in words; a letter is named in one case only, and a line breaks between keys."""
    by_action: dict[str, list[str]] = {}
    for key, action in keys.items():
        if len(key) > 1 or key.isupper():
            by_action.setdefault(action, []).append(key)
    words = [f"{' or '.join(names)}: {_WORDS.get(a, a)}" for a, names in by_action.items()]
    return "   ".join(word.replace(" ", _NO_BREAK) for word in [*words, "q: leave"])


def _coloured(line: str, game: str, *, colour: bool) -> str:
    patterns = _COLOURS.get(game, ()) if colour else ()
    if not patterns:
        return line
    either = re.compile("|".join(f"({pattern})" for pattern, _ in patterns))

    def paint(match: re.Match[str]) -> str:
        code = patterns[(match.lastindex or 1) - 1][1]
        return f"\x1b[{code}m{match.group()}\x1b[0m"

    return either.sub(paint, line)
