"""A search that gets better the longer it runs: a beam that advances turn by turn.

All states that can be imagined for one turn are compared at that turn, and the best `beam` of
them are looked into. If every one of them turns out to be a dead end, the search goes back to
those that it had left aside, latest first. At any moment `best` is the plan that it would
follow if it had to stop.
"""

from collections.abc import Hashable, Iterator, Sequence
from typing import Any

from timeful.models.search.problem import Option, Problem

EAGERNESS = 0.05
"""How much earlier progress counts beside later: of two ways to one place the faster is better."""


class Node:
    """A state reached in imagination, and how."""

    __slots__ = ("depth", "option", "parent", "score", "state", "turn")

    def __init__(
        self, state: Any, turn: int, score: float, parent: "Node | None", option: Option | None
    ) -> None:
        self.state = state
        self.turn = turn
        self.score = score
        self.parent = parent
        self.option = option
        self.depth: int = 0 if parent is None else parent.depth + 1

    def steps(self) -> list[tuple[str, str]]:
        """The actions from the start to here, each with the label of the place after it."""
        return [
            step
            for option in self._options()
            for step in zip(option.letters, option.labels, strict=True)
        ]

    def letters(self) -> str:
        """The actions from the start to here."""
        return "".join([option.letters for option in self._options()])

    def _options(self) -> list[Option]:
        options = []
        node: Node | None = self
        while node is not None and node.option is not None:
            options.append(node.option)
            node = node.parent
        options.reverse()
        return options


class Search:
    """One search.

    Args:
        problem: What to search.
        start: The state to search from, and its turn; by default, the problem's own.
        depth: How many decisions to look ahead; None for no limit.
        horizon: How many turns to look ahead.
        beam: How many states to look into at each turn, at most.
        jitter: Small numbers that decide between equals, used over and over.
    """

    def __init__(
        self,
        problem: Problem,
        *,
        depth: int | None,
        horizon: int,
        beam: int,
        jitter: Sequence[float],
        start: tuple[Any, int] | None = None,
    ) -> None:
        state, turn = start or (problem.start, problem.turn)
        self.problem = problem
        self.root = Node(state, turn, 0.0, None, None)
        self.solution: Node | None = None
        self.expanded = 0
        self._beam = min(beam, problem.breadth)
        self._depth = depth
        self._jitter = jitter
        self._made = 0
        self._end = min(turn + horizon, problem.turn + problem.span)
        self._open: dict[int, dict[Hashable, Node]] = {}
        self._aside: dict[int, list[Node]] = {turn: [self.root]}
        self._leaves: dict[Hashable, Node] = {}
        self._places: dict[tuple[int, str], Node] = {}
        self._latest = self.root

    def layers(self) -> Iterator[Iterator[tuple[Node, Sequence[Option]]]]:
        """Search on, turn by turn; each layer yields the states looked into, with their options."""
        while self.solution is None and (layer := self._next_layer()):
            yield self._look_into(layer)

    @property
    def best(self) -> Node:
        """The most promising way found so far, or the longest if all of them end badly."""
        if self.solution is not None:
            return self.solution
        leaves = [node for layer in self._open.values() for node in layer.values()]
        leaves += self._leaves.values()
        return max(leaves, key=_score, default=self._latest)

    def reaching(self, turn: int, label: str) -> Node | None:
        """The first state found for this turn that has this label, if there is one."""
        return self._places.get((turn, label))

    def _next_layer(self) -> list[Node]:
        """The nodes to look into next: of the next turn, else the latest ones left aside."""
        if self._open:
            turn = min(self._open)
            ranked = sorted(self._open.pop(turn).values(), key=_score, reverse=True)
            self._aside[turn] = ranked
        elif self._leaves or not self._aside:
            return []
        else:
            turn = max(self._aside)
            ranked = self._aside[turn]
        layer, others_left = ranked[: self._beam], ranked[self._beam :]
        if others_left:
            self._aside[turn] = others_left
        else:
            del self._aside[turn]
        return layer

    def _look_into(self, layer: list[Node]) -> Iterator[tuple[Node, Sequence[Option]]]:
        for node in layer:
            options = self.problem.options(node.state)
            self.expanded += 1
            for option in options:
                if option.state is None:
                    continue
                if node.turn + len(option.letters) > self._end:
                    self._leaves[id(node)] = node
                else:
                    self._add(node, option)
            yield node, options

    def _add(self, parent: Node, option: Option) -> None:
        turn = parent.turn + len(option.letters)
        self._made += 1
        score = option.value + EAGERNESS * parent.score
        score += self._jitter[self._made % len(self._jitter)]
        node = Node(option.state, turn, score, parent, option)
        self._places.setdefault((turn, option.labels[-1]), node)
        if turn > self._latest.turn:
            self._latest = node
        if option.solved and (self.solution is None or turn < self.solution.turn):
            self.solution = node
        layer: dict[Hashable, Node]
        key: Hashable
        if turn == self._end or node.depth == self._depth:
            layer, key = self._leaves, (turn, option.key)
        else:
            layer, key = self._open.setdefault(turn, {}), option.key
        rival = layer.get(key)
        if rival is None or rival.score < score:
            layer[key] = node


def _score(node: Node) -> float:
    return node.score
