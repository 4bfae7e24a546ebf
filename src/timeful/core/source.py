"""What a thought is made of: chunks of text, pulled from a source one by one.

A source knows nothing of time. It says how many tokens a chunk holds; the pace that a stream
is given turns tokens into instants. The same source is therefore priced in token time, in the
measured time of an endpoint, or simply arrives when it arrives (wall time).
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Literal, Protocol, runtime_checkable

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
    `prompt_tokens`, `attempts` and `waited_s`, the real seconds that the request waited to be
    admitted, are bookkeeping and never cost simulated time.
    """

    finish: Finish = "stop"
    tokens: int | None = None
    prompt_tokens: int | None = None
    attempts: int = 1
    waited_s: float = field(default=0.0, compare=False)


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


@dataclass(frozen=True, slots=True)
class Sampled:
    """What a sampler drew for one thought, token by token: what a policy is trained on.

    Text is only a view of it: tokenised again it may come out as other tokens.

    Attributes:
        prompt_ids: What the model was given.
        ids: What was drawn, in order; the token that ended it is the last one.
        logprobs: The natural logarithm of each one's probability when it was drawn.
        policy: Which version of the weights drew it.
        kept: How many of the prompt's tokens were taken over from an earlier thought of the same
            conversation, as they were; 0 if the prompt was tokenised from its text.
    """

    prompt_ids: tuple[int, ...]
    ids: tuple[int, ...]
    logprobs: tuple[float, ...]
    policy: int = 0
    kept: int = 0


@runtime_checkable
class TokenSource(Source, Protocol):
    """A source whose chunks are one token each, and that can tell which ones."""

    @property
    def sampled(self) -> Sampled:
        """What was drawn, also what has not been pulled yet; the n-th token is the n-th chunk."""
        ...
