"""Prices: given by hand or from a table, and never 0 because they are unknown."""

import pytest

from timeful.errors import SettingsError
from timeful.models.model_spec import ModelSpec
from timeful.models.prices import (
    ANY,
    Price,
    check_names,
    check_priced,
    describe_prices,
    has_table,
    price_of,
    read_prices,
)

needs_table = pytest.mark.skipif(
    not has_table(), reason="genai-prices is not installed: pip install 'timeful[prices]'"
)

GPT = ModelSpec(spec="openai:gpt-4.1-mini", base_url="https://api.openai.com/v1")
UNKNOWN = ModelSpec(spec="vllm:gpt-4.1-mini")


def test_a_price_is_of_a_million_tokens_and_cached_tokens_have_their_own() -> None:
    price = Price(prompt=2, cached=0.5, completion=8)
    assert price.cost(1_000_000, 500_000) == 6
    assert price.cost(1_000_000, 0, cached=400_000) == pytest.approx(1.4)
    assert price.cost(100, 0, cached=10**9) == price.cost(100, 0, cached=100)
    assert Price(prompt=2, completion=8).cost(1_000_000, 0, cached=1_000_000) == 2


def test_a_longer_prompt_has_the_price_above_its_length() -> None:
    longer = Price(prompt=4, completion=16)
    price = Price(prompt=2, completion=8, above=((1000, longer),))
    assert price.cost(1000, 10) == Price(prompt=2, completion=8).cost(1000, 10)
    assert price.cost(1001, 10) == longer.cost(1001, 10)


def test_prices_are_read_by_the_name_of_the_model_at_its_server() -> None:
    prices = read_prices(["1,2", "openai:a=3,0.5,4", "llama3:8b=0,0"])
    assert prices == {
        ANY: Price(prompt=1, completion=2),
        "a": Price(prompt=3, cached=0.5, completion=4),
        "llama3:8b": Price(prompt=0, completion=0),
    }


@pytest.mark.parametrize(
    "text", ["", "1", "1,2,3,4", "a,b", "-1,2", "nan,2", "1,inf", "m=", "m=1;2", "1 EUR,2 EUR"]
)
def test_a_price_that_cannot_be_read_is_refused(text: str) -> None:
    with pytest.raises(SettingsError):
        read_prices([text])


def test_a_second_price_of_a_model_is_refused() -> None:
    with pytest.raises(SettingsError):
        read_prices(["openai:m=1,2", "m=1,3"])


def test_a_price_of_a_model_that_is_not_in_the_run_is_refused() -> None:
    with pytest.raises(SettingsError):
        check_names([UNKNOWN], read_prices(["gpt-4.1=1,2"]))


def test_a_run_says_which_price_it_knows() -> None:
    assert len(describe_prices([UNKNOWN, UNKNOWN], read_prices(["1,2"]))) == 1
    check_names([UNKNOWN], read_prices(["1,2", "vllm:gpt-4.1-mini=1,2"]))
    check_priced([UNKNOWN], read_prices(["1,2"]))
    with pytest.raises(SettingsError):
        check_priced([UNKNOWN], {})


def test_an_unknown_model_has_no_price() -> None:
    assert price_of(UNKNOWN) is None
    assert price_of(UNKNOWN, read_prices(["other=1,2"])) is None
    assert price_of(ModelSpec(spec="search")) is None
    assert price_of(UNKNOWN, read_prices(["0,0"])) == Price(prompt=0, completion=0)


@needs_table
def test_the_table_has_public_models_and_a_price_by_hand_wins() -> None:
    price = price_of(GPT)
    assert price is not None
    assert 0 < price.prompt < price.completion
    assert price.cached is not None
    assert price.source.startswith("genai-prices ")
    assert price_of(GPT, read_prices(["9,9"])) == Price(prompt=9, completion=9)
    for spec in ("anthropic:claude-sonnet-4-5", "google:gemini-2.5-pro", "responses:gpt-5"):
        assert price_of(ModelSpec(spec=spec)) is not None
    assert price_of(ModelSpec(spec="openai:no-such", base_url="https://api.openai.com/v1")) is None


@needs_table
def test_the_table_agrees_with_its_own_calculation_below_and_above_a_tier() -> None:
    from genai_prices import Usage, calc_price

    for spec in (GPT, ModelSpec(spec="google:gemini-2.5-pro")):
        price = price_of(spec)
        assert price is not None
        for prompt in (1, 1000, 200_000, 200_001, 900_000):
            usage = Usage(input_tokens=prompt, cache_read_tokens=prompt // 2, output_tokens=500)
            expected = calc_price(usage, spec.name, provider_api_url=spec.endpoint).total_price
            assert price.cost(prompt, 500, cached=prompt // 2) == pytest.approx(float(expected))
