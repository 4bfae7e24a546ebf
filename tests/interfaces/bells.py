"""A small world of events: bells ring at given instants, and a walk lasts.

Agents are scripts, drawn at random or written down, so that every law can be asked about any
order of thinking, waiting, looking and acting.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

from timeful.agents.connection import Interface
from timeful.agents.session import Session
from timeful.agents.thought import Thought
from timeful.core.clock import Clock, VirtualClock
from timeful.core.source import Chunk
from timeful.core.units import START, Duration, Instant
from timeful.environments.environment import Observation
from timeful.environments.event_queue import EventQueue
from timeful.errors import IllegalActionError
from timeful.interfaces.event_driven import EventDriven
from timeful.interfaces.fixed_rate import FixedRate
from timeful.interfaces.frozen import Frozen
from timeful.interfaces.loop import Loop
from timeful.interfaces.polling import Polling
from timeful.interfaces.reflex import Reflex
from timeful.models.model import Prompt
from timeful.models.pace import TOKEN, tokens
from timeful.models.scripted import ScriptedModel
from timeful.records.events import AnyEntry
from timeful.records.recorder import Recorder
from timeful.runs.episode import EpisodeSetting, play_episode

HALF = TOKEN // 2
"""Bells ring at halves, so that they fall on tokens, ticks and looks, and between them."""

INTERVAL, COST, PERIOD, PATIENCE = tokens(7), tokens(2), tokens(5), tokens(100)


def halves(count: int) -> Duration:
    return Duration(count * HALF)


@dataclass(frozen=True, slots=True)
class BellsView:
    """Who has rung, who was answered, and where the agent has walked to."""

    at: Instant = START
    turn: int = 0
    rung: tuple[int, ...] = ()
    answered: tuple[int, ...] = ()
    walks: int = 0

    @property
    def open(self) -> tuple[int, ...]:
        return tuple(bell for bell in self.rung if bell not in self.answered)

    def text(self) -> str:
        return f"{self.at}: rung {self.rung}, answered {self.answered}, {self.walks} walks"

    def json_state(self) -> dict[str, Any]:
        return {"at": self.at, "rung": list(self.rung), "answered": list(self.answered)}


class Bells:
    """An `Environment` of bells; "answer:N" is done at once, and "walk:N" lasts N halves.

    Args:
        rings: When the bells ring.
        end: When all is over.
    """

    def __init__(self, rings: Sequence[Instant], end: Instant) -> None:
        self._rings = rings
        self._end = end
        self.reset()

    def reset(self) -> None:
        self._view = BellsView()
        self._queue: EventQueue[tuple[str, int]] = EventQueue()
        self._is_over = False
        self._score = 0.0
        self._walking = False
        for bell, at in enumerate(self._rings, start=1):
            self._queue.add(at, ("bell", bell))
        self._queue.add(self._end, ("closing", 0))

    def intervene(self, actions: Sequence[str], *, at: Instant) -> None:
        planned = [self._read(action) for action in actions]
        if len(planned) != len(set(planned)) or sum(what == "arrived" for what, _ in planned) > 1:
            raise IllegalActionError("the same thing twice")
        for what, number in planned:
            if what == "arrived":
                self._walking = True
                self._queue.add(Instant(at + number * HALF), (what, number))
            else:
                self._view = replace(self._view, answered=(*self._view.answered, number))
                self._queue.add(at, (what, number))

    def _read(self, action: str) -> tuple[str, int]:
        kind, _, number = action.partition(":")
        if self._is_over or self._walking or not number.isdigit():
            raise IllegalActionError(f"illegal action {action!r}")
        if kind == "walk" and int(number) > 0:
            return "arrived", int(number)
        if kind == "answer" and int(number) in self._view.open:
            return "answered", int(number)
        raise IllegalActionError(f"illegal action {action!r}")

    def advance(self, to: Instant) -> tuple[Observation, ...]:
        seen = []
        while not self._is_over and (due := self._queue.take(to)) is not None:
            at, (what, number) = due
            view = replace(self._view, at=at, turn=self._view.turn + 1)
            if what == "bell":
                view = replace(view, rung=(*view.rung, number))
            elif what == "arrived":
                view = replace(view, walks=view.walks + 1)
                self._walking = False
            self._is_over = what == "closing"
            self._view = view
            reward = float(what == "answered")
            self._score += reward
            seen.append(
                Observation(
                    at=at,
                    event=what,
                    view=view,
                    reward=reward,
                    data={"number": number},
                    is_quiet=what in ("answered", "arrived"),
                )
            )
        return tuple(seen)

    def next_change(self) -> Instant | None:
        return None if self._is_over else self._queue.next

    def view(self) -> BellsView:
        return self._view

    @property
    def next_tick(self) -> None:
        return None

    @property
    def busy(self) -> bool:
        return self._walking

    @property
    def score(self) -> float:
        return self._score


def answer_first(view: Any) -> str | None:
    """The reflex: answer the bell that has been ringing longest."""
    return f"answer:{view.open[0]}" if view.open else None


LAWS: dict[str, Interface] = {
    "event-driven": partial(EventDriven, full=False),
    "loop": partial(Loop, full=False),
    "polling": partial(Polling, interval=INTERVAL, cost=Duration(0), full=False),
    "polling-at-a-cost": partial(Polling, interval=INTERVAL, cost=COST, full=False),
    "reflex": partial(Reflex, rule=answer_first, delay=Duration(0), full=False),
    "slow-reflex": partial(Reflex, rule=answer_first, delay=tokens(2), full=False),
    "fixed-rate": partial(FixedRate, period=PERIOD, full=False),
    "frozen": partial(Frozen, patience=PATIENCE, full=False),
}

# --- agents ----------------------------------------------------------------------------------

Op = tuple[Any, ...]
"""What a script does next: its name, then numbers; see `Actor.perform`."""

PROMPT = Prompt(label="main", render=lambda: "think")
STEP = "step"


def thinker() -> ScriptedModel:
    """Thinks of numbered words, as many as are asked for by `max_tokens`."""
    return ScriptedModel(lambda _: [Chunk(f"n{i} ", 1) for i in range(1, 200)])


@dataclass
class Actor:
    """Performs scripts in a session and keeps what it saw.

    Every wait for a thought or an action is between two notes, "begins" and "ends": a record
    then tells, in its own order, what was a step of the agent.
    """

    session: Session
    model: ScriptedModel = field(default_factory=thinker)
    thoughts: list[Thought] = field(default_factory=list)
    seen: list[Observation] = field(default_factory=list)

    async def play(self, script: Sequence[Op]) -> None:
        for op in script:
            if self.session.over:
                return
            await self.perform(*op)

    async def perform(self, name: str, *numbers: Any) -> None:
        await getattr(self, name)(*numbers)

    async def think(self, words: int) -> None:
        self.thoughts.append(self.session.think(self.model, PROMPT, max_tokens=words))

    async def engage(self, which: int, span: int) -> None:
        if self.thoughts:
            thought = self.thoughts[which % len(self.thoughts)]
            with self.step():
                await self.session.run_until_event(thought, span=halves(span) if span else None)

    async def idle(self, span: int) -> None:
        with self.step():
            await self.session.run_until_event(span=halves(span) if span else None)

    async def wait(self, which: int, span: int) -> None:
        if self.thoughts:
            thought = self.thoughts[which % len(self.thoughts)]
            if thought.stream.state == "paused":
                thought.resume()
            with self.step():
                if span:
                    await self.session.wait(thought, until=Instant(self.session.now + halves(span)))
                else:
                    await thought

    async def do(self, span: int) -> None:
        with self.step():
            await self.session.act(f"walk:{span}")

    async def act(self, span: int) -> None:
        self.session.act(f"walk:{span}")

    async def answer(self) -> None:
        view: Any = self.session.view
        if view.open:
            self.session.act(f"answer:{view.open[-1]}")

    async def tick(self) -> None:
        await self.session.wait_for_tick()

    async def sleep(self, span: int) -> None:
        await self.session.sleep(halves(span))

    async def observe(self) -> None:
        self.seen += self.session.observe()

    async def spawn(self, script: Sequence[Op]) -> None:
        self.session.spawn(self.play(script))

    @contextmanager
    def step(self) -> Iterator[None]:
        self.session.note(STEP, "begins")
        yield
        self.session.note(STEP, "ends")


@dataclass(frozen=True)
class Played:
    """What became of an episode: its record, its hash, and what the agent saw."""

    ok: bool
    events: list[AnyEntry]
    sha256: str
    actor: Actor

    def of(self, kind: type) -> list[Any]:
        return [event for event in self.events if type(event) is kind]


def play(
    script: Sequence[Op],
    law: Interface,
    *,
    rings: Sequence[int] = (),
    end: int = 200,
    clock: Clock | None = None,
) -> Played:
    """Let a script play among bells that ring at so many halves of a token."""
    recorder = Recorder()
    actors = []

    async def agent(session: Session) -> None:
        actors.append(Actor(session))
        await actors[0].play(script)

    ok = play_episode(
        EpisodeSetting(settings={}, seed=0),
        environment=Bells([Instant(halves(ring)) for ring in rings], Instant(halves(end))),
        interface=law,
        agent=agent,
        clock=clock or VirtualClock(),
        recorder=recorder,
    )
    return Played(ok, recorder.events, recorder.sha256, actors[0])  # type: ignore[arg-type]
