"""Stand-ins for the language model that decides about emails: they answer the same question.

Neither is a claim about what a language model would do. `as_recommended` follows each email's
own distribution, which is fitted to published results; `urgent_first` has no parameter at all.
"""

import numpy as np

from timeful.agents.prompts.inbox import Question
from timeful.models.rules import Answer

_TOKENS = 12  # of one bare action; triage is priced by the decision, not by its tokens


def as_recommended(question: Question, rng: np.random.Generator) -> Answer:
    """Draw from what is recommended; once the main task is finished, handle whatever is open."""
    if question.view.is_written:
        return _answer("handle", question.number)
    threshold = float(rng.random())
    for action, share in question.letter.recommended:
        threshold -= share
        if threshold < 0:
            return _answer(action, question.number)
    return _answer("ignore", question.number)


def urgent_first(question: Question, rng: np.random.Generator) -> Answer:
    """Handle every email; the assistant asks about the most urgent one first."""
    return _answer("handle", question.number)


def _answer(action: str, number: int) -> Answer:
    return Answer(f'<{action} id="{number}"/>', _TOKENS)
