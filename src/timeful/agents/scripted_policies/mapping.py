"""The careful player of interactive fiction: it maps the game and tries every command."""

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from timeful.agents.scripted_policies import call_tool
from timeful.agents.scripted_policies.reading import (
    Folding,
    ending,
    first_title,
    is_harmful,
    is_way,
    read_commands,
    read_text,
    read_typed,
    title,
    type_in,
)
from timeful.agents.tool_user import Round, Transcript
from timeful.environments.fiction.task import ACTIONS
from timeful.models.rules import Answer, Rule

TOKENS = 200
"""The tokens of one move of the careful player, with its reasoning."""

_TAKING = ("take", "get")


@dataclass(slots=True)
class _Room:
    """The knowledge of a room.

    Attributes:
        commands: The latest list of commands.
        listed_at: The number of achievements at that list; -1 without a list.
        stale: Whether an action followed that list.
        attempts: The commands typed here.
        ways: The room behind each exit.
    """

    commands: tuple[str, ...] = ()
    listed_at: int = -1
    stale: bool = False
    attempts: set[str] = field(default_factory=set)
    ways: dict[str, str] = field(default_factory=dict)

    def untried(self) -> list[str]:
        return [command for command in self.commands if command not in self.attempts]

    def open_actions(self) -> list[str]:
        """The untried harmless actions."""
        return [name for name in self.untried() if not is_way(name) and not is_harmful(name)]

    def open_ways(self) -> list[str]:
        """The untried exits."""
        return [name for name in self.untried() if is_way(name)]


@dataclass(slots=True)
class _Map:
    """The knowledge of the careful player.

    Attributes:
        here: The name of the current room.
        rooms: The rooms by name.
        same: The first name of a room, by its later names.
        things: The things taken at least once.
        achieved: The number of achievements.
    """

    here: str
    rooms: dict[str, _Room]
    same: dict[str, str] = field(default_factory=dict)
    things: set[str] = field(default_factory=set)
    achieved: int = 0

    @property
    def room(self) -> _Room:
        return self.rooms[self.here]


def _begin(opening: str) -> _Map:
    name = first_title(opening)
    return _Map(here=name, rooms={name: _Room()})


def _learn(game_map: _Map, round_: Round) -> None:
    for reply in round_.replies:
        commands = read_commands(reply)
        if commands is not None:
            room = game_map.room
            room.commands, room.listed_at, room.stale = commands, game_map.achieved, False
        action = read_typed(reply)
        if action:
            _learn_step(game_map, action, read_text(reply))


def _learn_step(game_map: _Map, action: str, text: str) -> None:
    room = game_map.room
    room.attempts.add(action)
    if action not in room.commands:
        return
    if not is_way(action):
        _learn_action(game_map, action)
        return
    name = game_map.same.get(title(text), title(text))
    there = room.ways.get(action)
    if there is not None and name not in game_map.rooms:
        game_map.same[name] = name = there  # the same room under another title
    room.ways[action] = name
    game_map.rooms.setdefault(name, _Room())
    game_map.here = name


def _learn_action(game_map: _Map, action: str) -> None:
    """Count an action as an achievement, but a thing taken again only once."""
    room = game_map.room
    room.stale = True
    verb, _, thing = action.partition(" ")
    if verb not in _TAKING or thing not in game_map.things:
        game_map.achieved += 1
    if verb in _TAKING:
        game_map.things.add(thing)


def _nearest(game_map: _Map, accepts: Callable[[_Room], object]) -> list[str] | None:
    """The exits to the nearest accepted room: empty if it is this one, None without such a room."""
    queue = deque([(game_map.here, list[str]())])
    visited = {game_map.here}
    while queue:
        name, path = queue.popleft()
        room = game_map.rooms[name]
        if accepts(room):
            return path
        for way, there in room.ways.items():
            if there not in visited:
                visited.add(there)
                queue.append((there, [*path, way]))
    return None


def _rank(game_map: _Map, action: str) -> int:
    """The priority: new things first, things that were taken before last."""
    verb, _, thing = action.partition(" ")
    return 1 if verb not in _TAKING else 2 if thing in game_map.things else 0


def _next(game_map: _Map) -> tuple[str, str]:
    """The next command and its reason; "" requests the list of commands, "end" gives up."""
    room = game_map.room
    if room.listed_at < 0:
        return "", "I have not been here. What can be done?"
    actions = room.open_actions()
    if actions:
        return min(actions, key=lambda action: _rank(game_map, action)), "This may be of use."
    if room.stale:
        return "", "Something has changed here. What can be done now?"
    path = _nearest(game_map, lambda room: room.open_ways() or room.open_actions())
    if path is not None:
        return (path or room.open_ways())[0], "There is something I have not tried."
    path = _nearest(game_map, lambda room: room.listed_at < game_map.achieved)
    if path is not None:
        return path[0] if path else "", "With what I have now, more may be possible there."
    return "end", ""


def careful() -> Rule:
    """Make a careful player."""
    maps = Folding(start=_begin, learn=_learn)

    def rule(transcript: Transcript, rng: np.random.Generator) -> Answer:
        action, thought = _next(maps(transcript))
        end = ending(transcript, TOKENS, bored=action == "end")
        if end is not None:
            return end
        if not action:
            return call_tool(ACTIONS.name, {}, thought, TOKENS)
        return type_in(action, thought, TOKENS)

    return rule
