"""The stand-ins that cook and tutor: rules, and prose of the right length.

Both get the same prompts as a language model, and are labelled stand-ins wherever their numbers
are shown. The rules are those of section 4.1 of the experiment's facts file.
"""

from dataclasses import dataclass

import numpy as np

from timeful.agents.prompts.kitchen import Situation
from timeful.agents.prompts.tutor import Lesson
from timeful.environments.kitchen.policy import Soft, decide
from timeful.errors import SettingsError, check_known
from timeful.models.filler_text import Passage
from timeful.models.rules import Answer

_PROSE = """
we note that each side of this equation stays the same when both are divided by one number
so take an example draw it count its parts and compare them with what the rule says
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Cook:
    """The rules that decide.

    Attributes:
        soft: When a soft dish is finished.
        quits: The probability of ending the episode instead of a wait with all problems
            complete; drawn at each such decision.
        tokens: The tokens of each answer, at least 0.

    Raises:
        SettingsError: If a value is out of range.
    """

    soft: Soft = "at once"
    quits: float = 0.0
    tokens: int = 12

    def __post_init__(self) -> None:
        check_known("way with soft dishes", self.soft, ("at once", "deferred"))
        if not 0 <= self.quits <= 1:
            raise SettingsError(f"a probability lies between 0 and 1, got {self.quits}")
        if self.tokens < 0:
            raise SettingsError(f"an answer must not cost less than 0 tokens, got {self.tokens}")

    def __call__(self, situation: Situation, rng: np.random.Generator) -> Answer:
        """Answer a controller's prompt."""
        action = decide(situation.view, situation.now, soft=self.soft)
        if action.verb == "wait" and rng.random() < self.quits:
            return Answer("<end/>", self.tokens)
        return Answer(str(action), self.tokens)


def passage(lesson: Lesson) -> Passage:
    """The prose of the stand-in: a heading at its start, and words up to the length."""
    opening = "" if lesson.transcript else f"{lesson.problem.title}. {lesson.problem.brief}"
    return Passage(opening=opening, words=tuple(_PROSE.split()), tokens=lesson.left)
