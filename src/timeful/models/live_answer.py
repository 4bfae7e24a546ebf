"""An answer of a live model: started in the event loop of its model, priced for simulated time."""

from collections.abc import Awaitable, Callable
from dataclasses import replace
from functools import lru_cache
from threading import Event, Lock
from typing import Protocol, TypeVar, cast, runtime_checkable

from timeful.core.source import End
from timeful.errors import ModelError
from timeful.models.answer_stream import Dialect, stream_answer
from timeful.models.counting import LONGEST_SETTLED, Counting, PricedSource
from timeful.models.event_loop_thread import ClientState, EventLoopThread, Work
from timeful.models.model import Model, Prompt, limit_tokens
from timeful.models.redaction import redact
from timeful.models.request import Request
from timeful.models.stream_buffer import READ_AHEAD, StreamBuffer

Connect = Callable[[Request, ClientState], Awaitable[Dialect]]
"""Makes the client of a model; it imports the client's library."""


class Starter(Protocol):
    """Starts work in an event loop: that of `EventLoopThread`, or of another library."""

    def start(self, work: Work) -> Callable[[], object]:
        """Start work and return what cancels it, from any thread."""
        ...


@runtime_checkable
class LiveModel(Model, Protocol):
    """A model behind an endpoint, with streams of its own; equal models may share them."""

    def __hash__(self) -> int: ...

    @property
    def endpoint(self) -> str:
        """The address of the server, without credentials."""
        ...

    def warm_up(self) -> None:
        """Load the client now; sends nothing."""
        ...

    def close(self) -> None:
        """End all streams and free the connections; the model may be used again."""
        ...


_READY_LOCK = Lock()
_AnyModel = TypeVar("_AnyModel", bound=LiveModel)


def ready(model: _AnyModel) -> _AnyModel:
    """One of all equal models, made ready, so that episodes share its thread and connections."""
    with _READY_LOCK:  # episodes begin at one instant in many threads
        return cast(_AnyModel, _ready(model))


@lru_cache(maxsize=16)
def _ready(model: LiveModel) -> LiveModel:
    model.warm_up()
    return model


def start_answer(
    prompt: Prompt,
    make_request: Callable[[int | None], Request],
    *,
    max_tokens: int | None,
    counting: Counting,
    background: Starter,
    connect: Connect,
) -> StreamBuffer | PricedSource:
    """Send a request and return at once; the answer is pulled from the source.

    The budget is sent to the server and kept here as well (see `TokenCounter`): a stream that goes
    beyond it is closed, and ends with finish "length". If a priced prompt has room for fewer
    tokens, these are the budget. Without any, it is the default of the prompt, else `MOST_TOKENS`.

    Args:
        prompt: The prompt.
        make_request: Makes the request with a budget.
        max_tokens: The most tokens to generate, reasoning included; None for no limit.
        counting: How its tokens are counted in simulated time.
        background: The event loop of the model.
        connect: Makes the client on first use.
    """
    pricing = prompt.pricing
    is_as_it_comes = pricing is None or counting == "running"
    answer = StreamBuffer(READ_AHEAD if is_as_it_comes else LONGEST_SETTLED)
    answer.can_restart = pricing is not None
    room = None if pricing is None else pricing.room
    is_default = max_tokens is None and room is None and prompt.most_tokens is not None
    max_tokens = limit_tokens(prompt, max_tokens)
    request = make_request(max_tokens).limited()
    request = replace(request, is_soft_limit=is_default or room is not None)

    async def work(shared: ClientState) -> None:
        await _feed(request, answer, shared, connect)

    if max_tokens is not None and max_tokens <= 0:
        answer.append(End("length", tokens=0, attempts=0))
    else:
        answer.on_close(background.start(work))
    if pricing is None:
        return answer
    return PricedSource(answer, counting=counting, room=room)


def load_client(request: Request, *, background: EventLoopThread, connect: Connect) -> None:
    """Load the client now, so that no turn of a wall clock is spent on it; sends nothing."""
    ready = Event()

    async def work(shared: ClientState) -> None:
        try:
            await _dialect(request, shared, connect)
        finally:
            ready.set()

    background.start(work)
    ready.wait()


async def _dialect(request: Request, shared: ClientState, connect: Connect) -> Dialect:
    if shared.dialect is None:
        shared.dialect = await connect(request, shared)
    return shared.dialect


async def _feed(
    request: Request, source: StreamBuffer, shared: ClientState, connect: Connect
) -> None:
    """Stream the answer; any failure is raised by the source."""
    over = ModelError(f"the model was closed in the middle of {request}")
    try:
        await stream_answer(request, source, shared, await _dialect(request, shared, connect))
    except ModelError as error:
        # Records keep the chain of an error, and its words may quote the key.
        over = error
        over.args = tuple(redact(str(arg), request.secrets) for arg in error.args)
        over.__cause__ = over.__context__ = None
    except Exception as bug:  # noqa: BLE001 - raised by the next pull
        over = ModelError(f"{request} broke: {type(bug).__name__}: {request.quote(str(bug))}")
        over.__traceback__ = bug.__traceback__
    finally:
        source.append(over)  # has no effect after an end
