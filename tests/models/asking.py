"""A prompt to ask, and what came back."""

from timeful.core.source import Chunk, End, Source
from timeful.models.model import Message, Prompt


def ask(text: str = "Which way?", *, purpose: str = "react") -> Prompt:
    """A prompt of one message."""
    return Prompt(purpose=purpose, render=lambda: [Message("user", text)])  # type: ignore[arg-type]


def read(source: Source) -> tuple[list[Chunk], End]:
    """Pull a source to its end and close it."""
    chunks: list[Chunk] = []
    try:
        while isinstance(piece := source.pull(), Chunk):
            chunks.append(piece)
        return chunks, piece
    finally:
        source.close()


def said(chunks: list[Chunk], channel: str = "answer") -> str:
    """The text on one channel."""
    return "".join(chunk.text for chunk in chunks if chunk.channel == channel)
