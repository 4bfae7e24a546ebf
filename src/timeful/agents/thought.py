"""A thought as an agent holds it, and as a record keeps it."""

from collections.abc import Callable, Coroutine, Generator
from dataclasses import dataclass
from hashlib import sha256
from typing import Any

from msgspec import UNSET

from timeful.core.kernel import Kernel
from timeful.core.source import Chunk, End, Source
from timeful.core.source import Sampled as DrawnTokens
from timeful.core.stream import Stream
from timeful.models.model import Guidance
from timeful.records.events import (
    Noted,
    Sampled,
    ThoughtChunk,
    ThoughtEnded,
    ThoughtPaused,
    ThoughtResumed,
)
from timeful.records.recorder import Recorder
from timeful.records.usage import Usage


class Thought:
    """A model's answer on its way; awaiting it gives the text of its answer.

    It ends by itself, or is cut by its limit or by `cancel`: the text is then what was known.
    Awaiting a thought whose model failed raises the model's error.
    """

    def __init__(
        self, stream: Stream, turn: int, attend: Callable[[Stream], Coroutine[Any, Any, None]]
    ) -> None:
        self.stream = stream
        self._attend = attend  # the interface's way to wait for it
        self.turn = turn
        """How often the world had moved when it began."""

    def __await__(self) -> Generator[object, Any, str]:
        if not self.stream.done:
            yield from self._attend(self.stream).__await__()
        self.stream.result()
        return self.answer

    @property
    def text(self) -> str:
        """All that is known of it so far: reasoning and answer, in the order they came."""
        return self.stream.text()

    @property
    def so_far(self) -> Guidance:
        """All that is known of it so far, as guidance for another model."""
        return Guidance(turn=self.turn, text=self.text)

    @property
    def answer(self) -> str:
        """What is known so far of the answer, without the reasoning."""
        return self.stream.text("answer")

    @property
    def tokens(self) -> int:
        """How many tokens are known so far."""
        return self.stream.tokens

    @property
    def done(self) -> bool:
        """Whether it has ended, in whatever way."""
        return self.stream.done

    @property
    def complete(self) -> bool:
        """Whether it came to its own end: not cut by a limit, a token budget or a cancel."""
        end = self.stream.end
        return self.stream.state == "completed" and end is not None and end.finish == "stop"

    def interrupt(self, cause: object = None) -> bool:
        """Stop its time, for `resume` to go on from the same token; False if it was not running."""
        return self.stream.pause(cause)

    def resume(self) -> None:
        """Go on after an interruption.

        Raises:
            KernelError: If it is not interrupted.
        """
        self.stream.resume()

    def cancel(self, cause: object = None) -> bool:
        """Cut it for good; what is known stays. False if it had ended."""
        return self.stream.cancel(cause)


@dataclass(slots=True)
class ThoughtRecorder:
    """Writes what happens to one thought; the observer of its stream.

    Args:
        kernel: Whose time it is.
        recorder: Where it is written.
        source: Where its chunks come from.
        number: Which thought of its episode it is, from 1.
        full: Whether every chunk is written, or only the answer at the end.
        on_end: Told of the end of an answer that came to its end.
    """

    kernel: Kernel
    recorder: Recorder
    source: Source
    number: int
    full: bool
    on_end: Callable[[End], None]

    def on_chunk(self, stream: Stream, chunk: Chunk) -> None:
        """Write a chunk, if all are wanted."""
        if self.full:
            self.recorder.write(
                ThoughtChunk(
                    at=self.kernel.now,
                    thought=self.number,
                    channel=chunk.channel,
                    tokens=chunk.tokens,
                    text=chunk.text,
                )
            )

    def on_change(self, stream: Stream) -> None:
        """Write that it was paused, went on or ended."""
        at, number = self.kernel.now, self.number
        if stream.state == "running":
            self.recorder.write(ThoughtResumed(at=at, thought=number))
        elif stream.state == "paused":
            undelivered = "".join(chunk.text for chunk in stream.undelivered)
            self.recorder.write(
                ThoughtPaused(
                    at=at,
                    thought=number,
                    cause=str(stream.cause),
                    tokens=stream.tokens,
                    undelivered=undelivered if self.full else "",
                )
            )
        else:
            if stream.end is not None:
                self.on_end(stream.end)
            usage: Usage | None = getattr(self.source, "usage", None)  # of a MeteredSource
            if usage is not None and usage.reported is not None:
                self._note_total(usage.reported, usage.completion)
            self.recorder.write(
                ThoughtEnded(
                    at=at,
                    thought=number,
                    state=stream.state,
                    cause=None if stream.cause is None else str(stream.cause),
                    tokens=stream.tokens,
                    finish=stream.end.finish if stream.end else None,
                    text_sha256=sha256(stream.text().encode()).hexdigest(),
                    answer=stream.text("answer"),
                    usage=UNSET if usage is None else usage,
                    failure=self._failure() or UNSET,
                )
            )
            # Not by the protocol `TokenSource`, whose check takes longer than all else here.
            tokens: DrawnTokens | None = getattr(self.source, "sampled", None)
            if tokens is not None:
                self._record_tokens(tokens, stream.tokens)

    def _failure(self) -> str | None:
        """The error of its last attempt; in simulated time an attempt has no effect."""
        # Not by the protocol `AttemptedSource`, whose check takes longer than all else here.
        return getattr(self.source, "failure", None) if self.kernel.clock.is_wall else None

    def _note_total(self, reported: int, counted: int) -> None:
        text = f"the total of {reported} tokens is below the {counted} that the server had counted"
        self.recorder.write(
            Noted(at=self.kernel.now, topic="usage", text=f"thought {self.number}: {text}")
        )

    def _record_tokens(self, sampled: DrawnTokens, delivered: int) -> None:
        """Write which tokens it was made of, up to the last one that came in time."""
        self.recorder.write(
            Sampled(
                at=self.kernel.now,
                thought=self.number,
                prompt_ids=sampled.prompt_ids,
                ids=sampled.ids[:delivered],
                logprobs=sampled.logprobs[:delivered],
                policy=sampled.policy,
                kept=sampled.kept,
            )
        )
