"""The kinds of models that a command line can name: `KIND:NAME`."""

from collections.abc import Mapping
from dataclasses import dataclass, field

Settings = Mapping[str, object]

ApiKey = str | Mapping[str, str]
"""The key of an endpoint, or several by the environment variables that `Kind.key_name` names."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Kind:
    """A kind of model.

    Attributes:
        target: What follows the colon; "" if nothing does.
        is_live: Whether an endpoint answers.
        is_sampled: Whether a temperature has an effect.
        base_url: Where its API begins by default; "" if the caller has to say.
        key_name: The environment variable of its key; "" if its server needs none.
        extra: The extra of timeful that it needs; "" if it needs none.
        packages: The packages of that extra.
        options: Fields of each request, beside those that the caller gives.
    """

    target: str = "NAME"
    is_live: bool = False
    is_sampled: bool = False
    base_url: str = ""
    key_name: str = ""
    extra: str = ""
    packages: tuple[str, ...] = ()
    options: Settings = field(default_factory=dict)


def _endpoint(base_url: str, *, key_name: str = "", options: Settings | None = None) -> Kind:
    return Kind(
        is_live=True,
        is_sampled=True,
        base_url=base_url,
        key_name=key_name,
        extra="openai",
        packages=("openai",),
        options=options or {},
    )


def _provider(base_url: str, *, key_name: str, extra: str, packages: tuple[str, ...]) -> Kind:
    return Kind(
        is_live=True,
        is_sampled=True,
        base_url=base_url,
        key_name=key_name,
        extra=extra,
        packages=("pydantic_ai", *packages),
    )


KINDS: Mapping[str, Kind] = {
    "anthropic": _provider(
        "https://api.anthropic.com",
        key_name="ANTHROPIC_API_KEY",
        extra="anthropic",
        packages=("anthropic",),
    ),
    "google": _provider(
        "https://generativelanguage.googleapis.com",
        key_name="GEMINI_API_KEY",
        extra="google",
        packages=("google.genai",),
    ),
    "llama.cpp": _endpoint("http://localhost:8080/v1", options={"timings_per_token": True}),
    "local": Kind(target="PATH", is_sampled=True),
    "ollama": _endpoint("http://localhost:11434/v1"),
    "openai": _endpoint("", key_name="OPENAI_API_KEY"),
    "replay": Kind(target="FILE"),
    "responses": _provider(
        "https://api.openai.com/v1",
        key_name="OPENAI_API_KEY",
        extra="responses",
        packages=("openai",),
    ),
    "search": Kind(target=""),
    "vllm": _endpoint("http://localhost:8000/v1"),
}
"""Each kind by its name; `timings_per_token` makes llama.cpp report a running total."""

PROVIDERS = ("anthropic", "google", "responses")
"""The kinds that are not OpenAI-compatible; `provider.ProviderModel` asks them."""

FORMS = tuple(f"{name}:{kind.target}" for name, kind in KINDS.items() if kind.target)
"""How a model of each kind is named."""


def kind_of(spec: str) -> Kind | None:
    """The kind of a name; None if there is none, as of a stand-in or a file."""
    return KINDS.get(spec.partition(":")[0])


def is_live(spec: str) -> bool:
    """Whether an endpoint answers for a name."""
    kind = kind_of(spec)
    return kind is not None and kind.is_live


def is_sampled(spec: str) -> bool:
    """Whether a temperature has an effect on a model of this name."""
    kind = kind_of(spec)
    return kind is not None and kind.is_sampled
