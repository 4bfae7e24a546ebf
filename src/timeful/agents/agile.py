"""AgileThinker: one thread plans without pause, the other acts in time on what it has so far.

Real-Time Reasoning Gym, section 3 and figure 4. The planning thread thinks on about a state
that grows old; in the last `reserve` of each turn the reactive thread decides on the present
state, with the planner's words so far as guidance. Whatever the planner has said is shown, to
its last token; when it starts afresh, its last conclusion is still shown beside the new words.
"""

from timeful.agents.prompt_kit import PromptKit
from timeful.agents.session import Session
from timeful.agents.thought import Thought
from timeful.core.units import Duration
from timeful.models.model import Guidance, Model


async def agile(
    session: Session, planner: Model, reactor: Model, prompts: PromptKit, *, reserve: Duration
) -> None:
    """Plan and react side by side, each with throughput of its own.

    Args:
        session: The session.
        planner: The model that thinks at length.
        reactor: The model that decides each turn.
        prompts: The prompts of the game.
        reserve: What is left to the reactor at the end of each turn (T_R in the paper).
    """
    plan = _Plan(session, planner, prompts)
    while not session.over:
        await session.wait(plan.thought, until=session.next_tick - reserve)
        await _react(session, reactor, prompts, plan.words(), reserve)
        await session.wait_for_tick()
        plan.renew()


async def agile_concurrent(
    session: Session, planner: Model, reactor: Model, prompts: PromptKit, *, reserve: Duration
) -> None:
    """Plan and react in turns, on one throughput (appendix C.5): the planner waits meanwhile."""
    plan = _Plan(session, planner, prompts)
    while not session.over:
        await session.wait(plan.thought, until=session.next_tick - reserve)
        paused = plan.thought.interrupt("the reactor's turn")
        await _react(session, reactor, prompts, plan.words(), reserve)
        if paused:
            plan.thought.resume()
        await session.wait_for_tick()
        plan.renew()


async def agile_reduced(
    session: Session, planner: Model, reactor: Model, prompts: PromptKit, *, reserve: Duration
) -> None:
    """Show the reactor only what finished plans answered (appendix C.3, table 10)."""
    plan = _Plan(session, planner, prompts)
    while not session.over:
        await session.wait(plan.thought, until=session.next_tick - reserve)
        await _react(session, reactor, prompts, plan.answers(), reserve)
        await session.wait_for_tick()
        plan.renew()


async def _react(
    session: Session,
    reactor: Model,
    prompts: PromptKit,
    guidance: tuple[Guidance, ...],
    reserve: Duration,
) -> None:
    prompt = prompts.react(session.view, guidance)
    answer = await session.think(reactor, prompt, limit=reserve)
    session.act(prompts.read_action(answer))


class _Plan:
    """The planning thread: one thought at a time, and what the last finished one concluded."""

    def __init__(self, session: Session, planner: Model, prompts: PromptKit) -> None:
        self._session = session
        self._planner = planner
        self._prompts = prompts
        self._concluded: tuple[Guidance, ...] = ()
        self._begin()

    def _begin(self) -> None:
        self._restarts = self._session.restarts
        self.thought: Thought = self._session.think(
            self._planner, self._prompts.plan(self._session.view)
        )

    def renew(self) -> None:
        """Start a new thought if the last one has ended, or is void since the world restarted."""
        if self._session.over:
            return
        if self._session.restarts > self._restarts:
            self.thought.cancel("the world restarted")
            self._concluded = ()
            self._begin()
        elif self.thought.done:
            self._concluded = self._finished(self.thought.answer)
            self._begin()

    def words(self) -> tuple[Guidance, ...]:
        """All that was thought so far, after the conclusion before it."""
        guidance = self.thought.so_far
        return (*self._concluded, guidance) if guidance.text else self._concluded

    def answers(self) -> tuple[Guidance, ...]:
        """The latest finished answer alone."""
        if self.thought.done:
            return self._finished(self.thought.answer)
        return self._concluded

    def _finished(self, answer: str) -> tuple[Guidance, ...]:
        # A thought that was cut before it answered leaves the conclusion before it standing.
        return (Guidance(turn=self.thought.turn, text=answer),) if answer else self._concluded
