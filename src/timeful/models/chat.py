"""Any OpenAI-compatible chat endpoint as a model, streamed."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib.util import find_spec
from typing import get_args

from timeful.errors import SettingsError, check_known
from timeful.models.answer_stream import Dialect
from timeful.models.counting import Counting, PricedSource
from timeful.models.event_loop_thread import ClientState, EventLoopThread
from timeful.models.live_answer import load_client, start_answer
from timeful.models.model import Prompt
from timeful.models.pace import TOKEN_TIME, Pace
from timeful.models.redaction import clean_key
from timeful.models.request import Request, Timeouts, address
from timeful.models.sse import Thinking
from timeful.models.stream_buffer import StreamBuffer
from timeful.models.traffic import TRAFFIC


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenAIModel:
    """A model behind an OpenAI-compatible API; opening it sends a request.

    The HTTP client uses the proxies and certificates of the environment; the key and the address
    are only those given here. One thread serves all streams; it stops with `close`, or when the
    model is deleted.

    Args:
        model: The model's name at the server.
        base_url: Where its API begins, such as `http://localhost:8000/v1`.
        api_key: The key; most local servers need none.
        label: A name for records and tables; None means the model's name.
        pace: What a token costs in simulated time; None if only a wall clock can tell.
        temperature: Sampling temperature; None leaves it to the server.
        top_p: Nucleus sampling; None leaves it to the server.
        extra: Further fields of the request, as the server documents them.
        thinking: What `<think>` tags in the answer mean.
        counting: How its tokens are counted in simulated time; see `models/counting.py`.
        timeouts: How long to wait.
        retries: How often a request that failed before its first chunk is repeated.

    Raises:
        SettingsError: If a setting cannot work.
    """

    model: str
    base_url: str
    api_key: str = field(default="none", repr=False)
    label: str | None = None
    pace: Pace | None = TOKEN_TIME
    temperature: float | None = None
    top_p: float | None = None
    extra: Mapping[str, object] = field(default_factory=dict, hash=False)
    thinking: Thinking = "split"
    counting: Counting = "auto"
    timeouts: Timeouts = field(default_factory=Timeouts)
    retries: int = 2
    _background: EventLoopThread = field(
        default_factory=EventLoopThread, init=False, repr=False, compare=False
    )

    def __post_init__(self) -> None:
        if find_spec("openai") is None:
            raise SettingsError(
                "models behind an endpoint need the openai client: pip install 'timeful[openai]'"
            )
        if not self.model:
            raise SettingsError("a model needs a name")
        if self.retries < 0:
            raise SettingsError(f"retries must be 0 or more, got {self.retries}")
        check_known("counting", self.counting, get_args(Counting))
        address(self.base_url)
        object.__setattr__(self, "api_key", clean_key(self.api_key))

    @property
    def name(self) -> str:
        """The label, or the model's name."""
        return self.label or self.model

    @property
    def live(self) -> bool:
        """Yes: tokens come in real time."""
        return True

    @property
    def endpoint(self) -> str:
        """The address of the server, without credentials."""
        return address(self.base_url)

    def open(
        self, prompt: Prompt, *, max_tokens: int | None, seed: int
    ) -> StreamBuffer | PricedSource:
        """Send a request and return at once; the answer is pulled from the source.

        The budget is sent to the server and kept here as well (see `TokenCounter`): a stream that
        goes beyond it is closed, and ends with finish "length". If a priced prompt has room for
        fewer tokens, these are the budget.

        Args:
            prompt: The prompt.
            max_tokens: The most tokens to generate, reasoning included; None for no limit.
            seed: The sampling seed; its lowest 31 bits are sent along.
        """
        return start_answer(
            prompt,
            lambda budget: self._request(prompt, budget, seed),
            max_tokens=max_tokens,
            counting=self.counting,
            background=self._background,
            connect=_connect,
        )

    def warm_up(self) -> None:
        """Load the client now, so that no turn of a wall clock is spent on it; sends nothing."""
        request = self._request(Prompt(label="react", render=tuple), None, 0)
        load_client(request, background=self._background, connect=_connect)

    def close(self) -> None:
        """End all streams and free the connections; the model may be used again."""
        self._background.close()

    @property
    def refused(self) -> frozenset[str]:
        """The fields of a request that the server has refused, and that are left out."""
        return frozenset(getattr(self._background.dialect, "refused", ()))

    def _request(self, prompt: Prompt, max_tokens: int | None, seed: int) -> Request:
        # Some servers take no seed beyond signed 32 bits.
        options: dict[str, object] = {"seed": seed & 0x7FFFFFFF}
        if self.temperature is not None:
            options["temperature"] = self.temperature
        if self.top_p is not None:
            options["top_p"] = self.top_p
        return Request(
            base_url=self.base_url,
            api_key=self.api_key,
            model=self.model,
            label=prompt.label,
            messages=prompt.messages,
            tools=prompt.tools,
            max_tokens=max_tokens,
            options=options | dict(self.extra),
            thinking=self.thinking,
            timeouts=self.timeouts,
            retries=self.retries,
            gate=TRAFFIC.get().gate(self.endpoint),
        )


async def _connect(request: Request, shared: ClientState) -> Dialect:
    # Imported when first used: the client loads for more than half a second.
    from timeful.models.openai_stream import connect  # noqa: PLC0415

    return await connect(request, shared)
