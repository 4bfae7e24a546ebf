"""Requests as they come: JSON to values, and what cannot be honoured is refused, not ignored."""

from collections.abc import Mapping, Sequence
from re import search
from typing import Annotated, Any, Generic, TypeVar

import msgspec
from msgspec import Meta, Struct

from timeful.errors import unknown
from timeful.serving.errors import RequestError

MOST_ANSWERS = 2048
"""To one request: so many prompts times so many choices."""

_NOTED = frozenset(
    ("user", "store", "metadata", "service_tier", "safety_identifier", "prompt_cache_key")
)
"""Fields that would change no answer anywhere."""

_NEUTRAL: Mapping[str, tuple[Any, ...]] = {
    "best_of": (1,),
    "frequency_penalty": (0,),
    "logit_bias": ({},),
    "min_p": (0,),
    "modalities": (["text"],),
    "presence_penalty": (0,),
    "repetition_penalty": (1,),
    "response_format": ({"type": "text"},),
    "suffix": ("",),
    "tool_choice": ("auto", "none"),
}
"""Fields that are taken only where they ask for what is done anyway."""


class StreamOptions(Struct, frozen=True, kw_only=True):
    """What a stream tells beside the answer.

    Attributes:
        include_usage: Whether a last event counts the tokens.
        continuous_usage_stats: Whether every event does; as vLLM has it.
    """

    include_usage: bool | None = None
    continuous_usage_stats: bool | None = None


class Body(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What both kinds of completion take; None leaves it to the checkpoint or the API.

    Attributes:
        top_k: Only so many of the most probable tokens; 0 or -1 for all. As vLLM has it.
        return_token_ids: Whether the tokens are told as numbers; as vLLM has it.
    """

    model: str
    max_tokens: Annotated[int, Meta(ge=0)] | None = None
    temperature: Annotated[float, Meta(ge=0, le=2)] | None = None
    top_p: Annotated[float, Meta(gt=0, le=1)] | None = None
    top_k: Annotated[int, Meta(ge=-1)] | None = None
    seed: int | None = None
    n: Annotated[int, Meta(ge=1, le=128)] | None = None
    stop: str | list[str] | None = None
    stream: bool | None = None
    stream_options: StreamOptions | None = None
    return_token_ids: bool | None = None

    @property
    def stops(self) -> tuple[str, ...]:
        """The texts that end an answer."""
        given = [self.stop] if isinstance(self.stop, str) else self.stop or []
        if not all(given):
            raise RequestError("a text that stops must not be empty", param="stop")
        return tuple(given)

    @property
    def streaming(self) -> StreamOptions:
        """What a stream tells beside the answer."""
        return self.stream_options or StreamOptions()


class ChatBody(Body, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A request for a chat completion."""

    messages: Annotated[list[dict[str, Any]], Meta(min_length=1)]
    max_tokens: Annotated[int, Meta(ge=1)] | None = None
    max_completion_tokens: Annotated[int, Meta(ge=1)] | None = None
    logprobs: bool | None = None
    top_logprobs: Annotated[int, Meta(ge=0, le=20)] | None = None
    tools: list[dict[str, Any]] | None = None
    tool_choice: str | None = None
    parallel_tool_calls: bool | None = None
    add_generation_prompt: bool | None = None
    continue_final_message: bool | None = None
    chat_template_kwargs: dict[str, Any] | None = None


class CompletionBody(Body, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A request for a plain completion."""

    prompt: str | list[Any]
    echo: bool | None = None
    logprobs: Annotated[int, Meta(ge=0, le=20)] | None = None
    add_special_tokens: bool | None = None

    @property
    def prompts(self) -> Sequence[str | list[int]]:
        """The prompts, each a text or tokens.

        Raises:
            RequestError: If it is neither, nor a list of either.
        """
        given = self.prompt
        if isinstance(given, str):
            return [given]
        if given and all(_is_token(one) for one in given):
            return [given]
        if given and (
            all(isinstance(one, str) for one in given)
            or all(isinstance(one, list) and all(map(_is_token, one)) for one in given)
        ):
            return given
        raise RequestError(
            "a prompt is a text, a list of texts, a list of tokens, or a list of such lists",
            param="prompt",
            code="invalid_type",
        )


BodyT = TypeVar("BodyT", bound=Body)


class BodyParser(Generic[BodyT]):
    """Reads requests of one kind.

    Args:
        kind: Which.
        model: The name of the model that is served.
    """

    def __init__(self, kind: type[BodyT], model: str) -> None:
        self._kind = kind
        self._model = model

    def read(self, data: bytes) -> BodyT:
        """Read a request.

        Raises:
            RequestError: If it is no JSON, or says what is not understood or cannot be honoured.
        """
        try:
            found = msgspec.json.decode(data)
        except (msgspec.DecodeError, RecursionError, UnicodeDecodeError) as error:
            raise RequestError(f"the body is no valid JSON: {error}", code="invalid_json") from None
        if not isinstance(found, dict):
            raise RequestError("the body must be a JSON object", code="invalid_json")
        given = {name: value for name, value in found.items() if self._is_said(name, value)}
        try:
            body = msgspec.convert(given, self._kind)
        except msgspec.ValidationError as error:
            said = str(error)
            place = search(r"at `\$\.?([^.`\[]+)", said) or search(r"field `(.*)`", said)
            raise RequestError(
                f"this request cannot be read: {said}",
                param=place[1] if place else None,
                code="invalid_type",
            ) from None
        if body.model != self._model:
            raise RequestError(
                unknown("model", body.model, [self._model]),
                status=404,
                param="model",
                code="model_not_found",
            )
        return body

    def _is_said(self, name: str, value: object) -> bool:
        """Whether a field is to be looked at.

        Raises:
            RequestError: If it is unknown, or asks for what is not done.
        """
        known = self._kind.__struct_fields__
        if name in _NEUTRAL and value is not None and value not in _NEUTRAL[name]:
            raise RequestError(
                f"{name} is not supported here: leave it out",
                param=name,
                code="unsupported_parameter",
            )
        if name in known:
            return True
        if name not in _NEUTRAL and name not in _NOTED and value is not None:
            raise RequestError(unknown("field", name, known), param=name, code="unknown_parameter")
        return False


def _is_token(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)
