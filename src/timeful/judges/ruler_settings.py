"""Settings of RULER's judge, with the fields of ProActor's Figure 21, in YAML, TOML or JSON.

    judge:
      model: "openai/gpt-4.1-mini"
      api_key_name: OPENAI_API_KEY
      base_url: "https://..."
      proactive: true                 # Custom RULER with the rules of Figure 22, in our words
      custom_ruler_placeholder: []    # or rules of one's own, a text each
      max_retries: 3
      max_concurrent_api_number: 8

There is no field for a key: `api_key_name` names its environment variable.
"""

from pathlib import Path
from typing import Annotated

import msgspec

from timeful.catalogs.reading import convert, read_data
from timeful.errors import SettingsError
from timeful.files import read_toml
from timeful.judges.ruler import Rubric
from timeful.judges.ruler_prompts import PROACTIVE
from timeful.models.endpoint import Endpoint
from timeful.models.live_answer import LiveModel


class RulerJudge(Endpoint, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The model of the judge, its endpoint and its rules.

    Attributes:
        proactive: Whether the two rules on proactive timing apply.
        custom_ruler_placeholder: Further rules; without any rule it is General RULER.
        max_retries: The number of further requests after an invalid answer.
        max_concurrent_api_number: The number of concurrent requests.
        seed: The seed of the order of candidates and of all requests.
    """

    proactive: bool = False
    custom_ruler_placeholder: tuple[str, ...] = ()
    max_retries: Annotated[int, msgspec.Meta(ge=0)] = 3
    max_concurrent_api_number: Annotated[int, msgspec.Meta(ge=1)] = 4
    seed: Annotated[int, msgspec.Meta(ge=0)] = 0

    def __post_init__(self) -> None:
        self.check_complete()
        try:
            self.rubric()
        except SettingsError as error:
            raise ValueError(str(error)) from None

    def rubric(self) -> Rubric:
        """The rules and limits."""
        rules = PROACTIVE if self.proactive else ()
        return Rubric(
            custom=(*rules, *self.custom_ruler_placeholder),
            max_tokens=self.max_tokens,
            tries=1 + self.max_retries,
            seed=self.seed,
        )

    def endpoint(self, api_key: str) -> LiveModel:
        """The model.

        Args:
            api_key: The key, which is not in the settings.

        Raises:
            SettingsError: If the endpoint is invalid.
        """
        return self.connect(api_key, retries=self.max_retries)


class RulerFile(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The file of a judge."""

    judge: RulerJudge


def read_ruler(path: Path) -> RulerJudge:
    """Read the file of a judge.

    Raises:
        SettingsError: If the file cannot be read or a field is wrong; names the field.
    """
    return convert(_data(path), RulerFile, str(path)).judge


def _data(path: Path) -> object:
    if path.suffix != ".toml":
        return read_data(path)
    return read_toml(path)
