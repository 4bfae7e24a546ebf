"""Reactive agents: one short thought a turn (Real-Time Reasoning Gym, section 3).

Without forcing, an answer that does not come within the budget is no answer, and the world
takes its default. With forcing (s1, cited there), the cut reasoning is handed back with the
beginning of an answer, and the model has to name its action at once. Forced calls cost time
like any other; the budget covers them, so the reasoning is cut a little earlier.
"""

from timeful.agents.prompt_kit import PromptKit
from timeful.agents.session import Session
from timeful.core.units import NO_TIME, Duration
from timeful.models.model import Model

FORCED_CALLS = 3
FORCED_TOKENS = 4  # an action and a closing brace, in any tokenizer


async def reactive(session: Session, model: Model, prompts: PromptKit, *, budget: Duration) -> None:
    """Think afresh about every state, for at most `budget`."""
    while not session.over:
        answer = await session.think(model, prompts.react(session.view), limit=budget)
        session.act(prompts.read_action(answer))
        await session.wait_for_tick()


async def reactive_forced(
    session: Session,
    model: Model,
    prompts: PromptKit,
    *,
    budget: Duration,
    forced: Duration,
) -> None:
    """Think about every state for at most `budget`, forced answers included.

    Args:
        session: The session.
        model: A model that reasons at length.
        prompts: The prompts of the game.
        budget: The longest that a turn's thinking may take, all calls together.
        forced: How much of it is kept for each of up to three forced calls.
    """
    while not session.over:
        prompt = prompts.react(session.view)
        limit = max(NO_TIME, budget - FORCED_CALLS * forced)
        thought = session.think(model, prompt, limit=limit)
        answer = prompts.read_action(await thought)
        calls = 0
        while not answer.actions and calls < FORCED_CALLS:
            calls += 1
            session.note("forced", f"call {calls} after {answer.outcome}")
            completion = await session.think(
                model,
                prompts.force(prompt, thought.text),
                limit=forced,
                max_tokens=FORCED_TOKENS,
            )
            answer = prompts.read_forced(completion)
        session.act(answer)
        await session.wait_for_tick()
