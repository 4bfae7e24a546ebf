"""Tokens as text, one by one: the joined pieces are the text of all tokens.

What a token adds depends on what stands before it: a space between words, half a character that
the next token completes. So each is decoded together with the last ones that had a text, and
what is new is its piece. These are remembered, since a tokenizer takes some 20 µs for each.

One kind of text cannot be told piece by piece: where a tokenizer falls back to bytes, and they are
no character, its decoder takes back valid ones before them as well. What was told then stays.
"""

from collections.abc import Sequence
from typing import Any

INCOMPLETE = "\ufffd"
"""The decoder's text for bytes of an incomplete character."""

_MOST = 1 << 20

_FIRST = 8
"""The most leading tokens without text that are decoded again with the next one."""


class Detokenizer:
    """The text of one tokenizer's tokens; cached, and shared by all readers.

    Args:
        tokenizer: A tokenizer of transformers.
    """

    def __init__(self, tokenizer: Any) -> None:
        self._tokenizer = tokenizer
        self._known: dict[tuple[bool, tuple[int, ...], int], str] = {}

    def decode(self, ids: Sequence[int], *, special: bool = False) -> str:
        """All of it as text; special tokens are left out unless they are wanted."""
        text = self._tokenizer.decode(
            list(ids), skip_special_tokens=not special, clean_up_tokenization_spaces=False
        )
        return str(text)

    def reader(self, *, special: bool = False) -> "TokenReader":
        """Read one text from its beginning."""
        return TokenReader(self, special=special)

    def after(self, before: tuple[int, ...], token: int, *, special: bool) -> str:
        """What a token adds after others."""
        key = (special, before, token)
        if key not in self._known:
            if len(self._known) >= _MOST:
                self._known.clear()
            self._known[key] = self.added(before, [token], special=special)
        return self._known[key]

    def added(self, before: Sequence[int], ids: Sequence[int], *, special: bool) -> str:
        """What several tokens add after others."""
        text = self.decode([*before, *ids], special=special)
        return text[len(self.decode(before, special=special)) :] if before else text


class TokenReader:
    """Reads the text of token after token; `flush` gives an incomplete character at the end."""

    __slots__ = ("_before", "_has_text", "_held", "_special", "_texts")

    def __init__(self, texts: Detokenizer, *, special: bool) -> None:
        self._texts = texts
        self._special = special
        self._before: tuple[int, ...] = ()  # the last token with a text, or all of a character's
        self._has_text = False
        self._held: list[int] = []

    def feed(self, token: int) -> str:
        """The text that this token adds; "" while a character is incomplete."""
        if self._held:
            self._held.append(token)
            piece = self._texts.added(self._before, self._held, special=self._special)
        else:
            piece = self._texts.after(self._before, token, special=self._special)
        if piece.endswith(INCOMPLETE):
            self._held = self._held or [token]
            return ""
        if piece:
            self._before, self._has_text = tuple(self._held or [token]), True
        elif not self._has_text:
            # A decoder may leave out a first space; what comes after it is no first one.
            self._before = (*self._before, token)[:_FIRST]
        self._held = []
        return piece

    def flush(self) -> str:
        """The text of an incomplete character at the end."""
        ids, self._held = self._held, []
        return self._texts.added(self._before, ids, special=self._special) if ids else ""
