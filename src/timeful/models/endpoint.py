"""An endpoint as files of settings describe it (ProActor, Figures 9, 13 to 16).

    model: "openai/gpt-4.1-mini"
    using_short_model_name: true    # the server is asked for gpt-4.1-mini
    temperature: 0.1
    max_tokens: 4096
    base_url: "https://..."
    api_key_name: OPENAI_API_KEY
    extra: {top_k: 20}              # as the server documents them

Annotations, agents and judges have these fields. There is none for a key. A model may also be a
`KIND:NAME` of `kinds.KINDS`, such as `anthropic:NAME`; its address and key then have defaults.
"""

from typing import Annotated, Any

import msgspec

from timeful.errors import SettingsError
from timeful.models.counting import Counting
from timeful.models.kinds import KINDS, is_live
from timeful.models.live_answer import LiveModel
from timeful.models.model_spec import ModelSpec
from timeful.models.pace import Pace
from timeful.models.request import address


class Endpoint(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A model, and where it is.

    Attributes:
        model: Its name, maybe after that of its provider; or `KIND:NAME`.
        using_short_model_name: Whether only the text after the last "/" is sent to the server.
        temperature: The sampling temperature; null leaves it to the server.
        max_tokens: The most tokens of an answer, thinking included; null for no limit.
        base_url: Where the API begins; "" for the default of the kind.
        api_key_name: The environment variable that holds the key; "" for that of the kind.
        extra: Further fields of a request.
    """

    model: str = ""
    using_short_model_name: bool = False
    temperature: Annotated[float, msgspec.Meta(ge=0, le=2)] | None = 0.1
    max_tokens: Annotated[int, msgspec.Meta(ge=1)] | None = 4096
    base_url: str = ""
    api_key_name: str = ""
    extra: dict[str, Any] = {}

    @property
    def kind(self) -> str:
        """The kind of the model; `openai` if its name has none."""
        return self.model.partition(":")[0] if is_live(self.model) else "openai"

    @property
    def model_name(self) -> str:
        """The model's name as it is sent to the server."""
        name = self.model.partition(":")[2] if is_live(self.model) else self.model
        return name.rpartition("/")[2] if self.using_short_model_name else name

    @property
    def key_name(self) -> str:
        """The environment variable of the key; "" if the server needs none."""
        return self.api_key_name or KINDS[self.kind].key_name

    @property
    def address(self) -> str:
        """Where the API begins; "" if neither the file nor the kind has it."""
        return self.base_url or KINDS[self.kind].base_url

    def check_complete(self) -> None:
        """Check that the model can be asked.

        Raises:
            ValueError: If the name or the address is missing or wrong.
        """
        for field, value in (("model", self.model_name), ("base_url", self.address)):
            if not value:
                raise ValueError(f"{field} is required")
        try:
            address(self.address)
        except SettingsError as error:
            raise ValueError(str(error)) from None

    def choose(
        self,
        *,
        model: str = "",
        base_url: str | None = None,
        temperature: float | None = None,
        record: str | None = None,
        counting: Counting = "auto",
    ) -> ModelSpec:
        """The model as a value; an argument replaces what the file has.

        Raises:
            SettingsError: If there is no model, or no address.
        """
        return ModelSpec(
            spec=f"{self.kind}:{model or self.model_name}",
            base_url=base_url or self.base_url or None,
            temperature=self.temperature if temperature is None else temperature,
            record=record,
            extra=msgspec.json.encode(self.extra, order="sorted").decode(),
            counting=counting,
            key_variable=self.api_key_name,
        )

    def connect(
        self,
        api_key: str,
        *,
        retries: int,
        label: str | None = None,
        pace: Pace | None = None,
        counting: Counting = "auto",
    ) -> LiveModel:
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
        choice = self.choose(counting=counting)
        return choice.connect(pace=pace, api_key=api_key, label=label, retries=retries)

    def about(self) -> dict[str, Any]:
        """The settings that determine its answers, for records; without keys."""
        return {
            "model": self.model_name,
            "endpoint": address(self.address),
            "temperature": self.temperature,
            "max_tokens": self.max_tokens,
            "extra": self.extra,
        }
