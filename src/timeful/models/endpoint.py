"""An OpenAI-compatible endpoint as files of settings describe it (ProActor, Figures 9, 13 to 16).

    model: "openai/gpt-4.1-mini"
    using_short_model_name: true    # the server is asked for gpt-4.1-mini
    temperature: 0.1
    max_tokens: 4096
    base_url: "https://..."
    api_key_name: OPENAI_API_KEY
    extra: {top_k: 20}              # as the server documents them

Annotations, agents and judges have these fields. There is none for a key.
"""

from typing import Annotated, Any

import msgspec

from timeful.models.chat import OpenAIModel
from timeful.models.counting import Counting
from timeful.models.pace import Pace
from timeful.models.request import address


class Endpoint(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A model, and where it is.

    Attributes:
        model: Its name, maybe after that of its provider.
        using_short_model_name: Whether only the text after the last "/" is sent to the server.
        temperature: The sampling temperature; null leaves it to the server.
        max_tokens: The most tokens of an answer, thinking included; null for no limit.
        base_url: Where the API begins.
        api_key_name: The environment variable that holds the key.
        extra: Further fields of a request.
    """

    model: str = ""
    using_short_model_name: bool = False
    temperature: Annotated[float, msgspec.Meta(ge=0, le=2)] | None = 0.1
    max_tokens: Annotated[int, msgspec.Meta(ge=1)] | None = 4096
    base_url: str = ""
    api_key_name: str = "OPENAI_API_KEY"
    extra: dict[str, Any] = {}

    @property
    def model_name(self) -> str:
        """The model's name as it is sent to the server."""
        return self.model.rpartition("/")[2] if self.using_short_model_name else self.model

    def connect(
        self,
        api_key: str,
        *,
        retries: int,
        label: str | None = None,
        pace: Pace | None = None,
        counting: Counting = "auto",
    ) -> OpenAIModel:
        """The model; nothing is sent yet.

        Args:
            api_key: The key, which is never in settings; "" if the server needs none.
            retries: How often a request that failed before its first chunk is repeated.
            label: A name for records and tables; None means the model's name.
            pace: What a token costs in simulated time; None if only a wall clock can tell.
            counting: How tokens are counted in simulated time.

        Raises:
            SettingsError: If there is no model, or no address.
        """
        return OpenAIModel(
            model=self.model_name,
            base_url=self.base_url,
            api_key=api_key or "none",
            label=label,
            pace=pace,
            temperature=self.temperature,
            extra=self.extra,
            retries=retries,
            counting=counting,
        )

    def about(self) -> dict[str, Any]:
        """The settings that determine its answers, for records; without keys."""
        return {
            "model": self.model_name,
            "endpoint": address(self.base_url),
            "temperature": self.temperature,
            "max_tokens": self.max_tokens,
            "extra": self.extra,
        }
