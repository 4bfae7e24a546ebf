"""The published scores: as printed, and next to the right cells of ours."""

from hashlib import sha256

from timeful.suites.realtime.cells import REFERENCE, published_scores
from timeful.suites.realtime.conditions import MEAN, Condition


def test_no_printed_number_changes_unnoticed() -> None:
    # All 187 were compared with the paper by a second reader.
    printed = {key: number for key, number in published_scores().items() if key[1].game != MEAN}
    lines = sorted(f"{n.source}|{c.text}|{a}|{n.value:.4f}" for (_, c, a), n in printed.items())
    assert len(lines) == len(REFERENCE.numbers) == 187
    assert sha256("\n".join(lines).encode()).hexdigest()[:16] == "609664ef64a4c7d1"


def test_averages_over_games_are_ours_and_say_so() -> None:
    scores = published_scores()
    at = Condition(game=MEAN, difficulty="medium", tokens_per_step=8192)
    number = scores["load", at, "reactive"]
    assert abs(number.value - (0.3258 + 0.4900 + 0.3664) / 3) < 1e-12
    assert number.source.endswith("averaged over the games by us")
