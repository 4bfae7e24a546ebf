"""The tools of a program: they look, act and wait in the world of a session."""

import json
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any

from timeful.agents.session import Session
from timeful.core.activity import Interrupted
from timeful.core.units import FAR, Duration, in_seconds, seconds
from timeful.environments.environment import Observation, Turn
from timeful.environments.timed.view import TimedView
from timeful.tools import BadCallError, Parameter, ToolCall, ToolSpec, find_tool

Json = dict[str, Any]

_LOOK = ToolSpec(name="look", description="See the state of the world now. It takes no time.")
_TIME = ToolSpec(
    name="time", description="See the clock, and when the world moves next if that is known."
)
_ACT = ToolSpec(
    name="act",
    description="Act in the world. It returns when the action is over.",
    parameters=(Parameter(name="action", description="The action, in the world's own words."),),
)
_ANSWER = ToolSpec(
    name="answer",
    description="Give the final answer; the task is then over.",
    parameters=(Parameter(name="text", description="The answer."),),
)
_WAITING = ToolSpec(
    name="wait",
    description="Wait until something happens that can be seen. The world moves meanwhile.",
)


def list_tools(session: Session) -> list[Json]:
    """The tools that a program is offered, as MCP has them."""
    text = "The longest wait in seconds; without it, any."
    # Some frameworks take an argument for required unless it says that it is nullable.
    span = {"type": "number", "description": text, "nullable": True}
    wait = {"type": "object", "properties": {"seconds": span}, "additionalProperties": False}
    return [
        *map(_define, (_LOOK, *_own_tools(session))),
        {"name": "wait", "description": _WAITING.description, "inputSchema": wait},
        _define(_TIME),
    ]


def _own_tools(session: Session) -> tuple[ToolSpec, ...]:
    """The tools that act in this world."""
    view = session.view
    return (*view.tools, _ANSWER) if isinstance(view, TimedView) else (_ACT,)


def _define(tool: ToolSpec) -> Json:
    schema = tool.schema()["function"]["parameters"]
    return {"name": tool.name, "description": tool.description, "inputSchema": schema}


async def call_tool(session: Session, name: str, arguments: Mapping[str, Any]) -> Json:
    """Call a tool and wait for its end.

    Returns:
        The instant, what became visible, the state, and whether the episode is over.

    Raises:
        BadCallError: If there is no such tool, its arguments do not fit, or the world refuses it.
    """
    match name:
        case "look":
            _LOOK.check(arguments)
        case "time":
            _TIME.check(arguments)
            return _clock(session)
        case "wait":
            await _wait(session, _read_span(arguments))
        case _:
            await _act(session, name, arguments)
    events = [_show(observation) for observation in session.observe()]
    return {**_clock(session), "events": events, "view": session.view.text()}


def finish_call(now_s: float) -> Json:
    """The result of any call after the end of the world."""
    return {"now_s": now_s, "over": True}


def _clock(session: Session) -> Json:
    clock: Json = {"now_s": in_seconds(session.now), "over": session.over}
    if session.next_tick < FAR:
        clock["next_move_s"] = in_seconds(session.next_tick)
    return clock


def _read_span(arguments: Mapping[str, Any]) -> Duration | None:
    span = arguments.get("seconds")
    if set(arguments) - {"seconds"}:
        raise BadCallError("wait takes the argument 'seconds' only")
    if span is None:
        return None
    try:
        return seconds(float(span))
    except (TypeError, ValueError) as error:
        raise BadCallError(f"the argument 'seconds' of wait cannot be {span!r}: {error}") from None


async def _wait(session: Session, span: Duration | None) -> None:
    if span is None:
        await session.wait_for_tick()
        return

    async def look_out() -> None:
        with suppress(Interrupted):  # the time is up
            await session.wait_for_tick()

    async def ring() -> None:
        await session.sleep(span)
        waiting.interrupt("the time is up")

    waiting = session.spawn(look_out(), name="wait")
    alarm = session.spawn(ring(), name="alarm")
    await waiting
    alarm.interrupt("something happened")


async def _act(session: Session, name: str, arguments: Mapping[str, Any]) -> None:
    call = ToolCall(name=name, arguments=arguments)
    find_tool(call, (_LOOK, *_own_tools(session), _WAITING, _TIME))
    is_task = isinstance(session.view, TimedView)
    refusal = (await session.act(call if is_task else arguments["action"].strip())).refusal
    if refusal is not None:
        raise BadCallError(refusal)


def _show(observation: Observation) -> Json:
    event: Json = {"at_s": in_seconds(observation.at), "event": observation.event}
    if observation.reward:
        event["reward"] = observation.reward
    if isinstance(observation, Turn):
        event |= {"action": observation.action, "late": observation.late}
    return {**event, **observation.data}


def describe(session: Session, rules: str, tools: Sequence[Json]) -> str:
    """What a program is told at its start: the rules, its tools, time, and the state."""
    lines = [f"- `{tool['name']}`: {tool['description']}" for tool in tools]
    texts = [
        rules,
        "## Tools\n\n" + "\n".join(lines),
        "## Time\n\nThe world moves while you think: each token of an answer takes time.",
        "## State\n\n" + session.view.text(),
    ]
    return "\n\n".join(text for text in texts if text)


def order_of(name: str, arguments: object) -> str:
    """A text that sorts calls of tools at one instant."""
    return json.dumps([name, arguments], sort_keys=True, ensure_ascii=False)
