"""Any OpenAI-compatible chat endpoint as a model, streamed."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from importlib.util import find_spec
from threading import Event, Lock
from typing import get_args

from timeful.core.source import End
from timeful.errors import ModelError, SettingsError, check_known
from timeful.models.counting import LONGEST_SETTLED, Counting, PricedSource
from timeful.models.event_loop_thread import ClientState, EventLoopThread
from timeful.models.model import Prompt
from timeful.models.pace import TOKEN_TIME, Pace
from timeful.models.request import Request, Timeouts, address
from timeful.models.sse import Thinking
from timeful.models.stream_buffer import READ_AHEAD, StreamBuffer
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
        pricing = prompt.pricing
        is_as_it_comes = pricing is None or self.counting == "running"
        answer = StreamBuffer(READ_AHEAD if is_as_it_comes else LONGEST_SETTLED)
        room = None if pricing is None else pricing.room
        if room is not None:
            max_tokens = room if max_tokens is None else min(room, max_tokens)
        request = self._request(prompt, max_tokens, seed)

        async def work(shared: ClientState) -> None:
            await _feed(request, answer, shared)

        if max_tokens is not None and max_tokens <= 0:
            answer.append(End("length", tokens=0, attempts=0))
        else:
            answer.on_close(self._background.start(work))
        if pricing is None:
            return answer
        return PricedSource(answer, counting=self.counting, room=room)

    def warm_up(self) -> None:
        """Load the client now, so that no turn of a wall clock is spent on it; sends nothing."""
        request = self._request(Prompt(label="react", render=tuple), None, 0)
        ready = Event()

        async def work(shared: ClientState) -> None:
            try:
                from timeful.models.openai_stream import connect  # noqa: PLC0415 - as in _feed

                if shared.client is None:
                    await connect(request, shared)
            finally:
                ready.set()

        self._background.start(work)
        ready.wait()

    def close(self) -> None:
        """End all streams and free the connections; the model may be used again."""
        self._background.close()

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


_READY_LOCK = Lock()


def ready(model: OpenAIModel) -> OpenAIModel:
    """One of all equal models, made ready, so that episodes share its thread and connections."""
    with _READY_LOCK:  # episodes begin at one instant in many threads
        return _ready(model)


@lru_cache(maxsize=16)
def _ready(model: OpenAIModel) -> OpenAIModel:
    model.warm_up()
    return model


async def _feed(request: Request, source: StreamBuffer, shared: ClientState) -> None:
    """Stream the answer; any failure is raised by the source."""
    over = ModelError(f"the model was closed in the middle of {request}")
    try:
        # Imported when first used: the client loads for more than half a second.
        from timeful.models.openai_stream import stream_answer  # noqa: PLC0415

        await stream_answer(request, source, shared)
    except ModelError as error:
        over = error
    except Exception as bug:  # noqa: BLE001 - raised by the next pull
        over = ModelError(f"{request} broke: {type(bug).__name__}: {bug}")
        over.__cause__ = bug
    finally:
        source.append(over)  # after an end nobody looks at it
