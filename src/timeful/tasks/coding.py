"""Opening machine learning tasks in sandboxes."""

from collections.abc import Callable
from contextlib import ExitStack
from functools import lru_cache
from pathlib import Path

from timeful.core.units import in_seconds
from timeful.environments.coding.cases import SYNTHETIC, Case, case_names, open_case
from timeful.environments.coding.task import LONGEST_RUN, WARM, CodingTask
from timeful.errors import SettingsError, check_known
from timeful.sandbox.workspace import Backend, WorkLimits, Workspace
from timeful.tasks.episode import TaskEpisode, TaskSource
from timeful.tasks.families import OpenTask


class CodingOpener:
    """Opens ML tasks; keeps their data, and the sandbox of the last case of a stand-in.

    An episode of a language model has its own sandbox, so that no program finds files of another.
    The programs of stand-ins are ours and leave nothing behind, so one sandbox serves a case.
    """

    def __init__(self, backend: Callable[[bool], Backend]) -> None:
        self._backend = backend
        self._case = lru_cache(maxsize=8)(_open_case)
        self._workspaces: dict[str, Workspace] = {}

    def select(self, names: tuple[str, ...], source: TaskSource, seed: int) -> tuple[str, ...]:
        """Check the names of ML tasks."""
        for name in names:
            check_known("coding case", name, case_names())
        if source.data is not None and set(names) <= SYNTHETIC.keys():
            raise SettingsError(
                f"no data folder is read for {', '.join(names)}: the data are made by a seed"
            )
        for name in names:
            self._case(name, source.data, seed)
        return names

    def open(self, episode: TaskEpisode) -> OpenTask:
        """Open the ML task of an episode."""
        source = episode.shared.source
        case = self._case(episode.case, source.data, episode.shared.seed)
        resources = ExitStack()
        if episode.role.is_stand_in:
            workspace = self._shared_workspace(case, source.is_unsafe)
        else:
            workspace = resources.enter_context(self._workspace(case, source.is_unsafe))
        workspace.run("pass")  # imports modules before time counts, also in wall time
        # The task's own `close` would close a sandbox that is kept.
        task = CodingTask(case, workspace)
        return OpenTask(task=task, rule=lambda player: player.make(case), resources=resources)

    def close(self) -> None:
        """Close the sandbox that is kept, and forget the data."""
        self._close_workspaces()
        self._case.cache_clear()

    def _shared_workspace(self, case: Case, is_unsafe: bool) -> Workspace:
        if case.name not in self._workspaces:
            self._close_workspaces()
            self._workspaces[case.name] = self._workspace(case, is_unsafe)
        return self._workspaces[case.name]

    def _close_workspaces(self) -> None:
        while self._workspaces:
            self._workspaces.popitem()[1].close()

    def _workspace(self, case: Case, is_unsafe: bool) -> Workspace:
        return Workspace(
            files=case.files,
            outputs=case.outputs,
            limits=WorkLimits(wall_s=1 + in_seconds(LONGEST_RUN)),  # the task stops them sooner
            warm=WARM,
            backend=self._backend(is_unsafe),
            hidden=case.hidden,
        )


def _open_case(name: str, data: str | None, seed: int) -> Case:
    if data is None or name in SYNTHETIC:
        return open_case(name, seed=seed)
    folder = Path(data)
    return open_case(name, data=folder / name if (folder / name).is_dir() else folder, seed=seed)
