"""Errors in the format of OpenAI's API."""

from typing import Any

from timeful.errors import ModelError, SettingsError


class RequestError(Exception):
    """A request that is not answered.

    Args:
        message: The problem, and what to do.
        status: The status of the response.
        param: The field at fault, if any.
        code: The kind of fault, for programs.
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
        fields = {"message": self.message, "type": kind, "param": self.param, "code": self.code}
        return {"error": fields}


def as_request_error(error: Exception) -> RequestError:
    """The response to an error of timeful."""
    match error:
        case RequestError():
            return error
        case SettingsError():
            return RequestError(str(error), code="invalid_value")
        case ModelError():
            return RequestError(str(error), status=503)
    raise error
