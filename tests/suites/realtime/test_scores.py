"""Normalised scores: Table 4's bounds, nothing clipped."""

import pytest

from timeful.suites.realtime.scores import BOUNDS, normalise


@pytest.mark.parametrize("game", BOUNDS)
def test_the_bounds_are_zero_and_one_and_nothing_is_clipped(game: str) -> None:
    low, high = BOUNDS[game]
    assert (normalise(game, low), normalise(game, high)) == (0, 1)
    assert normalise(game, 2 * high - low) == 2


def test_a_world_without_bounds_keeps_its_returns() -> None:
    assert normalise("door", -3.5) == -3.5
