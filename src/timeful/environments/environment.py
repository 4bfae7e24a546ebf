"""An environment is an Engagement Process: it moves by itself.

E = (S, A, Y, F, O, U): actions go in as a set of interventions, maybe empty; observations come
out as events, each with an instant of its own. The two are never paired by construction.
(Engagement Process, section 3.1.)
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol, runtime_checkable

from timeful.core.kernel import Kernel
from timeful.core.units import Instant
from timeful.environments.game import View
from timeful.records.recorder import Recorder


@dataclass(frozen=True, slots=True, kw_only=True)
class Observation:
    """Something that could be seen of the world at an instant.

    Attributes:
        at: When it happened.
        event: What happened, in the world's own words: "turn", "email", "signal".
        view: All that can be seen then.
        reward: The utility that came with it.
        data: What it was about, as plain JSON values, for the record.
        is_quiet: Whether it takes nobody away from something else: the end of an action of the
            agent's own, which waits for it anyway, or what was known long before.
    """

    at: Instant
    event: str
    view: View
    reward: float = 0.0
    data: Mapping[str, Any] = field(default_factory=dict)
    is_quiet: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Turn(Observation):
    """A world of turns moved by one.

    `action` is what moved it to here, and `late` whether that was the default action because
    none had come. `restarted` says that it put the agent back to where it began.
    """

    action: str
    late: bool
    restarted: bool = False


class Environment(Protocol):
    """A world in time. Instants are the world's own; an interface joins them to the agent's."""

    def reset(self) -> None:
        """Go back to the start; the same episode begins again."""
        ...

    def intervene(self, actions: Sequence[Any], *, at: Instant) -> None:
        """Take a set of interventions at an instant, before what the world does itself then.

        An action that lasts makes the world `busy`; its end is a change of the world.

        Args:
            actions: The actions, of the world's own type; an empty set changes nothing. A record
                holds the text of an action, `str(action)`.
            at: When, from the last change of the world to the next.

        Raises:
            IllegalActionError: If one of them is not an action of this world, or not now; none
                is taken.
        """
        ...

    def advance(self, to: Instant) -> tuple[Observation, ...]:
        """Let the world move through `to` and return what could be seen on the way."""
        ...

    def next_change(self) -> Instant | None:
        """When the world will next change by itself; None when it never will again.

        This is for the interface: what it says of the future is no agent's to know.
        """
        ...

    def view(self) -> View:
        """What can be seen now."""
        ...

    @property
    def next_tick(self) -> Instant | None:
        """When the world is known to change next, whatever anybody does; None if nobody knows."""
        ...

    @property
    def busy(self) -> bool:
        """Whether an action that lasts is under way: what a loop takes for one step."""
        ...

    @property
    def score(self) -> float:
        """The utility so far."""
        ...


@runtime_checkable
class Living(Protocol):
    """What an environment has beside, if others move it as well: modules of `runs.module`."""

    def live(self, kernel: Kernel, recorder: Recorder, stirred: Callable[[], None]) -> None:
        """Begin, now; the interface that it is joined by calls this once.

        Args:
            kernel: The timeline.
            recorder: Where those in it write.
            stirred: To be called when `next_change` has moved by something else than an
                intervention through this interface.
        """
        ...
