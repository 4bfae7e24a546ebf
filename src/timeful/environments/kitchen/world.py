"""The kitchen with tutoring as a world on the timeline. Read this first.

Dishes are prepared, staged on a slot of the stove, signal after a while, and count if they are
finished within their window. In between, problems are tutored. The cook has one pair of hands:
preparing, staging and finishing last; to tutor is the agent's affair, which tells the kitchen
when it begins and how far it came. Engagement Process, section 5.2.2 and appendix E.

| event | what | data |
| --- | --- | --- |
| `signal` | a dish must be finished now | dish, window_end, deadline (instants) |
| `prepared`, `staged` | the end of such an action | dish |
| `finished` | the end of a finish action; the slot is free | dish, quality |
| `tutoring`, `tutored` | a problem is begun; it came so far | problem, written, complete |
| `checked`, `timer` | a check; a wait of so many ticks is over | |
| `ended`, `budget` | the episode is over, by `<end/>` or by its time budget | |
"""

from collections.abc import Sequence

import numpy as np

from timeful.core.units import START, Instant
from timeful.environments.environment import Observation
from timeful.environments.kitchen.actions import Action, read_action
from timeful.environments.kitchen.dynamics import Laws
from timeful.environments.kitchen.settings import TICK, Case, KitchenSettings
from timeful.environments.kitchen.state import State
from timeful.environments.kitchen.view import KitchenView
from timeful.errors import IllegalActionError


class Kitchen:
    """An `Environment` of dishes and tutoring problems.

    A dish that missed its deadline stays on the stove until it is finished all the same. The
    time budget ends an episode that nobody ended.

    Args:
        case: What there is to do.
        settings: The laws.
        rng: Draws the jitter of whistles, in whole ticks.
    """

    def __init__(self, case: Case, settings: KitchenSettings, rng: np.random.Generator) -> None:
        # One draw for each dish, so that no dish depends on which others whistle.
        jitter = rng.normal(0.0, settings.jitter, size=len(case.dishes))
        offsets = tuple(
            max(dish.offset + round(late) * TICK * dish.is_whistle, 0)
            for dish, late in zip(case.dishes, jitter, strict=True)
        )
        self._laws = Laws(case=case, settings=settings, offsets=offsets)
        self.reset()

    def reset(self) -> None:
        """Go back to the start of the same episode."""
        self._state: State = self._laws.start()
        self._now = START
        self._told = 0.0  # the utility that observations have told of

    def intervene(self, actions: Sequence[Action | str], *, at: Instant) -> None:
        """Begin actions, as values or as XML elements; only one of a set may take time.

        Raises:
            IllegalActionError: If one of them is malformed or cannot be done now; none is done.
        """
        state = self._state
        if actions and state.is_over:
            raise IllegalActionError("the episode is over")
        for action in actions:
            state = self._laws.begin(
                state, read_action(action) if isinstance(action, str) else action, at
            )
        self._state, self._now = state, at

    def advance(self, to: Instant) -> tuple[Observation, ...]:
        """Let everything happen that happens by an instant."""
        observations = []
        while (event := self._laws.step(self._state, to)) is not None:
            self._state, self._now = event.state, event.at
            reward, self._told = self.score - self._told, self.score
            observations.append(
                Observation(
                    at=event.at,
                    event=event.name,
                    view=self.view(),
                    reward=reward,
                    data=event.data,
                    is_quiet=event.is_quiet,
                )
            )
        return tuple(observations)

    def next_change(self) -> Instant | None:
        """The next event of any kind; None once the episode is over."""
        return self._laws.next_change(self._state)

    def view(self) -> KitchenView:
        """What can be seen, as of the latest event."""
        return self._state.view

    @property
    def next_tick(self) -> None:
        """Nobody knows when a dish will signal."""
        return

    @property
    def busy(self) -> bool:
        """Whether an action is under way."""
        return self._state.activity is not None

    @property
    def score(self) -> float:
        """The utility so far; what an interface's own checks cost is no part of it."""
        return self._laws.score(self._state, self._now)
