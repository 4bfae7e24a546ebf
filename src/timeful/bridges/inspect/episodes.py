"""The episodes of a task of Inspect: those of a suite, with the models of Inspect."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache, partial
from typing import Any

from inspect_ai.model import Model as InspectApi
from inspect_ai.model import get_model, model_roles

from timeful.bridges.inspect.model import InspectModel
from timeful.bridges.inspect.stand_in import StandIn
from timeful.errors import SettingsError, check_known
from timeful.experiments.options import Endpoint, choose_values, suite_options
from timeful.experiments.suite import Suite
from timeful.experiments.sweep import (
    Choice,
    PlannedEpisode,
    default_values,
    list_episodes,
    plan_episode,
)
from timeful.models.model_spec import ModelSpec
from timeful.models.role import replace_models
from timeful.registry import load

_KINDS = {"anthropic": "anthropic", "google": "google"}
_NOWHERE = "http://localhost"
"""The address of a model that has none."""

_OTHERS = frozenset(
    {"base_url", "baselines", "clock", "counting", "curve", "judge", "model", "pages", "record"}
    | {"temperature", "time_scale"}
)
"""The options that a task does not have: Inspect sets models, and time is simulated."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """The suite of a task.

    Attributes:
        suite: Its name.
        fixed: The fields that the task sets.
        sweep: The values of swept fields where they are not the defaults of the episode.
        epoch: The field that is another value in each epoch: the seed of sampling.
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


class Episodes:
    """The episodes of a task.

    Args:
        task: The name of the task.
        given: The options of the task by name, as `timeful run` has them.
    """

    def __init__(self, task: str, given: Mapping[str, Any]) -> None:
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
        self._plans: dict[tuple[tuple[str, int], ...], Sequence[PlannedEpisode]] = {}

    def plan(self) -> Sequence[PlannedEpisode]:
        """The episodes with the models of this evaluation, in the order of the samples.

        Raises:
            SettingsError: If an option or a model is unknown, or a value does not fit.
        """
        models = self._find_models()
        # By identity: another evaluation may have another client under the same name.
        key = tuple((role, id(models[role])) for role in sorted(models))
        if key not in self._plans:
            self._plans[key] = self._plan(models)
        return self._plans[key]

    def find(self, index: int, epoch: int) -> PlannedEpisode:
        """The episode of a sample in an epoch, which is counted from 1."""
        episode = self.plan()[index].episode
        if self.source.epoch:
            first = getattr(episode, self.source.epoch)
            episode = replace(episode, **{self.source.epoch: first + epoch - 1})
        return plan_episode(self.suite, episode)

    def _find_models(self) -> dict[str, InspectApi]:
        """The models by role; none before an evaluation, or with the model `none`."""
        try:
            main = get_model()
        except ValueError:
            return {}
        roles = model_roles().items()
        models = {name: model[0] if isinstance(model, list) else model for name, model in roles}
        known = {option.name for option in self._options if option.is_model}
        for name in models:
            check_known("role", name, known)
        return models if str(main).startswith("none/") else {"model": main, **models}

    def _plan(self, models: Mapping[str, InspectApi]) -> Sequence[PlannedEpisode]:
        suite, source = self.suite, self.source
        endpoint = Endpoint(base_url=_NOWHERE)
        values = self._read_given()
        values |= {role: _read_name(model) for role, model in models.items()}
        for option in self._options:
            if option.is_model and option.flag == "model" and "model" in models:
                values.setdefault(option.name, values["model"])
            if option.is_swept and option.name in values and option.is_model:
                values[option.name] = (values[option.name],)
        if any(not isinstance(model.api, StandIn) for model in models.values()):
            values.setdefault("base_url", _NOWHERE)
        chosen, fixed = choose_values(self._options, values, endpoint)
        choice = Choice(values={**source.sweep, **chosen}, fixed={**source.fixed, **fixed})
        episodes = list_episodes(suite, choice)
        change = partial(_connect, models=models)
        episodes = [replace_models(episode, change) for episode in episodes]
        if suite.baseline is not None and suite.baseline.plan(episodes):
            raise SettingsError(
                "a budget that is a multiple of other times needs a first run; give a time such "
                "as -T budget=20s, or none"
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


@lru_cache(maxsize=64)
def load_episodes(task: str, given: str) -> Episodes:
    """The episodes of a task; its options as JSON."""
    return Episodes(task, json.loads(given))


def _read_name(model: InspectApi) -> str:
    """The name of a model in records."""
    if isinstance(model.api, StandIn):
        return str(model.api.model_name)
    kind = _KINDS.get(str(model).partition("/")[0], "openai")
    read = getattr(model.api, "service_model_name", lambda: model.api.model_name)
    return f"{kind}:{read()}"


def _connect(role: str, spec: ModelSpec, *, models: Mapping[str, InspectApi]) -> ModelSpec:
    """The model of a role, answered by Inspect."""
    api = models.get(role, models["model"])
    address = str(getattr(api.api, "base_url", None) or _NOWHERE)
    return replace(
        spec,
        base_url=address,
        temperature=api.config.temperature,
        client=lambda pace: InspectModel(api=api, name=spec.name, base_url=address, pace=pace),
    )
