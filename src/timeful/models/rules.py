"""A model that answers by a rule: a stand-in for a language model, and labelled so.

It is asked like any other and answers in the same words, so that the agent around it is the
very agent that runs with a language model. It reads the view that the prompt shows in words.
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
    """What a rule says, and the tokens it is priced at.

    Attributes:
        text: The words.
        tokens: What they cost, together.
        is_spoken: Whether they come one by one, a token each, so that something of a thought is
            known that is cut; else all come at once when the last token is due.
    """

    text: str
    tokens: int
    is_spoken: bool = False

    @classmethod
    def spoken(cls, text: str) -> "Answer":
        """Say a text word by word."""
        return cls(text, len(text.split()), is_spoken=True)


Rule = Callable[[Any, np.random.Generator], Answer]
"""From the view that a prompt shows, and chance, to an answer."""


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
