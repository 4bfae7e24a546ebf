"""What a search needs to know about a game, and all that it is told.

A view offers its own problem (`view.problem()`), made from what it shows. Worlds and models do
not know each other: they meet in the shapes below.
"""

from collections.abc import Hashable, Sequence
from typing import Any, Protocol


class Option(Protocol):
    """One or more actions in a row, and where they lead in imagination."""

    @property
    def letters(self) -> str:
        """The actions, one letter a turn."""
        ...

    @property
    def labels(self) -> tuple[str, ...]:
        """The place after each action, a word without white space."""
        ...

    @property
    def aim(self) -> str:
        """What it is for, in words."""
        ...

    @property
    def state(self) -> Any:
        """The imagined state at the end; None if it ends badly."""
        ...

    @property
    def key(self) -> Hashable:
        """Equal, at the same turn, for states with the same future."""
        ...

    @property
    def value(self) -> float:
        """Points and progress so far; greater is better."""
        ...

    @property
    def solved(self) -> bool:
        """Whether nothing better can come."""
        ...


class Problem(Protocol):
    """A game to be searched from one state on, as far as a view shows it.

    `span` is how many turns ahead a plan may reach, `breadth` how many states are worth comparing
    at one turn, and `where` the label of the start.
    """

    turn: int
    span: int
    breadth: int
    start: Any
    where: str

    @property
    def actions(self) -> tuple[str, ...]:
        """All letters, for those who find nothing good."""
        ...

    def options(self, state: Any) -> Sequence[Option]:
        """The ways to go on that are worth a thought, bad ones included."""
        ...

    def step(self, state: Any, letter: str) -> Option:
        """A single action, whatever comes of it."""
        ...

    def tell(self, state: Any, options: Any) -> str:
        """Say at length what comes of each option."""
        ...

    def program(self, depth: int) -> str:
        """A program that plays by looking `depth` decisions ahead: `next_action(json_state)`."""
        ...
