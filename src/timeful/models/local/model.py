"""A model in this process, as agents ask it: chunks of one token each, and which tokens."""

from __future__ import annotations

from dataclasses import dataclass

from timeful.core.source import TokenSource
from timeful.models.events import Thinking
from timeful.models.local.batching import Seat
from timeful.models.local.checkpoint import Checkpoint
from timeful.models.model import Prompt
from timeful.models.pace import TOKEN_TIME, Pace


@dataclass(frozen=True, slots=True, kw_only=True)
class Style:
    """How a local model answers, whatever it is asked.

    Args:
        temperature: As in `Sampling`, and so are the next two.
        top_p: Likewise.
        top_k: Likewise.
        stop: Texts that end an answer, which keeps them.
        thinking: What `<think>` tags mean; as for an endpoint.
    """

    temperature: float = 1.0
    top_p: float = 1.0
    top_k: int = 0
    stop: tuple[str, ...] = ("</tool_call>",)
    thinking: Thinking = "split"


class LocalModel:
    """A `Model` over a seat of a batcher; cheap, and one for each episode.

    It remembers its conversations by their tokens, so a prompt that continues one holds the very
    tokens that were drawn (see `splice.py`). Two episodes therefore never share one.

    Args:
        checkpoint: The model and its tokenizer.
        seat: Where it asks.
        style: How it answers.
        pace: What a token costs; None if only a wall clock shall tell.
        name: For records and tables; None means the checkpoint's.
    """

    def __init__(
        self,
        checkpoint: Checkpoint,
        seat: Seat,
        *,
        style: Style | None = None,
        pace: Pace | None = TOKEN_TIME,
        name: str | None = None,
    ) -> None:
        self._checkpoint = checkpoint
        self._seat = seat
        self._style = style or Style()
        self.name = name or checkpoint.name
        self.pace = pace
        self.live = True

    def open(self, prompt: Prompt, *, max_tokens: int | None, seed: int) -> TokenSource:
        """Start answering.

        Raises:
            ModelError: If the prompt leaves no room in the context.
        """
        raise NotImplementedError
