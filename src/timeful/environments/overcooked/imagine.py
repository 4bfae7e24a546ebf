"""A kitchen rebuilt from a view, for agents that try actions out in their mind.

Only what is shown goes in, so nothing of the real partner's mind can leak into a search. The
imagined Bob stands still: he blocks his cell and keeps what he holds.
"""

from collections.abc import Hashable
from typing import Final, Self

from timeful.environments.overcooked.kitchen import ACTIONS, HORIZON, Kitchen
from timeful.environments.overcooked.view import OvercookedView, kitchen_of
from timeful.errors import IllegalActionError, WorldError

STAND_STILL: Final = "S"


class ImaginedKitchen:
    """An Overcooked in which Bob does nothing; cheap to copy and to step.

    `score` counts from the moment of imagining.
    """

    __slots__ = ("kitchen", "score", "turn")

    actions: Final = ACTIONS
    horizon: Final = HORIZON

    def __init__(self, kitchen: Kitchen, *, turn: int) -> None:
        self.kitchen = kitchen
        self.turn = turn
        self.score = 0.0

    @property
    def done(self) -> bool:
        """Whether the episode would be over."""
        return self.turn >= self.horizon

    def step(self, action: str) -> float:
        """Imagine one turn of Alice and return its reward.

        Raises:
            IllegalActionError: If there is no such action.
            WorldError: If the episode would be over.
        """
        if action not in ACTIONS:
            raise IllegalActionError.named(action, ACTIONS)
        if self.turn >= self.horizon:
            raise WorldError("the imagined episode is over; imagine again from a new view")
        reward = float(self.kitchen.step(action, STAND_STILL))
        self.turn += 1
        self.score += reward
        return reward

    def legal_actions(self) -> tuple[str, ...]:
        """All six actions."""
        return ACTIONS

    def key(self) -> Hashable:
        """A value that two imagined kitchens share exactly if they have the same future."""
        kitchen = self.kitchen
        return (
            self.turn,
            *kitchen.at,
            *kitchen.facing,
            *kitchen.held,
            frozenset(kitchen.counters.items()),
            frozenset(kitchen.pots.items()),
        )

    def copy(self) -> Self:
        """An independent kitchen in the same state."""
        twin = object.__new__(type(self))
        twin.kitchen = self.kitchen.copy()
        twin.turn = self.turn
        twin.score = self.score
        return twin


def imagine(view: OvercookedView) -> ImaginedKitchen:
    """Rebuild a kitchen from what a view shows, and from nothing else."""
    return ImaginedKitchen(kitchen_of(view), turn=view.turn)
