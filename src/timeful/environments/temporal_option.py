"""A temporally extended action, as a game's `problem.py` offers it to a search.

The search reasoner of `timeful.models` knows this type by its shape alone.
"""

from collections.abc import Hashable
from typing import Generic, NamedTuple, TypeVar

S = TypeVar("S")


class TemporalOption(NamedTuple, Generic[S]):
    """One or more actions in a row, and the state to which they lead in the search.

    Attributes:
        letters: The actions.
        labels: The position after each action, without white space.
        aim: The purpose in words.
        state: The state after the actions; None if they lose.
        key: Two options with the same turn and the same key have the same future.
        value: Points and progress so far.
        solved: Whether no other option can be better.
    """

    letters: str
    labels: tuple[str, ...]
    aim: str
    state: S | None
    key: Hashable
    value: float
    solved: bool = False
