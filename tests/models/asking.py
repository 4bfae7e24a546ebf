"""A prompt to ask, and what came back."""

from timeful.core.source import Chunk, End, Source
from timeful.models.model import Message, Prompt
from timeful.tools import Parameter, ToolCall, ToolSpec

STEP = ToolSpec(
    name="step",
    description="Does something.",
    parameters=(Parameter(name="action", description="What to do."),),
)
ASK_TIME = ToolSpec(name="get_duration", description="Tells the time.")


def ask(text: str = "Which way?", *, label: str = "react") -> Prompt:
    """A prompt of one message."""
    return Prompt(label=label, render=lambda: text)


def ask_with_tools(tools: tuple[ToolSpec, ...] = (STEP, ASK_TIME)) -> Prompt:
    """A prompt that offers tools, after a call and its reply."""
    call = ToolCall(name="step", arguments={"action": "go north"}, id="c1")
    messages = [
        Message("user", "Begin."),
        Message("assistant", "", (call,)),
        Message("tool", "You cannot.", call_id="c1"),
    ]
    return Prompt(label="work", render=lambda: messages, tools=tools)


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
