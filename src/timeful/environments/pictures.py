"""The pictures of all worlds, found by the settings of a record; states where it has none.

Worlds of events tell in their events most of what can be drawn, and a built-in game can be stepped
through the actions of its record. So records that keep answers alone have pictures too.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from importlib import import_module
from typing import Any

from timeful.environments.picture import Draw, Picture
from timeful.environments.registry import GAME_NAMES, make_game
from timeful.errors import TimefulError
from timeful.registry import is_file_name, load, names

Happening = tuple[int, str, Mapping[str, Any]]
"""The instant of an event, what happened, and its data."""

_BY_EVENT: Mapping[str, str] = {
    "email": "inbox",
    "signal": "kitchen",
    "prepared": "kitchen",
    "begins": "dialogue",
    "turn": "dialogue",
    "reply": "timed",
}
"""The folder of a world of events, by a word of its events."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Drawing:
    """How the states of a record are drawn.

    `fold` makes states from the events of a world; None for a world of turns. `prefers_events`
    says that they tell more than the recorded states.
    """

    draw: Draw
    fold: Callable[[Mapping[str, Any], Iterable[Happening]], Iterator[dict[str, Any]]] | None
    prefers_events: bool = False


def find_drawing(settings: Mapping[str, Any], words: Iterable[str]) -> Drawing | None:
    """Find how the world of a record is drawn.

    Args:
        settings: The settings of the record.
        words: The words of its events.
    """
    game = _game(settings).get("game")
    folder = game if game in GAME_NAMES else None
    folder = folder or next((_BY_EVENT[word] for word in words if word in _BY_EVENT), None)
    if folder is None:
        return _own_drawing(settings.get("world", game))
    module = import_module(f"timeful.environments.{folder}.picture")
    draw: Callable[[Mapping[str, Any]], Picture] = module.picture
    return Drawing(draw=draw, fold=getattr(module, "fold", None), prefers_events=folder == "timed")


def _own_drawing(name: object) -> Drawing | None:
    """How an installed world is drawn. A file that a record names is not imported."""
    if not isinstance(name, str) or is_file_name(name) or name not in names("world"):
        return None
    try:
        draw = getattr(load("world", name), "picture", None)
    except TimefulError:
        return None
    return Drawing(draw=draw, fold=None) if callable(draw) else None


def _game(settings: Mapping[str, Any]) -> Mapping[str, Any]:
    """The fields that identify a game, wherever the settings of a record have them."""
    episode = settings.get("episode")
    fields = dict(episode) if isinstance(episode, Mapping) else dict(settings)
    if "game" not in fields and settings.get("world") in GAME_NAMES:
        fields = {**settings, "game": settings["world"]}
    return fields


def replay_states(
    settings: Mapping[str, Any], turns: Iterable[tuple[str, float]]
) -> list[dict[str, Any]] | None:
    """The states of a built-in game after each turn, from its actions.

    Args:
        settings: The settings of the record.
        turns: The action and the score of each turn.

    Returns:
        The states; None if the record is of no such game, or a score is not that of the record.
    """
    fields = _game(settings)
    if fields.get("game") not in GAME_NAMES:
        return None
    states: list[dict[str, Any]] = []
    try:
        game = make_game(
            fields["game"],
            difficulty=fields.get("difficulty", "medium"),
            seed=fields.get("game_seed", fields.get("seed", 0)),
            mode=fields.get("mode", "compat"),
        )
        for action, score in turns:
            game.step(action)
            if game.score != score:
                return None
            states.append(game.view().json_state())
    except (TimefulError, ArithmeticError, LookupError, TypeError, ValueError, AssertionError):
        return None
    return states
