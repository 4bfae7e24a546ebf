"""The columns of a pack: texts that are stored once, and numbers as differences."""

from collections.abc import Sequence

from timeful.viewer.schema import LONGEST_LABEL


class Strings:
    """A table of texts, each once."""

    def __init__(self) -> None:
        self.values: list[str] = []
        self._places: dict[str, int] = {}
        self._labels = {"": -1}

    def whole(self, text: str) -> int:
        """The position of a text."""
        number = self._places.setdefault(text, len(self.values))
        if number == len(self.values):
            self.values.append(text)
        return number

    def label(self, text: str) -> int:
        """The position of a text that is cut to the length of a label, on one line; -1 for none."""
        if (number := self._labels.get(text)) is not None:
            return number
        head = text
        if len(text) > LONGEST_LABEL or not text.isprintable() or "  " in f" {text} ":
            head = " ".join(text[: 4 * LONGEST_LABEL].split())
            if len(head) > LONGEST_LABEL:
                head = f"{head[: LONGEST_LABEL - 1]}…"
        number = self.whole(head)
        if len(text) <= LONGEST_LABEL:
            self._labels[text] = number
        return number


def delta(values: Sequence[int]) -> list[int]:
    """The first number, then the difference of each from the one before."""
    return [b - a for a, b in zip((0, *values), values, strict=False)]
