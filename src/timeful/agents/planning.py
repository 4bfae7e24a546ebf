"""The planning agent: thinks over many turns, then acts by the plan.

It thinks about a state that grows old meanwhile. As published (spec section 7): a new plan
replaces the old one in the turn in which it is complete; actions for turns that have passed are
dropped where plans go stale; when a plan is used up the world takes its default; the next thought
starts at the very next turn, while the plan is still being executed; and when the world puts the
agent back to its start, plan and thought are thrown away.
"""

from collections import deque

from timeful.agents.prompt_kit import PromptKit
from timeful.agents.session import Session
from timeful.agents.thought import Thought
from timeful.models.model import Model


async def planning(session: Session, model: Model, prompts: PromptKit) -> None:
    """Plan, execute, and plan again meanwhile."""
    plan: deque[str] = deque()
    while not session.over:
        start, restarts = session.turn, session.restarts
        thought = session.think(model, prompts.plan(session.view))
        while not session.over:
            if await session.wait(thought, until=session.next_tick):
                plan = _read(session, prompts, thought, age=session.turn - start)
            if plan:
                session.act(plan.popleft())
            await session.wait_for_tick()
            if session.restarts > restarts:
                plan.clear()
                thought.cancel("the world restarted")
            if thought.done:
                break


def _read(session: Session, prompts: PromptKit, thought: Thought, *, age: int) -> deque[str]:
    answer = prompts.read_plan(thought.answer)
    if not answer.actions:
        session.note("plan", f"{answer.outcome}: {answer.detail}")
    skipped = age if prompts.plans_go_stale else 0
    return deque(answer.actions[skipped:])
