"""Scripted policies: rules that replace a language model on tasks with tools, without a network.

A rule gets the prompts of a model and answers in its format. Some rules also know scripts or
worked solutions. Their results test the platform and are no measurement of any model.
"""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from timeful.models.pace import Pace
from timeful.models.rules import Answer, Rule


@dataclass(frozen=True, slots=True, kw_only=True)
class Player:
    """A scripted policy.

    Attributes:
        name: The name in records and tables.
        pace: The default speed of its output.
        make: Makes its rule. The arguments depend on the family of tasks.
    """

    name: str
    pace: Pace
    make: Callable[..., Rule]


def call_tool(tool: str, arguments: Mapping[str, str], thought: str, tokens: int) -> Answer:
    """Answer with a thought and a call of a tool."""
    text = json.dumps({"name": tool, "arguments": arguments})
    return Answer(f"{thought}\n<tool_call>{text}</tool_call>", tokens)


def conclude(elapsed_s: float, result: str, tokens: int) -> Answer:
    """Answer with the total time and the result, in the requested form (TimelyEval, A.1.3)."""
    total = f"<conclusion>total duration: {elapsed_s:.2f} seconds</conclusion>"
    return Answer(f"{total}\n{result}", tokens)
