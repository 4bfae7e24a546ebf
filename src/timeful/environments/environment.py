"""An environment is an Engagement Process: it moves by itself.

E = (S, A, Y, F, O, U): actions go in as a set of interventions, maybe empty; observations come
out as events, each with an instant of its own. The two are never paired by construction.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from timeful.core.units import Instant
from timeful.environments.game import View


@dataclass(frozen=True, slots=True, kw_only=True)
class Observation:
    """Something that could be seen of the world at an instant.

    `action` is what moved the world to here, and `late` whether that was the default action
    because none had come; both are about the turn that ends here. `restarted` says that this
    turn put the agent back to where it began.
    """

    at: Instant
    view: View
    action: str
    late: bool
    reward: float
    restarted: bool = False


class Environment(Protocol):
    """A world in time. Instants are the world's own; an interface joins them to the agent's."""

    def reset(self) -> None:
        """Go back to the start; the same episode begins again."""
        ...

    def intervene(self, actions: Sequence[str]) -> None:
        """Take a set of interventions, to have effect at the next change of the world.

        Raises:
            IllegalActionError: If one of them is not an action of this world; none is taken.
        """
        ...

    def advance(self, to: Instant) -> tuple[Observation, ...]:
        """Let the world move through `to` and return what could be seen on the way."""
        ...

    def next_change(self) -> Instant | None:
        """When the world will next change by itself; None when it never will again."""
        ...

    def view(self) -> View:
        """What can be seen now."""
        ...

    @property
    def score(self) -> float:
        """The utility so far."""
        ...
