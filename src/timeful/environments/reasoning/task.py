"""A problem as a task: nothing to call but the timer, and the last words are the answer."""

from collections.abc import Callable, Mapping
from hashlib import sha256
from typing import Any

from timeful.core.units import Duration
from timeful.environments.reasoning.checking import Graded
from timeful.environments.reasoning.problems import Problem
from timeful.environments.timed.task import Work
from timeful.tools import ToolCall, ToolSpec

Check = Callable[[Problem, str], Graded]
"""Grades what was said in the end; a `Checker` is one."""

LONGEST_FACT = 400
"""Characters of an answer that are kept; some models never stop."""

_FORMS = {
    "exact": "End with the answer alone between tags, such as <answer>42</answer>.",
    "letter": "End with the letter of the right choice between tags, such as <answer>A</answer>.",
    "math": r"End with the answer in a box between tags, such as <answer>\boxed{42}</answer>.",
    "gym": "End with the answer alone between <answer> and </answer>.",
}


class ReasoningTask:
    """One problem, as a `Task`.

    Args:
        problem: The problem.
        check: How its answer is graded; whoever made it closes it.
    """

    tools: tuple[ToolSpec, ...] = ()

    def __init__(self, problem: Problem, check: Check) -> None:
        self._problem = problem
        self._check = check
        self._graded: Graded | None = None

    @property
    def opening(self) -> str:
        """The question, what there is to choose from, and the form of the answer."""
        problem = self._problem
        choices = [f"{chr(ord('A') + i)}. {text}" for i, text in enumerate(problem.choices)]
        return "\n".join([problem.question, *choices, "", _FORMS[problem.kind]])

    @property
    def score(self) -> float:
        """1 once it is answered right, else 0."""
        return 1.0 if self._graded is not None and self._graded.correct else 0.0

    @property
    def over(self) -> bool:
        """Whether it is answered."""
        return self._graded is not None

    def reset(self) -> None:
        """Forget the answer."""
        self._graded = None

    def begin(self, call: ToolCall, limit: Duration) -> Work | None:
        """There is nothing to call."""
        raise AssertionError(f"a problem has no tool {call.name!r}")

    def finish(self, call: ToolCall, result: Any) -> str:
        """There is nothing to call."""
        raise AssertionError(f"a problem has no tool {call.name!r}")

    def answer(self, text: str) -> None:
        """Grade the last words."""
        self._graded = self._check(self._problem, text)

    def facts(self) -> Mapping[str, Any]:
        """The answer as it was checked, whether it is right, and by which rule it was checked.

        Of a private problem the answer is told by its fingerprint only.
        """
        graded = self._graded
        if graded is None:
            return {"answer": "", "correct": False, "checked": "none"}
        answer = graded.answer
        if self._problem.private:
            recorded_answer = sha256(answer.encode("utf-8", "surrogatepass")).hexdigest()
        elif len(answer) > LONGEST_FACT:
            recorded_answer = answer[:LONGEST_FACT] + "..."
        else:
            recorded_answer = answer
        return {"answer": recorded_answer, "correct": graded.correct, "checked": graded.checked}

    def close(self) -> None:
        """Nothing to let go of."""
