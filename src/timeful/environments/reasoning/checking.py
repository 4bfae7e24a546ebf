"""Whether what was said answers a problem, by the rule of its kind.

| kind | the answer is right if |
| --- | --- |
| exact | it is the same whole number, or the same words |
| letter | it gives the right choice: its letter, or its words |
| math | it is the same text, or math-verify finds it equal; not being done in time is not right |
| gym | reasoning-gym gives it full marks, inside a sandbox |
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal, Self

from timeful.environments.reasoning.answer_extraction import extract_answer
from timeful.environments.reasoning.matching import LONGEST, is_exact, match_choice, plain
from timeful.environments.reasoning.math_checker import MathChecker
from timeful.environments.reasoning.problems import Kind, Problem
from timeful.environments.reasoning.reasoning_gym import GymChecker
from timeful.environments.reasoning.runner import Runner
from timeful.errors import SettingsError

CheckMethod = Literal["exact", "letter", "math", "gym", "timeout", "none"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Graded:
    """What came of an answer.

    Attributes:
        answer: What was cut out; of a letter, the capital, if it could be read.
        correct: Whether it is right.
        checked: By which rule; "timeout" if its rule took too long, "none" if there was nothing
            to check.
    """

    answer: str
    correct: bool
    checked: CheckMethod


class Checker:
    """Checks answers of every kind; what a kind needs starts when it is first needed.

    Args:
        sandbox: Where reasoning-gym scores; needed by its problems only.
        limit_s: The seconds that one comparison by math-verify may compute.
    """

    def __init__(self, *, sandbox: Runner | None = None, limit_s: float = 5.0) -> None:
        self._sandbox = sandbox
        self._limit_s = limit_s
        self._math: MathChecker | None = None
        self._gym: GymChecker | None = None

    def prepare(self, problems: Iterable[Problem]) -> None:
        """Find out, before anything runs, whether these can be checked.

        Raises:
            SettingsError: If an extra or the sandbox is missing.
        """
        kinds: set[Kind] = {problem.kind for problem in problems}
        if "math" in kinds and self._math is None:
            self._math = MathChecker(limit_s=self._limit_s)
        if "gym" in kinds and self._gym is None:
            if self._sandbox is None:
                raise SettingsError(
                    "reasoning-gym runs what it is given as an answer, so its problems are "
                    "checked in a sandbox only, and none was given"
                )
            self._gym = GymChecker(self._sandbox)

    def __call__(self, problem: Problem, text: str) -> Graded:
        """Check what was said in the end.

        Raises:
            SettingsError: As `prepare`, which need not have been called.
        """
        answer, how = extract_answer(text)
        if how == "none" or not answer:
            return Graded(answer="", correct=False, checked="none")
        match problem.kind:
            case "exact":
                right = is_exact(problem.answer, answer)
                return Graded(answer=answer, correct=right, checked="exact")
            case "letter":
                letter = match_choice(answer, problem.choices)
                right = letter == problem.answer
                return Graded(answer=letter or answer, correct=right, checked="letter")
            case "math":
                return self._as_math(problem, answer)
            case "gym":
                self.prepare([problem])
                assert self._gym is not None
                verdict = self._gym.ask(problem, answer)
                checked: CheckMethod = "timeout" if verdict == "timeout" else "gym"
                return Graded(answer=answer, correct=verdict == "right", checked=checked)

    def _as_math(self, problem: Problem, answer: str) -> Graded:
        self.prepare([problem])
        assert self._math is not None
        if len(answer) > LONGEST:
            return Graded(answer=answer, correct=False, checked="math")
        if plain(answer) == plain(problem.answer):
            return Graded(answer=answer, correct=True, checked="math")
        verdict = self._math.ask(problem.answer, answer)
        checked: CheckMethod = "timeout" if verdict == "timeout" else "math"
        return Graded(answer=answer, correct=verdict == "right", checked=checked)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def close(self) -> None:
        """Let go of workers; harmless when called again."""
        if self._math is not None:
            self._math.close()
