"""The task library of a process: opens cases, and keeps between episodes what is slow to make."""

import atexit
from collections.abc import Mapping
from functools import cache, lru_cache

from timeful.environments.reasoning.problems import Problem
from timeful.sandbox.workspace import Backend, choose_backend
from timeful.tasks.coding import CodingOpener
from timeful.tasks.episode import Family, TaskEpisode, TaskSource
from timeful.tasks.families import OpenTask, TaskOpener
from timeful.tasks.fiction import FictionOpener
from timeful.tasks.reasoning import ReasoningOpener


class TaskLibrary:
    """Opens tasks of all families. It holds sandboxes, checkers and data until it is closed."""

    def __init__(self) -> None:
        self.backend = backend = lru_cache(maxsize=2)(_backend)
        """What confines programs here, by `is_unsafe`; trying the sandboxes takes a moment."""
        self._reasoning = ReasoningOpener(backend)
        self._openers: Mapping[Family, TaskOpener] = {
            "fiction": FictionOpener(),
            "coding": CodingOpener(backend),
            "reasoning": self._reasoning,
        }

    def select(
        self, family: Family, names: tuple[str, ...], source: TaskSource, *, seed: int
    ) -> tuple[str, ...]:
        """Check the names of games, ML tasks or sets of problems, and return their cases.

        Args:
            family: The family of the tasks.
            names: Games, ML tasks or, as in the source, sets of problems.
            source: Where they come from.
            seed: Of generated problems.

        Raises:
            SettingsError: If a case is unknown or not available here.
        """
        return self._openers[family].select(names, source, seed)

    def open(self, episode: TaskEpisode) -> OpenTask:
        """Open the case of an episode; the caller closes it.

        Raises:
            TimefulError: If it cannot be opened, for example without a sandbox.
        """
        return self._openers[episode.family].open(episode)

    def problems(self, source: TaskSource, seed: int) -> Mapping[str, Problem]:
        """The problems of a source by the names of their cases, `family/id`.

        Raises:
            SettingsError: If there are no such problems.
        """
        return self._reasoning.problems(source, seed)

    def close_all(self) -> None:
        """Close sandboxes and checkers; the next episode makes them again."""
        for opener in self._openers.values():
            opener.close()


def _backend(is_unsafe: bool) -> Backend:
    return choose_backend(unsafe=is_unsafe)


@cache
def process_library() -> TaskLibrary:
    """The library of this process, closed at its end.

    Worker processes of a run play many episodes, one call each, so it cannot be passed to them.
    """
    library = TaskLibrary()
    atexit.register(library.close_all)
    return library
