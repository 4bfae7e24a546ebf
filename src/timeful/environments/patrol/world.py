"""Patrol as a world on the timeline: a tick every period, and alarms that wait for nobody.

Under an event-driven interface every tick is seen and can be answered; under a loop the agent
looks up at boundaries only. Those are EP and Loop of the paper's section 5.1.2.
"""

from collections.abc import Sequence
from copy import deepcopy

import numpy as np

from timeful.core.units import START, Duration, Instant, seconds
from timeful.environments.environment import Observation
from timeful.environments.patrol.dynamics import State, begin, can_respond, goes_off, set_off, tick
from timeful.environments.patrol.settings import PatrolSettings
from timeful.environments.patrol.view import PatrolView, show
from timeful.errors import IllegalActionError, WorldError, check_range

CONTINUE = "continue"
RESPOND = "respond"

PERIOD = seconds(1)
"""The length of a tick, unless another is given."""


class Patrol:
    """An `Environment` that can also be stepped by hand, with `step`.

    Tick k happens at k periods. To respond is legal only while there is an alarm and the agent
    is not yet on its way to one: it is committed until that is resolved or has expired.

    Args:
        settings: The grid, the alarms and the rewards.
        rng: Draws the alarms of the one episode; a copy is kept to begin it again.
        period: The length of a tick, above 0.

    Raises:
        SettingsError: If the period is not above 0.
    """

    def __init__(
        self,
        settings: PatrolSettings,
        rng: np.random.Generator,
        *,
        period: Duration = PERIOD,
    ) -> None:
        check_range("the length of a tick, in ns,", period, above=0)
        self.settings = settings
        self._rules = settings.rules()
        self._chance = deepcopy(rng)
        self._period = period
        self.reset()

    def reset(self) -> None:
        """Go back to the start of the same episode."""
        self._rng = deepcopy(self._chance)
        self._state = State()
        begin(self._rules, self._state)
        self._responds = False

    # --- by hand -----------------------------------------------------------------------------

    @property
    def legal_actions(self) -> tuple[str, ...]:
        """The actions that can be taken now."""
        return (CONTINUE, RESPOND) if can_respond(self._state, False) else (CONTINUE,)

    def step(self, action: str = CONTINUE) -> float:
        """Let one tick pass and return its reward.

        Raises:
            IllegalActionError: If the action is not legal now; nothing has changed.
            WorldError: If the episode is over.
        """
        self._check(action)
        if self.is_over:
            raise WorldError("the patrol is over; reset it to begin again")
        reward = tick(self._rules, self._state, action == RESPOND)
        if goes_off(self._rules, self._state, self._rng):
            set_off(self._rules, self._state, self._rng)
        return reward

    @property
    def is_over(self) -> bool:
        """Whether the last tick has passed."""
        return self._state.tick >= self._rules.horizon

    def counts(self) -> dict[str, float]:
        """What has come of the episode so far, by the names of `episodes.COUNTS`."""
        state = self._state
        return {
            "return": state.score,
            "alarms": state.alarms,
            "resolved": state.resolved,
            "expired": state.expired,
            "active_ticks": state.active_ticks,
            "checkpoints": state.checkpoints,
            "interruptions": state.interruptions,
            "interrupt_cost": state.interrupt_cost,
        }

    # --- on the timeline ---------------------------------------------------------------------

    def intervene(self, actions: Sequence[str], *, at: Instant) -> None:
        """Take the last of some actions for the tick under way.

        Raises:
            IllegalActionError: If one of them is not legal now; none is taken.
        """
        for action in actions:
            self._check(action)
        if actions:
            self._responds = actions[-1] == RESPOND

    def advance(self, to: Instant) -> tuple[Observation, ...]:
        """Let every tick pass that is over by `to`; each is an event."""
        observations = []
        while (at := self.next_change()) is not None and at <= to:
            before = self.counts()
            reward = self.step(RESPOND if self._responds else CONTINUE)
            self._responds = False
            observations.append(
                Observation(at=at, event=self._event(before), view=self.view(), reward=reward)
            )
        return tuple(observations)

    def next_change(self) -> Instant | None:
        """The end of the tick under way; None once the episode is over."""
        return None if self.is_over else (START + self._period * (self._state.tick + 1))

    def view(self) -> PatrolView:
        """What can be seen now."""
        return show(self.settings, self._state)

    @property
    def next_tick(self) -> Instant | None:
        """The end of the tick under way: everybody knows the period."""
        return self.next_change()

    @property
    def busy(self) -> bool:
        """Whether the agent is in the middle of something; not at a boundary."""
        return not self._state.boundary

    @property
    def score(self) -> float:
        """The return so far."""
        return self._state.score

    def _event(self, before: dict[str, float]) -> str:
        """What the tick that has just passed brought, the most important first."""
        now = self.counts()
        for event, count in (("expired", "expired"), ("resolved", "resolved"), ("alarm", "alarms")):
            if now[count] > before[count]:
                return event
        return "boundary" if self._state.boundary else "tick"

    def _check(self, action: str) -> None:
        if action not in self.legal_actions:
            raise IllegalActionError.named(action, self.legal_actions)
