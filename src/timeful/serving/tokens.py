"""Tokens in responses: their text, or the bytes of part of a character, and log-probabilities."""

from collections.abc import Sequence
from functools import lru_cache
from re import fullmatch
from typing import Any

from timeful.models.local.checkpoint import Checkpoint
from timeful.models.local.detokenizer import INCOMPLETE
from timeful.models.local.request import TokenSample
from timeful.serving.answers import Step

MINUS_INFINITY = -9999.0
"""JSON has no infinite numbers."""


class Tokens:
    """The tokens of one checkpoint."""

    def __init__(self, checkpoint: Checkpoint) -> None:
        self._detokenizer = checkpoint.detokenizer
        self._tokenizer = checkpoint.tokenizer
        self._spelled: dict[int, tuple[str, bytes]] = {}

    def spell(self, token: int) -> tuple[str, bytes]:
        r"""A token's text and bytes; bytes that are no text are spelled `bytes:\xe2\x80`."""
        if token not in self._spelled:
            data = self._bytes(token)
            try:
                text = data.decode()
            except UnicodeDecodeError:
                text = "bytes:" + "".join(f"\\x{byte:02x}" for byte in data)
            self._spelled[token] = text, data
        return self._spelled[token]

    def entry(self, sample: TokenSample) -> dict[str, Any]:
        """A drawn token with its alternatives, as in chat completions."""
        alternatives = [self._entry(token, logprob) for token, logprob in sample.top]
        return {**self._entry(sample.token, sample.logprob), "top_logprobs": alternatives}

    def columns(self, steps: Sequence[Step], *, start: int = 0) -> dict[str, list[Any]]:
        """Drawn tokens as lists of fields, as in text completions.

        Args:
            steps: The tokens in order.
            start: Where the text of the first one begins, in characters.
        """
        columns: dict[str, list[Any]] = {
            name: [] for name in ("tokens", "token_logprobs", "top_logprobs", "text_offset")
        }
        for step in steps:
            sample = step.sample
            alternatives: dict[str, float] = {}
            # Of two tokens that are spelled alike the more probable one counts.
            for token, logprob in (*sample.top, (sample.token, sample.logprob)):
                alternatives.setdefault(self.spell(token)[0], max(logprob, MINUS_INFINITY))
            columns["tokens"].append(self.spell(sample.token)[0])
            columns["token_logprobs"].append(max(sample.logprob, MINUS_INFINITY))
            columns["top_logprobs"].append(alternatives)
            columns["text_offset"].append(start)
            start += len(step.text)
        return columns

    def _entry(self, token: int, logprob: float) -> dict[str, Any]:
        text, data = self.spell(token)
        return {"token": text, "logprob": max(logprob, MINUS_INFINITY), "bytes": list(data)}

    def _bytes(self, token: int) -> bytes:
        piece = str(self._tokenizer.convert_ids_to_tokens(token))
        if byte := fullmatch("<0x([0-9A-F]{2})>", piece):
            return bytes([int(byte[1], 16)])
        text = self._detokenizer.decode([token], special=True)
        if INCOMPLETE in text and all(char in _byte_of_char() for char in piece):
            return bytes(_byte_of_char()[char] for char in piece)
        if piece.startswith("▁") and not text.startswith(" "):
            text = f" {text}"  # some decoders leave it out at the beginning of a text
        return text.encode()


@lru_cache(maxsize=1)
def _byte_of_char() -> dict[str, int]:
    """The characters that byte-level tokenizers write for bytes (GPT-2, section 2.2)."""
    printable = [*range(ord("!"), ord("~") + 1), *range(ord("¡"), ord("¬") + 1)]
    printable += range(ord("®"), ord("ÿ") + 1)
    others = [byte for byte in range(256) if byte not in printable]
    return {chr(byte): byte for byte in printable} | {
        chr(256 + i): byte for i, byte in enumerate(others)
    }
