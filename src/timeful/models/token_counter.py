"""Token counts of streamed text, for which only the server knows the tokens."""

from collections.abc import Iterator
from itertools import pairwise
from re import finditer

_USUAL_BYTES = 4
_SURE_BYTES = 8
_SURE_SLACK = 32


def words(text: str) -> Iterator[str]:
    """Split a text into words, each with the white space after it; together they are the text.

    White space before the first word belongs to it.
    """
    starts = [match.start() for match in finditer(r"\S+", text)]
    if not starts:
        if text:
            yield text
        return
    for begin, end in pairwise([0, *starts[1:], len(text)]):
        yield text[begin:end]


def estimate_tokens(deltas: int, size: int) -> int:
    """Estimate the tokens of a text that came in so many deltas and has so many bytes of UTF-8."""
    return max(deltas, -(-size // _USUAL_BYTES))


class TokenCounter:
    """Counts the tokens of a stream delta by delta, up to a budget.

    If the server reports a running total, that is the count. If not, it is estimated as

        max(number of deltas, ceil(bytes of UTF-8 / 4))

    over the whole stream so far, since servers send at most a few deltas a token and usual text
    has about 4 bytes a token. The server was told the budget too, so an estimate by bytes never
    exceeds it: a valid answer of long words must not be cut. The budget counts as passed when
    the reported total or the number of deltas is above it, or when the text is longer than any
    text of so many tokens (8 bytes a token, and 32).

    Args:
        budget: The most tokens that may come; None for no limit.
    """

    def __init__(self, budget: int | None) -> None:
        self._budget = budget
        self._deltas = 0
        self._bytes = 0
        self._is_reported = False
        self.total = 0
        """The count so far, without a delta that passed the budget."""

    def add(self, text: str, reported: int | None) -> int | None:
        """Count a delta that is not empty.

        Args:
            text: Its text, reasoning and answer together.
            reported: The server's running total, if it sent one along.

        Returns:
            The tokens that this delta adds; None if they pass the budget.
        """
        self._deltas += 1
        self._bytes += len(text.encode())
        # Some servers send a total of 0 with every delta and the truth at the end.
        if reported:
            self._is_reported = True
            count = max(self.total, reported)
        elif self._is_reported:
            count = self.total + 1
        else:
            count = self._estimate()
        if self._budget is not None and (count > self._budget or self._is_surely_over()):
            return None
        increment, self.total = count - self.total, count
        return increment

    def _estimate(self) -> int:
        size = self._bytes
        if self._budget is not None:
            size = min(size, self._budget * _USUAL_BYTES)
        return max(self.total, estimate_tokens(self._deltas, size))

    def _is_surely_over(self) -> bool:
        if self._budget is None or self._is_reported:
            return False
        return self._bytes > _SURE_BYTES * self._budget + _SURE_SLACK
