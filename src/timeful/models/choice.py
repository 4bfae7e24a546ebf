"""Models by name, as a command line names them.

`search` is the built-in search reasoner, `openai:NAME` a model behind an OpenAI-compatible
endpoint, `replay:FILE` a cassette, and `replay:FILE#NAME` one of several models on a cassette.
A choice is a value that can be pickled, compared and written down; it never holds a key, which
is handed over when the model is made.
"""

from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Literal

from timeful.errors import SettingsError, check_known
from timeful.models.chat import OpenAIModel
from timeful.models.model import Model
from timeful.models.pace import TOKEN_TIME, Pace
from timeful.models.recording import RecordingModel
from timeful.models.replay import ReplayModel
from timeful.models.request import address
from timeful.models.search.reasoner import SearchModel
from timeful.models.search.settings import DEEP, SHALLOW

KINDS = ("openai", "replay", "search")
Role = Literal["planner", "reactor"]


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelChoice:
    """Which model, and how to reach it.

    Args:
        spec: `search`, `openai:NAME`, `replay:FILE` or `replay:FILE#NAME`.
        base_url: Where the endpoint's API begins; only for `openai`.
        temperature: Sampling temperature; None leaves it to the server; only for `openai`.
        record: A cassette to record to; only for `openai`.

    Raises:
        SettingsError: If the parts do not fit together.
    """

    spec: str = "search"
    base_url: str | None = None
    temperature: float | None = None
    record: str | None = None

    def __post_init__(self) -> None:
        kind, _, rest = self.spec.partition(":")
        check_known("kind of model", kind, KINDS)
        if (kind == "search") == bool(rest):
            raise SettingsError(
                f"a model is `search`, `openai:NAME` or `replay:FILE`: {self.spec!r}"
            )
        if kind == "openai" and not self.base_url:
            raise SettingsError(f"{self.spec} needs an endpoint: give --base-url")
        if kind == "openai":
            address(self.base_url or "")
        elif self.base_url or self.record or self.temperature is not None:
            raise SettingsError(f"{self.spec} takes no endpoint, no temperature and no record")
        if kind == "replay" and not _cassette(rest)[0].is_file():
            raise SettingsError(f"there is no cassette {rest!r}")

    @property
    def is_stand_in(self) -> bool:
        """Whether it stands in for a language model."""
        return self.spec == "search"

    @property
    def is_live(self) -> bool:
        """Whether an endpoint answers."""
        return self.spec.startswith("openai:")

    @property
    def endpoint(self) -> str | None:
        """Where it is reached, without credentials; None if nowhere."""
        return address(self.base_url) if self.base_url else None

    def make(self, role: Role, *, pace: Pace | None, scope: str, api_key: str) -> Model:
        """Make the model for a role; the search reasoner is deep or shallow by it.

        Args:
            role: What it is for.
            pace: What its tokens cost; None is token time for the search reasoner, the recorded
                pace for a cassette, and arrival for an endpoint, which needs a wall clock.
            scope: Whose requests a cassette holds.
            api_key: For the endpoint.
        """
        kind, _, rest = self.spec.partition(":")
        if kind == "search":
            return SearchModel(DEEP if role == "planner" else SHALLOW, pace=pace or TOKEN_TIME)
        if kind == "replay":
            path, name = _cassette(rest)
            return ReplayModel(path, model=name, scope=scope, pace=pace)
        model = _endpoint(rest, self.base_url or "", api_key or "none", self.temperature, pace)
        if self.record is None:
            return model
        return RecordingModel(model, Path(self.record), scope=scope)


def _cassette(named: str) -> tuple[Path, str | None]:
    """A cassette and which of its models, if that is said; a file's own name may hold a #."""
    path, mark, model = named.rpartition("#")
    if mark and not Path(named).is_file():
        return Path(path), model
    return Path(named), None


@lru_cache(maxsize=8)
def _endpoint(
    name: str, base_url: str, api_key: str, temperature: float | None, pace: Pace | None
) -> OpenAIModel:
    """A model behind an endpoint, ready; kept, so that episodes share its thread and connections.

    Its thread stops when it is pushed out by others, or with the process.
    """
    model = OpenAIModel(
        model=name, base_url=base_url, api_key=api_key, temperature=temperature, pace=pace
    )
    model.warm_up()
    return model
