"""Freeway: cross eight lanes of traffic in as few turns as possible.

Read `Crossing.step` first: it is the whole law of a turn. The score starts at 100 and every
turn costs 1, so each step's reward is -1, and the return of an episode is 100 minus its
turns if the goal was reached and 0 if the horizon came first (paper, appendix A).

Compat mode equals the published benchmark: after a hit the player *and all cars* go back to
where they started, while turn and score are kept; a player who crosses is put back to y = 0 as
the episode ends. In paper mode only the player goes back, and cars come and go.
"""

from typing import Annotated, Any, ClassVar, Literal, Self

import msgspec

from timeful.environments.freeway.cars import GOAL, HORIZON, Road
from timeful.environments.freeway.layout import PUBLISHED_SEEDS, fresh_road, published_road
from timeful.environments.freeway.view import FreewayView, car_view
from timeful.environments.game import DIFFICULTIES, MODES, Difficulty, Mode
from timeful.environments.settings import check_seed
from timeful.errors import IllegalActionError, SettingsError, WorldError, check_known

ACTIONS = ("U", "D", "S")

_CLIMB = {"U": 1, "D": -1, "S": 0}


class Crossing:
    """A player on a road, in a real game or in a player's imagination.

    `restarts` says whether a hit sends the cars, too, back to the start of the road.
    """

    __slots__ = (
        "collisions",
        "done",
        "hit",
        "last",
        "mode",
        "phase",
        "restarts",
        "road",
        "score",
        "turn",
        "y",
    )

    def __init__(
        self, road: Road, *, mode: Mode, restarts: bool, turn: int = 0, y: int = 0, last: str = "U"
    ) -> None:
        self.road = road
        self.mode = mode
        self.restarts = restarts
        self.turn = turn
        self.y = y
        self.last = last
        self.phase = 0
        """Turns since the cars were at the start of the road."""
        self.score = float(HORIZON - turn)
        self.collisions = 0
        self.hit = False
        """Whether the player was hit in the last turn."""
        self.done = turn >= HORIZON or y == GOAL

    @property
    def default_action(self) -> str:
        """Up; in paper mode, the same direction as before."""
        return "U" if self.mode == "compat" else self.last

    def step(self, action: str) -> float:
        """Play one turn and return its reward, always -1.

        Raises:
            IllegalActionError: If the action is none of U, D and S; nothing has changed.
            WorldError: If the game is over.
        """
        climb = _CLIMB.get(action)
        if climb is None:
            raise IllegalActionError.named(action, ACTIONS)
        if self.done:
            raise WorldError("the crossing is over; reset it to play again")
        self.last = action
        self.turn += 1
        self.score -= 1.0
        self.hit = False
        self.y = max(0, self.y + climb)
        if self.y == GOAL:
            self.done = True
            if self.mode == "compat":
                self.y = 0
            return -1.0
        self.phase += 1
        self.done = self.turn >= HORIZON
        if self.road.danger(self.phase) >> self.y & 1:
            self._take_hit()
        return -1.0

    def _take_hit(self) -> None:
        self.hit = True
        self.collisions += 1
        self.y = 0
        if self.restarts and not self.done:
            self.phase = 0

    def legal_actions(self) -> tuple[str, ...]:
        """The actions that `step` takes."""
        return ACTIONS

    def view(self) -> FreewayView:
        """What a player is shown now."""
        cars = (car_view(car) for car in self.road.traffic(self.phase) if car.wait is None)
        return FreewayView(
            turn=self.turn,
            y=self.y,
            cars=tuple(sorted(cars, key=lambda car: car.lane)),
            default=self.default_action,
            mode=self.mode,
        )

    def copy(self) -> Self:
        """An independent crossing in the same state, on the same road."""
        twin = object.__new__(type(self))
        for name in Crossing.__slots__:
            setattr(twin, name, getattr(self, name))
        return twin


class _Saved(msgspec.Struct, tag="freeway", frozen=True):
    """A saved game. The road is not in it: the settings say all that will ever be on it."""

    difficulty: Difficulty
    seed: int
    mode: Mode
    turn: Annotated[int, msgspec.Meta(ge=0, le=HORIZON)]
    y: Annotated[int, msgspec.Meta(ge=0, le=GOAL)]
    phase: Annotated[int, msgspec.Meta(ge=0, le=HORIZON)]
    collisions: Annotated[int, msgspec.Meta(ge=0)]
    last: Literal["U", "D", "S"]
    hit: bool
    done: bool


class Freeway(Crossing):
    """The game: a crossing that can be made, shown, saved and restored."""

    __slots__ = ("difficulty", "seed")

    name: ClassVar[str] = "freeway"
    actions: ClassVar[tuple[str, ...]] = ACTIONS
    horizon: ClassVar[int] = HORIZON
    busy = False

    def __init__(self, *, difficulty: Difficulty, seed: int, mode: Mode = "compat") -> None:
        """Make the game.

        Args:
            difficulty: Which roads; in paper mode, how many turns a crossing takes at least.
            seed: 0 to 7 in compat mode, any integer in paper mode.
            mode: The published benchmark's rules, or the paper's.

        Raises:
            SettingsError: If there is no such difficulty, mode or seed.
        """
        super().__init__(_road(difficulty, seed, mode), mode=mode, restarts=mode == "compat")
        self.difficulty: Difficulty = difficulty
        self.seed = seed

    def reset(self) -> None:
        """Go back to the start of the same episode."""
        super().__init__(self.road, mode=self.mode, restarts=self.restarts)

    @property
    def restarted(self) -> bool:
        """Whether the player was hit in the last turn."""
        return self.hit

    def copy(self) -> Self:
        """An independent game in the same state."""
        twin = super().copy()
        twin.difficulty, twin.seed = self.difficulty, self.seed
        return twin

    def summary(self) -> dict[str, Any]:
        """The player's lane, and each car as [lane, head, direction, speed, span], sorted."""
        cars = self.view().cars
        return {
            "y": self.y,
            "cars": sorted([car.lane, car.head, car.sign, car.speed, car.span] for car in cars),
        }

    def save(self) -> bytes:
        """The full state as JSON."""
        fields = {name: getattr(self, name) for name in _Saved.__struct_fields__}
        return msgspec.json.encode(_Saved(**fields))

    def load(self, state: bytes) -> None:
        """Continue from a saved state, taking over its difficulty, seed and mode.

        Raises:
            WorldError: If the bytes are no saved state of this game.
        """
        try:
            loaded_state = msgspec.json.decode(state, type=_Saved)
            if (loaded_state.difficulty, loaded_state.seed, loaded_state.mode) != (
                self.difficulty,
                self.seed,
                self.mode,
            ):
                self.road = _road(loaded_state.difficulty, loaded_state.seed, loaded_state.mode)
        except (msgspec.DecodeError, SettingsError) as error:
            raise WorldError(f"this is no saved state of freeway: {error}") from error
        for name in _Saved.__struct_fields__:
            setattr(self, name, getattr(loaded_state, name))
        self.restarts = loaded_state.mode == "compat"
        self.score = float(HORIZON - loaded_state.turn)


def _road(difficulty: Difficulty, seed: int, mode: Mode) -> Road:
    check_known("difficulty", difficulty, DIFFICULTIES)
    check_known("mode", mode, MODES)
    if mode == "paper":
        check_seed("freeway", seed, published=None)
        return fresh_road(difficulty, seed)
    check_seed("freeway", seed, published=range(len(PUBLISHED_SEEDS[difficulty])))
    return published_road(difficulty, seed)


def minimum_crossing(game: Crossing) -> int:
    """The least number of turns from the start of the road to the goal without a hit.

    It is the cognitive load factor S of the paper (Table 5), and for a game it does not
    depend on what was played so far.

    Raises:
        WorldError: If no crossing within the horizon is free of hits.
    """
    turns = game.road.fewest_turns(limit=HORIZON)
    if turns is None:
        raise WorldError(f"this road cannot be crossed within {HORIZON} turns without a hit")
    return turns
