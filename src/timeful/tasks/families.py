"""The three families of tasks: instructions, stand-ins, and how a case is opened."""

from collections.abc import Callable, Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field
from typing import Protocol

from timeful.agents.prompts.timely import BRIEFINGS, Briefing
from timeful.agents.scripted_policies import Player, explorer, ladder, solver
from timeful.environments.timed.task import Task
from timeful.models.rules import Rule
from timeful.tasks.episode import Family, TaskEpisode, TaskSource


@dataclass(frozen=True, slots=True, kw_only=True)
class FamilySpec:
    """A family of tasks.

    Attributes:
        briefing: The instructions of a player.
        players: The stand-ins by name.
    """

    briefing: Briefing
    players: Mapping[str, Player]


FAMILY_SPECS: Mapping[Family, FamilySpec] = {
    "fiction": FamilySpec(briefing=BRIEFINGS["fiction"], players=explorer.PLAYERS),
    "coding": FamilySpec(briefing=BRIEFINGS["coding"], players=ladder.PLAYERS),
    "reasoning": FamilySpec(briefing=BRIEFINGS["reasoning"], players=solver.PLAYERS),
}


@dataclass(slots=True, kw_only=True)
class OpenTask:
    """A case that can be worked on, until it is closed.

    Attributes:
        task: The case.
        rule: Makes the rule of a stand-in for this case.
        resources: Closed with the task.
    """

    task: Task
    rule: Callable[[Player], Rule]
    resources: ExitStack = field(default_factory=ExitStack)

    def close(self) -> None:
        """Release its sandbox and files."""
        self.resources.close()


class TaskOpener(Protocol):
    """Opens the cases of a family, and keeps what is slow to make until it is closed."""

    def select(self, names: tuple[str, ...], source: TaskSource, seed: int) -> tuple[str, ...]:
        """Check the names of games, ML tasks or sets, and return the names of their cases.

        Raises:
            SettingsError: If a case is unknown or not available here.
        """
        ...

    def open(self, episode: TaskEpisode) -> OpenTask:
        """Open the case of an episode.

        Raises:
            TimefulError: If it cannot be opened.
        """
        ...

    def close(self) -> None:
        """Close what is kept; the opener remains usable."""
        ...
