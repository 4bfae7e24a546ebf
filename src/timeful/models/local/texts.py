"""Tokens as text, one by one: the pieces joined are the text of all of them.

What a token adds depends on what stands before it: a space between words, half a character that
the next token completes. So each is decoded together with the last one that had a text, and
what is new is its piece. These pairs are remembered, since a tokenizer takes some 20 µs for each.
"""

from typing import Any

_HALF = "\ufffd"
"""What a decoder writes for bytes that are no character yet."""

_MOST = 1 << 20


class Texts:
    """The pieces of one tokenizer, shared by all who read its tokens.

    Args:
        tokenizer: A tokenizer of transformers.
    """

    def __init__(self, tokenizer: Any) -> None:
        self._tokenizer = tokenizer
        self._known: dict[tuple[bool, int, int], str] = {}

    def decode(self, ids: list[int], *, special: bool = False) -> str:
        """All of it as text; special tokens are left out unless they are wanted."""
        text = self._tokenizer.decode(
            ids, skip_special_tokens=not special, clean_up_tokenization_spaces=False
        )
        return str(text)

    def reader(self, *, special: bool = False) -> "Reader":
        """Read one text from its beginning."""
        return Reader(self, special=special)

    def after(self, before: int, token: int, *, special: bool) -> str:
        """What a token adds after another one that had a text; -1 for none."""
        key = (special, before, token)
        if key not in self._known:
            if len(self._known) >= _MOST:
                self._known.clear()
            first = [before] if before >= 0 else []
            text = self.decode([*first, token], special=special)
            self._known[key] = text[len(self.decode(first, special=special)) if first else 0 :]
        return self._known[key]


class Reader:
    """Tells the piece of each token as it comes; `flush` what is left of half a character."""

    __slots__ = ("_before", "_held", "_special", "_texts")

    def __init__(self, texts: Texts, *, special: bool) -> None:
        self._texts = texts
        self._special = special
        self._before = -1
        self._held: list[int] = []

    def feed(self, token: int) -> str:
        """What this token adds; "" while it is not known."""
        if not self._held:
            piece = self._texts.after(self._before, token, special=self._special)
            if not piece.endswith(_HALF):
                if piece:
                    self._before = token
                return piece
        self._held.append(token)
        piece = self._rest()
        if piece.endswith(_HALF):
            return ""
        if piece:
            self._before = token
        self._held.clear()
        return piece

    def flush(self) -> str:
        """What is left at the end: bytes that never became a character."""
        piece = self._rest() if self._held else ""
        self._held.clear()
        return piece

    def _rest(self) -> str:
        first = [self._before] if self._before >= 0 else []
        text = self._texts.decode([*first, *self._held], special=self._special)
        if not first:
            return text
        return text[len(self._texts.decode(first, special=self._special)) :]
