"""Requests to a sampler and its answers, as values; imports no torch."""

from collections.abc import Callable
from dataclasses import dataclass
from math import inf
from typing import Literal

from timeful.errors import SettingsError
from timeful.models.sse import Thinking

Alternatives = tuple[tuple[int, float], ...]
"""Tokens with their log-probabilities, the most probable first."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GenerationConfig:
    """How a checkpoint answers any prompt.

    Args:
        temperature: 0 or above; 0 takes the most probable token.
        top_p: Only the most probable tokens, which together have this probability; in (0, 1].
        top_k: Only this many of the most probable tokens; 0 for all.
        stop: Texts that end an answer, which keeps them; none of them empty.
        thinking: What `<think>` tags mean; as for an endpoint.

    Raises:
        SettingsError: If one is out of range.
    """

    temperature: float = 1.0
    top_p: float = 1.0
    top_k: int = 0
    stop: tuple[str, ...] = ("</tool_call>",)
    thinking: Thinking = "split"

    def sampling(self, *, max_tokens: int, seed: int, stop_ids: tuple[int, ...]) -> "Sampling":
        """The parameters of one answer."""
        return Sampling(
            temperature=self.temperature,
            top_p=self.top_p,
            top_k=self.top_k,
            stop=self.stop,
            max_tokens=max_tokens,
            seed=seed,
            stop_ids=stop_ids,
        )

    def __post_init__(self) -> None:
        if not 0 <= self.temperature < inf:
            raise SettingsError(f"temperature must be 0 or above, got {self.temperature}")
        if not 0 < self.top_p <= 1:
            raise SettingsError(f"top_p must be above 0 and at most 1, got {self.top_p}")
        if self.top_k < 0:
            raise SettingsError(f"top_k must be 0 or above, got {self.top_k}")
        if not all(self.stop):
            raise SettingsError("a stop text must not be empty")


@dataclass(frozen=True, slots=True, kw_only=True)
class Sampling(GenerationConfig):
    """How the tokens of one answer are drawn.

    Args:
        max_tokens: The most tokens to draw, 1 or more.
        seed: Seed of all randomness in the answer.
        stop_ids: Tokens that end the answer; it includes the one that does.
        stop: As in `GenerationConfig`; none by default.

    Raises:
        SettingsError: If a value is out of range.
    """

    max_tokens: int
    seed: int
    stop_ids: tuple[int, ...] = ()
    stop: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        GenerationConfig.__post_init__(self)  # super() fails in a dataclass with slots
        if self.max_tokens < 1:
            raise SettingsError(f"max_tokens must be 1 or more, got {self.max_tokens}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """A prompt and how to continue it.

    Args:
        prompt_ids: At least one token.
        sampling: How tokens are drawn.
        top: The number of alternatives to report for each token.
        draws: How many tokens at the end of the prompt were drawn with this seed before. The
            answer continues with the next draw, and stop texts may begin in these tokens.
    """

    prompt_ids: tuple[int, ...]
    sampling: Sampling
    top: int = 0
    draws: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Completion:
    """A complete answer.

    Attributes:
        ids: The tokens, including the one that ended the answer.
        logprobs: Their log-probabilities under the tempered distribution before truncation by
            top_p or top_k, which a trainer recomputes. At temperature 0, those of the model.
        finish: "stop" after a stop token or text, "length" when the room was used up.
        policy: The version of the weights that drew it.
        top: The requested alternatives for each token.
    """

    ids: tuple[int, ...]
    logprobs: tuple[float, ...]
    finish: Literal["stop", "length"]
    policy: int = 0
    top: tuple[Alternatives, ...] = ()


@dataclass(frozen=True, slots=True)
class TokenSample:
    """A token just drawn: `top` as requested, `finish` if it was the last one."""

    token: int
    logprob: float
    finish: Literal["stop", "length"] | None = None
    top: Alternatives = ()


Listener = Callable[[TokenSample], bool]
"""Called with each token of one completion as it is drawn; returns False to stop drawing."""
