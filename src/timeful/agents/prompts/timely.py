"""Prompts for a model that uses tools under a time budget.

The sections follow the Timely Machine, appendix A.1: time is scarce; gauge, allot, adapt,
converge; the final answer; the tools. The first user message contains the case and the time limit.
Text tools are described with their call format.
"""

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Literal

from timeful.agents.prompts.sections import join_sections
from timeful.core.units import in_seconds
from timeful.environments.timed.view import TimedView
from timeful.models.model import Message
from timeful.tools import Kind, ToolSpec

Calls = Literal["native", "text"]
"""How tools are offered: by the endpoint's own API, or in words, with calls between tags."""

Briefing = Callable[[TimedView, Calls], Sequence[Message]]
"""The first messages of a conversation: what to do, with which tools, in which time."""

_TIME = """\
## Time

Of all you have, time is the scarcest. It runs while you think, while you write, and while a tool
works. Where a limit is named it is meant: nothing that comes after that moment counts, and you may
be cut off there in the middle of whatever you do.

1. Gauge: begin by weighing how hard the work is against the time there is.
2. Allot: decide how much of it goes into {work},
   and keep some for the end. Spend little on what matters little.
3. Adapt: keep an eye on the time. What takes too long is dropped for something quicker, even if
   that is rougher.
4. Converge: come to a complete end before the limit. A sound result in time is a success; a
   perfect one that is half done is worth nothing."""

_DURATION = "<conclusion>total duration: ... seconds</conclusion>, with the time that has passed"


def fiction(view: TimedView, calls: Calls) -> Sequence[Message]:
    """Open a conversation about a text adventure: many quick calls."""
    return _briefing(
        view,
        calls,
        role="You play a text adventure through tools, and want as many points as you can get "
        "before the time is over.",
        work="finding out what can be done, exploring and scoring",
        hints="Every action is a call. The game goes on only when you act.",
        ends=(_DURATION, "<score>...</score>, with the points that you have made"),
    )


def coding(view: TimedView, calls: Calls) -> Sequence[Message]:
    """Open a conversation about a machine learning task: few slow calls."""
    return _briefing(
        view,
        calls,
        role="You solve a machine learning task by writing Python code and running it through a "
        "tool.",
        work="planning, coding and running code",
        hints="In each round, say in a few words what you are going to do, and then run the whole "
        "program. Leave out what runs for long, such as cross-validation and wide searches: its "
        "time is yours. The latest submission that is valid counts, so have a simple one early.",
        ends=(_DURATION, "<accuracy>...</accuracy>, with the accuracy that was reported to you"),
    )


def reasoning(view: TimedView, calls: Calls) -> Sequence[Message]:
    """Open a conversation about a problem that needs nothing but thinking."""
    return _briefing(
        view,
        calls,
        role="You solve a problem by thinking, with a timer that tells how long it has taken.",
        work="understanding, solving and checking",
        hints="Ask the timer between two steps of your reasoning: it answers at once, and nobody "
        "can tell by feeling.",
        ends=(
            "<summary>...</summary>, with what your answer rests on, in short",
            _DURATION,
            r"<answer>...</answer>, with nothing but the final answer, as in "
            r"<answer>\boxed{100}</answer>",
        ),
    )


def general(view: TimedView, calls: Calls) -> Sequence[Message]:
    """Open a conversation about a task with tools, of which nothing more is known."""
    return _briefing(
        view,
        calls,
        role="You solve a task with tools, under a time limit.",
        work="planning and calling tools",
        hints="",
        ends=("the final answer, and nothing else",),
    )


BRIEFINGS: Mapping[str, Briefing] = {
    "fiction": fiction,
    "coding": coding,
    "reasoning": reasoning,
}
"""How a conversation opens, by the kind of work."""


_SAMPLES: Mapping[Kind, object] = {"string": "...", "integer": 1, "number": 0.5, "boolean": True}


def _briefing(
    view: TimedView, calls: Calls, *, role: str, work: str, hints: str, ends: Sequence[str]
) -> Sequence[Message]:
    system = join_sections(role, _TIME.format(work=work), _tools(view, calls, hints), _end(ends))
    budget = view.budget
    limit = "" if budget is None else f"Finish within {in_seconds(budget):.2f} seconds."
    return Message("system", system), Message("user", join_sections(view.opening, limit))


def _tools(view: TimedView, calls: Calls, hints: str) -> str:
    if calls == "native":
        return join_sections("## Tools", "You have the tools of this conversation.", hints)
    return join_sections(
        "## Tools",
        'A call is one JSON object, {"name": ..., "arguments": {...}}, between <tool_call> and '
        "</tool_call>. End your message after it: the reply comes with the next message, between "
        "<tool_response> and </tool_response>. You have these tools, each with a call of it:",
        "\n".join(map(_tool, view.tools)),
        hints,
    )


def _tool(tool: ToolSpec) -> str:
    """A line that says what a tool does, a line for each argument, and a call of it."""
    arguments = {parameter.name: _SAMPLES[parameter.kind] for parameter in tool.parameters}
    call = json.dumps({"name": tool.name, "arguments": arguments})
    lines = [f"- {tool.name}: {tool.description}"]
    lines += [
        f"  {parameter.name} ({parameter.kind})"
        + (f": {parameter.description}" if parameter.description else "")
        for parameter in tool.parameters
    ]
    return "\n".join([*lines, f"  <tool_call>{call}</tool_call>"])


def _end(ends: Sequence[str]) -> str:
    return join_sections(
        "## The end",
        "A message without a call is your last one, and ends the task. It holds:",
        "\n".join(f"- {end}" for end in ends),
    )
