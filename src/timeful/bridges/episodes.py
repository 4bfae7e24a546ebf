"""The episodes of a task of another library: those of a suite, with the models of the library."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from timeful.errors import ModelError, SettingsError, check_known
from timeful.experiments.options import Endpoint, choose_values, suite_options
from timeful.experiments.suite import Suite
from timeful.experiments.sweep import (
    Choice,
    PlannedEpisode,
    default_values,
    list_episodes,
    plan_episode,
)
from timeful.models.kinds import is_live
from timeful.models.model_spec import ModelSpec
from timeful.models.role import replace_models
from timeful.records.events import Entry
from timeful.records.recorder import Recorder
from timeful.registry import load

NOWHERE = "http://localhost"
"""The address of a model that has none."""

_OTHERS = frozenset(
    {"base_url", "baselines", "clock", "counting", "curve", "judge", "model", "pages", "record"}
    | {"temperature", "time_scale"}
)
"""The options that a task does not have: the library sets models, and time is simulated."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """The suite of a task.

    Attributes:
        suite: Its name.
        fixed: The fields that the task sets.
        sweep: The values of swept fields where they are not the defaults of the episode.
        epoch: The field that differs between repetitions: the seed of sampling.
        cluster: The field whose episodes are not independent, such as those of a seed.
    """

    suite: str
    fixed: Mapping[str, Any] = field(default_factory=dict)
    sweep: Mapping[str, Sequence[Any]] = field(default_factory=dict)
    epoch: str = ""
    cluster: str


def _make_game(name: str) -> Source:
    seeds = {"game_seed": range(8)}
    fixed = {"game": name}
    return Source(suite="realtime", fixed=fixed, sweep=seeds, epoch="sample", cluster="game_seed")


SOURCES: Mapping[str, Source] = {
    "freeway": _make_game("freeway"),
    "snake": _make_game("snake"),
    "overcooked": _make_game("overcooked"),
    "inbox": Source(
        suite="engagement/inbox", sweep={"seed": range(20)}, epoch="episode", cluster="seed"
    ),
    "kitchen": Source(suite="engagement/kitchen", sweep={"case": range(16)}, cluster="case"),
    "reasoning": Source(suite="timely/reasoning", epoch="run", cluster="case"),
    "fiction": Source(
        suite="timely/fiction", sweep={"case": ["skerry"]}, epoch="run", cluster="case"
    ),
    "dialogues": Source(suite="proactor", fixed={"curve": False}, epoch="run", cluster="place"),
}
"""The tasks by name."""


class TaskEpisodes:
    """The episodes of a task.

    Args:
        task: The name of the task.
        given: The options of the task by name, as `timeful run` has them.

    Raises:
        SettingsError: If there is no such task.
    """

    def __init__(self, task: str, given: Mapping[str, Any]) -> None:
        check_known("task", task, SOURCES)
        self.source = SOURCES[task]
        self._given = given
        suite = load("suite", self.source.suite)
        assert isinstance(suite, Suite), "the suites of tasks are built in"
        defaults = default_values(suite.episode)
        names = {*suite.sweep, *(name for part in suite.parts.values() for name in part)}
        # A field of `source.sweep` keeps its kind: a range is given as the number of values.
        sweep: dict[str, Sequence[Any]] = {
            name: values if name in self.source.sweep else [defaults[name]]
            for name, values in suite.sweep.items()
        }
        self.suite = replace(
            suite, sweep=sweep, presets={}, parts={}, default_parts=(), custom_by=""
        )
        self._options = [
            replace(option, is_swept=option.is_swept or option.name in names)
            for option in suite_options(suite)
            if option.name not in self.source.fixed
        ]

    @property
    def roles(self) -> set[str]:
        """The roles that may have a model of their own."""
        return {option.name for option in self._options if option.is_model}

    def repeat(self, step: PlannedEpisode, number: int) -> PlannedEpisode:
        """A repetition of an episode, with another seed of sampling; 0 is the episode itself."""
        if not self.source.epoch:
            return step
        first = getattr(step.episode, self.source.epoch)
        changes = {self.source.epoch: first + number}
        return plan_episode(self.suite, replace(step.episode, **changes))

    def plan(
        self,
        models: Mapping[str, str],
        connect: Callable[[str, ModelSpec], ModelSpec] = lambda _, spec: spec,
    ) -> Sequence[PlannedEpisode]:
        """The episodes, in a fixed order.

        Args:
            models: The names of the models by role, and that of the others as "model".
            connect: Completes the model of a role that is behind an endpoint.

        Raises:
            SettingsError: If an option or a model is unknown, or a value does not fit.
        """
        suite, source = self.suite, self.source
        endpoint = Endpoint(base_url=NOWHERE)
        values = {**self._read_given(), **models}
        for option in self._options:
            if option.is_model and option.flag == "model" and "model" in models:
                values.setdefault(option.name, values["model"])
            if option.is_swept and option.name in values and option.is_model:
                values[option.name] = (values[option.name],)
        if any(map(is_live, models.values())):
            values.setdefault("base_url", NOWHERE)
        chosen, fixed = choose_values(self._options, values, endpoint)
        choice = Choice(values={**source.sweep, **chosen}, fixed={**source.fixed, **fixed})
        episodes = list_episodes(suite, choice)
        episodes = [replace_models(episode, connect) for episode in episodes]
        if suite.baseline is not None and suite.baseline.plan(episodes):
            raise SettingsError(
                "a budget that is a multiple of other times needs a first run; give a time such "
                "as budget=20s, or none"
            )
        if suite.check is not None:
            suite.check(episodes)
        return [plan_episode(suite, episode) for episode in episodes]

    def _read_given(self) -> dict[str, Any]:
        """The options of the task as those of a command line, by field."""
        options = {
            option.flag.replace("-", "_"): option
            for option in self._options
            if not (option.is_hidden or option.is_model or option.name in _OTHERS)
            and option.name != self.source.epoch
        }
        values: dict[str, Any] = {}
        for name, value in self._given.items():
            check_known("option", name, options)
            option = options[name]
            texts = value if isinstance(value, list | tuple) else [value]
            if option.is_count:
                if not isinstance(value, int) or isinstance(value, bool):
                    raise SettingsError(f"{name} is a number, got {value!r}")
                values[option.name] = value
            elif option.is_swept or option.is_list:
                values[option.name] = tuple(map(str, texts))
            else:
                values[option.name] = value if isinstance(value, bool) else str(value)
        return values


class EndedError(ModelError):
    """The library has ended an episode that is being played."""


class EndableRecorder(Recorder):
    """A record in memory that can end its episode."""

    def __init__(self) -> None:
        super().__init__()
        self._is_over = False

    def end(self) -> None:
        """End the episode at its next event, whatever it computes; from any thread."""
        self._is_over = True

    def write(self, event: Entry) -> None:
        """Append one event.

        Raises:
            EndedError: If the episode is to end.
        """
        if self._is_over:
            raise EndedError("the episode was ended")
        super().write(event)
