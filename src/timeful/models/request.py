"""A request to a chat endpoint as a value, and its description in errors."""

import json
from collections.abc import Mapping, Sequence, Set
from contextlib import suppress
from dataclasses import astuple, dataclass, replace
from re import ASCII, sub
from urllib.parse import urlsplit

from timeful.errors import SettingsError
from timeful.models.model import Message
from timeful.models.redaction import find_secrets, redact
from timeful.models.sse import Thinking
from timeful.models.traffic import Gate
from timeful.tools import ToolCall, ToolSpec

RUNNING = "continuous_usage_stats"
"""The field of `stream_options` that asks vLLM and similar servers for a token count a chunk."""

_BYTES, _ANSWER = 4, 1000
"""The usual bytes of a token, and the tokens of an answer of unknown length."""


_SHORTEST_IN_ANSWERS = 12

MOST_TOKENS = 1 << 17
"""The most tokens of an answer without any other limit, above what models generate."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Timeouts:
    """Time limits in seconds of real time, all above 0.

    Args:
        connect_s: For a connection.
        first_token_s: From the request to its first token; it includes hidden reasoning.
        idle_s: Between two chunks; keep-alive comments do not count.
        answer_s: For all chunks after the first, without the time in which nothing is read.
        backoff_s: Before the first retry, and twice as long before each further one, up to 8 s.
            After a rate limit it is doubled up to 60 s; if the server names a wait
            (Retry-After), that counts instead.
        patience_s: For all waits of a request because of rate limits.
    """

    connect_s: float = 10.0
    first_token_s: float = 300.0
    idle_s: float = 60.0
    answer_s: float = 3600.0
    backoff_s: float = 0.5
    patience_s: float = 900.0

    def __post_init__(self) -> None:
        if not min(astuple(self)) > 0:
            raise SettingsError(f"timeouts must be above 0, got {self}")


def estimate_prompt(messages: Sequence[Message]) -> int:
    """A guess of the tokens of messages, from their bytes."""
    return sum(len(message.content.encode()) for message in messages) // _BYTES


def address(base_url: str) -> str:
    """The address of an endpoint, without user, password or query.

    Raises:
        SettingsError: If it is not an http or https URL with a host.
    """
    try:
        url = urlsplit(base_url)
        is_valid = url.scheme in ("http", "https") and url.hostname and url.port != 0
        is_valid = is_valid and "@" not in url.path  # of a password with a slash
    except ValueError:  # a port that is no number, or a bracket without its end
        is_valid = False
    if not is_valid:
        shown = base_url.rpartition("@")[2].partition("?")[0]  # without a password
        raise SettingsError(f"base_url must look like http://host:port/v1, got {shown!r}")
    if url.path.rstrip("/").endswith("/chat/completions"):
        raise SettingsError("base_url ends before /chat/completions, usually with /v1")
    return f"{url.scheme}://{url.netloc.rpartition('@')[2]}{url.path.rstrip('/')}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """One request to one endpoint.

    `options` are further fields of the body, such as the seed and the temperature. Each attempt
    passes the `gate`. `is_soft_limit` says that `max_tokens` is only what there is time for, or a
    default: a server that finds it too large may generate more, which is cut here.
    """

    base_url: str
    api_key: str
    model: str
    label: str
    messages: tuple[Message, ...]
    max_tokens: int | None
    options: Mapping[str, object]
    thinking: Thinking
    timeouts: Timeouts
    retries: int
    gate: Gate
    tools: tuple[ToolSpec, ...] = ()
    is_soft_limit: bool = False

    def body(self, refused: Set[str], *, too_large: int | None = None) -> dict[str, object]:
        """The fields beyond model and messages, without those that the server refused.

        The limit is `max_tokens` until a server insists on `max_completion_tokens`. The server
        is asked for a token count a chunk, since tokens determine the time.

        Args:
            refused: The fields that the server refused.
            too_large: A limit that the server refused as too large; None if there was none.
        """
        counts = {"include_usage": True} | ({} if RUNNING in refused else {RUNNING: True})
        body: dict[str, object] = {"stream_options": counts, **self.options}
        if self.tools:
            body["tools"] = [tool.schema() for tool in self.tools]
        is_too_large = (
            self.is_soft_limit
            and too_large is not None
            and self.max_tokens is not None
            and self.max_tokens >= too_large
        )
        if self.max_tokens is not None and not is_too_large:
            limit = "max_completion_tokens" if "max_tokens" in refused else "max_tokens"
            body[limit] = self.max_tokens
        return {name: value for name, value in body.items() if name not in refused}

    @property
    def most_tokens(self) -> int:
        """The tokens after which the answer is cut here."""
        return MOST_TOKENS if self.max_tokens is None else self.max_tokens

    def limited(self) -> "Request":
        """The request with the retries and timeouts of its run, where it has any."""
        limits = self.gate.limits
        spans = {"first_token_s": limits.first_token_s, "idle_s": limits.idle_s}
        given = {name: span for name, span in spans.items() if span is not None}
        retries = self.retries if limits.retries is None else limits.retries
        return replace(self, retries=retries, timeouts=replace(self.timeouts, **given))

    @property
    def expected_tokens(self) -> int:
        """A guess of its tokens, prompt and answer, for a limit of tokens per minute."""
        answer = _ANSWER if self.max_tokens is None else min(self.max_tokens, _ANSWER)
        return self.prompt_estimate + answer

    @property
    def prompt_estimate(self) -> int:
        """A guess of the tokens of its prompt."""
        return estimate_prompt(self.messages)

    @property
    def endpoint(self) -> str:
        """The address of the server, without credentials."""
        return address(self.base_url)

    @property
    def secrets(self) -> tuple[str, ...]:
        """The forms of its key and its password, which are kept nowhere."""
        return find_secrets(self.base_url, self.api_key)

    @property
    def long_secrets(self) -> tuple[str, ...]:
        """Those that are removed from answers too: a short key may be a word, such as "EMPTY"."""
        return tuple(secret for secret in self.secrets if len(secret) >= _SHORTEST_IN_ANSWERS)

    def wire(self) -> list[dict[str, object]]:
        """The messages in the format of the API."""
        return [_wire(message) for message in self.messages]

    def __str__(self) -> str:
        return f"a {self.label!r} answer of model {self.model!r} at {address(self.base_url)}"

    def quote(self, text: str) -> str:
        """Shorten a server's message to one printable line without the key."""
        text = redact(text, self.secrets)
        text = " ".join("".join(c if c.isprintable() else " " for c in text).split())
        return text if len(text) <= 300 else f"{text[:300]}..."


def _wire(message: Message) -> dict[str, object]:
    wired: dict[str, object] = {"role": message.role, "content": message.content}
    if message.calls:
        wired["content"] = message.content or None  # some servers refuse an empty text
        wired["tool_calls"] = [_wire_call(call) for call in message.calls]
    if message.call_id:
        wired["tool_call_id"] = message.call_id
    return wired


def _wire_call(call: ToolCall) -> dict[str, object]:
    # A model may invent a name with characters that servers refuse.
    name = sub(r"[^\w-]", "_", call.name, flags=ASCII)[:64]
    arguments = json.dumps(dict(call.arguments), ensure_ascii=False)
    return {"id": call.id, "type": "function", "function": {"name": name, "arguments": arguments}}


def requested_wait(headers: Mapping[str, str]) -> float | None:
    """The seconds of Retry-After; a date is ignored, since it would need a clock."""
    for name, unit in (("retry-after-ms", 0.001), ("retry-after", 1.0)):
        with suppress(ValueError):
            return max(0.0, float(headers.get(name, "none"))) * unit
    return None
