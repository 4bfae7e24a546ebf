"""What every part of a response says of itself, and how tokens are counted."""

from dataclasses import dataclass
from typing import Any
from uuid import uuid4

from timeful.core.clock import unix_seconds


@dataclass(frozen=True, slots=True)
class Envelope:
    """Which response it is, of which model, from when."""

    key: str
    kind: str
    model: str
    created: int

    @classmethod
    def new(cls, kind: str, model: str) -> "Envelope":
        """That of a new response; `kind` is what its id begins with."""
        return cls(uuid4().hex, kind, model, unix_seconds())

    def body(self, kind: str) -> dict[str, Any]:
        """As JSON, for an object of a kind."""
        identity = f"{self.kind}-{self.key}"
        return {"id": identity, "object": kind, "created": self.created, "model": self.model}


def usage(prompt: int, completion: int) -> dict[str, int]:
    """The tokens of a request; a prompt with several choices counts once."""
    return {
        "prompt_tokens": prompt,
        "completion_tokens": completion,
        "total_tokens": prompt + completion,
    }
