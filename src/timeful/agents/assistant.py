"""The digital assistant: it writes its main task, and looks after an inbox (paper, 5.2.1).

The main task is a thought. Whenever control comes back before a part of it is written, and after
each part, the assistant looks into the inbox, decides about what it finds there, and goes on
writing from the same token. When control comes back is the interface's law, of which it knows
nothing: under a loop it is simply never before a part is written.
"""

from dataclasses import dataclass, field, replace

from timeful.agents.prompts.inbox import (
    Briefing,
    Question,
    read_decision,
    triage_prompt,
    write_prompt,
)
from timeful.agents.session import Session
from timeful.environments.inbox.task import MainTask
from timeful.environments.inbox.view import InboxView
from timeful.models.model import Model

_USUAL = Briefing()


async def assistant(
    session: Session, *, writer: Model, triage: Model, task: MainTask, briefing: Briefing = _USUAL
) -> None:
    """Write the parts of the task one by one, with a look into the inbox now and then.

    Args:
        session: The session, in an inbox world.
        writer: Who writes the main task.
        triage: Who decides about an email.
        task: What is to be written.
        briefing: What whoever decides is told throughout.
    """
    clerk = _Clerk(session, triage, briefing)
    texts: list[str] = []
    for number in range(1, len(task.parts) + 1):
        thought = session.think(writer, write_prompt(task, number, texts))
        while not await session.run_until_event(thought):
            if session.over:
                return
            await clerk.tend()
        texts.append(thought.answer)
        await session.act(f"deliver {number}")
        if number < len(task.parts):
            await clerk.tend()
    await clerk.clear()
    await session.act("end")


@dataclass(slots=True)
class _Clerk:
    """Looks after the inbox, and remembers why answers could not be used, by email."""

    session: Session
    triage: Model
    briefing: Briefing
    refused: dict[int, str] = field(default_factory=dict)

    async def tend(self) -> None:
        """Look into the inbox, decide about what waits there, urgent emails first, and go back.

        What was put off or ignored is left alone; what comes meanwhile is for the next time.
        """
        session = self.session
        await session.act("check")
        session.observe()
        for letter in inbox_view(session).waiting():
            if not letter.set_aside and not await self._decide(letter.number):
                break
        if not session.over:
            await session.act("return")

    async def clear(self) -> None:
        """With nothing left to write, decide about everything once more, until nothing is left."""
        session = self.session
        await session.act("check")
        session.observe()
        decided: set[int] = set()
        while numbers := [
            letter.number
            for letter in inbox_view(session).waiting()
            if letter.number not in decided
        ]:
            decided.add(numbers[0])
            if session.over or not await self._decide(numbers[0]):
                return

    async def _decide(self, number: int) -> bool:
        """Open an email and do what is decided about it; False to leave the rest of the inbox.

        An answer that cannot be used leaves the email as it is, and its reason is told with the
        next question about it.
        """
        session = self.session
        if not _is_open(session, number):
            return True
        if not inbox_view(session).letter(number).opened:
            await session.act(f"open {number}")
        if not _is_open(session, number):
            return True
        view = replace(inbox_view(session), at=session.now)
        question = Question(view=view, number=number, refused=self.refused.pop(number, ""))
        answer = await session.think(self.triage, triage_prompt(question, self.briefing))
        decision = read_decision(answer, number)
        if not decision.action:
            session.note("triage", decision.detail)
            self.refused[number] = decision.detail
            return True
        if decision.action == "return":
            return False
        if _is_open(session, number):
            await session.act(decision.action)
        return True


def _is_open(session: Session, number: int) -> bool:
    return not session.over and inbox_view(session).letter(number).state == "open"


def inbox_view(session: Session) -> InboxView:
    """What can be seen, in this world's terms."""
    view = session.view
    assert isinstance(view, InboxView), "the assistant works in an inbox world"
    return view
