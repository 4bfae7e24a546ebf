"""A story as a game: its state, what commands do to it, and what is said of it."""

from copy import deepcopy
from typing import Self

from timeful.environments.fiction.command_parser import Command, parse_command
from timeful.environments.fiction.state import State
from timeful.environments.fiction.story import AWAY, HANDS, Rule, Story
from timeful.errors import WorldError

_NOTHING = {
    "examine": "You see nothing special about it.",
    "open": "It does not open.",
    "unlock": "It is not locked, or not with what you have.",
    "move": "It stays where it is.",
    "put": "That does not belong there.",
    "give": "That is of no interest here.",
    "light": "That will not burn.",
    "fill": "There is nothing to do that with.",
    "turn": "It does not turn.",
    "pry": "That gives no way to a lever, or you have none.",
    "pour": "That would only make a mess.",
}


class StoryGame:
    """A `TextGame` of a story; it ends only when it is won.

    Args:
        story: The story. Chance, if there is any, has already made it what it is.
    """

    def __init__(self, story: Story) -> None:
        self._story = story
        self.start_score = 0
        self.max_score = story.max_score
        self.reset()

    def reset(self) -> None:
        """Go back to the start."""
        story = self._story
        self._state = State(story.start, {key: thing.at for key, thing in story.things.items()})
        self.opening = f"{story.opening}\n\n{self._scene()}"

    @property
    def score(self) -> int:
        """The points so far; they only rise."""
        return self._state.score

    @property
    def moves(self) -> int:
        """How many commands were typed."""
        return self._state.moves

    @property
    def over(self) -> bool:
        """Whether the story is told."""
        return self._state.won

    @property
    def won(self) -> bool:
        """Whether it ended well, which is the only end it has."""
        return self._state.won

    def close(self) -> None:
        """Nothing to let go of."""

    def copy(self) -> Self:
        """An independent game in the same state."""
        twin = type(self)(self._story)
        twin._state = deepcopy(self._state)
        return twin

    # --- commands --------------------------------------------------------------------------------

    def step(self, action: str) -> str:
        """Type a command.

        Raises:
            WorldError: If the story is told.
        """
        state = self._state
        if state.won:
            raise WorldError("the game is over")
        before = state.score
        state.moves += 1
        command = parse_command(action)
        lines = [self._do(command) if command else "You do not know how to do that.", state.burn()]
        if state.score > before:
            gained = state.score - before
            lines.append(f"[Your score goes up by {gained} point{'s' if gained > 1 else ''}.]")
        if state.won:
            lines.append(self._story.ending)
        return "\n".join(filter(None, lines))

    def _do(self, command: Command) -> str:
        match command.verb:
            case "go":
                return self._go(command.thing[0] if command.thing else "")
            case "look":
                return self._scene()
            case "inventory":
                return self._carried()
            case "wait":
                return "Time passes."
            case "score":
                return f"You have {self.score} of {self.max_score} points."
        if not command.thing:
            return f"What do you want to {command.verb}?"
        thing, second = self._find(command.thing), self._find(command.second)
        if not thing or (command.second and not second):
            if command.verb == "dial":
                return "You turn the dial to it. Nothing gives."
            missing = command.second if thing else command.thing
            return f"You see no {' '.join(missing)} here."
        done = self._try_rules(command.verb, thing, second)
        return done or self._usual(command.verb, thing)

    def _try_rules(self, verb: str, thing: str, second: str) -> str:
        for rule in self._story.rules:
            if self._matches(rule, verb, thing, second) and self._state.holds(rule.needs):
                return self._state.perform(rule)
        return ""

    def _matches(self, rule: Rule, verb: str, thing: str, second: str) -> bool:
        """Whether a command is meant as this rule."""
        if verb == "use":
            return bool(second) and {thing, second} == {rule.thing, rule.second}
        if verb not in rule.verb.split() or thing != rule.thing:
            return False
        if not second:
            return not rule.second or rule.second in self._visible()
        return second == rule.second

    def _usual(self, verb: str, thing: str) -> str:
        target = self._story.things[thing]
        if verb == "take":
            return self._take(thing)
        if verb == "drop":
            if self._state.at[thing] != HANDS:
                return "You do not carry that."
            self._state.at[thing] = self._state.room
            return f"You put down the {target.name}."
        return target.text if verb == "examine" else _NOTHING.get(verb, "Nothing happens.")

    def _take(self, thing: str) -> str:
        state, things = self._state, self._story.things
        target = things[thing]
        if state.at[thing] == HANDS:
            return "You carry it already."
        if not target.weight:
            return "That cannot be taken."
        carried = sum(things[key].weight for key, at in state.at.items() if at == HANDS)
        if carried + target.weight > self._story.strength:
            return (
                f"With all that you carry, the {target.name} is too much. Put something down first."
            )
        state.at[thing] = HANDS
        return f"You take the {target.name}."

    def _go(self, direction: str) -> str:
        state, room = self._state, self._story.rooms[self._state.room]
        if direction not in room.ways:
            return "You cannot go that way."
        needs, refusal = room.shut.get(direction, ("", ""))
        if not self._state.holds(needs):
            return refusal
        state.room = room.ways[direction]
        state.award(f"visit {state.room}", self._story.visits.get(state.room, 0))
        return self._scene()

    # --- what can be seen ------------------------------------------------------------------------

    @property
    def _sees(self) -> bool:
        state = self._state
        light = state.at[self._story.light]
        shines = "lit" in state.flags and light in (HANDS, state.room)
        return shines or not self._story.rooms[state.room].dark

    def _visible(self) -> list[str]:
        """The things at hand: those carried first, then those of the room.

        In the dark that is what you put down there yourself, so that nothing can be lost in it.
        """
        state, things, sees = self._state, self._story.things, self._sees
        here = [
            key
            for key, at in state.at.items()
            if at == state.room and (sees or things[key].at != at)
        ]
        return [key for key, at in state.at.items() if at == HANDS] + here

    def _find(self, words: tuple[str, ...]) -> str:
        """The thing that some words name; empty if none is at hand."""
        things = self._story.things
        keys = [key for key in self._visible() if words and things[key].words.issuperset(words)]
        return keys[0] if keys else ""

    def _scene(self) -> str:
        room, state = self._story.rooms[self._state.room], self._state
        if not self._sees:
            return "Darkness\nIt is too dark to see anything. You can feel the way you came."
        things = self._story.things
        lying = [
            thing.lies if thing.at in (state.room, AWAY) else f"The {thing.name} is here."
            for key, thing in things.items()
            if state.at[key] == state.room
        ]
        return "\n".join(filter(None, (room.title, room.text, *lying)))

    def _carried(self) -> str:
        names = [self._story.things[key].name for key, at in self._state.at.items() if at == HANDS]
        return f"You carry: {', '.join(names)}." if names else "You carry nothing."

    # --- available actions -----------------------------------------------------------------------

    def available_actions(self) -> tuple[str, ...]:
        """Commands that change something, each in another way, tried on copies."""
        if self.over:
            return ()
        actions: dict[str, str] = {self._mark(): ""}
        for action in ("wait", *self._ideas()):
            twin = self.copy()
            twin.step(action)
            actions.setdefault(twin._mark(), action if action != "wait" else "")
        return tuple(filter(None, actions.values()))

    def _mark(self) -> str:
        state = self._state
        return repr((state.room, state.at, state.flags, state.done, state.won, state.oil > 0))

    def _ideas(self) -> list[str]:
        things, visible = self._story.things, self._visible()
        ideas = list(self._story.rooms[self._state.room].ways)
        for rule in self._story.rules:
            at_hand = rule.thing in visible and (not rule.second or rule.second in visible)
            if at_hand and self._state.holds(rule.hidden):
                ideas.append(_command(rule, self._story))
        verbs = [("drop" if self._state.at[key] == HANDS else "take", key) for key in visible]
        return ideas + [f"{verb} {things[key].name}" for verb, key in sorted(verbs, reverse=True)]


_JOINED = {"put": "on", "give": "to", "pour": "into"}


def _command(rule: Rule, story: Story) -> str:
    verb = rule.verb.split()[0]
    first = f"{verb} {story.things[rule.thing].name}"
    if not rule.second:
        return first
    return f"{first} {_JOINED.get(verb, 'with')} {story.things[rule.second].name}"
