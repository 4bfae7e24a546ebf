"""A base for tasks whose tools are methods of Python."""

import inspect
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, get_type_hints

from timeful.core.units import Duration
from timeful.environments.timed.latency import Constant, Latency, read_latency
from timeful.environments.timed.stopwatch import TimerSettings
from timeful.environments.timed.world import TimedTask, TimeSettings
from timeful.errors import SettingsError
from timeful.tools import Kind, Parameter, ToolCall, ToolSpec

_KINDS: dict[type, Kind] = {str: "string", int: "integer", float: "number", bool: "boolean"}


@dataclass(frozen=True, slots=True, kw_only=True)
class _Tool:
    """A tool, its latency (None for the world's usual one), and the method behind it."""

    spec: ToolSpec
    latency: Latency | None
    method: Callable[..., str]


def tool(latency: Duration | str | None = None) -> Callable[[Callable[..., str]], Any]:
    """Make a method of a `ToolTask` a tool.

    The method's name, docstring and type hints (str, int, float, bool) describe the tool to a
    model. The method is called when the latency is over, and returns the reply.

    Args:
        latency: The time that a call takes: a duration, or a text such as "uniform:1s:3s"; the
            usual latency of the world if not given.

    Raises:
        SettingsError: If the latency cannot be read, or a parameter has no such type.
    """
    model = read_latency(latency) if isinstance(latency, str) else latency
    latency_model = Constant(model) if isinstance(model, int) else model

    def mark(method: Callable[..., str]) -> _Tool:
        return _Tool(spec=_describe(method), latency=latency_model, method=method)

    return mark


def _describe(method: Callable[..., str]) -> ToolSpec:
    hints = get_type_hints(method)
    parameters = []
    for name in list(inspect.signature(method).parameters)[1:]:
        if hints.get(name) not in _KINDS:
            raise SettingsError(
                f"the parameter {name!r} of the tool {method.__name__!r} needs the type str, "
                f"int, float or bool, got {hints.get(name)}"
            )
        parameters.append(Parameter(name=name, description="", kind=_KINDS[hints[name]]))
    return ToolSpec(
        name=method.__name__,
        description=inspect.getdoc(method) or method.__name__,
        parameters=tuple(parameters),
    )


class ToolTask:
    """A task with tools: a subclass has an `opening`, methods marked by `tool`, and `grade`.

    It implements the `Task` that a `TimedTask` gives time to; `world` makes that world.

    Attributes:
        opening: The case in words, without its time limit.
        score: The score so far, which `grade` returns at the end; a tool may set it too.
        over: Whether nothing more can be done; a tool may set it.
    """

    opening: str = ""
    _tools: ClassVar[Mapping[str, _Tool]] = {}

    def __init_subclass__(cls) -> None:
        """Collect the tools of the class and of its bases."""
        super().__init_subclass__()
        names = [name for kind in reversed(cls.__mro__) for name in vars(kind)]
        marked = {name: inspect.getattr_static(cls, name) for name in names}
        cls._tools = {name: item for name, item in marked.items() if isinstance(item, _Tool)}

    def grade(self, answer: str) -> float:
        """Return the score for the agent's final answer."""
        return self.score

    def start(self) -> None:
        """Set the state to its beginning; called by `reset`."""

    def world(
        self,
        *,
        budget: Duration | None,
        latency: Duration | str = "none",
        alpha: float = 1.0,
        timer: TimerSettings | None = None,
        seed: int = 0,
    ) -> TimedTask:
        """Make a world that gives this task a time budget.

        Args:
            budget: The time until the deadline; None announces no limit.
            latency: The usual latency of its tools.
            alpha: The weight of the agent's own thinking time, above 0.
            timer: The reports of timers; exact if not given.
            seed: The seed of latencies and of timers.

        Raises:
            SettingsError: If a value is out of range.
        """
        usual = read_latency(latency) if isinstance(latency, str) else Constant(latency)
        return TimedTask(
            self,
            TimeSettings(
                budget=budget,
                alpha=alpha,
                timer=timer or TimerSettings(),
                latency=usual,
                of_tools=dict(self._latencies()),
            ),
            seed=seed,
        )

    def _latencies(self) -> Iterator[tuple[str, Latency]]:
        for name, item in self._tools.items():
            if item.latency is not None:
                yield name, item.latency

    # --- the `Task` of a `TimedTask` -----------------------------------------------------------

    @property
    def tools(self) -> tuple[ToolSpec, ...]:
        """The tools."""
        return tuple(item.spec for item in self._tools.values())

    def reset(self) -> None:
        """Go back to the start."""
        self.score, self.over = 0.0, False
        self.start()

    def begin(self, call: ToolCall, limit: Duration) -> None:
        """Begin a call: its method runs at its end."""

    def finish(self, call: ToolCall, result: object) -> str:
        """Call the method of a tool, and return its reply."""
        return str(self._tools[call.name].method(self, **call.arguments))

    def answer(self, text: str) -> None:
        """Grade the final answer."""
        self.score, self.over = float(self.grade(text)), True

    def facts(self) -> dict[str, Any]:
        """Return further values for the record."""
        return {}

    def close(self) -> None:
        """Release resources; nothing by default."""
