"""Normalisation with the paper's bounds."""

import pytest

from timeful.errors import SettingsError
from timeful.suites.realtime.scores import score


@pytest.mark.parametrize(
    ("game", "low", "high"), [("freeway", 0, 89), ("snake", -1, 15), ("overcooked", 0, 56)]
)
def test_the_papers_bounds_become_zero_and_one(game: str, low: float, high: float) -> None:
    assert score(game, low).normalised == 0
    assert score(game, high).normalised == 1
    assert not score(game, high).is_above_one


def test_a_score_above_one_is_kept_flagged_and_clipped_beside() -> None:
    greedy_snake = score("snake", 24)
    assert greedy_snake.raw == 24
    assert greedy_snake.normalised == pytest.approx(25 / 16)
    assert greedy_snake.clipped == 1
    assert greedy_snake.is_above_one


def test_a_score_below_zero_is_kept_and_clipped_beside() -> None:
    assert score("snake", -3).normalised == pytest.approx(-2 / 16)
    assert score("snake", -3).clipped == 0


def test_an_unknown_game_is_named_with_the_nearest() -> None:
    with pytest.raises(SettingsError, match="Did you mean 'snake'"):
        score("snaek", 1)
