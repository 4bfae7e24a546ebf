"""The published scores: as printed, and next to the right cells of ours."""

from hashlib import sha256

from timeful.suites.realtime.cells import COMPARED, REFERENCE
from timeful.suites.realtime.conditions import MEAN, Condition


def test_no_printed_number_changes_unnoticed() -> None:
    # All 187 were compared with the paper by a second reader.
    lines = []
    for number in REFERENCE.numbers:
        where = {name: v for name, v in number.where.items() if name not in ("experiment", "agent")}
        text, agent = Condition(**where).text, number.where["agent"]  # type: ignore[arg-type]
        lines.append(f"{number.source}|{text}|{agent}|{number.value:.4f}")
    assert len(lines) == 187
    assert sha256("\n".join(sorted(lines)).encode()).hexdigest()[:16] == "609664ef64a4c7d1"


def test_averages_over_games_are_ours_and_say_so() -> None:
    where = {"experiment": "load", "game": MEAN, "difficulty": "medium", "agent": "reactive"}
    number = COMPARED.number({**where, "tokens_per_step": 8192}, "score")
    assert number is not None
    assert abs(number.value - (0.3258 + 0.4900 + 0.3664) / 3) < 1e-12
    assert number.source.endswith("averaged over the games by us")
