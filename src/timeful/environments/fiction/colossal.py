"""Colossal Cave (Crowther and Woods), as the `adventure` package plays it: 350 points.

Its traps: it begins with a question, before which its score reads 66; after it the score is 36,
given for nothing; `save` would write files; it has no list of actions.
Actions are found by trial on a copy: each command that comes to mind is typed, the state is
compared, and put back. Putting back what a game can change takes a tenth of a millisecond,
where reading a pickled game takes ten; so only the copy is made by pickle.
"""

import pickle
import re
from importlib import import_module
from typing import Any

from timeful.errors import SettingsError, WorldError

DIRECTIONS = "north south east west northeast northwest southeast southwest up down in out"
VERBS = "get drop unlock light open wave throw feed fill pour eat drink read rub break attack lock"
MOST_ACTIONS = 40

_SAVING = frozenset({"save", "suspe", "suspend", "pause"})
_IDLE = frozenset({"output", "turns", "look_complaints", "lamp_turns", "clock1", "clock2"})
_IDLE_TOO = frozenset({"full_wests", "foobar", "random_generator", "oldloc", "oldloc2"})
_UNCOUNTED = _IDLE | _IDLE_TOO | {"could_fall_in_pit", "yesno_callback", "yesno_casual"}
"""What passes with every command, and is no change worth telling."""


def _package() -> Any:
    try:  # an extra, and it is asked for only when played
        adventure = import_module("adventure")
        import_module("adventure.game")
    except ImportError:
        raise SettingsError(
            "Colossal Cave needs the package 'adventure': pip install 'timeful[timely]'"
        ) from None
    return adventure


class ColossalCave:
    """A `TextGame`.

    Args:
        seed: Of dwarves and other chance.

    Raises:
        SettingsError: If the extra `timely` is not installed.
    """

    def __init__(self, *, seed: int) -> None:
        self._adventure = _package()
        self._seed = seed
        self.reset()

    def reset(self) -> None:
        """Go back to the start, the first question answered with no."""
        self._game: Any = self._adventure.game.Game(self._seed)
        self._adventure.load_advent_dat(self._game)
        self._game.start()
        self.opening = _plain("Welcome to Adventure!\n\n" + self._game.do_command(["no"]))
        self.start_score = self.score
        self.moves = 0
        self._known: tuple[int, tuple[str, ...]] | None = None

    @property
    def score(self) -> int:
        """What the game would give if it ended now."""
        return int(self._game.compute_score()[0])

    @property
    def max_score(self) -> int:
        """350."""
        return int(self._game.compute_score()[1])

    @property
    def over(self) -> bool:
        """Whether it is finished: won, given up, or dead without another life."""
        return bool(self._game.is_finished)

    @property
    def won(self) -> bool:
        """Whether the last puzzle was solved, which is worth its full bonus."""
        return self.over and self._game.bonus == 133

    def step(self, action: str) -> str:
        """Type a command of at most two words; articles are left out.

        Raises:
            WorldError: If the game is over.
        """
        if self.over:
            raise WorldError("the game is over")
        self.moves += 1
        return _type(self._game, action)

    def available_actions(self) -> tuple[str, ...]:
        """Commands that change something, found by trial; remembered until the next move."""
        if self.over:
            return ()
        if self._game.yesno_callback:
            return ("yes", "no")
        if self._known is None or self._known[0] != self.moves:
            self._known = (self.moves, _try_all(pickle.loads(pickle.dumps(self._game))))
        return self._known[1]

    def close(self) -> None:
        """Nothing to let go of."""


def _plain(text: str) -> str:
    return re.sub(r"\n{3,}", "\n\n", text).strip()


def _words(action: str) -> list[str]:
    words = re.findall(r"[a-z0-9?']+", action.lower())
    if words[:2] == ["pick", "up"]:
        words[:2] = ["get"]
    if words[:1] == ["go"] and len(words) > 1:
        words = words[1:]
    return [word for word in words if word not in ("the", "a", "an", "my", "to")]


def _type(game: Any, action: str) -> str:
    words = _words(action)
    if not words:
        return "That is no command."
    if len(words) > 2:
        return "The game understands commands of one or two words."
    if not _SAVING.isdisjoint(words):
        return "There is no saving here."
    return _plain(game.do_command(words))


# --- actions by trial ----------------------------------------------------------------------------


def _try_all(game: Any) -> tuple[str, ...]:
    """Try what comes to mind on a game that is ours to spoil."""
    start = _Saved(game)
    before = start.mark()
    actions_by_mark: dict[tuple[Any, ...], str] = {}
    for action in _ideas(game):
        _type(game, action)
        mark = start.mark()
        first = actions_by_mark.setdefault(mark, action)
        if not _changes(game, first, before, mark) and _changes(game, action, before, mark):
            actions_by_mark[mark] = action  # "light lamp" rather than "light keys"
        start.put_back()
    actions_by_mark.pop(before, None)
    return tuple(actions_by_mark.values())[:MOST_ACTIONS]


def _changes(game: Any, action: str, before: tuple[Any, ...], after: tuple[Any, ...]) -> bool:
    """Whether a command changes the thing that it names, or names none."""
    name = action.rpartition(" ")[2]
    pairs = zip(game.objects.values(), before[1], after[1], strict=True)
    return " " not in action or any(name in thing.names and old != new for thing, old, new in pairs)


def _ideas(game: Any) -> list[str]:
    """Directions, places named in the description, and verbs with the things at hand."""
    text = (game.loc.long_description + game.loc.short_description + game.output).lower()
    words = set(re.findall(r"[a-z]+", text))
    ways = [
        word
        for word in sorted(words)
        if word in game.vocabulary and game.vocabulary[word].kind == "travel"
    ]
    magic = [w for w in sorted(words) if w in game.vocabulary and game.vocabulary[w].kind == "verb"]
    things = [object_.names[0] for object_ in game.object_list if game.is_here(object_)]
    if game.loc.liquid is not None:
        things.append(game.loc.liquid.names[0])
    if any(dwarf.room is game.loc for dwarf in game.dwarves):
        things.append("dwarf")
    pairs = [f"{verb} {thing}" for thing in dict.fromkeys(things) for verb in VERBS.split()]
    return [*DIRECTIONS.split(), *ways, *pairs, *magic]


class _Saved:
    """What a game can change, to be compared and put back in place."""

    def __init__(self, game: Any) -> None:
        self._game = game
        self._top = {
            key: value[:] if isinstance(value, list) else value
            for key, value in vars(game).items()
            if key not in ("random_generator", "vocabulary")
        }
        self._chance = game.random_generator.getstate()
        owners = [*game.objects.values(), *game.hints.values(), *game.rooms.values()]
        self._parts = [
            (owner, dict(vars(owner))) for owner in (*owners, *game.dwarves, game.pirate)
        ]
        self._at = [(thing, list(thing.rooms)) for thing in game.objects.values()]

    def put_back(self) -> None:
        vars(self._game).update(
            {k: v[:] if isinstance(v, list) else v for k, v in self._top.items()}
        )
        for key in vars(self._game).keys() - self._top.keys():
            if key not in ("random_generator", "vocabulary"):
                delattr(self._game, key)
        self._game.random_generator.setstate(self._chance)
        for owner, values in self._parts:
            vars(owner).clear()
            vars(owner).update(values)
        for thing, rooms in self._at:
            thing.rooms[:] = rooms

    def mark(self) -> tuple[Any, ...]:
        """The state as a value, but for what passes by itself."""
        game = self._game
        things = tuple(
            (thing.prop, tuple(room.n for room in thing.rooms), thing.is_toting, thing.is_fixed,
             thing.contents.n if thing.contents else 0)
            for thing in game.objects.values()
        )  # fmt: skip
        own = tuple(
            (key, value)
            for key, value in sorted(vars(game).items())
            if key not in _UNCOUNTED and isinstance(value, int | str)
        )
        return game.loc.n, things, own, bool(game.yesno_callback)
