"""Tokens as clients are shown them: a text, or the bytes of half a character, and how probable."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from re import fullmatch
from typing import Any

from timeful.models.local.checkpoint import Checkpoint
from timeful.models.local.detokenizer import INCOMPLETE
from timeful.models.local.request import Alternatives

LEAST = -9999.0
"""Stands for what JSON cannot say."""


class Tokens:
    """The tokens of one checkpoint."""

    def __init__(self, checkpoint: Checkpoint) -> None:
        self._texts = checkpoint.texts
        self._tokenizer = checkpoint.tokenizer
        self._known: dict[int, tuple[str, bytes]] = {}

    def shown(self, token: int) -> tuple[str, bytes]:
        r"""A token's text and bytes; bytes that are no text are spelled `bytes:\xe2\x80`."""
        if token not in self._known:
            data = self._bytes(token)
            try:
                text = data.decode()
            except UnicodeDecodeError:
                text = "bytes:" + "".join(f"\\x{byte:02x}" for byte in data)
            self._known[token] = text, data
        return self._known[token]

    def _bytes(self, token: int) -> bytes:
        piece = str(self._tokenizer.convert_ids_to_tokens(token))
        if byte := fullmatch("<0x([0-9A-F]{2})>", piece):
            return bytes([int(byte[1], 16)])
        text = self._texts.decode([token], special=True)
        if INCOMPLETE in text and all(one in _stand_ins() for one in piece):
            return bytes(_stand_ins()[one] for one in piece)
        if piece.startswith("▁") and not text.startswith(" "):
            text = f" {text}"  # at the beginning of a text, some decoders leave it out
        return text.encode()

    # --- as the API of conversations has it ---------------------------------------------------

    def entry(self, token: int, logprob: float, top: Alternatives) -> dict[str, Any]:
        """A token with its alternatives."""
        best = [self._one(*one) for one in top]
        return {**self._one(token, logprob), "top_logprobs": best}

    def _one(self, token: int, logprob: float) -> dict[str, Any]:
        text, data = self.shown(token)
        return {"token": text, "logprob": max(logprob, LEAST), "bytes": list(data)}


@dataclass(slots=True)
class Columns:
    """Tokens as the API of plain completions has them, side by side."""

    tokens: list[str] = field(default_factory=list)
    token_logprobs: list[float | None] = field(default_factory=list)
    top_logprobs: list[dict[str, float] | None] = field(default_factory=list)
    text_offset: list[int] = field(default_factory=list)

    def add(
        self, of: Tokens, token: int, logprob: float | None, top: Alternatives, *, at: int
    ) -> None:
        """Append a token.

        Args:
            of: Who shows it.
            token: Which.
            logprob: How probable it was; None if nothing stood before it.
            top: What else there might have been, the most probable first.
            at: Where it begins in the text, in characters.
        """
        self.tokens.append(of.shown(token)[0])
        self.text_offset.append(at)
        if logprob is None:
            self.token_logprobs.append(None)
            self.top_logprobs.append(None)
            return
        best: dict[str, float] = {}
        # Of two tokens that look alike the more probable one counts.
        for one, its in (*top, (token, logprob)):
            best.setdefault(of.shown(one)[0], max(its, LEAST))
        self.token_logprobs.append(max(logprob, LEAST))
        self.top_logprobs.append(best)

    def body(self) -> dict[str, Any]:
        """The columns as JSON."""
        return {
            "tokens": self.tokens,
            "token_logprobs": self.token_logprobs,
            "top_logprobs": self.top_logprobs,
            "text_offset": self.text_offset,
        }


def offsets(checkpoint: Checkpoint, ids: Sequence[int], *, special: bool) -> list[int]:
    """Where each token begins in the text of all of them; half a character where it does."""
    reader = checkpoint.texts.reader(special=special)
    found, at = [], 0
    for token in ids:
        found.append(at)
        at += len(reader.feed(token))
    return found


@lru_cache(maxsize=1)
def _stand_ins() -> dict[str, int]:
    """The characters that byte-level tokenizers write for bytes (GPT-2, section 2.2)."""
    shown = [*range(ord("!"), ord("~") + 1), *range(ord("¡"), ord("¬") + 1)]
    shown += range(ord("®"), ord("ÿ") + 1)
    hidden = [byte for byte in range(256) if byte not in shown]
    return {chr(byte): byte for byte in shown} | {chr(256 + i): b for i, b in enumerate(hidden)}
