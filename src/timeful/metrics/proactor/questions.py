"""Whether an agent asks what a human asked: information consistency, IC (equation 12).

The paper does not say how similarity is measured. Its value means nothing without the name of
the measure, which therefore stands in every result; values of two measures are never compared.
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from importlib import import_module
from statistics import fmean
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from timeful.dialogues.dialogue import Dialogue
from timeful.errors import SettingsError

_SENTENCES = re.compile(r"(?<=[.?!])\s+")
_WORD = re.compile(r"[a-z0-9]+")
_ENDING = re.compile(r"(?<=[a-z0-9]{3})(ing|ed|(?<!s)s)$")
_NOISE = """
    a an and any are as at be but can could did do does for from had has have help how i if in is
    it just let may me my of ok on or please so some tell thank thanks that the this to us was we
    what when where which who will with would you your
"""
_FILLING = frozenset(_NOISE.split())
_ASKS = re.compile(r"(may|could|can|what|which)\b", re.IGNORECASE)


class Similarity(Protocol):
    """How alike questions are, from 0 to 1. A user's own measure is one as well."""

    @property
    def name(self) -> str:
        """What stands in results."""
        ...

    def __call__(self, first: Sequence[str], second: Sequence[str]) -> NDArray[np.float64]:
        """The similarity of each of some with each of others, a row for each of the first."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class InformationConsistency:
    """IC over turns: its mean, how many turns it is of, and how many had no question to compare."""

    mean: float | None
    n_turns: int
    n_skipped: int
    similarity: str


class Tfidf:
    """The cosine of TF-IDF vectors over words without endings and without filling words.

    It sees shared words, not shared meaning: two ways to ask for a name are alike by "name"
    alone. How rare a word is, is learnt from the corpus, so a value depends on that and not on
    what else is compared. Pieces of words (character n-grams) see even less: to them a farewell
    is half as near to a question as the same question in other words.
    """

    name = "tfidf"

    def __init__(self, corpus: Iterable[str]) -> None:
        """Learn from a corpus, such as all reference questions of a data set.

        Raises:
            SettingsError: If scikit-learn is not installed, or the corpus has no text.
        """
        try:
            text = import_module("sklearn.feature_extraction.text")  # an extra, and slow to load
        except ImportError:
            raise SettingsError(
                "the similarity tfidf needs scikit-learn: pip install 'timeful[timely]'"
            ) from None
        self._vectorizer = text.TfidfVectorizer(analyzer=_words)
        try:
            self._vectorizer.fit(list(corpus))
        except ValueError as error:
            raise SettingsError(f"a similarity cannot be learnt from no text ({error})") from None

    def __call__(self, first: Sequence[str], second: Sequence[str]) -> NDArray[np.float64]:
        """The similarity of each of some with each of others, a row for each of the first."""
        # The vectors have length 1, or 0 for a text that shares nothing with the corpus.
        first_vectors, second_vectors = map(self._vectorizer.transform, (first, second))
        cosines: Any = (first_vectors @ second_vectors.T).toarray()
        return np.clip(np.asarray(cosines, dtype=np.float64), 0.0, 1.0)


def information_consistency(
    predicted: Sequence[str], references: Sequence[str], similarity: Similarity
) -> float | None:
    """IC of a turn: the mean similarity of all pairs of questions (equation 12).

    From 0 to 1. A mean over pairs: even asking word for word the two questions that were asked
    gives less than 1. None if nothing was asked on one side.
    """
    if not predicted or not references:
        return None
    return float(similarity(predicted, references).mean())


def mean_information_consistency(
    turns: Iterable[tuple[Sequence[str], Sequence[str]]], similarity: Similarity
) -> InformationConsistency:
    """Average IC over turns, each its predicted and its reference questions."""
    every = [
        information_consistency(predicted, references, similarity)
        for predicted, references in turns
    ]
    scored = [value for value in every if value is not None]
    return InformationConsistency(
        mean=fmean(scored) if scored else None,
        n_turns=len(every),
        n_skipped=len(every) - len(scored),
        similarity=similarity.name,
    )


def _words(text: str) -> list[str]:
    words = _WORD.findall(text.lower())
    return [_ENDING.sub("", word) for word in words if word not in _FILLING]


def asked_in(text: str) -> tuple[str, ...]:
    """The sentences of a text that ask: those that end in "?" or start as a question does.

    Such starts are may, could, can, what and which **(chosen)**, since people forget the mark.
    """
    sentences = (sentence.strip() for sentence in _SENTENCES.split(text))
    return tuple(s for s in sentences if s.endswith("?") or _ASKS.match(s))


def reference_questions(dialogue: Dialogue) -> dict[int, tuple[str, ...]]:
    """What the agent asked, by turn: the questions noted in a dialogue, else those it says."""
    if dialogue.questions:
        return dict(dialogue.questions)
    questions_by_turn = {
        turn.number: asked_in(turn.text) for turn in dialogue.turns if turn.speaker == "agent"
    }
    return {number: questions for number, questions in questions_by_turn.items() if questions}
