"""How long calls take, and how that is written."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from timeful.core.units import Duration, milliseconds, seconds
from timeful.environments.timed.latency import (
    Constant,
    Latency,
    LogNormal,
    Measured,
    Uniform,
    read_latency,
)
from timeful.errors import SettingsError
from timeful.seeding import child

SPANS = st.integers(0, 10**14).map(Duration)
FACTORS = st.floats(0, 10, exclude_min=True)
TWO_SPANS = st.lists(SPANS, min_size=2, max_size=2).map(sorted)
LAWS: st.SearchStrategy[Latency] = st.one_of(
    st.builds(Constant, SPANS),
    TWO_SPANS.map(lambda both: Uniform(*both)),
    st.builds(LogNormal, SPANS, st.floats(0, 10)),
    st.builds(Measured, FACTORS),
)


@given(LAWS)
def test_what_a_law_is_written_as_is_read_as_the_same_law(law: Latency) -> None:
    assert read_latency(str(law)) == law


@pytest.mark.parametrize(
    ("text", "law", "written"),
    [
        ("0", Constant(), "0s"),
        ("none", Constant(), "0s"),
        (" 2 ", Constant(seconds(2)), "2s"),
        ("0.25s", Constant(milliseconds(250)), "0.25s"),
        ("uniform:1s:3", Uniform(seconds(1), seconds(3)), "uniform:1s:3s"),
        ("lognormal:2s:0.3", LogNormal(seconds(2), 0.3), "lognormal:2s:0.3"),
        ("measured", Measured(), "measured"),
        ("measured:2", Measured(2.0), "measured:2"),
    ],
)
def test_a_law_is_read_as_people_write_it(text: str, law: Latency, written: str) -> None:
    assert read_latency(text) == law
    assert str(law) == written


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("", "got ''"),
        ("soon", "got 'soon'"),
        ("-1s", "got '-1s'"),
        ("nan", "got 'nan'"),
        ("inf", "got 'inf'"),
        ("uniform:1s", "got 'uniform:1s'"),
        ("uniform:3s:1s", "greatest latency"),
        ("lognormal:2s:-1", "sigma of a latency"),
        ("lognormal:2s:nan", "sigma of a latency"),
        ("measured:0", "factor of a latency"),
        ("measured:inf", "factor of a latency"),
        ("none:1", "got 'none:1'"),
    ],
)
def test_what_is_no_law_is_refused(text: str, why: str) -> None:
    with pytest.raises(SettingsError, match=why):
        read_latency(text)


@given(law=LAWS, took=SPANS, seed=st.integers(0, 2**32))
def test_a_call_takes_a_whole_span_that_its_law_allows(law: Latency, took: int, seed: int) -> None:
    span = law.draw(child(seed, "latency"), Duration(took))
    assert isinstance(span, int)
    assert span >= 0
    assert span == law.draw(child(seed, "latency"), Duration(took)), "chance is the seed's alone"
    match law:
        case Constant(given):
            assert span == given
        case Uniform(low, high):
            assert low <= span <= high
        case Measured(factor):
            assert span == round(factor * took)


def draws(law: Latency, count: int = 20_000) -> np.ndarray:
    rng = np.random.default_rng(0)
    return np.array([law.draw(rng, Duration(0)) for _ in range(count)], dtype=float)


def test_a_uniform_latency_reaches_both_its_ends_and_is_even() -> None:
    drawn = draws(Uniform(Duration(3), Duration(6)))
    counts = [int((drawn == span).sum()) for span in range(3, 7)]
    assert sum(counts) == drawn.size
    error = np.sqrt(drawn.size * 0.25 * 0.75)
    assert all(abs(count - drawn.size / 4) < 4 * error for count in counts)


def test_a_lognormal_latency_has_its_median_and_its_deviation() -> None:
    logs = np.log(draws(LogNormal(seconds(2), 0.3)) / seconds(2))
    error = 0.3 / np.sqrt(logs.size)
    assert abs(logs.mean()) < 4 * error
    assert abs(logs.std() - 0.3) < 4 * error / np.sqrt(2)
