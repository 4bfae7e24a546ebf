"""What is asked of a sampler and what it gives back, as values; nothing heavy is loaded."""

from collections.abc import Callable
from dataclasses import dataclass
from math import inf
from typing import Literal

from timeful.errors import SettingsError
from timeful.models.sse import Thinking

Alternatives = tuple[tuple[int, float], ...]
"""Tokens with their log-probabilities, the most probable first."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Sampling:
    """How tokens are drawn.

    Args:
        temperature: 0 or above; 0 takes the most probable token.
        top_p: Only the most probable tokens, which together have this probability; in (0, 1].
        top_k: Only so many of the most probable tokens; 0 for all.
        max_tokens: The most tokens to draw, 1 or more.
        seed: Of all chance in it.
        stop_ids: Tokens that end it; the one that does is the last of what was drawn.
        stop: Texts that end it, as soon as what was drawn holds one; none of them empty.

    Raises:
        SettingsError: If one is out of range.
    """

    temperature: float = 1.0
    top_p: float = 1.0
    top_k: int = 0
    max_tokens: int
    seed: int
    stop_ids: tuple[int, ...] = ()
    stop: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if not 0 <= self.temperature < inf:
            raise SettingsError(f"a temperature is 0 or above, got {self.temperature}")
        if not 0 < self.top_p <= 1:
            raise SettingsError(f"top_p is above 0 and at most 1, got {self.top_p}")
        if self.top_k < 0:
            raise SettingsError(f"top_k is 0 or above, got {self.top_k}")
        if self.max_tokens < 1:
            raise SettingsError(f"max_tokens is 1 or more, got {self.max_tokens}")
        if not all(self.stop):
            raise SettingsError("a text that stops must not be empty")


@dataclass(frozen=True, slots=True, kw_only=True)
class GenerationConfig:
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


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """A prompt and how to go on.

    Args:
        prompt_ids: At least one token.
        sampling: How.
        top: How many alternatives are told for each token.
    """

    prompt_ids: tuple[int, ...]
    sampling: Sampling
    top: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Completion:
    """What was drawn.

    Attributes:
        ids: The tokens, with the one that ended it.
        logprobs: Their log-probabilities under the tempered distribution, before any cut by
            top_p or top_k: what a trainer computes again. At temperature 0 that of the model.
        finish: "stop" after a stop token or text, "length" when there was no more room.
        policy: Which version of the weights drew it.
        top: For each token the alternatives that were asked for.
    """

    ids: tuple[int, ...]
    logprobs: tuple[float, ...]
    finish: Literal["stop", "length"]
    policy: int = 0
    top: tuple[Alternatives, ...] = ()


@dataclass(frozen=True, slots=True)
class Drawn:
    """A token just drawn; `top` as asked for, `finish` if it was the last one."""

    token: int
    logprob: float
    finish: Literal["stop", "length"] | None = None
    top: Alternatives = ()


@dataclass(frozen=True, slots=True)
class Scored:
    """How probable given tokens are.

    Attributes:
        logprobs: Of each token after those before it; the first one, which follows nothing, has
            none.
        top: For each of the same tokens the most probable ones in its place.
    """

    logprobs: tuple[float, ...]
    top: tuple[Alternatives, ...] = ()


Listener = Callable[[Drawn], bool]
"""Told of each token of one completion as it is drawn; False wants no more of them."""
