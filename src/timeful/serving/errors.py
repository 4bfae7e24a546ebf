"""How a client is told that its request is not answered, in the shape that OpenAI's API has."""

from typing import Any

from timeful.errors import ModelError, SettingsError


class RequestError(Exception):
    """A request that is not answered.

    Args:
        message: What is wrong, and what to do.
        status: Of the response.
        param: Which field is at fault, if one is.
        code: The kind of fault, as clients tell them apart.
    """

    def __init__(
        self,
        message: str,
        status: int = 400,
        *,
        param: str | None = None,
        code: str | None = None,
    ) -> None:
        super().__init__(message)
        self.message = message
        self.status = status
        self.param = param
        self.code = code

    def body(self) -> dict[str, Any]:
        """The error as JSON."""
        kind = "invalid_request_error" if self.status < 500 else "server_error"
        return {
            "error": {
                "message": self.message,
                "type": kind,
                "param": self.param,
                "code": self.code,
            }
        }


def as_request_error(error: Exception) -> RequestError:
    """What a client is told of an error that was raised on purpose."""
    match error:
        case RequestError():
            return error
        case SettingsError():
            return RequestError(str(error), code="invalid_value")
        case ModelError():
            return RequestError(str(error), status=503)
    raise error
