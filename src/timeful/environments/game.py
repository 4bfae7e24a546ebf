"""A game: a world that moves in turns, played one action a turn.

What makes a game real-time is not here: an interface decides when a turn passes.
"""

from typing import Any, ClassVar, Literal, Protocol, Self

Difficulty = Literal["easy", "medium", "hard"]
Mode = Literal["compat", "paper"]

DIFFICULTIES: tuple[Difficulty, ...] = ("easy", "medium", "hard")
MODES: tuple[Mode, ...] = ("compat", "paper")


class View(Protocol):
    """All that a player is shown of a state: a frozen value, complete, with no hidden part."""

    @property
    def turn(self) -> int:
        """The number of turns that have passed."""
        ...

    def text(self) -> str:
        """The state as a text grid, as in the published benchmark."""
        ...

    def json_state(self) -> dict[str, Any]:
        """The state as plain JSON values, as a code policy is given it."""
        ...


class Game(Protocol):
    """One episode of a game, deterministic given its difficulty, seed, mode and actions."""

    name: ClassVar[str]
    actions: ClassVar[tuple[str, ...]]
    """The letters a player may answer with, as prompts list them."""
    horizon: ClassVar[int]
    """The greatest number of turns."""

    turn: int
    score: float
    """The return so far; at the end, the raw score R of the episode."""
    done: bool

    @property
    def default_action(self) -> str:
        """What happens when no action came in time; always legal.

        It may depend on the state: in paper mode, Freeway repeats the last action.
        """
        ...

    @property
    def restarted(self) -> bool:
        """Whether the last turn put the player back to the start, so that plans are void."""
        ...

    @property
    def busy(self) -> bool:
        """Whether something that the player set about takes more turns, as a loop counts steps."""
        ...

    def __init__(self, *, difficulty: Difficulty, seed: int, mode: Mode = "compat") -> None:
        """Make the game and reset it.

        Raises:
            SettingsError: If there is no such difficulty or mode, or no such seed.
        """
        ...

    def reset(self) -> None:
        """Go back to the start of the same episode."""
        ...

    def step(self, action: str) -> float:
        """Play one turn and return its reward.

        Raises:
            IllegalActionError: If the game has no such action; the state is unchanged.
            WorldError: If the game is over.
        """
        ...

    def legal_actions(self) -> tuple[str, ...]:
        """The actions that `step` takes, the default one included."""
        ...

    def view(self) -> View:
        """What a player is shown now."""
        ...

    def summary(self) -> dict[str, Any]:
        """The state in short, for scripts and tests (the `state` of `timeful play --json`)."""
        ...

    def save(self) -> bytes:
        """The full state, generators included, as bytes that `load` takes."""
        ...

    def load(self, state: bytes) -> None:
        """Continue from a saved state.

        Raises:
            WorldError: If the bytes are no saved state of this game.
        """
        ...

    def copy(self) -> Self:
        """An independent game in the same state."""
        ...
