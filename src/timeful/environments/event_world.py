"""A base for worlds of events: the queue, actions that last, observations and the score."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from timeful.core.units import START, Duration, Instant
from timeful.environments.environment import Observation
from timeful.environments.event_queue import EventQueue
from timeful.errors import IllegalActionError
from timeful.seeding import child

DONE = "done"
"""The event at the end of an action."""

END = "end"
"""The last event of an episode."""


@dataclass(frozen=True, slots=True)
class EventView:
    """The state of a world as its agent sees it: `view.name` reads a value of the state."""

    turn: int
    state: Mapping[str, Any] = field(default_factory=dict)

    def __getattr__(self, name: str) -> Any:
        try:
            return self.state[name]
        except KeyError:
            known = ", ".join(self.state)
            raise AttributeError(f"the view has no {name!r}; it has {known}") from None

    def text(self) -> str:
        """The state as text, one value a line."""
        return "\n".join(f"{name}: {value}" for name, value in self.state.items())

    def json_state(self) -> dict[str, Any]:
        """The state as plain JSON values."""
        return dict(self.state)


class EventWorld:
    """An `Environment` that is defined by four methods.

    A subclass schedules events in `start`, begins actions in `begin`, changes its state in
    `happen`, and shows it in `state`. Of actions that last, one is in progress at a time.

    Args:
        seed: The seed of the episode.
    """

    next_tick: Instant | None = None

    def __init__(self, seed: int = 0) -> None:
        self.seed = seed
        self.reset()

    def start(self, rng: np.random.Generator) -> None:
        """Set the state and schedule the events of an episode, with `finish` for its end."""
        raise NotImplementedError

    def begin(self, action: str) -> Duration | None:
        """Begin an action: its length, or None if it has its effect without an event.

        Raises:
            IllegalActionError: If the action is not possible now; nothing may have changed.
        """
        raise IllegalActionError(f"this world has no action {action!r}")

    def happen(self, event: str, data: Any) -> float | None:
        """Change the state by an event; the end of an action is the event "done".

        Returns:
            The utility of the event; None is 0.
        """
        raise NotImplementedError

    def state(self) -> Mapping[str, Any]:
        """The state that the agent sees: plain JSON values by name, copied from the world's."""
        raise NotImplementedError

    def schedule(self, at: Instant | Duration, event: str, data: Any = None) -> None:
        """Let an event happen at an instant."""
        self._queue.add(Instant(at), (event, data))

    def finish(self, at: Instant | Duration) -> None:
        """Let the episode end at an instant."""
        self.schedule(at, END)

    def reset(self) -> None:
        """Go back to the start of the same episode."""
        self._queue: EventQueue[tuple[str, Any]] = EventQueue()
        self.now, self.turn, self.score, self.busy = START, 0, 0.0, False
        self.start(child(self.seed, type(self).__name__))

    def intervene(self, actions: Sequence[str], *, at: Instant) -> None:
        """Take at most one action, unless one is in progress.

        Raises:
            IllegalActionError: If it is not possible now; nothing has changed then.
        """
        if len(actions) > 1 or (actions and self.busy):
            raise IllegalActionError(f"one action at a time; got {', '.join(map(str, actions))}")
        for action in actions:
            self.now = at
            span = self.begin(action)
            if span is not None:
                self.busy = True
                self.schedule(at + span, DONE, action)

    def advance(self, to: Instant) -> tuple[Observation, ...]:
        """Let everything happen up to an instant."""
        observations = []
        while (due := self._queue.take(to)) is not None:
            self.now, (event, data) = due
            self.busy = self.busy and event != DONE
            reward = 0.0 if event == END else float(self.happen(event, data) or 0.0)
            self.score += reward
            self.turn += 1
            observations.append(
                Observation(
                    at=self.now,
                    event=event,
                    view=self.view(),
                    reward=reward,
                    data={} if data is None else {"data": data},
                    is_quiet=event == DONE,
                )
            )
            if event == END:
                self._queue = EventQueue()
        return tuple(observations)

    def next_change(self) -> Instant | None:
        """The instant of the next event; None once the episode is over."""
        return self._queue.next

    def view(self) -> EventView:
        """The state that the agent sees now."""
        return EventView(self.turn, dict(self.state()))
