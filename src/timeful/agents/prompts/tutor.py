"""Prompts of the tutor: explain a problem, from the start or from the last words.

The sections follow the Engagement Process, appendix E, "Online tutor-generation subsystem".
"""

from dataclasses import dataclass

from timeful.agents.prompts.sections import join_sections
from timeful.environments.kitchen.view import ProblemView
from timeful.models.model import Message, Prompt

_TAIL = 1_200
"""The number of earlier characters in the prompt."""

_CONTEXT = 6
"""The number of recent events in the prompt."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Lesson:
    """The task of a tutor.

    Attributes:
        problem: The problem.
        transcript: The text so far; empty at the start.
        left: The remaining tokens.
        context: The recent events, a line each.
    """

    problem: ProblemView
    transcript: str
    left: int
    context: tuple[str, ...] = ()


def tutoring(lesson: Lesson) -> Prompt:
    """Ask a tutor to start or continue an explanation."""

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
