"""Claude, Gemini and the Responses API as models, through the clients of pydantic-ai."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib.util import find_spec
from typing import Literal, get_args

from timeful.errors import SettingsError, check_known
from timeful.models.answer_stream import Dialect
from timeful.models.counting import Counting, PricedSource
from timeful.models.event_loop_thread import ClientState, EventLoopThread
from timeful.models.kinds import KINDS, PROVIDERS
from timeful.models.live_answer import load_client, start_answer
from timeful.models.model import Prompt
from timeful.models.pace import TOKEN_TIME, Pace
from timeful.models.redaction import clean_key
from timeful.models.request import Request, Timeouts, address
from timeful.models.stream_buffer import StreamBuffer
from timeful.models.traffic import TRAFFIC

Api = Literal["anthropic", "google", "responses"]
APIS: tuple[Api, ...] = get_args(Api)
assert APIS == PROVIDERS
_LEVELS = ("off", "low", "medium", "high")
_LEAST_RESPONSE = 16
"""The least limit of tokens that the Responses API takes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ProviderModel:
    """A model behind the API of its provider; opening it sends a request.

    Tested with pydantic-ai-slim 2.68. Retries, limits of time and traffic are the same as of
    `OpenAIModel`; the provider's own client repeats nothing. Claude and the Responses API count
    tokens at the end of an answer, Gemini with each part of it.

    Args:
        model: `anthropic:NAME`, `google:NAME` or `responses:NAME`.
        base_url: Where the API begins; None for the provider's own address.
        api_key: The key.
        label: A name for records and tables; None means the model's name.
        pace: What a token costs in simulated time; None if only a wall clock can tell.
        temperature: Sampling temperature; None leaves it to the provider.
        top_p: Nucleus sampling; None leaves it to the provider.
        thinking: "off", "low", "medium", "high", or a number of tokens, which the Responses API
            does not take; None leaves it to the provider.
        extra: Further settings, as pydantic-ai's `ModelSettings` names them.
        timeouts: How long to wait.
        retries: How often a request that failed before its first chunk is repeated.
        counting: How tokens are counted in simulated time; the records say how they were.

    Raises:
        SettingsError: If a setting cannot work, or an extra is not installed.
    """

    model: str
    base_url: str | None = None
    api_key: str = field(default="none", repr=False)
    label: str | None = None
    pace: Pace | None = TOKEN_TIME
    temperature: float | None = None
    top_p: float | None = None
    thinking: str | int | None = None
    extra: Mapping[str, object] = field(default_factory=dict, hash=False)
    timeouts: Timeouts = field(default_factory=Timeouts)
    retries: int = 2
    counting: Counting = "auto"
    _background: EventLoopThread = field(
        default_factory=EventLoopThread, init=False, repr=False, compare=False
    )

    def __post_init__(self) -> None:
        kind, _, name = self.model.partition(":")
        check_known("provider", kind, APIS)
        if not name:
            raise SettingsError(f"a model is {kind}:NAME, got {self.model!r}")
        check_packages(kind)
        if self.retries < 0:
            raise SettingsError(f"retries must be 0 or more, got {self.retries}")
        check_known("counting", self.counting, get_args(Counting))
        if isinstance(self.thinking, str):
            check_known("level of thinking", self.thinking, _LEVELS)
        elif self.thinking is not None and (kind == "responses" or self.thinking < 1):
            raise SettingsError(f"{self.model} takes no {self.thinking} tokens of thinking")
        address(self._base_url)
        object.__setattr__(self, "api_key", clean_key(self.api_key))

    @property
    def api(self) -> Api:
        """The provider's API."""
        return next(api for api in APIS if self.model.startswith(f"{api}:"))

    @property
    def name(self) -> str:
        """The label, or the model's name without its provider."""
        return self.label or self.model.partition(":")[2]

    @property
    def live(self) -> bool:
        """Yes: tokens come in real time."""
        return True

    @property
    def endpoint(self) -> str:
        """The address of the server, without credentials."""
        return address(self._base_url)

    def open(
        self, prompt: Prompt, *, max_tokens: int | None, seed: int
    ) -> StreamBuffer | PricedSource:
        """Send a request and return at once; the answer is pulled from the source.

        Args:
            prompt: The prompt.
            max_tokens: The most tokens to generate, reasoning included; None for no limit, and
                then Claude's API gets the most that the model can generate.
            seed: The sampling seed; only Gemini's API takes it.
        """
        return start_answer(
            prompt,
            lambda budget: self._request(prompt, budget, seed),
            max_tokens=max_tokens,
            counting=self.counting,
            background=self._background,
            connect=self._connect,
        )

    def warm_up(self) -> None:
        """Load the client now, so that no turn of a wall clock is spent on it; sends nothing."""
        request = self._request(Prompt(label="react", render=tuple), None, 0)
        load_client(request, background=self._background, connect=self._connect)

    def close(self) -> None:
        """End all streams and free the connections; the model may be used again."""
        self._background.close()

    @property
    def _base_url(self) -> str:
        return self.base_url or KINDS[self.api].base_url

    async def _connect(self, request: Request, shared: ClientState) -> Dialect:
        # Imported when first used: the client loads for more than a second.
        from timeful.models.provider_stream import connect  # noqa: PLC0415

        return await connect(self.api, request, shared)

    def _request(self, prompt: Prompt, max_tokens: int | None, seed: int) -> Request:
        options = {"temperature": self.temperature, "top_p": self.top_p}
        settings = {name: value for name, value in options.items() if value is not None}
        if self.api == "google":
            settings["seed"] = seed & 0x7FFFFFFF
        if self.api == "responses" and max_tokens is not None:
            max_tokens = max(max_tokens, _LEAST_RESPONSE)
        return Request(
            base_url=self._base_url,
            api_key=self.api_key,
            model=self.model.partition(":")[2],
            label=prompt.label,
            messages=prompt.messages,
            tools=prompt.tools,
            max_tokens=max_tokens,
            options=settings | self._thinking_settings() | dict(self.extra),
            thinking="keep",
            timeouts=self.timeouts,
            retries=self.retries,
            gate=TRAFFIC.get().gate(self.endpoint),
        )

    def _thinking_settings(self) -> dict[str, object]:
        if self.thinking is None:
            return {}
        if isinstance(self.thinking, str):
            return {"thinking": False if self.thinking == "off" else self.thinking}
        if self.api == "google":
            config = {"include_thoughts": True, "thinking_budget": self.thinking}
            return {"google_thinking_config": config}
        return {"anthropic_thinking": {"type": "enabled", "budget_tokens": self.thinking}}


def check_packages(kind: str) -> None:
    """Refuse a kind of model whose extra is not installed.

    Raises:
        SettingsError: With the line to type.
    """
    missing = [name for name in KINDS[kind].packages if not _is_installed(name)]
    if missing:
        raise SettingsError(
            f"{kind} models need {missing[0]}: pip install 'timeful[{KINDS[kind].extra}]'"
        )


def _is_installed(name: str) -> bool:
    try:
        return find_spec(name) is not None
    except ModuleNotFoundError:  # the package that should hold it
        return False
