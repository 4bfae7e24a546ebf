"""timeful: agents for which time is real.

Thinking costs time, and the world moves meanwhile. This front door holds what most programs
need; everything else is imported from the file that defines it. Nothing behind it is loaded
before it is asked for.
"""

from importlib import import_module
from typing import TYPE_CHECKING

from timeful.version import __version__

if TYPE_CHECKING:
    from timeful.agents.agile import agile
    from timeful.agents.planning import planning
    from timeful.agents.program.agent import program
    from timeful.agents.prompt_kit import prompt_kit
    from timeful.agents.reactive import reactive
    from timeful.agents.session import Session
    from timeful.agents.thought import Thought
    from timeful.agents.tool_user import tool_user
    from timeful.core.activity import Interrupted
    from timeful.core.clock import VirtualClock, WallClock
    from timeful.core.kernel import Kernel
    from timeful.core.units import milliseconds, seconds
    from timeful.environments.conformance import check_environment
    from timeful.environments.environment import Environment, Observation
    from timeful.environments.event_queue import EventQueue
    from timeful.environments.event_world import EventView, EventWorld
    from timeful.environments.timed.tool_task import ToolTask, tool
    from timeful.errors import IllegalActionError, TimefulError
    from timeful.experiments.evaluate import evaluate
    from timeful.experiments.options import option
    from timeful.experiments.run import Results
    from timeful.experiments.suite import Suite
    from timeful.interfaces.make import make_interface
    from timeful.models.chat import OpenAIModel
    from timeful.models.model import Message, Prompt
    from timeful.models.pace import Pace, tokens
    from timeful.models.provider import ProviderModel
    from timeful.models.scripted import ScriptedModel
    from timeful.models.search.reasoner import SearchModel
    from timeful.records.recorder import Recorder, read_record
    from timeful.reports.claims import Order
    from timeful.reports.figure import Heat, Lines
    from timeful.reports.metric import Metric
    from timeful.reports.table import Table
    from timeful.runs.play import Episode, play

__all__ = [
    "Environment",
    "Episode",
    "EventQueue",
    "EventView",
    "EventWorld",
    "Heat",
    "IllegalActionError",
    "Interrupted",
    "Kernel",
    "Lines",
    "Message",
    "Metric",
    "Observation",
    "OpenAIModel",
    "Order",
    "Pace",
    "Prompt",
    "ProviderModel",
    "Recorder",
    "Results",
    "ScriptedModel",
    "SearchModel",
    "Session",
    "Suite",
    "Table",
    "Thought",
    "TimefulError",
    "ToolTask",
    "VirtualClock",
    "WallClock",
    "__version__",
    "agile",
    "check_environment",
    "evaluate",
    "make_interface",
    "milliseconds",
    "option",
    "planning",
    "play",
    "program",
    "prompt_kit",
    "reactive",
    "read_record",
    "seconds",
    "tokens",
    "tool",
    "tool_user",
]

_PLACES = {
    "Environment": "environments.environment",
    "Episode": "runs.play",
    "EventQueue": "environments.event_queue",
    "EventView": "environments.event_world",
    "EventWorld": "environments.event_world",
    "Heat": "reports.figure",
    "IllegalActionError": "errors",
    "Interrupted": "core.activity",
    "Kernel": "core.kernel",
    "Lines": "reports.figure",
    "Message": "models.model",
    "Metric": "reports.metric",
    "Observation": "environments.environment",
    "OpenAIModel": "models.chat",
    "ProviderModel": "models.provider",
    "Order": "reports.claims",
    "Pace": "models.pace",
    "Prompt": "models.model",
    "Recorder": "records.recorder",
    "Results": "experiments.run",
    "ScriptedModel": "models.scripted",
    "SearchModel": "models.search.reasoner",
    "Session": "agents.session",
    "Suite": "experiments.suite",
    "Table": "reports.table",
    "Thought": "agents.thought",
    "TimefulError": "errors",
    "ToolTask": "environments.timed.tool_task",
    "VirtualClock": "core.clock",
    "WallClock": "core.clock",
    "agile": "agents.agile",
    "check_environment": "environments.conformance",
    "evaluate": "experiments.evaluate",
    "make_interface": "interfaces.make",
    "milliseconds": "core.units",
    "option": "experiments.options",
    "planning": "agents.planning",
    "play": "runs.play",
    "program": "agents.program.agent",
    "prompt_kit": "agents.prompt_kit",
    "reactive": "agents.reactive",
    "read_record": "records.recorder",
    "seconds": "core.units",
    "tokens": "models.pace",
    "tool": "environments.timed.tool_task",
    "tool_user": "agents.tool_user",
}


def __getattr__(name: str) -> object:
    if name not in _PLACES:
        raise AttributeError(f"module 'timeful' has no attribute {name!r}")
    value: object = getattr(import_module(f"timeful.{_PLACES[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return __all__
