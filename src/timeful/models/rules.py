"""A model that answers by a rule: a stand-in for a language model, labelled as one.

It gets the same prompts as a language model and answers in the same format, so the agent is the
same. It reads the prompt's view, which the messages describe.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from timeful.core.source import Chunk
from timeful.models.model import Prompt
from timeful.models.pace import TOKEN_TIME, Pace
from timeful.models.scripted import ListSource
from timeful.models.token_counter import words
from timeful.seeding import child


@dataclass(frozen=True, slots=True)
class Answer:
    """The answer of a rule, and its price in tokens.

    Attributes:
        text: The words.
        tokens: What they cost, together.
        is_spoken: Whether words arrive one by one, a token each, so that a cut thought has a
            part of them; else all arrive with the last token.
    """

    text: str
    tokens: int
    is_spoken: bool = False

    @classmethod
    def spoken(cls, text: str) -> "Answer":
        """Say a text word by word."""
        return cls(text, len(text.split()), is_spoken=True)


Rule = Callable[[Any, np.random.Generator], Answer]
"""From a prompt's view and a random generator to an answer."""


class RuleModel:
    """Answers each prompt by a rule, at once when its last token is due or word by word.

    Args:
        rule: What to answer; its chance comes from the thought's own seed.
        name: A name for records and tables.
        pace: What a token costs.
    """

    live = False

    def __init__(self, rule: Rule, *, name: str, pace: Pace = TOKEN_TIME) -> None:
        self._rule = rule
        self.name = name
        self.pace: Pace | None = pace

    def open(self, prompt: Prompt, *, max_tokens: int | None, seed: int) -> ListSource:
        """Start answering."""
        answer = self._rule(prompt.view, child(seed, "rule"))
        pieces = (
            [Chunk(word, 1) for word in words(answer.text)]
            if answer.is_spoken
            else [Chunk(answer.text, answer.tokens)]
        )
        return ListSource(pieces, max_tokens=max_tokens)
