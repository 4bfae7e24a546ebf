"""A stage for agents: a game that only counts, so that schedules can be read off exactly."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Self

from timeful.agents.connection import Interface
from timeful.agents.prompt_kit import PromptKit
from timeful.agents.prompts.freeway import NAMES
from timeful.agents.session import Agent
from timeful.core.clock import Clock, VirtualClock
from timeful.core.units import Duration
from timeful.environments.ticking import Ticking
from timeful.errors import IllegalActionError
from timeful.interfaces.fixed_rate import FixedRate
from timeful.models.model import Guidance
from timeful.models.pace import TOKEN
from timeful.records.events import AnyEntry, EpisodeFailed, ThoughtEnded, ThoughtStarted, Turned
from timeful.records.recorder import Recorder
from timeful.runs.episode import EpisodeSetting, play_episode


@dataclass(frozen=True)
class TapeView:
    turn: int

    def text(self) -> str:
        return f"turn {self.turn}"

    def json_state(self) -> dict[str, Any]:
        return {"turn": self.turn}


class Tape:
    """Takes U, D and S, and keeps them."""

    name: ClassVar[str] = "tape"
    actions: ClassVar[tuple[str, ...]] = ("U", "D", "S")
    default_action: ClassVar[str] = "S"
    horizon: ClassVar[int] = 100
    restarted = False
    busy = False

    def __init__(self, turns: int, restarts: Sequence[int] = ()) -> None:
        self.turns = turns
        self.restarts = restarts
        self.reset()

    def reset(self) -> None:
        self.turn = 0
        self.score = 0.0
        self.done = False

    def step(self, action: str) -> float:
        if action not in self.actions:
            raise IllegalActionError.named(action, self.actions)
        self.turn += 1
        self.score += action == "U"
        self.restarted = self.turn in self.restarts
        self.done = self.turn >= self.turns
        return float(action == "U")

    def legal_actions(self) -> tuple[str, ...]:
        return self.actions

    def view(self) -> TapeView:
        return TapeView(self.turn)

    def summary(self) -> dict[str, Any]:
        return {"turn": self.turn}

    def save(self) -> bytes:
        return b""

    def load(self, state: bytes) -> None: ...

    def copy(self) -> Self:
        return self


def book(*, plans_go_stale: bool = True) -> PromptKit:
    def react(view: Any, guidance: Sequence[Guidance]) -> str:
        quoted = "".join(f"[{g.turn}: {g.text}]" for g in guidance)
        return f"react {view.turn} {quoted}"

    return PromptKit(
        actions=("U", "D", "S"),
        names=NAMES,
        plans_go_stale=plans_go_stale,
        plan_text=lambda view: f"plan {view.turn}",
        react_text=react,
        code_text=lambda view: f"code {view.turn}",
    )


@dataclass(frozen=True)
class Played:
    ok: bool
    events: list[AnyEntry]

    @property
    def actions(self) -> str:
        """One letter a turn; in lower case where nobody acted in time."""
        turns = [e for e in self.events if isinstance(e, Turned)]
        return "".join(e.action.lower() if e.late else e.action for e in turns)

    @property
    def failure(self) -> EpisodeFailed:
        return next(e for e in self.events if isinstance(e, EpisodeFailed))

    def ended(self, purpose: str) -> list[ThoughtEnded]:
        kinds = {e.thought: e.purpose for e in self.events if isinstance(e, ThoughtStarted)}
        ends = [e for e in self.events if isinstance(e, ThoughtEnded)]
        return [e for e in ends if kinds[e.thought] == purpose]


def play(
    agent: Agent,
    *,
    turns: int = 10,
    step: int = 8,
    restarts: Sequence[int] = (),
    interface: Interface | None = None,
    clock: Clock | None = None,
) -> Played:
    """Let an agent play the tape at `step` tokens a turn."""
    recorder = Recorder()
    ok = play_episode(
        EpisodeSetting(settings={}, seed=0),
        environment=Ticking(Tape(turns, restarts), tokens(step)),
        interface=interface or (lambda k, e, r: FixedRate(k, e, r, full=True)),
        agent=agent,
        clock=clock or VirtualClock(),
        recorder=recorder,
    )
    return Played(ok, recorder.events)  # type: ignore[arg-type]


def tokens(count: int) -> Duration:
    return Duration(count * TOKEN)


def words(count: int, answer: str) -> str:
    """An answer of so many tokens in all, the last of which is the answer."""
    return "hm " * (count - 1) + answer
