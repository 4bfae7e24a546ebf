"""Code as policy: think at length about a program, then let the program play.

The paper's second form of plan (section 3; appendix B gives the function's form). A new program
replaces the old one in the turn in which it is complete, and the next thought begins at the
next turn, as for the planning agent. The program runs in a process of its own, with limits; a
turn in which it fails is a turn with the default action, and the record says why.
"""

from collections.abc import Callable
from typing import Any, Protocol

from timeful.agents.action_parser import parse_code
from timeful.agents.prompt_kit import PromptKit
from timeful.agents.session import Session
from timeful.errors import SandboxError
from timeful.models.model import Model


class Program(Protocol):
    """A running policy program."""

    def next_action(self, state: dict[str, Any]) -> str:
        """Ask the program for its action.

        Raises:
            SandboxError: If it fails, takes too long or answers no text.
        """
        ...

    def close(self) -> None:
        """End its process."""
        ...


async def code_policy(
    session: Session, model: Model, prompts: PromptKit, *, launch: Callable[[str], Program]
) -> None:
    """Write a program, let it play, and write a better one meanwhile.

    Args:
        session: The session.
        model: The model that writes.
        prompts: The prompts of the game.
        launch: Starts a program from its source; raises SandboxError if it cannot be run.
    """
    program: Program | None = None
    try:
        while not session.over:
            thought = session.think(model, prompts.code(session.view))
            while not session.over:
                if await session.wait(thought, until=session.next_tick):
                    program = await _replace(session, program, thought.answer, launch)
                if program is not None:
                    await _play(session, program, prompts)
                await session.wait_for_tick()
                if thought.done:
                    break
    finally:
        if program is not None:
            program.close()


async def _replace(
    session: Session, old: Program | None, answer: str, launch: Callable[[str], Program]
) -> Program | None:
    answer_code = parse_code(answer)
    if not answer_code.code:
        session.note("code", f"{answer_code.outcome}: {answer_code.detail}")
        return old
    try:
        new = await session.call(lambda: launch(answer_code.code), name="launch")
    except SandboxError as error:
        session.note("code", f"not started: {error}")
        return old
    if old is not None:
        old.close()
    return new


async def _play(session: Session, program: Program, prompts: PromptKit) -> None:
    state = session.view.json_state()
    try:
        action = await session.call(lambda: program.next_action(state), name="next_action")
    except SandboxError as error:
        session.note("code", str(error))
        return
    session.act(prompts.read_action("\\boxed{" + action + "}"))
