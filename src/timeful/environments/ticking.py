"""A game made to move by itself: one turn every period, with or without an action."""

from collections.abc import Sequence

from timeful.core.units import START, Duration, Instant
from timeful.environments.environment import Observation, Turn
from timeful.environments.game import Game, View
from timeful.errors import IllegalActionError, check_range


class Ticking:
    """An `Environment` around a `Game` (Real-Time Reasoning Gym, section 2, figure 2).

    Turn k of the game happens at k periods. Of several actions in one period the last counts;
    without any, the game's default action is taken.

    Args:
        game: The game; it is reset.
        period: The length of a turn, above 0.

    Raises:
        SettingsError: If the period is not above 0.
    """

    def __init__(self, game: Game, period: Duration) -> None:
        check_range("the length of a turn, in ns,", period, above=0)
        self.game = game
        self._period = period
        self.reset()

    def reset(self) -> None:
        """Go back to the start of the same episode."""
        self.game.reset()
        self._now = START
        self._action: str | None = None

    def intervene(self, actions: Sequence[str], *, at: Instant) -> None:
        """Take the last of some actions for the turn under way, whenever in it that is.

        Raises:
            IllegalActionError: If the game has no such action.
        """
        legal = self.game.legal_actions()
        for action in actions:
            if action not in legal:
                raise IllegalActionError.named(action, legal)
        if actions:
            self._action = actions[-1]

    def advance(self, to: Instant) -> tuple[Observation, ...]:
        """Play every turn that is over by `to`."""
        observations = []
        while (at := self.next_change()) is not None and at <= to:
            late = self._action is None
            action = self.game.default_action if self._action is None else self._action
            self._action = None
            self._now = at
            reward = self.game.step(action)
            observations.append(
                Turn(
                    at=at,
                    event="turn",
                    view=self.game.view(),
                    action=action,
                    late=late,
                    reward=reward,
                    restarted=self.game.restarted,
                )
            )
        return tuple(observations)

    def next_change(self) -> Instant | None:
        """The end of the turn under way; None once the game is over."""
        return None if self.game.done else (self._now + self._period)

    @property
    def next_tick(self) -> Instant | None:
        """The end of the turn under way: everybody knows the period."""
        return self.next_change()

    @property
    def busy(self) -> bool:
        """Whether the game is in the middle of an action that takes several turns."""
        return self.game.busy

    def view(self) -> View:
        """What a player is shown now."""
        return self.game.view()

    @property
    def score(self) -> float:
        """The return so far."""
        return self.game.score
