"""Bob: the scripted partner who carries onions to pots and counters.

`PublishedPartner` is the released script (facts file `realtime_games`, section 5): it looks
random, but every generator starts from the same seed, so it is one fixed policy. `RandomPartner`
is the one that the paper describes (appendix A): he "randomly chooses one policy to follow:
deliver an onion into an arbitrary pot or a kitchen counter".
"""

from typing import Final, Protocol, Self

from timeful.environments.overcooked.draws import Draws, published_words, seeded_words
from timeful.environments.overcooked.kitchen import (
    ALICE,
    BOB,
    COUNTER,
    FLOOR,
    ONIONS,
    POT,
    RECIPE,
    SERVING,
    Kitchen,
)
from timeful.environments.overcooked.routes import HERE, ORDER, FirstMoves, routes_of

FETCH: Final = 1
DELIVER: Final = 2
NO_CELL: Final = -1
NO_KIND: Final = -1
DELIVERY_KINDS: Final = (POT, COUNTER)
PATIENCE: Final = 3
"""After so many decisions on one cell the published partner acts at random."""

STUCK_ACTIONS: Final = ("D", "U", "R", "L", "S", "I")


class Partner(Protocol):
    """A mind that chooses Bob's actions; its memory is a list of whole numbers."""

    def act(self, kitchen: Kitchen) -> str:
        """Choose Bob's action in this state."""
        ...

    def memory(self) -> list[int]:
        """All that he remembers, generators included."""
        ...

    def remember(self, memory: list[int]) -> None:
        """Take over what `memory` gave.

        Raises:
            ValueError: If it cannot be the memory of such a mind.
        """
        ...

    def copy(self) -> Self:
        """An independent mind with the same memory."""
        ...


def is_wanted(kitchen: Kitchen, cell: int) -> bool:
    """Whether Bob can use a cell for what he now holds.

    Empty-handed he takes an onion from a dispenser. An onion goes to a free counter or into a
    pot with room, a soup to the serving place or a free counter, a dish to a free counter.
    """
    kind, item = kitchen.layout.terrain[cell], kitchen.held[BOB]
    if item is None:
        return kind == ONIONS
    if kind == COUNTER:
        return cell not in kitchen.counters
    if item == "onion":
        return kind == POT and kitchen.onions_in(cell) < len(RECIPE)
    return kind == SERVING and item == "soup"


def _wanted_in_reach(kitchen: Kitchen, moves: FirstMoves) -> list[int]:
    return [
        cell for cell, first in enumerate(moves) if first is not None and is_wanted(kitchen, cell)
    ]


def _floor_in_reach(kitchen: Kitchen, moves: FirstMoves) -> list[int]:
    """The floor that Bob can reach, his own cell included, in row-major order."""
    terrain = kitchen.layout.terrain
    return [
        cell for cell, first in enumerate(moves) if first is not None and terrain[cell] == FLOOR
    ]


class PublishedPartner:
    """The released script, quirks included: no seed changes it.

    While he puts a wrong item aside, he remembers where he was going to fetch an onion, and goes
    on there without choosing again.
    """

    __slots__ = (
        "_aside",
        "_goal",
        "_last_at",
        "_own",
        "_routes",
        "_stage",
        "_stage_draws",
        "_still",
    )

    def __init__(self, kitchen: Kitchen) -> None:
        self._routes = routes_of(kitchen.layout)
        self._own = Draws(published_words())
        self._last_at = kitchen.at[BOB]
        self._still = 0
        self._own.skip_double()  # the release makes a first period and throws it away
        self._new_period()

    def _new_period(self) -> None:
        self._own.skip_double()
        self._new_stage(FETCH)

    def _new_stage(self, stage: int) -> None:
        self._stage = stage
        self._goal = self._aside = NO_CELL
        self._stage_draws = Draws(published_words())

    def act(self, kitchen: Kitchen) -> str:
        """Choose Bob's action; the same history always leads to the same choice."""
        item = kitchen.held[BOB]
        if self._stage == DELIVER and item is None:
            self._new_period()
        if self._stage == FETCH and item == "onion":
            self._new_stage(DELIVER)
        action = self._work(kitchen)
        here = kitchen.at[BOB]
        if here != self._last_at:
            self._last_at = here
            self._still = 0
            return action
        self._still += 1
        # Work at one place counts as being stuck too: that is how the release behaves.
        return STUCK_ACTIONS[self._own.below(6)] if self._still >= PATIENCE else action

    def _work(self, kitchen: Kitchen) -> str:
        moves = self._routes.first_moves(kitchen.at[BOB], kitchen.at[ALICE])
        puts_aside = self._stage == FETCH and kitchen.held[BOB] is not None
        goal = self._aside if puts_aside else self._goal
        if goal == NO_CELL or moves[goal] is None or not is_wanted(kitchen, goal):
            among = _wanted_in_reach(kitchen, moves) or _floor_in_reach(kitchen, moves)
            goal = among[self._stage_draws.below(len(among))]
            if puts_aside:
                self._aside = goal
            else:
                self._goal = goal
        if kitchen.faced(BOB) == goal and is_wanted(kitchen, goal):
            return "I"
        # Drawn even when it is not needed: later draws of this stage depend on it.
        anywhere = ORDER[self._stage_draws.below(4)]
        return moves[goal] or anywhere

    def memory(self) -> list[int]:
        """Stage, both goals, place in both generators, last cell, count of still decisions."""
        draws = [self._own.at, self._stage_draws.at]
        return [self._stage, self._goal, self._aside, *draws, self._last_at, self._still]

    def remember(self, memory: list[int]) -> None:
        """Take over what `memory` gave."""
        stage, goal, aside, own, stage_draws, last_at, still = memory
        if stage not in (FETCH, DELIVER) or not self._routes.is_cell(last_at, goal, aside):
            raise ValueError(f"no memory of the published partner: {memory}")
        self._stage, self._goal, self._aside = stage, goal, aside
        self._last_at, self._still = last_at, still
        self._own.at, self._stage_draws.at = own, stage_draws

    def copy(self) -> Self:
        """An independent mind with the same memory."""
        twin = object.__new__(type(self))
        twin._routes = self._routes
        twin._own = self._own.copy()
        twin._stage_draws = self._stage_draws.copy()
        twin._stage, twin._goal, twin._aside = self._stage, self._goal, self._aside
        twin._last_at, twin._still = self._last_at, self._still
        return twin


class RandomPartner:
    """The partner of the paper: each onion goes to a pot or to a counter, by a fair coin.

    One generator serves every choice. A goal is kept until it is used, taken or cut off. If no
    cell of the chosen kind is left he takes the other kind, and if none is, he wanders. After a
    step that Alice blocked he tries one step in a random direction, so that two cooks who meet
    in a corridor do not wait for each other for ever.
    """

    __slots__ = ("_draws", "_goal", "_kind", "_next_cell", "_routes")

    def __init__(self, kitchen: Kitchen, *, seed: int) -> None:
        self._routes = routes_of(kitchen.layout)
        self._draws = Draws(seeded_words(seed))
        self._goal = NO_CELL
        self._kind = NO_KIND
        self._next_cell = NO_CELL

    def act(self, kitchen: Kitchen) -> str:
        """Choose Bob's action in this state."""
        was_blocked = self._next_cell not in (NO_CELL, kitchen.at[BOB])
        action = self._pick(ORDER) if was_blocked else self._work(kitchen)
        after = kitchen.layout.after
        here = kitchen.at[BOB]
        step_to = after[action][here] if action in after else here
        # A random side step may fail too; it is not followed by another one.
        self._next_cell = step_to if step_to != here and not was_blocked else NO_CELL
        return action

    def _work(self, kitchen: Kitchen) -> str:
        moves = self._routes.first_moves(kitchen.at[BOB], kitchen.at[ALICE])
        goal = self._goal
        if goal == NO_CELL or moves[goal] is None or not is_wanted(kitchen, goal):
            goal = self._goal = self._choose(kitchen, moves)
        if kitchen.faced(BOB) == goal and is_wanted(kitchen, goal):
            return "I"
        return "S" if moves[goal] == HERE else moves[goal] or "S"

    def _choose(self, kitchen: Kitchen, moves: FirstMoves) -> int:
        if kitchen.held[BOB] is None:
            self._kind = self._draws.below(len(DELIVERY_KINDS))
        cells = _wanted_in_reach(kitchen, moves)
        if kitchen.held[BOB] is not None:
            terrain, kind = kitchen.layout.terrain, DELIVERY_KINDS[self._kind]
            cells = [cell for cell in cells if terrain[cell] == kind] or cells
        among = cells or _floor_in_reach(kitchen, moves)
        return among[self._draws.below(len(among))]

    def _pick(self, letters: tuple[str, ...]) -> str:
        return letters[self._draws.below(len(letters))]

    def memory(self) -> list[int]:
        """Kind and goal of this period, where he meant to step, and his place in the draws."""
        return [self._kind, self._goal, self._next_cell, self._draws.at]

    def remember(self, memory: list[int]) -> None:
        """Take over what `memory` gave."""
        kind, goal, next_cell, draws = memory
        if kind not in (NO_KIND, 0, 1) or not self._routes.is_cell(goal, next_cell):
            raise ValueError(f"no memory of the random partner: {memory}")
        self._kind, self._goal, self._next_cell, self._draws.at = kind, goal, next_cell, draws

    def copy(self) -> Self:
        """An independent mind with the same memory."""
        twin = object.__new__(type(self))
        twin._routes = self._routes
        twin._draws = self._draws.copy()
        twin._kind, twin._goal, twin._next_cell = self._kind, self._goal, self._next_cell
        return twin
