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
    from timeful.agents.prompt_kit import prompt_kit
    from timeful.agents.reactive import reactive
    from timeful.agents.session import Session
    from timeful.agents.thought import Thought
    from timeful.core.activity import Interrupted
    from timeful.core.clock import VirtualClock, WallClock
    from timeful.core.kernel import Kernel
    from timeful.core.units import milliseconds, seconds
    from timeful.errors import TimefulError
    from timeful.interfaces.make import make_interface
    from timeful.models.chat import OpenAIModel
    from timeful.models.model import Message, Prompt
    from timeful.models.pace import Pace, tokens
    from timeful.models.scripted import ScriptedModel
    from timeful.models.search.reasoner import SearchModel
    from timeful.runs.play import Episode, play

__all__ = [
    "Episode",
    "Interrupted",
    "Kernel",
    "Message",
    "OpenAIModel",
    "Pace",
    "Prompt",
    "ScriptedModel",
    "SearchModel",
    "Session",
    "Thought",
    "TimefulError",
    "VirtualClock",
    "WallClock",
    "__version__",
    "agile",
    "make_interface",
    "milliseconds",
    "planning",
    "play",
    "prompt_kit",
    "reactive",
    "seconds",
    "tokens",
]

_PLACES = {
    "Episode": "runs.play",
    "Interrupted": "core.activity",
    "Kernel": "core.kernel",
    "Message": "models.model",
    "OpenAIModel": "models.chat",
    "Pace": "models.pace",
    "Prompt": "models.model",
    "ScriptedModel": "models.scripted",
    "SearchModel": "models.search.reasoner",
    "Session": "agents.session",
    "Thought": "agents.thought",
    "TimefulError": "errors",
    "VirtualClock": "core.clock",
    "WallClock": "core.clock",
    "agile": "agents.agile",
    "make_interface": "interfaces.make",
    "milliseconds": "core.units",
    "planning": "agents.planning",
    "play": "runs.play",
    "prompt_kit": "agents.prompt_kit",
    "reactive": "agents.reactive",
    "seconds": "core.units",
    "tokens": "models.pace",
}


def __getattr__(name: str) -> object:
    if name not in _PLACES:
        raise AttributeError(f"module 'timeful' has no attribute {name!r}")
    found: object = getattr(import_module(f"timeful.{_PLACES[name]}"), name)
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    return __all__
