"""Model roles: a stand-in, an endpoint, a cassette, a checkpoint, or a model from the caller.

Each role of an experiment, such as triage of emails, has one stand-in that is no language model,
with a name of its own ("rules", "prose"). Every other name is a `ModelSpec`.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any

from timeful.errors import SettingsError, unknown
from timeful.models.counting import Counting
from timeful.models.kinds import FORMS, KINDS, ApiKey
from timeful.models.model import Model
from timeful.models.model_spec import ModelSpec, read_spec
from timeful.models.pace import Pace


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelRole:
    """The model of a role: a value that can be pickled, compared and written down.

    Args:
        stand_in: The name of the role's stand-in.
        choice: The model in place of the stand-in; None takes the stand-in.
        supplied: The name of a model that the caller supplies to each episode, such as a policy
            in training; empty if there is none.
    """

    stand_in: str
    choice: ModelSpec | None = None
    supplied: str = ""

    @property
    def spec(self) -> str:
        """The name on a command line and in records."""
        if self.choice is not None:
            return self.choice.spec
        return self.supplied or self.stand_in

    @property
    def is_stand_in(self) -> bool:
        """Whether the role has no language model, not even a recorded one."""
        return self.choice is None and not self.supplied

    @property
    def is_live(self) -> bool:
        """Whether an endpoint answers."""
        return self.choice is not None and self.choice.is_live

    @property
    def is_own(self) -> bool:
        """Whether it is a model of a file or a plug-in."""
        return self.choice is not None and self.choice.is_own

    @property
    def is_sampled(self) -> bool:
        """Whether a temperature has an effect."""
        return bool(self.supplied) or (self.choice is not None and self.choice.is_sampled)

    @property
    def temperature(self) -> float | None:
        """The sampling temperature, if it is set."""
        return None if self.choice is None else self.choice.temperature

    @property
    def counting(self) -> Counting:
        """How the tokens of an endpoint are counted in simulated time."""
        return "auto" if self.choice is None else self.choice.counting

    def settings(self) -> dict[str, Any]:
        """The role as plain JSON values, without credentials."""
        if self.is_stand_in:
            return {"spec": self.spec}
        if self.choice is None:
            return {"spec": self.spec, "endpoint": None, "temperature": None}
        settings = self.choice.settings()
        return {"endpoint": None, "temperature": None, **settings}

    def make(
        self,
        stand_in: Callable[[], Model],
        *,
        pace: Pace,
        scope: str,
        api_key: ApiKey = "",
    ) -> Model:
        """Make the model.

        Args:
            stand_in: Makes the stand-in, with a pace of its own.
            pace: The time of the tokens of any other model.
            scope: The key of the episode's requests on a cassette.
            api_key: For the endpoint; never written down.
        """
        assert not self.supplied, "the caller supplies the model"
        if self.choice is None:
            return stand_in()
        if self.choice.demand is not None:
            return self.choice.count(stand_in())
        return self.choice.make("planner", pace=pace, scope=scope, api_key=api_key)

    def check(self, *, pace: Pace) -> None:
        """Check that the model can be made, without a recording.

        Raises:
            SettingsError: If there is no client, or a cassette lacks the model.
            RecordError: If a cassette cannot be read.
        """
        if self.choice is not None:
            self.choice.try_out("planner", pace=pace)


def read_role(
    spec: str,
    *,
    stand_in: str | Sequence[str],
    base_url: str | None = None,
    temperature: float | None = None,
    record: str | None = None,
    extra: str | None = None,
    counting: Counting = "auto",
) -> ModelRole:
    """Read the model of a role from its name on a command line.

    Options of endpoints are ignored for other models, because an environment variable may set
    them.

    Args:
        spec: The name of the stand-in, or a `KIND:NAME` of `kinds.KINDS`.
        stand_in: The name of the role's stand-in, or the names of all, the default first.
        base_url: The base URL of an endpoint's API.
        temperature: The sampling temperature of an endpoint or a checkpoint.
        record: The cassette that records an endpoint's answers.
        extra: Further fields of an endpoint's request, as JSON.
        counting: How an endpoint's tokens are counted in simulated time.

    Raises:
        SettingsError: If the name is unknown or incomplete, or the model cannot work.
    """
    names = (stand_in,) if isinstance(stand_in, str) else tuple(stand_in)
    if spec in names:
        return ModelRole(stand_in=spec)
    kind, _, target = spec.partition(":")
    if kind not in (*names, *KINDS) or kind == "search":
        raise SettingsError(unknown("model", kind, [*names, *FORMS]))
    if kind in names or not target:
        raise SettingsError(f"a model is `{names[0]}` or {', '.join(FORMS)}; got {spec!r}")
    choice = read_spec(
        spec,
        base_url=base_url,
        temperature=temperature,
        record=record,
        extra=extra,
        counting=counting,
    )
    return ModelRole(stand_in=names[0], choice=choice)


def replace_models(episode: Any, change: Callable[[str, ModelSpec], ModelSpec]) -> Any:
    """Change the models of an episode that are behind endpoints.

    Args:
        episode: The episode.
        change: Makes the new model from the name of its field and the model.
    """
    changes: dict[str, ModelSpec | ModelRole] = {}
    for item in fields(episode):
        value = getattr(episode, item.name)
        if isinstance(value, ModelSpec) and value.is_live:
            changes[item.name] = change(item.name, value)
        elif isinstance(value, ModelRole) and value.choice is not None and value.is_live:
            changes[item.name] = replace(value, choice=change(item.name, value.choice))
    return replace(episode, **changes)
