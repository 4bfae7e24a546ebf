"""Small tasks for tests."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from timeful.core.units import Duration
from timeful.environments.timed.task import Done, Work
from timeful.tools import Parameter, ToolCall, ToolSpec

COUNT = ToolSpec(
    name="count",
    description="Adds to the score.",
    parameters=(Parameter(name="by", description="How much.", kind="integer"),),
)
QUIT = ToolSpec(name="quit", description="Ends it.")
DIG = ToolSpec(name="dig", description="Real work that scores ten.")


@dataclass
class Digging:
    """Work that says how long it took."""

    took: Duration

    def run(self) -> Done:
        return Done(took=self.took, result=10)

    def stop(self) -> None:
        """It is over at once anyway."""


@dataclass
class Counting:
    """Its score is what was counted."""

    took: Duration = field(default_factory=lambda: Duration(0))
    score: float = 0.0
    over: bool = False
    said: str | None = None
    limits: list[Duration] = field(default_factory=list)
    opening = "Count as far as you can."
    tools = (COUNT, QUIT, DIG)

    def reset(self) -> None:
        self.score, self.over, self.said = 0.0, False, None
        self.limits = []

    def begin(self, call: ToolCall, limit: Duration) -> Work | None:
        self.limits.append(limit)
        return Digging(self.took) if call.name == "dig" else None

    def finish(self, call: ToolCall, result: Any) -> str:
        self.over = call.name == "quit"
        self.score += call.arguments.get("by", 0) + (result or 0)
        return f"The score is {self.score:g}."

    def answer(self, text: str) -> None:
        self.said, self.over = text, True

    def facts(self) -> Mapping[str, Any]:
        return {"said": self.said}

    def close(self) -> None:
        """Nothing to let go of."""
