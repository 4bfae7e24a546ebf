"""A model with scripted answers: for tests, examples and figures."""

from collections.abc import Callable, Iterable, Sequence

from timeful.core.source import Chunk, End
from timeful.errors import ModelError
from timeful.models.model import Prompt
from timeful.models.pace import TOKEN_TIME, Pace
from timeful.models.token_counter import words

Piece = Chunk | End | ModelError
Answer = str | Sequence[Piece]


class ListSource:
    """A source of pieces that are known at once.

    Args:
        pieces: The results of `pull` in order; an error is raised. After the last, the thought
            ends with finish "stop".
        max_tokens: The budget: a chunk that goes beyond it ends the thought instead.
    """

    def __init__(self, pieces: Iterable[Piece], *, max_tokens: int | None = None) -> None:
        self._pieces = iter(pieces)
        self._budget = max_tokens
        self._tokens = 0
        self.is_closed = False

    def pull(self) -> Chunk | End:
        """Return the next piece.

        Raises:
            ModelError: If that is the next piece.
        """
        if self.is_closed:
            return End("closed")
        piece = next(self._pieces, End())
        if isinstance(piece, ModelError):
            raise piece
        if isinstance(piece, Chunk):
            self._tokens += piece.tokens
            if self._budget is not None and self._tokens > self._budget:
                return End("length", tokens=self._budget)
        return piece

    def when_ready(self, notify: Callable[[], None]) -> None:
        """Call `notify` at once."""
        notify()

    def close(self) -> None:
        """End the source."""
        self.is_closed = True


class ScriptedModel:
    """Answers from a list, in order, or from a function of the prompt.

    A text is sent word by word, each with the white space after it as one token. Pieces are
    sent unchanged: chunks with their own counts, an end, or an error that is raised.

    Args:
        answers: The answers.
        name: A name for records and tables.
        pace: What a token costs; None if only a wall clock can tell.

    Attributes:
        asked: The prompts so far.
        sources: What was opened so far.
    """

    live = False

    def __init__(
        self,
        answers: Iterable[Answer] | Callable[[Prompt], Answer],
        *,
        name: str = "scripted",
        pace: Pace | None = TOKEN_TIME,
    ) -> None:
        self._answer = answers if callable(answers) else _in_order(answers)
        self.name = name
        self.pace = pace
        self.asked: list[Prompt] = []
        self.sources: list[ListSource] = []

    def open(self, prompt: Prompt, *, max_tokens: int | None, seed: int) -> ListSource:
        """Start answering; the seed changes nothing.

        Raises:
            ModelError: If the list of answers is used up.
        """
        self.asked.append(prompt)
        answer = self._answer(prompt)
        pieces = [Chunk(word, 1) for word in words(answer)] if isinstance(answer, str) else answer
        source = ListSource(pieces, max_tokens=max_tokens)
        self.sources.append(source)
        return source


def _in_order(answers: Iterable[Answer]) -> Callable[[Prompt], Answer]:
    remaining = iter(answers)
    exhausted: list[Piece] = []

    def answer(prompt: Prompt) -> Answer:
        answer_text = next(remaining, exhausted)
        if answer_text is exhausted:
            raise ModelError(f"the script has no answer left for a {prompt.label!r} request")
        return answer_text

    return answer
