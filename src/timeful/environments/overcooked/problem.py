"""Overcooked as a search problem: which thing to do next, and the walk to it.

Bob's mind is not shown. He is imagined to keep what he holds, to do nothing, and to make way:
a Bob who stands still would block a corridor for a whole plan, which the real one never does.
"""

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import ClassVar, NamedTuple

from timeful.environments.overcooked.kitchen import (
    ACTIONS,
    ALICE,
    BOB,
    COOK_TIME,
    COUNTER,
    DISHES,
    HORIZON,
    IDLE,
    ONIONS,
    POT,
    RECIPE,
    SERVING,
    SOUP_VALUE,
    STEPS,
    Kitchen,
)
from timeful.environments.overcooked.walks import Walk, Walks, walks_from
from timeful.environments.policy_source import read_policy_source
from timeful.environments.temporal_option import TemporalOption

SPAN = 30
"""Turns ahead that a plan may reach: about what a soup takes from the first onion on."""

BREADTH = 2
"""States worth comparing at one turn; errands end at many different turns."""

ONION_HELD = 0.05 * SOUP_VALUE
ONION_COOKED = 0.15 * SOUP_VALUE
DISH_HELD = 0.1 * SOUP_VALUE
SOUP_HELD = 0.75 * SOUP_VALUE
"""Progress towards a soup, in points: every step on the way is worth more than the last."""

NOWHERE = -1

_SIMPLE_USES = {
    (ONIONS, None): "take an onion at",
    (DISHES, None): "take a dish at",
    (SERVING, "soup"): "serve the soup at",
}
"""What is done at a place with what is held."""


class Cooking(NamedTuple):
    """An imagined kitchen, the turn, and Alice's points since the view."""

    kitchen: Kitchen
    turn: int
    points: float


class OvercookedProblem:
    """A kitchen to be planned in. Its value counts points and progress towards the next soup."""

    actions: ClassVar[tuple[str, ...]] = ACTIONS

    def __init__(self, kitchen: Kitchen, *, turn: int) -> None:
        layout = kitchen.layout
        self._labels = tuple(f"({x},{y})" for x, y in layout.cells)
        self.turn = turn
        self.breadth = BREADTH
        self.span = min(SPAN, HORIZON - turn)
        self.start = Cooking(kitchen.copy(), turn, 0.0)
        self.start.kitchen.at[BOB] = NOWHERE
        self.where = self._label(kitchen)

    def options(self, state: Cooking) -> tuple[TemporalOption[Cooking], ...]:
        """Walk to each thing that can be used now, and use it; if there is none, one step."""
        kitchen = state.kitchen
        walks = walks_from(kitchen.layout, kitchen.at[ALICE], kitchen.facing[ALICE])
        options = [
            self._carry_out(state, walk, aim=f"{aim} {self._labels[cell]}", wait=wait)
            for cell, aim, wait in _uses(kitchen, walks)
            for walk in [walks[cell]]
        ]
        return tuple(options) or tuple([self.step(state, letter) for letter in (*STEPS, "S")])

    def step(self, state: Cooking, letter: str) -> TemporalOption[Cooking]:
        """Imagine one turn; to interact in vain ends badly."""
        kitchen = state.kitchen.copy()
        item = kitchen.held[ALICE]
        reward = kitchen.step(letter, "S")
        after = Cooking(kitchen, state.turn + 1, state.points + reward)
        label = self._label(kitchen)
        in_vain = letter == "I" and item == kitchen.held[ALICE]
        return TemporalOption(
            letter,
            (label,),
            "interact in vain" if in_vain else f"be at {label}",
            None if in_vain else after,
            _key(kitchen),
            after.points + _progress(kitchen),
        )

    def tell(self, state: Cooking, options: Iterable[TemporalOption[Cooking]]) -> str:
        """Say at length what comes of each option."""
        pots = ", ".join(
            f"{onions} onions at {self._labels[cell]}{_heat(tick)}"
            for cell, (onions, tick) in state.kitchen.pots.items()
        )
        facts = f"The pots hold {pots or 'nothing'} by then, as far as I can see."
        return " ".join([facts, *(self._tell(state, option) for option in options)])

    def program(self, depth: int) -> str:
        """A program that plays by looking `depth` decisions ahead: `next_action(json_state)`."""
        return read_policy_source(Path(__file__).parent, depth)

    def _tell(self, state: Cooking, option: TemporalOption[Cooking]) -> str:
        after = option.state
        turns = len(option.letters)
        if after is None:
            return f"{option.letters} would only {option.aim}, so I drop it."
        return (
            f"I could {option.aim}: from {self._label(state.kitchen)} that is "
            f"{' '.join(option.letters)}, {turns} turns, if Bob makes way and does not "
            f"take it, so it is done at turn {after.turn}. Then I stand at {option.labels[-1]}, "
            f"with {after.points:.0f} points made since now and progress worth "
            f"{option.value - after.points:.0f} more."
        )

    def _label(self, kitchen: Kitchen) -> str:
        return self._labels[kitchen.at[ALICE]] + (kitchen.held[ALICE] or "")

    def _carry_out(
        self, state: Cooking, walk: Walk, *, aim: str, wait: int
    ) -> TemporalOption[Cooking]:
        kitchen = state.kitchen.copy()
        late = max(0, wait - len(walk.letters))
        letters = walk.letters + "S" * late + "I"
        suffix = kitchen.held[ALICE] or ""
        points = state.points
        for letter in letters:
            points += kitchen.step(letter, "S")
        labels = [self._labels[cell] + suffix for cell in walk.cells]
        labels += [labels[-1] if labels else self._labels[kitchen.at[ALICE]] + suffix] * late
        labels.append(self._label(kitchen))
        after = Cooking(kitchen, state.turn + len(letters), points)
        return TemporalOption(
            letters, tuple(labels), aim, after, _key(kitchen), points + _progress(kitchen)
        )


def _key(kitchen: Kitchen) -> tuple[object, ...]:
    return (
        kitchen.at[ALICE],
        kitchen.facing[ALICE],
        *kitchen.held,
        tuple(sorted(kitchen.counters.items())),
        tuple(sorted(kitchen.pots.items())),
    )


def _heat(tick: int) -> str:
    if tick < 0:
        return ""
    return " ready" if tick >= COOK_TIME else f" cooking for {tick}"


def _uses(kitchen: Kitchen, within: Walks) -> Iterator[tuple[int, str, int]]:
    """Cells within reach that Alice can use for something, what for, and turns to wait first."""
    terrain, item = kitchen.layout.terrain, kitchen.held[ALICE]
    put_down = False
    for cell in within:  # nearest first
        kind = terrain[cell]
        if kind == COUNTER and item is not None:
            if cell not in kitchen.counters and not put_down:
                put_down = True  # the nearest free counter will do
                yield cell, f"put the {item} on the counter", 0
        elif kind == COUNTER and cell in kitchen.counters:
            yield cell, f"take the {kitchen.counters[cell]} from the counter", 0
        elif kind == POT:
            yield from _pot_uses(cell, kitchen.pots.get(cell, (0, IDLE)), item)
        elif (kind, item) in _SIMPLE_USES:
            yield cell, _SIMPLE_USES[kind, item], 0


def _pot_uses(cell: int, pot: tuple[int, int], item: str | None) -> Iterator[tuple[int, str, int]]:
    onions, tick = pot
    if item == "onion" and onions < len(RECIPE):
        yield cell, "put the onion into the pot", 0
    elif item == "dish" and tick >= 0:
        yield cell, "lift the soup from the pot", COOK_TIME - tick


def _progress(kitchen: Kitchen) -> float:
    """What the kitchen promises beyond the points that were made."""
    pots, item = kitchen.pots, kitchen.held[ALICE]
    promise = sum([ONION_COOKED * onions for onions, _ in pots.values()])
    if item == "soup":
        promise += SOUP_HELD
    elif item == "dish":
        promise += DISH_HELD if any(tick >= 0 for _, tick in pots.values()) else 0.0
    elif item == "onion":
        promise += ONION_HELD
    return promise
