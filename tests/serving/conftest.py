"""Servers that many tests share."""

from collections.abc import Iterator

import pytest

from tests.models.local.tiny import byte_tokenizer, checkpoint
from tests.serving.here import Here, parrot


@pytest.fixture(autouse=True)
def _direct(monkeypatch: pytest.MonkeyPatch) -> None:
    """No proxy stands between a test and loopback."""
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")


@pytest.fixture(scope="session")
def served() -> Iterator[Here]:
    """A model whose characters are often several tokens."""
    with Here(checkpoint("llama", tokenizer=byte_tokenizer())) as here:
        yield here


@pytest.fixture(scope="session")
def said() -> Iterator[Here]:
    """A model of which is known what it says."""
    with Here(parrot()) as here:
        yield here
