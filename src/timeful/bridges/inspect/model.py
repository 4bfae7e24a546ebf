"""A model of Inspect as a model in simulated time.

An episode is played in a thread; each thought is a task of the sample that calls `generate`.
Inspect counts tokens at the end of an answer, so an answer is read to its end before it is priced.
Retries, caches and limits of requests are those of Inspect.
"""

import asyncio
import json
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import asynccontextmanager, suppress
from contextvars import ContextVar
from dataclasses import dataclass

import anyio
from anyio.abc import TaskGroup
from inspect_ai.model import (
    ChatMessage,
    ChatMessageAssistant,
    ChatMessageSystem,
    ChatMessageTool,
    ChatMessageUser,
    GenerateConfig,
    ModelOutput,
    StreamEvent,
)
from inspect_ai.model import Model as InspectApi
from inspect_ai.tool import ToolCall as InspectCall
from inspect_ai.tool import ToolInfo, ToolParams
from inspect_ai.util import LimitExceededError

from timeful.core.source import Source
from timeful.errors import ModelError
from timeful.models.answer_event import PlainEvent
from timeful.models.counting import Report, read_count
from timeful.models.event_loop_thread import ClientState, Work
from timeful.models.live_answer import start_answer
from timeful.models.model import Message, Prompt
from timeful.models.pace import Pace
from timeful.models.request import Request, Timeouts
from timeful.models.sse import CallPiece, Function
from timeful.models.traffic import TRAFFIC
from timeful.tools import ToolSpec

_LONG_S = 1e8
_PATIENT = Timeouts(first_token_s=_LONG_S, idle_s=_LONG_S, answer_s=_LONG_S)
"""Inspect has its own limits of time."""

_FINISH = {"max_tokens": "length", "model_length": "length", "content_filter": "content_filter"}


class SampleTasks:
    """Starts the thoughts of a sample as its tasks, which end with it.

    Args:
        group: The tasks of the sample.

    Attributes:
        limit: The limit of the sample that a thought has exceeded.
    """

    def __init__(self, group: TaskGroup) -> None:
        self._group = group
        self._loop = asyncio.get_running_loop()
        self.limit: LimitExceededError | None = None

    def start(self, work: Work) -> Callable[[], object]:
        """Start a thought from the thread of the episode, and return what cancels it.

        Raises:
            ModelError: If the sample is over.
        """

        async def run(scope: anyio.CancelScope) -> None:
            with scope:
                await work(ClientState())  # a client for each model, without connections

        def begin() -> anyio.CancelScope:
            scope = anyio.CancelScope()
            self._group.start_soon(run, scope)
            return scope

        def cancel() -> None:
            with suppress(RuntimeError):  # the loop has ended, and the thought with it
                self._loop.call_soon_threadsafe(scope.cancel)

        try:
            scope = anyio.from_thread.run_sync(begin)
        except RuntimeError as error:
            raise ModelError(f"the sample is over: {error}") from error
        return cancel


SAMPLE: ContextVar[SampleTasks] = ContextVar("SAMPLE")
"""The sample whose episode a thread plays."""


@dataclass(frozen=True, slots=True, kw_only=True)
class InspectModel:
    """A model of Inspect; it answers within a sample.

    Args:
        api: The model, as Inspect makes it.
        name: Its name in records.
        base_url: The address of its server, for errors.
        pace: What its tokens cost.
    """

    api: InspectApi
    name: str
    base_url: str
    pace: Pace | None

    @property
    def live(self) -> bool:
        """Yes: tokens come in real time."""
        return True

    def open(self, prompt: Prompt, *, max_tokens: int | None, seed: int) -> Source:
        """Start answering; see `models.model.Model`."""
        sample = SAMPLE.get()

        async def connect(request: Request, shared: ClientState) -> InspectDialect:
            return InspectDialect(self.api, sample)

        return start_answer(
            prompt,
            lambda budget: self._request(prompt, budget, seed),
            max_tokens=max_tokens,
            counting="settled",
            background=sample,
            connect=connect,
        )

    def _request(self, prompt: Prompt, max_tokens: int | None, seed: int) -> Request:
        return Request(
            base_url=self.base_url,
            api_key="none",
            model=self.name,
            label=prompt.label,
            messages=prompt.messages,
            tools=prompt.tools,
            max_tokens=max_tokens,
            options={"seed": seed & 0x7FFFFFFF},
            thinking="split",
            timeouts=_PATIENT,
            retries=0,
            gate=TRAFFIC.get().gate(self.base_url),
        )


class InspectDialect:
    """Answers by `generate`; see `answer_stream.Dialect`.

    Args:
        model: The model.
        sample: Keeps the limit that an answer exceeds, for Inspect.
    """

    def __init__(self, model: InspectApi, sample: SampleTasks) -> None:
        self._model = model
        self._sample = sample

    @asynccontextmanager
    async def answer(self, request: Request) -> AsyncIterator[AsyncIterator[PlainEvent]]:
        """Send a request, and give the parts of its answer when it is complete."""
        parts: list[StreamEvent] = []

        async def take(part: StreamEvent) -> None:
            if part.type == "retry":
                parts.clear()
            else:
                parts.append(part)

        config = GenerateConfig(max_tokens=request.max_tokens, seed=request.options["seed"])
        try:
            output = await self._model.generate(
                convert(request.messages), tools=offer(request.tools), config=config, on_stream=take
            )
        except LimitExceededError as error:
            self._sample.limit = error
            raise ModelError(f"{request} exceeds a limit: {error}") from error
        except Exception as error:
            words = request.quote(f"{type(error).__name__}: {error}")
            raise ModelError(f"{request} failed: {words}") from error
        if output.error or not output.choices:
            raise ModelError(f"{request} failed: {request.quote(output.error or 'no answer')}")
        yield _read(parts, output)


async def _read(parts: Sequence[StreamEvent], output: ModelOutput) -> AsyncIterator[PlainEvent]:
    """The parts of an answer as they came, or its content if it did not come in parts."""
    has_text = False
    for part in parts:
        match part.type:
            case "text":
                has_text = True
                yield PlainEvent(content=part.text)
            case "reasoning":
                has_text = True
                yield PlainEvent(reasoning=part.reasoning)
    message = output.choices[0].message
    if not has_text:
        content = message.content
        for item in [] if isinstance(content, str) else content:
            if item.type == "reasoning" and item.reasoning:
                yield PlainEvent(reasoning=item.reasoning)
        if message.text:
            yield PlainEvent(content=message.text)
    for event in _read_calls(message.tool_calls or ()):
        yield event
    reason = _FINISH.get(output.stop_reason, "stop")
    yield PlainEvent(report=_report(output), finish_reason=reason)


def _read_calls(calls: Sequence[InspectCall]) -> Iterator[PlainEvent]:
    for index, call in enumerate(calls):
        arguments = json.dumps(call.arguments, ensure_ascii=False)
        function = Function(name=call.function, arguments=arguments)
        yield PlainEvent(calls=(CallPiece(index=index, id=call.id, function=function),))


def _report(output: ModelOutput) -> Report:
    usage = output.usage
    if usage is None:
        return Report()
    cached = usage.input_tokens_cache_read
    prompt = usage.input_tokens + (cached or 0) + (usage.input_tokens_cache_write or 0)
    return Report(
        prompt=read_count(prompt) or None,
        cached=read_count(cached),
        completion=read_count(usage.output_tokens) or None,
        reasoning=read_count(usage.reasoning_tokens),
    )


def convert(messages: Sequence[Message]) -> list[ChatMessage]:
    """The messages of a prompt in the form of Inspect."""
    return [_convert(message) for message in messages]


def _convert(message: Message) -> ChatMessage:
    if message.role == "system":
        return ChatMessageSystem(content=message.content)
    if message.role == "tool":
        return ChatMessageTool(content=message.content, tool_call_id=message.call_id)
    if message.role == "user":
        return ChatMessageUser(content=message.content)
    calls = [
        InspectCall(id=call.id, function=call.name, arguments=dict(call.arguments))
        for call in message.calls
    ]
    return ChatMessageAssistant(content=message.content, tool_calls=calls or None)


def offer(tools: Sequence[ToolSpec]) -> list[ToolInfo]:
    """The tools that a model may call, in the form of Inspect."""
    schemas = [(tool, tool.schema()["function"]) for tool in tools]
    return [
        ToolInfo(
            name=tool.name,
            description=tool.description,
            parameters=ToolParams.model_validate(function["parameters"]),
        )
        for tool, function in schemas
        if isinstance(function, dict)
    ]
