"""A module: an agent with a world of its own, as the environment of another agent.

A subsystem is itself an Engagement Process (section 4, "compositional reuse of the interface"):
what the module above does are orders, which the module sees as events of its world; what it
reports are events of the world above. So a planner has a controller for its world, the controller
a sensing body, the body the physical world: each an agent under an interface of its own, at a rate
of its own, on one timeline and in one record.

    planner    acts "go 63"        observes "report", and "done" when the order is carried out
    module     acts "report ..."   observes "order" among the events of its own world
"""

from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from timeful.agents.connection import Connection, Interface
from timeful.agents.session import Agent, Session, Transcripts
from timeful.core.kernel import Kernel
from timeful.core.units import FAR, START, Instant
from timeful.environments.environment import Environment, Living, Observation
from timeful.environments.game import View
from timeful.errors import IllegalActionError, SettingsError
from timeful.records.recorder import ModuleRecorder, Recorder

REPORT, DONE = "report", "done"
"""What a module says to the one above: actions that begin with one of these words."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ModuleView:
    """What the module above can see: the latest report, and how many there were."""

    at: Instant = START
    turn: int = 0
    report: str = ""

    def text(self) -> str:
        """The report in its own words."""
        return self.report

    def json_state(self) -> dict[str, Any]:
        """The same as plain JSON values, times in nanoseconds."""
        return {"at": self.at, "report": self.report}


@dataclass(frozen=True, slots=True, kw_only=True)
class InnerView:
    """What a module can see: its own world, and the latest order from above."""

    turn: int
    world: View
    order: str = ""

    def text(self) -> str:
        """The world's text, below the order."""
        return f"order: {self.order}\n{self.world.text()}"

    def json_state(self) -> dict[str, Any]:
        """The same as plain JSON values."""
        return {"order": self.order, "world": self.world.json_state()}


class Module:
    """A `Living` environment made of an agent and its world; it begins when it is joined.

    Every action is an order, "word and anything"; the module is `busy` with the latest one until
    it says that it is done. Another order may come before, so that a plan can change in motion.
    Orders and reports take no time; a module that shall wait says so by its interface. The score
    is that of the world below, and the module is over when that is.

    Args:
        agent: What carries out the orders.
        environment: The agent's own world, at its start; maybe a module again.
        interface: The law that joins the agent to it.
        name: For the record: `records.recorder.within` takes a module's events out of it.
        orders: The words with which an order may begin.
        seed: The sampling seed of the module's thoughts.
        transcripts: What is kept of its thoughts, as in a session.

    Raises:
        SettingsError: If the name cannot be told from those around it, or there are no orders.
    """

    def __init__(
        self,
        agent: Agent,
        environment: Environment,
        interface: Interface,
        *,
        name: str,
        orders: Sequence[str],
        seed: int = 0,
        transcripts: Transcripts = "full",
    ) -> None:
        if not name or "/" in name:
            raise SettingsError(f"a module needs a name without '/', got {name!r}")
        if not orders:
            raise SettingsError(f"the module {name!r} takes no orders; name the words for them")
        self._agent = agent
        self._inner = environment
        self._inside = _Inside(environment, self._receive)
        self._interface = interface
        self._name = name
        self._orders = tuple(orders)
        self._seed = seed
        self._transcripts: Transcripts = transcripts
        self._stirred: Callable[[], None] = _ignore
        self.reset()

    def reset(self) -> None:
        """Go back to the start, before it is joined again; the module begins afresh then."""
        self._inside.reset()
        self._view = ModuleView()
        self._reports: deque[Observation] = deque()
        self._busy = False

    def live(self, kernel: Kernel, recorder: Recorder, stirred: Callable[[], None]) -> None:
        """Start the agent of the module, under its own interface, now."""
        self._stirred = stirred
        scope = ModuleRecorder(recorder, self._name)
        connection = self._interface(kernel, self._inside, scope)
        session = Session(kernel, connection, scope, seed=self._seed, transcripts=self._transcripts)
        kernel.start(self._agent(session), name=self._name)
        kernel.start(self._end(connection), name=f"end of {self._name}")

    async def _end(self, connection: Connection) -> None:
        await connection.world
        self._stirred()

    def intervene(self, actions: Sequence[str], *, at: Instant) -> None:
        """Give orders.

        Raises:
            IllegalActionError: If one of them begins with no word that this module knows.
        """
        for action in actions:
            if action.partition(" ")[0] not in self._orders:
                raise IllegalActionError.named(action, (f"{word} ..." for word in self._orders))
        if actions:
            self._busy = True
            self._inside.order(actions, at)

    def _receive(self, message: str, at: Instant) -> None:
        """What the module reports; an end of work is news to nobody but who waits for it."""
        is_done = message.partition(" ")[0] == DONE
        text = message.partition(" ")[2]
        self._view = ModuleView(
            at=at, turn=self._view.turn + 1, report=message if is_done else text
        )
        self._busy &= not is_done
        self._reports.append(
            Observation(
                at=at,
                event=DONE if is_done else REPORT,
                view=self._view,
                data={"text": text},
                is_quiet=is_done,
            )
        )
        self._stirred()

    def advance(self, to: Instant) -> tuple[Observation, ...]:
        """Give out what was reported by `to`."""
        observations = []
        while self._reports and self._reports[0].at <= to:
            observations.append(self._reports.popleft())
        return tuple(observations)

    def next_change(self) -> Instant | None:
        """Now, if something was reported; None when the world below is over; else unknown."""
        if self._reports:
            return self._reports[0].at
        return None if self._inside.next_change() is None else FAR

    def view(self) -> ModuleView:
        """The latest report."""
        return self._view

    @property
    def next_tick(self) -> None:
        """Nobody knows when a module reports."""
        return

    @property
    def busy(self) -> bool:
        """Whether an order is under way."""
        return self._busy

    @property
    def score(self) -> float:
        """The utility of the world below."""
        return self._inner.score


class _Inside:
    """A module's own world, together with what comes from above."""

    def __init__(self, world: Environment, send: Callable[[str, Instant], None]) -> None:
        self._world = world
        self._send = send
        self._stirred: Callable[[], None] = _ignore
        self._ordered: deque[tuple[Instant, str]] = deque()
        self._view = InnerView(turn=0, world=world.view())

    def live(self, kernel: Kernel, recorder: Recorder, stirred: Callable[[], None]) -> None:
        self._stirred = stirred
        if isinstance(self._world, Living):
            self._world.live(kernel, recorder, stirred)

    def order(self, texts: Sequence[str], at: Instant) -> None:
        self._ordered.extend((at, text) for text in texts)
        self._stirred()

    def reset(self) -> None:
        self._world.reset()
        self._ordered.clear()
        self._view = InnerView(turn=0, world=self._world.view())

    def intervene(self, actions: Sequence[Any], *, at: Instant) -> None:
        messages = [action for action in actions if str(action).partition(" ")[0] in (REPORT, DONE)]
        self._world.intervene([action for action in actions if action not in messages], at=at)
        for action in messages:
            self._send(action, at)

    def advance(self, to: Instant) -> tuple[Observation, ...]:
        """At one instant, orders come before what the world does: they led to it."""
        observations = []
        while self._ordered and self._ordered[0][0] <= to:
            at, text = self._ordered.popleft()
            observations.append(
                Observation(at=at, event="order", view=self._view, data={"text": text})
            )
        observations += self._world.advance(to)
        return tuple(self._show(observation) for observation in observations)

    def _show(self, observation: Observation) -> Observation:
        self._view = InnerView(
            turn=self._view.turn + 1,
            world=self._view.world if observation.event == "order" else observation.view,
            order=observation.data["text"] if observation.event == "order" else self._view.order,
        )
        return replace(observation, view=self._view)

    def next_change(self) -> Instant | None:
        change = self._world.next_change()
        return change if change is None or not self._ordered else min(change, self._ordered[0][0])

    def view(self) -> InnerView:
        return self._view

    @property
    def next_tick(self) -> Instant | None:
        return self._world.next_tick

    @property
    def busy(self) -> bool:
        return self._world.busy

    @property
    def score(self) -> float:
        return self._world.score


def _ignore() -> None:
    """Before the module is joined, no process waits for it."""
