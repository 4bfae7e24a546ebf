"""Failed attempts of a request: another attempt, a failed episode, or a stopped run."""

from re import search
from typing import TYPE_CHECKING

from timeful.errors import ModelError, ModelRefusedError, ModelTimeoutError
from timeful.models.request import Request

if TYPE_CHECKING:
    from timeful.models.answer_stream import StatusError, UnreachableError

RATE_LIMITS = (429, 529)
"""The statuses of too many requests, and of an overloaded server."""

_LASTING, _SETTINGS = (401, 402, 403, 404), (400, 422)
"""The statuses by which a server refuses all requests, or the settings of a request."""

_CHECK = {
    400: "check the settings that are sent, and the length of the prompt",
    401: "check the API key",
    403: "check the API key, and what it is allowed to use",
    404: "check the model's name, and that base_url ends where the API begins (often /v1)",
    422: "check the settings that are sent",
}

TOOLS_HINT = "if it takes no native tool calls, offer the tools in words: --calls text"
"""The hint after a refusal of tools."""

_NESTED = ("message", "msg", "error", "detail", "errors", "title")
"""The fields of an error that hold its words, the first one first."""


class RetryableError(Exception):
    """An attempt failed before its first chunk, and another one may do better."""

    def __init__(
        self,
        error: ModelError,
        *,
        wait_s: float | None = None,
        is_rate_limit: bool = False,
        is_lasting: bool = False,
    ) -> None:
        super().__init__(error)
        self.error = error
        self.wait_s = wait_s
        self.is_rate_limit = is_rate_limit
        self.is_lasting = is_lasting


def is_passing(status: int) -> bool:
    """Whether the same request may be accepted later."""
    return status in (408, 409, 429) or status >= 500


def read_status(request: Request, error: "StatusError") -> RetryableError:
    """A temporary failure; raises at once if a retry would fail, too."""
    status, words = error.status, request.quote(error.words)
    event = f"status {status}" if status else "an error"
    is_soon = error.wait_s is None or error.wait_s <= request.timeouts.patience_s
    if is_passing(status or 500) and is_soon and not error.is_final:
        failure = ModelError(f"{request} failed with {event}: {words}")
        is_rate_limit = status in RATE_LIMITS or error.wait_s is not None
        return RetryableError(failure, wait_s=error.wait_s, is_rate_limit=is_rate_limit)
    hint = "ask its operator" if is_soon else f"it asks to wait {error.wait_s:g} s"
    hint = _CHECK.get(status or 0, hint)
    if request.tools and status in (400, 404, 422) and search(r"\btool", words):
        hint = TOOLS_HINT
    refusal = ModelRefusedError(f"{request} was refused with {event}: {words.rstrip('.')}; {hint}")
    spending = request.gate.spending
    # A prompt may be too long; settings are refused before the first answer.
    is_first = status in _SETTINGS and spending.is_uniform and not spending.now.answers
    if is_first or status in _LASTING or (error.is_final and status):
        spending.stop(refusal)
    raise refusal


def read_unreachable(request: Request, error: "UnreachableError") -> ModelError:
    """The error if no connection came about."""
    if error.cause is None:
        return ModelTimeoutError(
            f"no connection for {request} within {request.timeouts.connect_s:g} s"
        )
    cause = request.quote(error.cause)
    return ModelError(f"no connection for {request}: {cause}; check that the server runs")


def find_words(body: object) -> str:
    """Find the words of a server in the JSON of its error, whatever its shape.

    Known shapes are a text, `{"message": …}`, `{"error": …}`, `{"detail": …}` as FastAPI has it,
    with a list of places and messages, and lists of these.
    """
    if isinstance(body, str):
        return body
    if isinstance(body, list):
        return "; ".join(filter(None, map(find_words, body)))
    if not isinstance(body, dict):
        return ""
    for name in _NESTED:
        if words := find_words(body.get(name)):
            place = body.get("loc") or body.get("field") or body.get("param") or ""
            place = ".".join(map(str, place)) if isinstance(place, list) else str(place)
            return f"{place}: {words}" if place else words
    return ""
