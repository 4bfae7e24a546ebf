"""The episodes of a task, with the models of an evaluation of Inspect."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import lru_cache, partial
from typing import Any

from inspect_ai.model import Model as InspectApi
from inspect_ai.model import get_model, model_roles

from timeful.bridges.episodes import NOWHERE, TaskEpisodes
from timeful.bridges.inspect.model import InspectModel
from timeful.bridges.inspect.stand_in import StandIn
from timeful.errors import check_known
from timeful.experiments.sweep import PlannedEpisode
from timeful.models.model_spec import ModelSpec

_KINDS = {"anthropic": "anthropic", "google": "google"}


class InspectEpisodes(TaskEpisodes):
    """The episodes of a task, planned once for each choice of models."""

    def __init__(self, task: str, given: Mapping[str, Any]) -> None:
        super().__init__(task, given)
        self._plans: dict[tuple[tuple[str, int], ...], Sequence[PlannedEpisode]] = {}

    def plan_samples(self) -> Sequence[PlannedEpisode]:
        """The episodes with the models of this evaluation, in the order of the samples."""
        models = self._find_models()
        # By identity: another evaluation may have another client under the same name.
        key = tuple((role, id(models[role])) for role in sorted(models))
        if key not in self._plans:
            names = {role: _read_name(model) for role, model in models.items()}
            self._plans[key] = self.plan(names, partial(_connect, models=models))
        return self._plans[key]

    def _find_models(self) -> dict[str, InspectApi]:
        """The models by role; none before an evaluation, or with the model `none`."""
        try:
            main = get_model()
        except ValueError:
            return {}
        roles = model_roles().items()
        models = {name: model[0] if isinstance(model, list) else model for name, model in roles}
        for name in models:
            check_known("role", name, self.roles)
        return models if str(main).startswith("none/") else {"model": main, **models}


@lru_cache(maxsize=64)
def load_episodes(task: str, given: str) -> InspectEpisodes:
    """The episodes of a task; its options as JSON."""
    return InspectEpisodes(task, json.loads(given))


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
    address = str(getattr(api.api, "base_url", None) or NOWHERE)
    return replace(
        spec,
        base_url=address,
        temperature=api.config.temperature,
        client=lambda pace: InspectModel(api=api, name=spec.name, base_url=address, pace=pace),
    )
