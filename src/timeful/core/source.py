"""What a thought is made of: chunks of text, pulled from a source one by one.

A source knows nothing of time. It says how many tokens a chunk holds; the pace that a stream
is given turns tokens into instants. The same source is therefore priced in token time, in the
measured time of an endpoint, or simply arrives when it arrives (wall time).
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal, Protocol

Channel = Literal["reasoning", "answer"]
Finish = Literal["stop", "length", "closed"]


@dataclass(frozen=True, slots=True)
class Chunk:
    """A piece of a thought, indivisible in time: it is known when its last token is.

    `tokens` counts the tokens of this chunk alone and is at least 0.
    """

    text: str
    tokens: int
    channel: Channel = "answer"


@dataclass(frozen=True, slots=True)
class End:
    """The end of a source.

    `tokens` is the whole thought's count as the server reports it, when it does; the chunks'
    own counts are then only estimates, and the stream ends at the greater of the two.
    `prompt_tokens` and `attempts` are bookkeeping and never cost simulated time.
    """

    finish: Finish = "stop"
    tokens: int | None = None
    prompt_tokens: int | None = None
    attempts: int = 1


class Source(Protocol):
    """Where the chunks of one thought come from: a live endpoint, a recording, a search."""

    def pull(self) -> Chunk | End:
        """Return the next piece, waiting in real time until it is known.

        After an `End` it is not called again.

        Raises:
            ModelError: If the model fails; the thought then fails with the same error.
        """
        ...

    def when_ready(self, notify: Callable[[], None]) -> None:
        """Call `notify` once, from any thread, as soon as `pull` would not wait.

        Only a wall clock asks; under virtual time the kernel simply pulls. A source that is
        closed before it is ready notifies as well: whoever waits for it must not wait for ever.
        """
        ...

    def close(self) -> None:
        """Stop producing and free what is held; harmless when called twice or after the end."""
        ...
