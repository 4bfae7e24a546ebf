"""Worlds, agents, models, interfaces, suites, rewards and judges by name.

A name is built in, comes from an installed distribution through an entry point (group
`timeful.worlds`, `timeful.agents`, …), or is a file and a name in it: `my.py:agent`. Nothing is
imported before it is loaded; a broken entry point is reported where it is listed or loaded.
"""

import inspect
import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from hashlib import sha256
from importlib import import_module
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any, Literal, get_args

from timeful.errors import SettingsError, check_known, unknown

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

Kind = Literal["world", "agent", "model", "interface", "suite", "reward", "judge"]
KINDS: tuple[Kind, ...] = get_args(Kind)

_FILE_MODULE = "timeful_file_"

_REWARDS = (
    "correctness",
    "ep_aware",
    "timely",
    "rac_score",
    "max_rac_score",
    "ruler",
    "weighted_rac_score",
    "weighted_max_rac_score",
    "adaptive_metric_score",
    "hybrid_ruler_weighted_rac_score",
    "hybrid_ruler_weighted_max_rac_score",
    "schedule_ruler_weighted_rac_score",
    "schedule_ruler_weighted_max_rac_score",
)

BUILT_IN: Mapping[Kind, Mapping[str, str]] = {
    "world": {
        "freeway": "timeful.environments.freeway:Freeway",
        "overcooked": "timeful.environments.overcooked:Overcooked",
        "snake": "timeful.environments.snake:Snake",
        "deliberation": "timeful.environments.named:make_deliberation",
        "patrol": "timeful.environments.named:make_patrol",
        "inbox": "timeful.environments.named:make_inbox",
        "kitchen": "timeful.environments.named:make_kitchen",
        "fiction": "timeful.environments.named:make_fiction",
        "dialogue": "timeful.domains.dialogue_set:make_conversation",
    },
    "agent": {
        "agile": "timeful.agents.agile:agile",
        "agile-concurrent": "timeful.agents.agile:agile_concurrent",
        "agile-reduced": "timeful.agents.agile:agile_reduced",
        "code-policy": "timeful.agents.code_policy:code_policy",
        "planning": "timeful.agents.planning:planning",
        "reactive": "timeful.agents.reactive:reactive",
        "reactive-budget": "timeful.agents.reactive:reactive_forced",
    },
    "model": {
        "anthropic": "timeful.models.provider:ProviderModel",
        "google": "timeful.models.provider:ProviderModel",
        "llama.cpp": "timeful.models.chat:OpenAIModel",
        "local": "timeful.models.local.model:LocalModel",
        "ollama": "timeful.models.chat:OpenAIModel",
        "openai": "timeful.models.chat:OpenAIModel",
        "replay": "timeful.models.replay:ReplayModel",
        "responses": "timeful.models.provider:ProviderModel",
        "search": "timeful.models.search.reasoner:SearchModel",
        "vllm": "timeful.models.chat:OpenAIModel",
    },
    "interface": {
        "event-driven": "timeful.interfaces.event_driven:EventDriven",
        "fixed-rate": "timeful.interfaces.fixed_rate:FixedRate",
        "frozen": "timeful.interfaces.frozen:Frozen",
        "loop": "timeful.interfaces.loop:Loop",
        "polling": "timeful.interfaces.polling:Polling",
        "reflex": "timeful.interfaces.reflex:Reflex",
    },
    "suite": {
        "realtime": "timeful.suites.realtime.suite:suite",
        "engagement/toys": "timeful.suites.engagement.toys.suite:suite",
        "engagement/inbox": "timeful.suites.engagement.inbox.suite:suite",
        "engagement/kitchen": "timeful.suites.engagement.kitchen.suite:suite",
        "timely/fiction": "timeful.suites.timely.suite:fiction",
        "timely/coding": "timeful.suites.timely.suite:coding",
        "timely/reasoning": "timeful.suites.timely.suite:reasoning",
        "proactor": "timeful.suites.proactor.suite:suite",
        "train/quick": "timeful.training.quick.suite:suite",
    },
    "reward": {name: f"timeful.rewards.registry:REWARDS.{name}" for name in _REWARDS},
    "judge": {
        "proactiveness": "timeful.judges.proactiveness:judge",
        "ruler": "timeful.judges.ruler:Rubric",
    },
}
"""The place of each built-in value, as `module:attribute`, or `module:mapping.key`."""


_OF_THIS_PROCESS: dict[tuple[Kind, str], object] = {}


@dataclass(frozen=True, slots=True, kw_only=True)
class Registered:
    """A registered name.

    Attributes:
        kind: The kind of value.
        name: The name.
        origin: "timeful", or the distribution that registers it.
        problem: Why it cannot be used, such as two distributions with one name; "" if it can.
    """

    kind: Kind
    name: str
    origin: str
    problem: str = ""


def registered(kind: Kind) -> list[Registered]:
    """All names of a kind, built-in ones first."""
    items = [Registered(kind=kind, name=name, origin="timeful") for name in BUILT_IN.get(kind, {})]
    taken = {item.name: item.origin for item in items}
    for point in _entry_points(kind):
        origin = _origin(point)
        problem = f"the name is taken by {taken[point.name]}" if point.name in taken else ""
        items.append(Registered(kind=kind, name=point.name, origin=origin, problem=problem))
        taken.setdefault(point.name, origin)
    return items


def register(kind: Kind, name: str, value: object) -> str:
    """Register a value of this process, such as an agent that is defined in a notebook.

    Returns:
        The name that loads it, in this process only: `<name>`.
    """
    _OF_THIS_PROCESS[kind, f"<{name}>"] = value
    return f"<{name}>"


def names(kind: Kind) -> list[str]:
    """The usable names of a kind."""
    local = [name for of_kind, name in _OF_THIS_PROCESS if of_kind == kind]
    return [item.name for item in registered(kind) if not item.problem] + local


def load(kind: Kind, name: str) -> object:
    """Load a value by its name, or from a file as `path.py:name`.

    `path.py` alone names the value in the file that has the kind's name, such as `suite`.

    Raises:
        SettingsError: If the name is unknown, or its module or file cannot be imported.
    """
    if (kind, name) in _OF_THIS_PROCESS:
        return _OF_THIS_PROCESS[kind, name]
    if kind == "agent" and is_program(name):
        return import_module("timeful.agents.program.name").read_name(name)
    if is_file_name(name):
        path, _, attribute = name.rpartition(":") if not name.endswith(".py") else (name, "", "")
        return load_from_file(Path(path), attribute or kind)
    if name in BUILT_IN.get(kind, {}):
        module, _, place = BUILT_IN[kind][name].partition(":")
        attribute, _, key = place.partition(".")
        value = getattr(import_module(module), attribute)
        return value[key] if key else value
    for point in _entry_points(kind):
        if point.name == name:
            try:
                return point.load()
            except Exception as error:  # a plug-in may raise anything while it is imported
                raise SettingsError(
                    f"the {kind} {name!r} of {_origin(point)} cannot be loaded: "
                    f"{type(error).__name__}: {error}"
                ) from error
    raise SettingsError(unknown(kind, name, names(kind)) + f" A file is given as FILE.py:{kind}.")


def is_file_name(name: str) -> bool:
    """Whether a name is a file, or a file and a name in it."""
    return (name.endswith(".py") or ".py:" in name) and not is_program(name)


def is_program(name: str) -> bool:
    """Whether a name is a command that is an agent, as `program:python my_agent.py`."""
    return name.startswith(("program:", "program@", "program+"))


def load_file_name(name: str) -> str:
    """A file name with the whole path, to load it from another folder; "" for other names."""
    if not is_file_name(name):
        return ""
    path, _, attribute = name.rpartition(":") if not name.endswith(".py") else (name, "", "")
    return f"{Path(path).resolve()}:{attribute}" if attribute else str(Path(path).resolve())


def load_from_file(path: Path, attribute: str) -> object:
    """Load a value from a Python file.

    Raises:
        SettingsError: If the file does not exist, cannot be imported, or has no such name.
    """
    module = import_file(path)
    public = [name for name in vars(module) if not name.startswith("_")]
    check_known(f"name in {path}", attribute, public)
    value: object = getattr(module, attribute)
    return value


def import_file(path: Path) -> ModuleType:
    """Import a Python file once, under a name that is the same in every process.

    Raises:
        SettingsError: If it does not exist or cannot be imported; it names the line.
    """
    path = path.resolve()
    name = _FILE_MODULE + sha256(str(path).encode()).hexdigest()[:12]
    if name in sys.modules:
        return sys.modules[name]
    spec = spec_from_file_location(name, path)
    if spec is None or spec.loader is None or not path.is_file():
        raise SettingsError(f"there is no Python file {str(path)!r}")
    module = sys.modules[name] = module_from_spec(spec)
    # The file may import its neighbours, as a script does; later, from within a function, too.
    folder = str(path.parent)
    sys.path.insert(0, folder)
    try:
        spec.loader.exec_module(module)
    except Exception as error:
        del sys.modules[name]
        raise SettingsError(f"{_location(path, error)}: {type(error).__name__}: {error}") from error
    finally:
        sys.path.remove(folder)
        if folder not in sys.path:
            sys.path.append(folder)
    return module


def imported_files() -> list[Path]:
    """The files that were imported, for a worker process to import again."""
    return [
        Path(module.__file__)
        for name, module in list(sys.modules.items())
        if name.startswith(_FILE_MODULE) and module.__file__
    ]


def source_files() -> list[Path]:
    """The files that were imported and the neighbours that they imported, sorted."""
    folders = {path.parent for path in imported_files()}
    modules = [module for name, module in list(sys.modules.items()) if name != "__main__"]
    paths = {Path(file) for module in modules if (file := getattr(module, "__file__", None))}
    return sorted(path for path in paths if path.parent in folders)


def _location(path: Path, error: Exception) -> str:
    """The file, and the line in it where an error was raised."""
    line = error.lineno if isinstance(error, SyntaxError) else None
    frame = error.__traceback__
    while frame is not None:
        if frame.tb_frame.f_code.co_filename == str(path):
            line = frame.tb_lineno
        frame = frame.tb_next
    return f"{path}" if line is None else f"{path}, line {line}"


def _entry_points(kind: Kind) -> "Iterator[EntryPoint]":
    # It loads the parser of emails, and most runs have built-in names alone.
    from importlib.metadata import entry_points  # noqa: PLC0415

    yield from sorted(entry_points(group=f"timeful.{kind}s"), key=lambda point: point.name)


def _origin(point: "EntryPoint") -> str:
    return point.dist.name if point.dist is not None else "an unknown distribution"


def bind(
    function: Callable[..., Any], available: Mapping[str, Callable[[], Any]], *, skip: int = 0
) -> Callable[..., Any]:
    """Bind the parameters of a function, by name, to the values that are available.

    Args:
        function: The function, such as an agent that takes a session, a planner and a reserve.
        available: What makes each value; only those that the function names are made.
        skip: The number of first parameters that the caller gives.

    Returns:
        The function with these parameters bound.

    Raises:
        SettingsError: If the function names a parameter without a default that is not available.
    """
    if not callable(function):
        raise SettingsError(f"{function!r} cannot be called; give a function or a class")
    parameters = list(inspect.signature(function).parameters.values())[skip:]
    named = [p for p in parameters if p.kind in (p.POSITIONAL_OR_KEYWORD, p.KEYWORD_ONLY)]
    for parameter in named:
        if parameter.name not in available and parameter.default is parameter.empty:
            raise SettingsError(
                f"{getattr(function, '__name__', function)} has the parameter "
                f"{parameter.name!r}; available are {', '.join(available)}"
            )
    values = {p.name: available[p.name]() for p in named if p.name in available}
    return partial(function, **values)
