"""What interfaces share: the window through which an agent sees the world.

It keeps what became visible until it is taken, tells when the world has moved, and writes the
world's turns. When the world moves, and what happens without an action, is each interface's own
law.
"""

from timeful.core.activity import Event
from timeful.core.kernel import Kernel
from timeful.core.units import Instant
from timeful.environments.environment import Environment, Observation
from timeful.environments.game import View
from timeful.records.events import Acted, Observed, Turned
from timeful.records.recorder import Recorder


class Window:
    """The agent's side of an interface; see `timeful.agents.session.Port`."""

    def __init__(
        self, kernel: Kernel, environment: Environment, recorder: Recorder, *, full: bool
    ) -> None:
        self._kernel = kernel
        self._environment = environment
        self._recorder = recorder
        self._full = full
        self._unread: list[Observation] = []
        self.view: View = environment.view()
        self.turn = 0
        self.restarts = 0
        self.over = environment.next_change() is None
        self.next_tick: Instant = kernel.now
        self.moved: Event[None] = kernel.event()

    @property
    def score(self) -> float:
        """The utility so far."""
        return self._environment.score

    def observe(self) -> tuple[Observation, ...]:
        """Take the observations that became visible since the last call."""
        unread, self._unread = tuple(self._unread), []
        return unread

    def _record_act(self, action: str) -> None:
        self._recorder.write(
            Acted(at=self._kernel.now, turn=self.turn, action=action, legal=True, error=None)
        )

    def _move(self, to: Instant) -> None:
        """Let the world move through one of its instants, and show what happened."""
        now = self._kernel.now
        for seen in self._environment.advance(to):
            self.turn += 1
            self.restarts += seen.restarted
            self.view = seen.view
            self._unread.append(seen)
            self._recorder.write(
                Turned(
                    at=now,
                    turn=self.turn,
                    action=seen.action,
                    late=seen.late,
                    reward=seen.reward,
                    score=self._environment.score,
                )
            )
            state = seen.view.json_state() if self._full else None
            self._recorder.write(Observed(at=now, visible_at=now, turn=self.turn, state=state))
        self.over = self._environment.next_change() is None
        moved, self.moved = self.moved, self._kernel.event()
        moved.set(None)
