"""Who speaks in an experiment: a stand-in, an endpoint, a cassette or a checkpoint.

Each role, such as the one who sorts the post, has one stand-in that is no language model, known
by a name of its own ("rules", "prose"); whatever else a command line may name is a `ModelChoice`.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from timeful.errors import SettingsError, unknown
from timeful.models.choice import KINDS, ModelChoice
from timeful.models.model import Model
from timeful.models.pace import Pace


@dataclass(frozen=True, slots=True, kw_only=True)
class Voice:
    """Who speaks in a role: a value that can be pickled, compared and written down.

    Args:
        stand_in: The name of the role's stand-in.
        choice: The model that takes its place; None leaves it to the stand-in.
    """

    stand_in: str
    choice: ModelChoice | None = None

    @property
    def spec(self) -> str:
        """What a command line calls it."""
        return self.stand_in if self.choice is None else self.choice.spec

    @property
    def is_stand_in(self) -> bool:
        """Whether no language model speaks, not even a recorded one."""
        return self.choice is None

    @property
    def is_live(self) -> bool:
        """Whether an endpoint answers."""
        return self.choice is not None and self.choice.is_live

    @property
    def is_sampled(self) -> bool:
        """Whether a temperature says something to it."""
        return self.choice is not None and self.choice.is_sampled

    @property
    def temperature(self) -> float | None:
        """The sampling temperature, if one was given."""
        return None if self.choice is None else self.choice.temperature

    def settings(self) -> dict[str, Any]:
        """It as plain JSON values, without credentials."""
        if self.choice is None:
            return {"spec": self.spec}
        return {
            "spec": self.spec,
            "endpoint": self.choice.endpoint,
            "temperature": self.choice.temperature,
        }

    def make(
        self,
        stand_in: Callable[[], Model],
        *,
        pace: Pace,
        scope: str,
        api_key: str = "",
    ) -> Model:
        """Make the model.

        Args:
            stand_in: Makes the stand-in, with a pace of its own.
            pace: What the tokens of any other model cost.
            scope: Whose requests a cassette holds: the episode.
            api_key: For the endpoint; never written down.
        """
        if self.choice is None:
            return stand_in()
        return self.choice.make("planner", pace=pace, scope=scope, api_key=api_key)

    def check(self, *, pace: Pace) -> None:
        """Find what would keep the model from being made; nothing is recorded yet.

        Raises:
            SettingsError: If there is no client, or a cassette holds no such model.
            RecordError: If a cassette cannot be read.
        """
        if self.choice is not None:
            self.choice.try_out("planner", pace=pace)


def voice(
    spec: str,
    *,
    stand_in: str,
    base_url: str | None = None,
    temperature: float | None = None,
    record: str | None = None,
) -> Voice:
    """Choose who speaks, as a command line names it.

    What is for endpoints only is left out for others, since an environment may set it.

    Args:
        spec: The name of the stand-in, `openai:NAME`, `replay:FILE`, `replay:FILE#NAME` or
            `local:PATH`.
        stand_in: The name of the role's stand-in.
        base_url: Where an endpoint's API begins.
        temperature: The sampling temperature of an endpoint or a checkpoint.
        record: The cassette that an endpoint's answers are recorded to.

    Raises:
        SettingsError: If there is no such model, or it cannot work.
    """
    if spec == stand_in:
        return Voice(stand_in=stand_in)
    kind, _, rest = spec.partition(":")
    if kind not in (stand_in, *KINDS) or kind == "search":
        known = [stand_in, "local:PATH", "openai:NAME", "replay:FILE"]
        raise SettingsError(unknown("model", kind, known))
    if kind == stand_in or not rest:
        raise SettingsError(
            f"a model is `{stand_in}`, `openai:NAME`, `replay:FILE` or `local:PATH`, got {spec!r}"
        )
    live = kind == "openai"
    return Voice(
        stand_in=stand_in,
        choice=ModelChoice(
            spec=spec,
            base_url=base_url if live else None,
            temperature=temperature if kind in ("local", "openai") else None,
            record=record if live else None,
        ),
    )
