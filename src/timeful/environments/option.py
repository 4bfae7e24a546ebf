"""What a search is told about one way to go on: the word that games and searches share.

A game's `problem.py` offers options; who searches them is not its business (the search reasoner
of `timeful.models` does, and knows them by their shape alone).
"""

from collections.abc import Hashable
from typing import Generic, NamedTuple, TypeVar

S = TypeVar("S")


class Option(NamedTuple, Generic[S]):
    """One or more actions in a row, and where they lead in imagination.

    `labels` name the place after each action, without white space; `aim` says in words what it
    is for. `state` is None if it ends badly. Two options with the same turn and the same `key`
    have the same future. `value` counts points and progress so far, and `solved` says that
    nothing better can come.
    """

    letters: str
    labels: tuple[str, ...]
    aim: str
    state: S | None
    key: Hashable
    value: float
    solved: bool = False
