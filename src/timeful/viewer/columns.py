"""The columns of a pack: texts that are stored once, and numbers as differences."""

from collections.abc import Sequence

from timeful.viewer.schema import LONGEST_LABEL


class Strings:
    """A table of texts, each once."""

    def __init__(self) -> None:
        self.values: list[str] = []
        self._places: dict[str, int] = {}

    def whole(self, text: str) -> int:
        """The position of a text."""
        if text not in self._places:
            self._places[text] = len(self.values)
            self.values.append(text)
        return self._places[text]

    def label(self, text: str) -> int:
        """The position of a text that is cut to the length of a label, on one line; -1 for none."""
        if not text:
            return -1
        if len(text) <= LONGEST_LABEL and " " not in text and text.isprintable():
            return self.whole(text)
        head = " ".join(text[: 4 * LONGEST_LABEL].split())
        is_short = len(head) <= LONGEST_LABEL
        return self.whole(head if is_short else f"{head[: LONGEST_LABEL - 1]}…")


def delta(values: Sequence[int]) -> list[int]:
    """The first number, then the difference of each from the one before."""
    return [b - a for a, b in zip((0, *values), values, strict=False)]
