"""What the tutor is asked: prose about a problem, begun or continued, and nothing about a kitchen.

The parts are those of the Engagement Process, appendix E, "Online tutor-generation subsystem".
"""

from dataclasses import dataclass

from timeful.agents.prompts.sections import join_sections
from timeful.environments.kitchen.view import ProblemView
from timeful.models.model import Message, Prompt

_TAIL = 1_200
"""How many characters of what was written before are shown."""

_CONTEXT = 6
"""How many lines of what happened of late are shown."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Lesson:
    """What a tutor is to write.

    Attributes:
        problem: The problem.
        transcript: What was written before; empty if it is begun.
        left: How many tokens are to be written.
        context: What happened of late, a line each.
    """

    problem: ProblemView
    transcript: str
    left: int
    context: tuple[str, ...] = ()


def tutoring(lesson: Lesson) -> Prompt:
    """Ask a tutor to begin or to go on."""

    def render() -> tuple[Message, ...]:
        return Message("system", _SYSTEM), Message("user", _user(lesson))

    return Prompt(label="tutor", render=render, view=lesson)


_SYSTEM = (
    "You are a patient mathematics tutor. Write nothing but the explanation itself, as running "
    "prose. Never mention a simulator, a kitchen, interruptions or any markup."
)


def _user(lesson: Lesson) -> str:
    problem = lesson.problem
    fresh = not lesson.transcript
    status = "a fresh explanation" if fresh else "the continuation of an explanation"
    guidance = (
        "Begin with the idea, give one worked example, then say why it works."
        if fresh
        else "Go on from the last words, in the middle of the sentence if need be. Repeat nothing "
        "that was said, and do not begin again."
    )
    return join_sections(
        f"Problem {problem.name}: {problem.title}\nTask: {problem.brief}\n"
        f"Length: about {lesson.left} tokens\nStatus: this is {status}.",
        guidance,
        "" if fresh else f"The explanation so far ends with:\n\n{lesson.transcript[-_TAIL:]}",
        _recent(lesson.context),
        "Now write on. Stay with the mathematics, whatever else was going on.",
    )


def _recent(context: tuple[str, ...]) -> str:
    lines = [f"- {line}" for line in context[-_CONTEXT:]]
    return "\n".join(["What went on around it, for your knowledge only:", *lines]) if lines else ""
