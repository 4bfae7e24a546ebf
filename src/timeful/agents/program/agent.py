"""An agent that is a program: a process whose model calls and tools come to an endpoint of ours.

The program is not changed. Simulated time stands still while it computes. A model call takes the
time of its tokens, and a tool that of its action.
"""

import os
import re
import secrets
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from queue import SimpleQueue
from tempfile import mkdtemp

from timeful.agents.program.chat import chat
from timeful.agents.program.dialect import (
    BadRequestError,
    Dialect,
    ModelAnswer,
    ModelRequest,
    Reply,
    json_reply,
    read_body,
)
from timeful.agents.program.door import Door, Exchange, Route
from timeful.agents.program.mcp import ToolRequest, make_route
from timeful.agents.program.messages import messages
from timeful.agents.program.process import Process, make_environment, read_command
from timeful.agents.program.responses import responses
from timeful.agents.program.tools import call_tool, describe, finish_call, list_tools, order_of
from timeful.agents.prompt_kit import PromptKit
from timeful.agents.session import Session
from timeful.agents.thought import Thought
from timeful.agents.tool_user import find_calls, strip_calls
from timeful.core.activity import Activity
from timeful.core.units import Instant, in_seconds, milliseconds
from timeful.errors import check_range
from timeful.models.model import Model, Prompt
from timeful.models.request import estimate_prompt
from timeful.models.search.reasoner import SearchModel
from timeful.sandbox.program import check_cage, confine
from timeful.tools import BadCallError, ToolCall, read_call

GRACE_S = 5.0
"""The real seconds after the end of the world in which a program ends by itself."""

OVER = "The episode is over."
"""The answer to a model call after the end of the world."""

_UNRANKED = 1 << 30
_PIECE = milliseconds(50)
"""The time between two pieces of a streamed answer under a wall clock."""

_BOXED = re.compile(r"\\boxed\{(\w+)\}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Program:
    """An agent that is a program; see `program`."""

    command: tuple[str, ...]
    lanes: int = 1
    model: Model | None = None
    prompt: str | None = None
    patience_s: float = 600.0
    settle_s: float = 0.05
    sandbox: bool = False

    def __post_init__(self) -> None:
        if self.sandbox:
            check_cage()
        check_range("the number of lanes", self.lanes, least=1, is_whole=True)
        check_range("the patience in s", self.patience_s, above=0)
        check_range("the time to settle in s", self.settle_s, above=0)

    async def __call__(
        self,
        session: Session,
        *,
        reactor: Model | None = None,
        planner: Model | None = None,
        prompts: PromptKit | None = None,
        rules: str = "",
    ) -> None:
        """Run the program until it ends or the world is over.

        Args:
            session: The session.
            reactor: The model behind the endpoint, unless the program has one of its own.
            planner: The model behind the endpoint for requests of the model `planner`.
            prompts: The prompts of the game, for its rules.
            rules: The rules of another world.

        Raises:
            ProgramError: If the program fails, or sends no request for the whole patience.
        """
        default = self.model or reactor or planner
        models = {"planner": self.model or planner or default}
        run = _Run(self, session, lambda name: models.get(name) or default)
        try:
            run.start(rules if prompts is None else prompts.rules(session.view))
            await run.serve()
        finally:
            run.close()


def program(
    command: str | Sequence[str],
    *,
    lanes: int = 1,
    model: Model | None = None,
    prompt: str | None = None,
    patience_s: float = 600.0,
    settle_s: float = 0.05,
    sandbox: bool = False,
) -> Program:
    """Make an agent of a program that calls models and tools at an endpoint of this process.

    Args:
        command: The command that starts it, as words or as one line.
        lanes: The most requests that are answered side by side.
        model: The model behind the endpoint; that of the suite by default.
        prompt: The text of the variable TIMEFUL_PROMPT; by default rules, tools and state.
        patience_s: The real seconds for which time waits for a request of the program.
        settle_s: The real seconds without a request after which a program with several lanes is
            taken to wait for answers.
        sandbox: Whether the program is confined to the present folder and its endpoint.

    Raises:
        SettingsError: If the program does not exist, a number cannot be, or programs cannot be
            confined here.
    """
    return Program(
        command=read_command(command),
        lanes=lanes,
        model=model,
        prompt=prompt,
        patience_s=patience_s,
        settle_s=settle_s,
        sandbox=sandbox,
    )


@dataclass(slots=True)
class _Run:
    """One episode of a program."""

    program: Program
    session: Session
    find_model: Callable[[str], Model | None]
    door: Door = field(init=False)
    process: Process | None = None
    answers: int = 0
    calls: tuple[str, ...] = ()
    """The calls that the latest answer asked for, as `order_of` writes them."""
    remarks: set[str] = field(default_factory=set)

    def start(self, rules: str) -> None:
        """Open the endpoint and start the process."""
        key = secrets.token_hex(16)
        tools = list_tools(self.session)
        tool_path = f"/mcp/{key}"
        routes: dict[str, Route] = {
            "POST /v1/chat/completions": partial(self._read, chat),
            "POST /v1/messages": partial(self._read, messages),
            "POST /v1/responses": partial(self._read, responses),
            "GET /v1/models": lambda _: json_reply({"object": "list", "data": []}),
            f"POST {tool_path}": make_route(tools, self._rank),
            f"GET {tool_path}": lambda _: Reply(body=b"", status=405),
            f"DELETE {tool_path}": lambda _: Reply(body=b"", status=200),
        }
        settings = self.program
        self.door = Door(
            routes,
            key=key,
            settle_s=settings.settle_s,
            patience_s=settings.patience_s,
            finish=self._finish,
        )
        address = self.door.address
        prompt = settings.prompt
        own = {
            "OPENAI_BASE_URL": f"{address}/v1",
            "OPENAI_API_KEY": key,
            "ANTHROPIC_BASE_URL": address,
            "ANTHROPIC_API_KEY": key,
            "TIMEFUL_MCP_URL": address + tool_path,
            "TIMEFUL_PROMPT": describe(self.session, rules, tools) if prompt is None else prompt,
        }
        environment = make_environment(os.environ, own)
        command: Sequence[str] = settings.command
        if settings.sandbox:
            socket = self.door.listen(Path(mkdtemp(prefix="timeful-program-")) / "door")
            command = confine(command, environment, socket=socket, port=self.door.port)
        self.process = Process(command, environment, on_end=self.door.end)

    async def serve(self) -> None:
        """Answer requests until the program ends or the world is over."""
        session, lanes = self.session, self.program.lanes
        is_wall = session.calls_take_time
        backlog: list[Exchange] = []
        running: list[Activity[None]] = []
        while not session.over:
            if not backlog and (is_wall or len(running) < lanes):
                wanted = max(len(self.calls), lanes - len(running))
                take = partial(
                    self.door.take, open_count=len(running), wanted=wanted, is_wall=is_wall
                )
                backlog = await session.call(take, stop=self.door.stop, name="program")
                self.calls = ()
                if self.door.has_ended and not backlog:
                    assert self.process is not None, "it was started"
                    self.process.check()
                    return
            while backlog and (is_wall or len(running) < lanes):
                running.append(session.spawn(self._answer(backlog.pop(0)), name="request"))
            if running and not is_wall:
                await session.wait_first(*running)
                for task in running:
                    if task.done:
                        task.result()
            running = [task for task in running if not task.done]

    def close(self) -> None:
        """End the program, and keep its output in the record."""
        if not hasattr(self, "door"):
            return
        self.door.stop()
        if self.process is not None:
            # A program that hangs, or whose world broke, is not waited for.
            if end := self.process.leave(GRACE_S if self.session.over else 0.0):
                self.session.note("program", end)
            for name in ("stdout", "stderr"):
                if text := self.process.output(name):
                    self.session.keep_output(name, text)
        self.door.close()

    # --- requests ----------------------------------------------------------------------------

    def _read(self, dialect: Dialect, data: bytes) -> Exchange:
        body = read_body(data)
        request = dialect.read(body)
        if self.find_model(request.model) is None:
            raise BadRequestError("this episode has no model: give `model=` or --model", 404)
        text = order_of("think", body)
        return Exchange(order=(_UNRANKED, "think", text), content=(dialect, request))

    def _rank(self, text: str) -> int:
        return self.calls.index(text) if text in self.calls else _UNRANKED

    async def _answer(self, exchange: Exchange) -> None:
        if exchange.is_late:
            self._remark("a request came while time moved; give as many lanes as are used at once")
        if isinstance(exchange.content, ToolRequest):
            reply = await self._call(exchange.content)
        else:
            dialect, request = exchange.content
            answer = ModelAnswer(number=self._count(), at_s=int(in_seconds(self.session.now)))
            if request.is_streamed and self.session.calls_take_time:
                answer.feed = SimpleQueue()
                self.door.answer(exchange, dialect.write(request, answer))
            await self._think(request, answer)
            if answer.feed is not None:
                return
            reply = dialect.write(request, answer)
        self.door.answer(exchange, reply)

    async def _call(self, request: ToolRequest) -> Reply:
        try:
            return request.write(await call_tool(self.session, request.name, request.arguments))
        except BadCallError as error:
            self.session.note("refused-call", str(error))
            now_s = in_seconds(self.session.now)
            return request.write({"error": str(error), "now_s": now_s}, is_error=True)

    async def _think(self, request: ModelRequest, answer: ModelAnswer) -> None:
        session, model = self.session, self.find_model(request.model)
        assert model is not None, "it was checked when the request was read"
        for name in request.ignored:
            self._remark(f"the field {name} of a request has no effect")
        prompt = Prompt(
            render=lambda: request.messages,
            label="react",
            view=session.view,
            tools=request.tools,
        )
        thought = session.think(model, prompt, max_tokens=request.max_tokens)
        if answer.feed is not None:
            await self._stream(request, answer, thought)
        text = _cut(await thought, request.stops)
        if request.tools:
            text, answer.calls = _split_calls(text)
            if isinstance(model, SearchModel) and not answer.calls:
                answer.calls = _call_for(text, request)
        self.calls = tuple(order_of(call.name, dict(call.arguments)) for call in answer.calls)
        end = thought.stream.end
        prompt_tokens = None if end is None else end.prompt_tokens
        if prompt_tokens is None:
            prompt_tokens = estimate_prompt(request.messages)
        answer.prompt_tokens, answer.tokens = prompt_tokens, thought.tokens
        answer.at_s, answer.is_cut = int(in_seconds(session.now)), not thought.complete
        if answer.feed is not None and text.startswith(answer.text) and text != answer.text:
            answer.feed.put(text[len(answer.text) :])
        answer.text = text
        if answer.feed is not None:
            answer.feed.put(None)

    async def _stream(self, request: ModelRequest, answer: ModelAnswer, thought: Thought) -> None:
        """Pass on the text of a thought as it comes, under a wall clock."""
        session, feed = self.session, answer.feed
        assert feed is not None, "only called for such answers"
        try:
            while not await session.wait(thought, until=Instant(session.now + _PIECE)):
                if answer.is_abandoned:
                    thought.cancel("the program hung up")
                text = _certain(thought.answer, request)
                if len(text) > len(answer.text):
                    feed.put(text[len(answer.text) :])
                    answer.text = text
        except BaseException:  # also the end of the world
            feed.put(None)
            raise

    def _finish(self, exchange: Exchange) -> Reply:
        """The answer to a request after the end of the world, in a thread of the server."""
        now_s = in_seconds(self.session.now)
        if isinstance(exchange.content, ToolRequest):
            return exchange.content.write(finish_call(now_s))
        dialect, request = exchange.content
        answer = ModelAnswer(number=self._count(), at_s=int(now_s), text=OVER)
        return dialect.write(request, answer)  # type: ignore[no-any-return]

    def _count(self) -> int:
        self.answers += 1
        return self.answers

    def _remark(self, text: str) -> None:
        """Write a remark into the record, once an episode."""
        if text not in self.remarks:
            self.remarks.add(text)
            self.session.note("program", text)


def _call_for(text: str, request: ModelRequest) -> tuple[ToolCall, ...]:
    """The calls in place of the search reasoner, which names its action and knows no tools."""
    names = {tool.name for tool in request.tools}
    action = _BOXED.search(text)
    if action is None or not names >= {"act", "wait"}:
        return ()
    return ToolCall(name="act", arguments={"action": action[1]}), ToolCall(name="wait")


def _cut(text: str, stops: Sequence[str]) -> str:
    """A text up to the first of some texts."""
    starts = [start for stop in stops if (start := text.find(stop)) >= 0]
    return text[: min(starts)] if starts else text


def _certain(text: str, request: ModelRequest) -> str:
    """The beginning of an answer that is certain: no stop text and no call can change it."""
    if request.stops:
        return ""
    return text.partition("<")[0].lstrip() if request.tools else text


def _split_calls(text: str) -> tuple[str, tuple[ToolCall, ...]]:
    """The text of an answer without its calls, and the calls; unreadable ones stay text."""
    try:
        calls = tuple(read_call(call) for call in find_calls(text))
    except BadCallError:
        return text, ()
    return (strip_calls(text), calls) if calls else (text, ())
