"""A game played from a script: one action a turn, no clock."""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from timeful.environments.game import Game
from timeful.errors import IllegalActionError


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """A state and how it was reached.

    `state` is the game's summary, `reward` that of the last turn alone (0 at the start), and
    `returned` the return so far, which a game need not begin at 0.
    """

    turn: int
    state: dict[str, Any]
    reward: float
    returned: float
    done: bool

    def json(self) -> str:
        """The step as one line of JSON."""
        return json.dumps(
            {
                "turn": self.turn,
                "state": self.state,
                "reward": self.reward,
                "return": self.returned,
                "done": self.done,
            }
        )


def replay(game: Game, actions: str) -> Iterator[Step]:
    """Play letters one by one, until they are used up or the game is over.

    Args:
        game: A game at its start.
        actions: One letter a turn.

    Yields:
        The state at the start, then the one after each action.

    Raises:
        IllegalActionError: At a letter that the game does not have; it names the legal ones.
    """
    yield _step(game, 0.0)
    for number, action in enumerate(actions, 1):
        if game.done:
            return
        try:
            reward = game.step(action)
        except IllegalActionError as error:
            raise IllegalActionError(
                f"action {number} of {len(actions)} of {game.name}: {error}"
            ) from None
        yield _step(game, reward)


def _step(game: Game, reward: float) -> Step:
    return Step(
        turn=game.turn,
        state=game.summary(),
        reward=float(reward),
        returned=float(game.score),
        done=game.done,
    )
