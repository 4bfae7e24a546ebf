"""The kitchen: three layouts, and the dynamics of two cooks in one of them.

Laws and layouts: facts file `realtime_games`, section 5. Chance has no place here; what the
partner wants is in `partner`. Cells are numbered `y * width + x`, and y = 0 is the bottom row.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Final, Literal, Self

from timeful.environments.game import Difficulty
from timeful.errors import WorldError

Item = Literal["onion", "dish", "soup"]

ALICE: Final = 0
BOB: Final = 1

ACTIONS: Final = ("U", "D", "L", "R", "I", "S")
STEPS: Final[Mapping[str, tuple[int, int]]] = {
    "U": (0, 1),
    "D": (0, -1),
    "L": (-1, 0),
    "R": (1, 0),
}
"""How each direction changes (x, y)."""

HORIZON: Final = 100
"""The number of turns of an episode."""

FLOOR: Final = " "
COUNTER: Final = "X"
POT: Final = "P"
ONIONS: Final = "O"
DISHES: Final = "D"
SERVING: Final = "S"

RECIPE: Final = ("onion", "onion", "onion")
COOK_TIME: Final = 5
SOUP_VALUE: Final = 20
USEFUL_DISH: Final = 3
SOUP_LIFTED: Final = 5
IDLE: Final = -1
"""The tick of a pot in which nothing cooks."""

DRAWINGS: Final[Mapping[Difficulty, tuple[str, ...]]] = {
    "easy": ("XPXPX", "X 2 X", "D   S", "X 1 X", "XOXOX"),
    "medium": ("XXPXPXX", "X  2  X", "D XXX S", "X  1  X", "XXOXOXX"),
    "hard": ("XXXPPXXX", "X  2   X", "D XXXX S", "X  1   X", "XXXOOXXX"),
}
"""The bottom row comes first; 1 is where Alice starts, 2 where Bob does."""


@dataclass(frozen=True, eq=False, slots=True, kw_only=True)
class Layout:
    """What stands where, with the tables that make a step cheap; one object per drawing.

    `ahead[facing][cell]` is the cell that somebody standing there faces (on floor cells only),
    `after[facing][cell]` where a step in that direction ends if nobody is in the way.
    """

    rows: tuple[str, ...]
    width: int
    terrain: str
    cells: tuple[tuple[int, int], ...]
    ahead: Mapping[str, tuple[int, ...]]
    after: Mapping[str, tuple[int, ...]]

    def cell(self, x: int, y: int) -> int:
        """The number of the cell at (x, y)."""
        return y * self.width + x

    def cells_of(self, kinds: str) -> tuple[int, ...]:
        """The cells of these kinds, in row-major order from the bottom row."""
        return tuple(cell for cell, kind in enumerate(self.terrain) if kind in kinds)


@lru_cache(maxsize=64)
def layout_of(rows: tuple[str, ...]) -> Layout:
    """Read a drawing without cooks, bottom row first.

    Raises:
        WorldError: If it is no closed rectangle of known cells.
    """
    _check_drawing(rows)
    width, terrain = len(rows[0]), "".join(rows)
    steps = {facing: dx + dy * width for facing, (dx, dy) in STEPS.items()}
    ahead = {
        facing: tuple(cell + step if kind == FLOOR else cell for cell, kind in enumerate(terrain))
        for facing, step in steps.items()
    }
    after = {
        facing: tuple(to if terrain[to] == FLOOR else cell for cell, to in enumerate(faced))
        for facing, faced in ahead.items()
    }
    return Layout(
        rows=rows,
        width=width,
        terrain=terrain,
        cells=tuple((x, y) for y in range(len(rows)) for x in range(width)),
        ahead=ahead,
        after=after,
    )


def _check_drawing(rows: tuple[str, ...]) -> None:
    """Refuse a drawing in which a cook could leave the grid."""
    kinds = {FLOOR, COUNTER, POT, ONIONS, DISHES, SERVING}
    closed = (
        len({len(row) for row in rows}) == 1
        and set().union(*rows) <= kinds
        and FLOOR not in rows[0] + rows[-1]
        and all(row and FLOOR not in row[0] + row[-1] for row in rows)
    )
    if not closed:
        raise WorldError(f"a kitchen must be a closed rectangle of known cells, got {rows!r}")


class Kitchen:
    """Where both cooks stand and what lies where; changes in place.

    `at`, `facing` and `held` hold Alice's value, then Bob's. `counters` has the item on each
    counter that is not empty, `pots` the number of onions and the tick of each such pot.
    """

    __slots__ = ("at", "counters", "facing", "held", "layout", "pots")

    def __init__(
        self,
        layout: Layout,
        *,
        at: Sequence[int],
        facing: Sequence[str] = ("D", "D"),
        held: Sequence[Item | None] = (None, None),
        counters: Mapping[int, Item] | None = None,
        pots: Mapping[int, tuple[int, int]] | None = None,
    ) -> None:
        self.layout = layout
        self.at = list(at)
        self.facing = list(facing)
        self.held: list[Item | None] = list(held)
        self.counters: dict[int, Item] = dict(counters or {})
        self.pots: dict[int, tuple[int, int]] = dict(pots or {})

    def copy(self) -> Self:
        """An independent kitchen in the same state."""
        twin = object.__new__(type(self))
        twin.layout = self.layout
        twin.at = self.at[:]
        twin.facing = self.facing[:]
        twin.held = self.held[:]
        twin.counters = self.counters.copy()
        twin.pots = self.pots.copy()
        return twin

    def step(self, alice: str, bob: str) -> int:
        """Play one turn of both cooks and return its reward.

        Interacts come first, Alice's before Bob's, then both move, then soups cook.

        Args:
            alice: One of `ACTIONS`; anything else is a stay.
            bob: The same for the partner.
        """
        reward = 0
        if alice == "I":
            reward = self._interact(ALICE)
        if bob == "I":
            reward += self._interact(BOB)
        self._move(alice, bob)
        if self.pots:
            self._cook()
        return reward

    def faced(self, cook: int) -> int:
        """The cell that a cook faces."""
        return self.layout.ahead[self.facing[cook]][self.at[cook]]

    def onions_in(self, pot: int) -> int:
        """How many onions are in a pot, cooked or not."""
        return self.pots.get(pot, (0, IDLE))[0]

    def _interact(self, cook: int) -> int:
        cell = self.faced(cook)
        kind = self.layout.terrain[cell]
        item = self.held[cook]
        if kind == COUNTER:
            self._use_counter(cook, cell)
        elif kind == POT:
            return self._use_pot(cook, cell)
        elif kind == ONIONS and item is None:
            self.held[cook] = "onion"
        elif kind == DISHES and item is None:
            reward = USEFUL_DISH if cook == ALICE and self._is_dish_useful() else 0
            self.held[cook] = "dish"
            return reward
        elif kind == SERVING and item == "soup":
            self.held[cook] = None
            return SOUP_VALUE
        return 0

    def _use_counter(self, cook: int, cell: int) -> None:
        item = self.held[cook]
        if item is None:
            self.held[cook] = self.counters.pop(cell, None)
        elif cell not in self.counters:
            self.counters[cell] = item
            self.held[cook] = None

    def _use_pot(self, cook: int, cell: int) -> int:
        onions, tick = self.pots.get(cell, (0, IDLE))
        item = self.held[cook]
        if item == "onion" and onions < len(RECIPE):
            self.held[cook] = None
            onions += 1
            self.pots[cell] = (onions, 0 if onions == len(RECIPE) else IDLE)
        elif item == "dish" and tick >= COOK_TIME:
            self.held[cook] = "soup"
            del self.pots[cell]
            return SOUP_LIFTED if cook == ALICE else 0
        return 0

    def _is_dish_useful(self) -> bool:
        # Alice acts first and only her dishes are rewarded, so the pots "as at the start of the
        # step" are the pots now; the dish that she is about to take does not count yet.
        return self.held.count("dish") < len(self.pots) and "dish" not in self.counters.values()

    def _move(self, alice: str, bob: str) -> None:
        after = self.layout.after
        here, there = self.at
        to_a, to_b = here, there
        if alice in after:
            self.facing[ALICE] = alice
            to_a = after[alice][here]
        if bob in after:
            self.facing[BOB] = bob
            to_b = after[bob][there]
        if to_a != to_b and not (to_a == there and to_b == here):
            self.at[ALICE] = to_a
            self.at[BOB] = to_b

    def _cook(self) -> None:
        for cell, (onions, tick) in self.pots.items():
            if 0 <= tick < COOK_TIME:
                self.pots[cell] = (onions, tick + 1)


def open_kitchen(difficulty: Difficulty) -> Kitchen:
    """The kitchen of a difficulty at the start of an episode."""
    drawing = DRAWINGS[difficulty]
    marked = "".join(drawing)
    layout = layout_of(tuple(row.replace("1", FLOOR).replace("2", FLOOR) for row in drawing))
    return Kitchen(layout, at=(marked.index("1"), marked.index("2")))
