"""The part of an episode's settings that its hash covers: not where its words came from.

An endpoint and a cassette that recorded it give the same episode, so the hash leaves out the kind
of the model, its address and its temperature; the record names the models of its thoughts.
"""

from collections.abc import Mapping
from typing import Any

SOURCES = (
    *("openai", "ollama", "vllm", "llama.cpp"),
    *("anthropic", "google", "responses", "replay"),
)
"""The kinds of models whose words come from an endpoint or from a recording of one."""

_PLACES = ("endpoint", "temperature", "key")
"""Settings that only such models have, and the name of the episode, which holds the model's."""


def identity(settings: Mapping[str, Any]) -> dict[str, Any]:
    """The settings with the source of every endpoint's words left out.

    Settings without such a model are returned as they are.
    """
    plain = _without_source(settings)
    return dict(settings) if plain == settings else _without_places(plain)


def _without_source(value: Any) -> Any:
    if isinstance(value, str):
        return "endpoint" if ":" in value and _has_source(value) else value
    if isinstance(value, int | float):
        return value
    if isinstance(value, list | tuple):
        return [_without_source(item) for item in value]
    if isinstance(value, Mapping):
        return {key: _without_source(item) for key, item in value.items()}
    return value


def _has_source(text: str) -> bool:
    names = text.split(" + ")
    return any(name.partition(":")[0] in SOURCES and ":" in name for name in names)


def _without_places(value: Any) -> Any:
    if isinstance(value, dict):
        return {k: _without_places(item) for k, item in value.items() if k not in _PLACES}
    return [_without_places(item) for item in value] if isinstance(value, list) else value
