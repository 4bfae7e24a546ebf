"""Models by name, as a command line names them.

`search` is the built-in search reasoner, `openai:NAME` a model behind an OpenAI-compatible
endpoint, `replay:FILE` a cassette, `replay:FILE#NAME` one of several models on a cassette, and
`local:PATH` a checkpoint that answers in this process.
A spec is a value that can be pickled, compared and saved. It never contains a key, which is given
when the model is made.
"""

import json
from dataclasses import dataclass, replace
from math import inf
from pathlib import Path
from typing import Any, Literal, get_args

from timeful.errors import SettingsError, check_known
from timeful.models.chat import OpenAIModel
from timeful.models.counting import Counting
from timeful.models.live_answer import ready
from timeful.models.local.checkpoint import check
from timeful.models.model import Model
from timeful.models.pace import TOKEN_TIME, Pace
from timeful.models.recording import RecordingModel
from timeful.models.replay import ReplayModel
from timeful.models.request import address
from timeful.models.search.reasoner import SearchModel
from timeful.models.search.settings import DEEP, SHALLOW
from timeful.registry import bind, is_file_name, load, names

KINDS = ("local", "openai", "replay", "search")
Role = Literal["planner", "reactor"]


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelSpec:
    """The name of a model, and how to reach it.

    Args:
        spec: `search`, `openai:NAME`, `replay:FILE`, `replay:FILE#NAME`, `local:PATH`, or a model
            of your own: the name of a plug-in, or `FILE.py:NAME`.
        base_url: Where the endpoint's API begins; only for `openai`.
        temperature: Sampling temperature; None leaves it to the server, or to the checkpoint;
            only for `openai` and `local`.
        record: A cassette to record to; only for `openai`.
        extra: Further fields of a request, as JSON; only for `openai`.
        counting: How tokens are counted in simulated time; only for `openai`.

    Raises:
        SettingsError: If the parts do not fit together.
    """

    spec: str = "search"
    base_url: str | None = None
    temperature: float | None = None
    record: str | None = None
    extra: str = "{}"
    counting: Counting = "auto"

    def __post_init__(self) -> None:
        kind, _, target = self.spec.partition(":")
        if not self.is_own:
            check_known("kind of model", kind, KINDS)
            _check_target(self.spec, kind, target)
        if kind == "openai":
            if not self.base_url:
                raise SettingsError(f"{self.spec} needs an endpoint: give --base-url")
            address(self.base_url)
            check_known("counting", self.counting, get_args(Counting))
        elif self.counting != "auto":
            raise SettingsError(f"{self.spec} takes no counting; only an endpoint does")
        elif self.base_url or self.record:
            raise SettingsError(f"{self.spec} takes no endpoint and no record")
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
        return self.spec.startswith("openai:")

    @property
    def is_sampled(self) -> bool:
        """Whether it has a temperature."""
        return self.is_live or self.spec.startswith("local:")

    @property
    def endpoint(self) -> str | None:
        """Where it is reached, without credentials; None if nowhere."""
        return address(self.base_url) if self.base_url else None

    def settings(self) -> dict[str, Any]:
        """The model as plain JSON values, without credentials."""
        if self.is_stand_in:
            return {"spec": self.spec}
        settings = {"spec": self.spec, "endpoint": self.endpoint, "temperature": self.temperature}
        # Left out at its default, so that records keep their bytes.
        return settings | ({} if self.counting == "auto" else {"counting": self.counting})

    def make(self, role: Role, *, pace: Pace | None, scope: str, api_key: str) -> Model:
        """Make the model for a role; the search reasoner is deep or shallow by it.

        Args:
            role: What it is for.
            pace: What its tokens cost; None is token time for the search reasoner, the recorded
                pace for a cassette, and arrival for an endpoint or a checkpoint, which needs a
                wall clock.
            scope: Whose requests a cassette holds.
            api_key: For the endpoint.
        """
        if self.is_own:
            factory: Any = load("model", self.spec)
            model: Model = bind(
                factory, {"role": lambda: role, "pace": lambda: pace, "scope": lambda: scope}
            )()
            return model
        kind, _, target = self.spec.partition(":")
        if kind == "search":
            return SearchModel(DEEP if role == "planner" else SHALLOW, pace=pace or TOKEN_TIME)
        if kind == "replay":
            path, name = _cassette(target)
            return ReplayModel(path, model=name, scope=scope, pace=pace)
        if kind == "local":
            # loads torch
            from timeful.models.local.checkpoint_cache import local_model  # noqa: PLC0415

            return local_model(Path(target), temperature=self.temperature, pace=pace)
        key = api_key or "none"
        endpoint = ready(
            OpenAIModel(
                model=target,
                base_url=self.base_url or "",
                api_key=key,
                temperature=self.temperature,
                pace=pace,
                extra=json.loads(self.extra),
                counting=self.counting,
            )
        )
        if self.record is None:
            return endpoint
        return RecordingModel(endpoint, Path(self.record), scope=scope)

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
    if (kind == "search") == bool(target):
        raise SettingsError(
            f"a model is `search`, `openai:NAME`, `replay:FILE` or `local:PATH`: {spec!r}"
        )
    if kind == "replay" and not _cassette(target)[0].is_file():
        raise SettingsError(f"there is no cassette {target!r}")
    if kind == "local":
        check(Path(target))


def _cassette(name: str) -> tuple[Path, str | None]:
    """A cassette, and the name of one of its models if given; a file name may contain a #."""
    path, mark, model = name.rpartition("#")
    if mark and not Path(name).is_file():
        return Path(path), model
    return Path(name), None
