"""Models by name, as a command line names them.

`search` is the built-in search reasoner, `openai:NAME` a model behind an OpenAI-compatible
endpoint, `replay:FILE` a cassette, `replay:FILE#NAME` one of several models on a cassette, and
`local:PATH` a checkpoint that answers in this process. `kinds.KINDS` has all kinds.
A spec is a value that can be pickled, compared and saved. It never contains a key, which is given
when the model is made.
"""

import json
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from math import inf
from pathlib import Path
from typing import Any, Literal, get_args

from timeful.errors import SettingsError, check_known
from timeful.models.chat import OpenAIModel
from timeful.models.counting import Counting
from timeful.models.demand import DemandLog, DryModel
from timeful.models.kinds import FORMS, KINDS, PROVIDERS, ApiKey, Kind, is_live, is_sampled
from timeful.models.live_answer import LiveModel, ready
from timeful.models.local.checkpoint import check
from timeful.models.model import Model
from timeful.models.pace import TOKEN_TIME, Pace
from timeful.models.provider import ProviderModel
from timeful.models.recording import RecordingModel
from timeful.models.replay import ReplayModel
from timeful.models.request import address
from timeful.models.search.reasoner import SearchModel
from timeful.models.search.settings import DEEP, SHALLOW
from timeful.registry import bind, is_file_name, load, names

Role = Literal["planner", "reactor"]


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelSpec:
    """The name of a model, and how to reach it.

    Args:
        spec: `search`, `openai:NAME`, another `KIND:NAME` of `kinds.KINDS`, or a model of your own:
            the name of a plug-in, or `FILE.py:NAME`.
        base_url: Where the endpoint's API begins; None for the default of the kind.
        temperature: Sampling temperature; None leaves it to the server, or to the checkpoint;
            only for an endpoint and `local`.
        record: A cassette to record to; only for an endpoint.
        extra: Further fields of a request, as JSON; only for an endpoint.
        counting: How tokens are counted in simulated time; only for an endpoint.
        key_variable: The environment variable of its key, in place of that of its kind.

    Raises:
        SettingsError: If the parts do not fit together.
    """

    spec: str = "search"
    base_url: str | None = None
    temperature: float | None = None
    record: str | None = None
    extra: str = "{}"
    counting: Counting = "auto"
    key_variable: str = ""
    demand: DemandLog | None = field(default=None, compare=False, repr=False)
    """Counts what the endpoint would be asked, while a stand-in answers."""
    client: Callable[[Pace | None], Model] | None = field(default=None, compare=False, repr=False)
    """Makes the model in place of the client of its kind, from the pace."""

    def __post_init__(self) -> None:
        kind, _, target = self.spec.partition(":")
        if not self.is_own:
            check_known("kind of model", kind, KINDS)
            _check_target(self.spec, kind, target)
        if self.is_live:
            if not self._base_url:
                raise SettingsError(f"{self.spec} needs an endpoint: give --base-url")
            address(self._base_url)
            check_known("counting", self.counting, get_args(Counting))
            _read_extra(self.extra)
        elif self.counting != "auto":
            raise SettingsError(f"{self.spec} takes no counting; only an endpoint does")
        elif self.base_url or self.record or self.extra != "{}":
            raise SettingsError(f"{self.spec} takes no endpoint, no record and no extra")
        elif self.temperature is not None and kind != "local":
            raise SettingsError(f"{self.spec} takes no temperature")
        if self.temperature is not None and not 0 <= self.temperature < inf:
            raise SettingsError(f"a temperature is 0 or above, got {self.temperature}")

    @property
    def is_own(self) -> bool:
        """Whether it is a model of a file or a plug-in."""
        return is_file_name(self.spec) or (
            ":" not in self.spec and self.spec not in KINDS and self.spec in names("model")
        )

    @property
    def is_stand_in(self) -> bool:
        """Whether it stands in for a language model."""
        return self.spec == "search"

    @property
    def is_live(self) -> bool:
        """Whether an endpoint answers."""
        return not self.is_own and is_live(self.spec)

    @property
    def is_sampled(self) -> bool:
        """Whether it has a temperature."""
        return not self.is_own and is_sampled(self.spec)

    @property
    def name(self) -> str:
        """Its name at the server of its endpoint."""
        return self.spec.partition(":")[2] if self.is_live else self.spec

    @property
    def endpoint(self) -> str | None:
        """Where it is reached, without credentials; None if nowhere."""
        return address(self._base_url) if self._base_url else None

    @property
    def key_name(self) -> str:
        """The environment variable of its key; "" if its server needs none."""
        kind = KINDS[self.spec.partition(":")[0]] if self.is_live else Kind()
        return self.key_variable or kind.key_name

    @property
    def needs_key(self) -> bool:
        """Whether its server refuses requests without a key."""
        return bool(self.key_name) and not self.base_url

    @property
    def _base_url(self) -> str:
        if self.base_url or not self.is_live:
            return self.base_url or ""
        return KINDS[self.spec.partition(":")[0]].base_url

    def find_key(self, keys: ApiKey) -> str:
        """Its key among those of a run; "" if there is none."""
        return keys if isinstance(keys, str) else keys.get(self.key_name, "")

    def settings(self) -> dict[str, Any]:
        """The model as plain JSON values, without credentials."""
        if self.is_stand_in:
            return {"spec": self.spec}
        settings = {"spec": self.spec, "endpoint": self.endpoint, "temperature": self.temperature}
        # Left out at its default, so that records keep their bytes.
        settings |= {} if self.counting == "auto" else {"counting": self.counting}
        return settings | ({} if self.extra == "{}" else {"extra": _read_extra(self.extra)})

    def make(self, role: Role, *, pace: Pace | None, scope: str, api_key: ApiKey) -> Model:
        """Make the model for a role; the search reasoner is deep or shallow by it.

        Args:
            role: What it is for.
            pace: What its tokens cost; None is token time for the search reasoner, the recorded
                pace for a cassette, and arrival for an endpoint or a checkpoint, which needs a
                wall clock.
            scope: Whose requests a cassette holds.
            api_key: For the endpoint; or the keys of all kinds.
        """
        if self.is_own:
            factory: Any = load("model", self.spec)
            model: Model = bind(
                factory, {"role": lambda: role, "pace": lambda: pace, "scope": lambda: scope}
            )()
            return model
        if self.client is not None:
            return self.client(pace)
        kind, _, target = self.spec.partition(":")
        if kind == "search" or self.demand is not None:
            stand_in = SearchModel(DEEP if role == "planner" else SHALLOW, pace=pace or TOKEN_TIME)
            return self.count(stand_in)
        if kind == "replay":
            path, name = _cassette(target)
            return ReplayModel(path, model=name, scope=scope, pace=pace)
        if kind == "local":
            # loads torch
            from timeful.models.local.checkpoint_cache import local_model  # noqa: PLC0415

            return local_model(Path(target), temperature=self.temperature, pace=pace)
        endpoint = ready(self.connect(pace=pace, api_key=self.find_key(api_key)))
        if self.record is None:
            return endpoint
        return RecordingModel(endpoint, Path(self.record), scope=scope)

    def count(self, stand_in: Model) -> Model:
        """The stand-in, counted as this endpoint if nothing is to be sent."""
        if self.demand is None:
            return stand_in
        return DryModel(stand_in, name=self.name, endpoint=self.endpoint or "", log=self.demand)

    def connect(
        self, *, pace: Pace | None, api_key: str, label: str | None = None, retries: int = 2
    ) -> LiveModel:
        """The client of the endpoint; nothing is sent yet.

        Args:
            pace: What its tokens cost; None if only a wall clock can tell.
            api_key: The key; "" if the server needs none.
            label: A name for records and tables; None means the model's name.
            retries: How often a request that failed before its first chunk is repeated.
        """
        api_key = api_key or "none"
        kind, _, name = self.spec.partition(":")
        if kind in PROVIDERS:
            return ProviderModel(
                model=self.spec,
                base_url=self.base_url,
                api_key=api_key,
                label=label,
                retries=retries,
                temperature=self.temperature,
                pace=pace,
                extra=_read_extra(self.extra),
                counting=self.counting,
            )
        return OpenAIModel(
            model=name,
            base_url=self._base_url,
            api_key=api_key,
            label=label,
            retries=retries,
            temperature=self.temperature,
            pace=pace,
            extra={**KINDS[kind].options, **_read_extra(self.extra)},
            counting=self.counting,
        )

    def try_out(self, role: Role, *, pace: Pace | None) -> None:
        """Check that the model can be made; nothing is recorded or loaded.

        Raises:
            SettingsError: If there is no client, or a cassette holds no such model.
            RecordError: If a cassette cannot be read.
        """
        if not self.spec.startswith("local:"):  # its folder was looked at already
            replace(self, record=None).make(role, pace=pace, scope="", api_key="")


def _check_target(spec: str, kind: str, target: str) -> None:
    """Check the part after the colon."""
    if bool(KINDS[kind].target) != bool(target):
        raise SettingsError(f"a model is `search` or {', '.join(FORMS)}; got {spec!r}")
    if kind == "replay" and not _cassette(target)[0].is_file():
        raise SettingsError(f"there is no cassette {target!r}")
    if kind == "local":
        check(Path(target))


def _read_extra(text: str) -> dict[str, object]:
    """Read further fields of a request.

    Raises:
        SettingsError: If they are not a JSON object.
    """
    try:
        extra = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise SettingsError(f"extra is a JSON object, got {text!r}: {error}") from None
    if not isinstance(extra, dict):
        raise SettingsError(f"extra is a JSON object, got {text!r}")
    return extra


def _cassette(name: str) -> tuple[Path, str | None]:
    """A cassette, and the name of one of its models if given; a file name may contain a #."""
    path, mark, model = name.rpartition("#")
    if mark and not Path(name).is_file():
        return Path(path), model
    return Path(name), None


def read_spec(
    spec: str,
    *,
    base_url: str | None = None,
    temperature: float | None = None,
    record: str | None = None,
    extra: str | None = None,
    counting: Counting = "auto",
) -> ModelSpec:
    """Read a model from its name on a command line.

    Options of endpoints are ignored for other models: they may be meant for another role.

    Raises:
        SettingsError: If the parts do not fit together.
    """
    endpoint = is_live(spec) and not is_file_name(spec)
    return ModelSpec(
        spec=spec,
        base_url=base_url if endpoint else None,
        temperature=temperature if is_sampled(spec) else None,
        record=record if endpoint else None,
        extra=(extra or "{}") if endpoint else "{}",
        counting=counting if endpoint else "auto",
    )
