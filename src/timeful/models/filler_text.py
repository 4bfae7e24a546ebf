"""A model that writes filler text of a given length: it takes time and has no content.

It replaces recorded texts where only their length in tokens matters, such as the main task of the
inbox or the tutor of the kitchen. A replay of recorded texts or an endpoint can take its place.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from timeful.core.source import Chunk
from timeful.models.model import Prompt
from timeful.models.pace import TOKEN_TIME, Pace
from timeful.models.scripted import ListSource
from timeful.seeding import child

GRAIN = 4
"""Tokens to a chunk: a word and what belongs to it, or two short ones."""
_SENTENCE = (5, 12)  # chunks


@dataclass(frozen=True, slots=True, kw_only=True)
class Passage:
    """A text to write: how it begins, the words it is made of, and its length in tokens."""

    opening: str
    words: tuple[str, ...]
    tokens: int


class FillerModel:
    """Writes the passage that a prompt's view asks for; the same seed writes the same.

    Args:
        passage: From the view of a prompt to what is to be written.
        name: A name for records and tables.
        pace: What a token costs.
    """

    live = False

    def __init__(
        self,
        passage: Callable[[Any], Passage],
        *,
        name: str = "prose",
        pace: Pace = TOKEN_TIME,
    ) -> None:
        self._passage = passage
        self.name = name
        self.pace: Pace | None = pace

    def open(self, prompt: Prompt, *, max_tokens: int | None, seed: int) -> ListSource:
        """Start writing."""
        chunks = _write(self._passage(prompt.view), child(seed, "prose"))
        return ListSource(chunks, max_tokens=max_tokens)


def _write(passage: Passage, rng: np.random.Generator) -> Iterator[Chunk]:
    """The opening, then sentences of random words, to the last token."""
    remaining, text = passage.tokens, passage.opening
    sentence = 0
    while remaining > 0:
        count = min(GRAIN, remaining)
        remaining -= count
        yield Chunk(text, count)
        sentence -= 1
        word = passage.words[rng.integers(len(passage.words))]
        if sentence <= 0:
            sentence = int(rng.integers(*_SENTENCE))
            text = f". {word.capitalize()}"
        else:
            text = f" {word}"
