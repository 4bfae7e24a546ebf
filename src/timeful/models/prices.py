"""Prices of models: given by hand, or of the table in genai-prices, which the extra installs."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from importlib.util import find_spec
from typing import Protocol

from timeful.errors import SettingsError, check_known, check_range
from timeful.models.kinds import KINDS

_MILLION = 1_000_000

ANY = ""
"""The name under which a price given by hand holds for all models without a price of their own."""

BY_HAND = "given by hand"

FORM = "IN,OUT or IN,CACHED,OUT in USD per million tokens"


@dataclass(frozen=True, slots=True, kw_only=True)
class Price:
    """The price of a model in USD per million tokens.

    Args:
        prompt: Of a prompt.
        completion: Of generated tokens, reasoning included.
        cached: Of the part of a prompt that was in a cache; None for that of a prompt.
        above: Another price for requests with longer prompts, after the tokens above which it
            holds, in increasing order.
        source: Where the price comes from.

    Raises:
        SettingsError: If a price is below 0.
    """

    prompt: float
    completion: float
    cached: float | None = None
    above: tuple[tuple[int, "Price"], ...] = ()
    source: str = BY_HAND

    def __post_init__(self) -> None:
        prices = {"prompt": self.prompt, "completion": self.completion, "cached": self.cached or 0}
        for name, value in prices.items():
            check_range(f"the price of {name} tokens", value, least=0)

    def cost(self, prompt: float, completion: float, *, cached: float = 0) -> float:
        """The price of a request in USD.

        Args:
            prompt: The tokens of its prompt.
            completion: Its generated tokens.
            cached: The part of the prompt that was in a cache.
        """
        for least, other in reversed(self.above):
            if prompt > least:
                return other.cost(prompt, completion, cached=cached)
        cached = min(cached, prompt)
        of_cached = self.prompt if self.cached is None else self.cached
        dollars = (prompt - cached) * self.prompt + cached * of_cached
        return (dollars + completion * self.completion) / _MILLION

    def __str__(self) -> str:
        cached = "" if self.cached is None else f"{self.cached:g} cached, "
        longer = " (more for long prompts)" if self.above else ""
        return f"{self.prompt:g} in, {cached}{self.completion:g} out{longer}"


class Priced(Protocol):
    """A model at an endpoint, such as a `ModelSpec` or a `LiveModel`."""

    @property
    def name(self) -> str:
        """Its name at the server."""
        ...

    @property
    def endpoint(self) -> str | None:
        """The address of the server; None if there is none."""
        ...


def price_of(model: Priced, prices: Mapping[str, Price] | None = None) -> Price | None:
    """The price of a model: one given by hand, else that of the table; None if it is unknown.

    Args:
        model: The model.
        prices: Prices given by hand, by the model's name; that of `ANY` holds for all others.
    """
    return find_price(model.name, model.endpoint or "", prices or {})


def find_price(name: str, endpoint: str, prices: Mapping[str, Price]) -> Price | None:
    """The price of a model by its name at the server, and the address; see `price_of`."""
    by_hand = prices.get(name) or prices.get(ANY)
    return by_hand or (look_up(name, endpoint) if endpoint else None)


def describe_prices(models: Iterable[Priced], prices: Mapping[str, Price]) -> list[str]:
    """A line for each model: its price, and where that comes from."""
    by_name = {model.name: price_of(model, prices) for model in models}
    return [_line(name, price) for name, price in by_name.items()]


def check_names(models: Iterable[Priced], prices: Mapping[str, Price]) -> None:
    """Check that prices given by hand are of these models.

    Raises:
        SettingsError: If one is of another model.
    """
    names = {model.name for model in models}
    for name in prices:
        if name != ANY:
            check_known("model with a price", name, names)


def check_priced(models: Iterable[Priced], prices: Mapping[str, Price]) -> None:
    """Check that the price of each model is known, so that its cost can be limited.

    Raises:
        SettingsError: If one is unknown; it says how to give it.
    """
    for model in models:
        if price_of(model, prices) is None:
            raise SettingsError(refuse_unpriced(model.name))


def refuse_unpriced(name: str) -> str:
    """Why the cost of a model without a price cannot be limited, and how to give a price."""
    return f"the cost has a limit, but {name} has no known price: give --price {name}=IN,OUT"


def _line(name: str, price: Price | None) -> str:
    if price is not None:
        return f"price     {name}: {price} USD per million tokens, {price.source}"
    table = "" if has_table() else "; pip install 'timeful[prices]' has those of public APIs"
    return f"price     {name}: unknown, so no cost is shown; give --price {name}=IN,OUT{table}"


def read_prices(texts: Iterable[str]) -> dict[str, Price]:
    """Read prices given by hand, by the name of the model; `ANY` for all others.

    Args:
        texts: `IN,OUT`, `IN,CACHED,OUT`, or either of them after `MODEL=`. The model is named as
            on a command line, or as at its server.

    Raises:
        SettingsError: If a text is none of these, or a model has two prices.
    """
    prices: dict[str, Price] = {}
    for text in texts:
        model, _, numbers = text.strip().rpartition("=")
        kind, _, target = model.partition(":")
        name = target if target and kind in KINDS else model
        if name in prices:
            raise SettingsError(f"two prices are given for {model or 'all models'}: {text!r}")
        prices[name] = _read_price(numbers)
    return prices


def _read_price(text: str) -> Price:
    try:
        numbers = [float(number) for number in text.split(",")]
    except ValueError:
        numbers = []
    if len(numbers) not in (2, 3):
        raise SettingsError(f"a price is {FORM}, such as 0.4,1.6; got {text!r}")
    cached = numbers[1] if len(numbers) == 3 else None
    return Price(prompt=numbers[0], cached=cached, completion=numbers[-1])


def has_table() -> bool:
    """Whether the table of prices is installed."""
    return find_spec("genai_prices") is not None


@lru_cache(maxsize=256)
def look_up(name: str, endpoint: str) -> Price | None:
    """The price in the table of genai-prices 0.2; None if it lacks the model or the endpoint.

    The table is part of the installed package: nothing is sent.

    Args:
        name: The name of the model at its server.
        endpoint: The address of the server, which tells the provider.
    """
    if not has_table():
        return None
    from genai_prices import Usage, calc_price  # noqa: PLC0415 - an extra that loads for 0.2 s

    try:
        row = calc_price(Usage(), name, provider_api_url=endpoint).model_price
    except (LookupError, ValueError):
        return None
    values = vars(row)
    base = _at(values, 0)
    if base is None:
        return None
    starts = {tier.start for value in values.values() for tier in getattr(value, "tiers", ())}
    longer = [(start, _at(values, start + 1)) for start in sorted(starts)]
    above = tuple((start, price) for start, price in longer if price is not None)
    return replace(base, above=above)


def _at(values: Mapping[str, object], prompt: int) -> Price | None:
    """The price for a length of the prompt; None if a part of it is unknown."""
    fields = ("input_mtok", "output_mtok", "cache_read_mtok", "output_reasoning_mtok")
    from importlib.metadata import version  # noqa: PLC0415 - loads the parser of emails

    of_prompt, of_answer, cached, reasoning = (_rate(values.get(name), prompt) for name in fields)
    if of_prompt is None or of_answer is None:
        return None
    return Price(
        prompt=of_prompt,
        completion=max(of_answer, reasoning or 0),
        cached=cached,
        source=f"genai-prices {version('genai-prices')}",
    )


def _rate(value: object, prompt: int) -> float | None:
    """A rate of the table, which has tiers or none."""
    rate = getattr(value, "base", value)
    for tier in getattr(value, "tiers", ()):
        if prompt > tier.start:
            rate = tier.price
    return None if rate is None else float(str(rate))
