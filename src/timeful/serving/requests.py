"""Clients' requests as values; a field that cannot be honoured is refused, not ignored."""

from collections.abc import Mapping, Sequence
from re import search
from typing import Annotated, Any, Generic, TypeVar

import msgspec
from msgspec import Meta, Struct

from timeful.errors import unknown
from timeful.serving.errors import RequestError

MAX_ANSWERS = 2048
"""Of one request: prompts times choices."""

MAX_STOPS, MAX_STOP_CHARS = 16, 128
"""Stop texts are looked for after each token of each choice."""

_IGNORED = frozenset(
    ("user", "store", "metadata", "service_tier", "safety_identifier", "prompt_cache_key")
)
"""Fields without influence on any answer."""

_NEUTRAL: Mapping[str, tuple[Any, ...]] = {
    "best_of": (1,),
    "echo": (False,),
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
"""Fields that are accepted only with a value that changes nothing."""


class StreamOptions(Struct, frozen=True, kw_only=True):
    """What a stream contains in addition to the answer.

    Attributes:
        include_usage: Whether a last event counts the tokens.
        continuous_usage_stats: Whether every event does, as in vLLM.
    """

    include_usage: bool | None = None
    continuous_usage_stats: bool | None = None


class Body(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The fields of both kinds of completion; None is the checkpoint's or the API's default.

    Attributes:
        top_k: Only this many of the most probable tokens; 0 or -1 for all. As in vLLM.
        return_token_ids: Whether the tokens are returned as numbers, as in vLLM.
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
        stops = [self.stop] if isinstance(self.stop, str) else self.stop or []
        if len(stops) > MAX_STOPS or not all(0 < len(stop) <= MAX_STOP_CHARS for stop in stops):
            raise RequestError(
                f"stop may have up to {MAX_STOPS} texts of 1 to {MAX_STOP_CHARS} characters",
                param="stop",
            )
        return tuple(stops)

    @property
    def streaming(self) -> StreamOptions:
        """What a stream contains in addition to the answer."""
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
    """A request for a text completion."""

    prompt: str | list[Any]
    logprobs: Annotated[int, Meta(ge=0, le=20)] | None = None
    add_special_tokens: bool | None = None

    @property
    def prompts(self) -> Sequence[str | list[int]]:
        """The prompts, each a text or tokens.

        Raises:
            RequestError: If it is neither, nor a list of either.
        """
        prompt = self.prompt
        if isinstance(prompt, str):
            return [prompt]
        if prompt and all(map(_is_token, prompt)):
            return [prompt]
        if len(prompt) * (self.n or 1) > MAX_ANSWERS:
            raise RequestError(f"one request may ask for at most {MAX_ANSWERS} answers", param="n")
        if prompt and (
            all(isinstance(item, str) for item in prompt)
            or all(isinstance(item, list) and all(map(_is_token, item)) for item in prompt)
        ):
            return prompt
        raise RequestError(
            "a prompt is a text, a list of texts, a list of tokens, or a list of such lists",
            param="prompt",
            code="invalid_type",
        )


BodyT = TypeVar("BodyT", bound=Body)


class BodyParser(Generic[BodyT]):
    """Reads requests of one kind.

    Args:
        kind: The class of the request.
        model: The name of the model that is served.
    """

    def __init__(self, kind: type[BodyT], model: str) -> None:
        self._kind = kind
        self._model = model

    def read(self, data: bytes) -> BodyT:
        """Read a request.

        Raises:
            RequestError: If it is not JSON, or has a field that is unknown or cannot be honoured.
        """
        try:
            fields = msgspec.json.decode(data)
        except (msgspec.DecodeError, RecursionError, UnicodeDecodeError) as error:
            raise RequestError(f"the body is no valid JSON: {error}", code="invalid_json") from None
        if not isinstance(fields, dict):
            raise RequestError("the body must be a JSON object", code="invalid_json")
        fields = {name: value for name, value in fields.items() if self._is_used(name, value)}
        try:
            body = msgspec.convert(fields, self._kind)
        except msgspec.ValidationError as error:
            message = str(error)
            field = search(r"at `\$\.?([^.`\[]+)", message) or search(r"field `(.*)`", message)
            raise RequestError(
                f"this request cannot be read: {message}",
                param=field[1] if field else None,
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

    def _is_used(self, name: str, value: object) -> bool:
        fields = self._kind.__struct_fields__
        if name in _NEUTRAL and value is not None and value not in _NEUTRAL[name]:
            raise RequestError(
                f"{name} is not supported here: leave it out",
                param=name,
                code="unsupported_parameter",
            )
        if name in fields:
            return True
        if name not in _NEUTRAL and name not in _IGNORED and value is not None:
            raise RequestError(unknown("field", name, fields), param=name, code="unknown_parameter")
        return False


def _is_token(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)
