"""The metrics of a training, and the alarm of collapse."""

import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

pytest.importorskip("trl", reason="training needs the extra `train`")

from tests.training.material import ListingObserver
from timeful.training import metrics_callback
from timeful.training.collapse_detection import find_collapse, find_standstill
from timeful.training.metrics_callback import RECENT, STILL, MetricsCallback
from timeful.training.rollouts import Rollout


def lived(
    out: Path, lengths: list[tuple[float, float]], *, steps: int, said: list[str], first: int = 0
) -> None:
    """A training whose answers have these lengths in a budget of 1 s and of 4 s."""
    observer = ListingObserver()
    observer.warnings = said
    journal = MetricsCallback(out, steps=steps, observer=observer)
    journal.open(first)
    for update, (tight, loose) in enumerate(lengths[first:], first + 1):
        journal._played = {"tokens": {"1s": tight, "4s": loose}}
        journal.on_log(None, SimpleNamespace(global_step=update), None, logs={"loss": 0.0})


def alarms(out: Path) -> list[int]:
    lines = [json.loads(line) for line in (out / "metrics.jsonl").read_text().splitlines()]
    return [line["update"] for line in lines if "alarm" in line]


def test_one_length_for_all_budgets_is_named_once_and_noted_while_it_lasts(
    tmp_path: Path,
) -> None:
    said: list[str] = []
    lived(tmp_path, [(10.0, 10.5)] * 40, steps=40, said=said)
    assert len(said) == 1
    assert said[0].startswith("update 20: collapsed to one length: 10.0 tokens")
    assert alarms(tmp_path) == list(range(20, 41)), "the first half is for learning it"


@pytest.mark.parametrize(("lengths", "updates"), [((10.0, 16.0), 40), ((10.0, 10.0), RECENT - 1)])
def test_lengths_that_follow_the_budget_or_too_few_updates_raise_no_alarm(
    tmp_path: Path, lengths: tuple[float, float], updates: int
) -> None:
    said: list[str] = []
    lived(tmp_path, [lengths] * updates, steps=updates, said=said)
    assert not said
    assert not alarms(tmp_path)


def test_it_rings_the_same_after_a_kill(tmp_path: Path) -> None:
    lengths = [(10.0, 20.0)] * 25 + [(10.0, 10.0)] * 15
    whole: list[str] = []
    lived(tmp_path / "whole", lengths, steps=40, said=whole)
    cut: list[str] = []
    (tmp_path / "cut").mkdir()
    lines = (tmp_path / "whole" / "metrics.jsonl").read_bytes().splitlines(keepends=True)
    (tmp_path / "cut" / "metrics.jsonl").write_bytes(b"".join(lines[:31]) + b'{"update": 32, "t')
    lived(tmp_path / "cut", lengths, steps=40, said=cut, first=27)
    assert (tmp_path / "cut" / "metrics.jsonl").read_bytes() == b"".join(lines)
    assert cut == whole
    assert len(whole) == 1


@pytest.mark.parametrize(
    ("tokens", "rings"),
    [
        ({}, False),
        ({1.0: 10.0}, False),
        ({1.0: 10.0, 1.5: 10.0}, False),
        ({1.0: 10.0, 2.0: 14.9}, True),
        ({1.0: 10.0, 2.0: 15.0}, False),
        ({1.0: 10.0, 2.0: 30.0, 8.0: 10.0}, True),  # longest in the middle is not by budget
        ({1.0: 30.0, 8.0: 10.0}, True),
        ({1.0: 0.0, 8.0: 10.0}, False),
    ],
)
def test_the_alarm_compares_the_shortest_budget_with_the_longest(
    tokens: dict[float, float], rings: bool
) -> None:
    assert bool(find_collapse(tokens)) is rings


def test_a_line_counts_what_was_played_for_each_budget_apart(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def outcome(budget: int | None, tokens: int, correct: bool, is_late: bool) -> Any:
        return SimpleNamespace(budget=budget, tokens=tokens, correct=correct, is_late=is_late)

    second = 10**9
    came = [
        outcome(second, 10, True, False),
        outcome(second, 13, True, True),
        outcome(2 * second, 30, False, False),
        outcome(None, 7, True, False),
        None,  # it failed
    ]
    scene: Any = SimpleNamespace(key="a", turn=None)
    played = [
        Rollout(task=scene, sampling=n, events=(), ok=one is not None) for n, one in enumerate(came)
    ]
    told = iter(came)
    monkeypatch.setattr("timeful.training.metrics_callback.read_outcome", lambda events: next(told))
    journal = MetricsCallback(tmp_path / "out", steps=3)
    journal.open(0)
    journal.note(0, played, [1.0, 0.5, 0.0, None, None])
    journal.on_log(None, SimpleNamespace(global_step=1), None, logs={"loss": 0.0})
    assert json.loads((tmp_path / "out" / "metrics.jsonl").read_text()) == {
        "update": 1,
        "episodes": 5,
        "failed": 1,
        "unrewarded": 2,
        "reward": 0.5,
        "alike": 0.0,
        "tokens": {"1s": 11.5, "2s": 30.0, "none": 7.0},
        "right_in_time": {"1s": 0.5, "2s": 0.0, "none": 1.0},
        "trl": {"loss": 0.0},
    }


def test_a_second_process_writes_nothing(tmp_path: Path) -> None:
    journal = MetricsCallback(tmp_path / "out", steps=3, rank=1)
    journal.open(0)
    journal.on_log(None, SimpleNamespace(global_step=1), None, logs={"loss": 0.0})
    assert not (tmp_path / "out").exists()


def rewarded(
    out: Path, groups: list[list[list[float | None]]], *, first: int = 0, **parts: Any
) -> list[str]:
    """A training whose groups earned so much, update by update; what it warned of."""
    observer = ListingObserver()
    journal = MetricsCallback(out, steps=40, observer=observer, **parts)
    journal.open(first)
    for update, each in enumerate(groups[first:], first + 1):
        every = [
            {"key": f"case {n}", "failed": False, "reward": one, "budget": None}
            for n, some in enumerate(each)
            for one in some
        ]
        journal.note(update, every, [None] * len(every))  # type: ignore[arg-type]
        journal.on_log(None, SimpleNamespace(global_step=update), None, logs={"loss": 0.0})
    return observer.warnings


@pytest.fixture
def plain(monkeypatch: pytest.MonkeyPatch) -> None:
    """What was played is told as its summary."""
    monkeypatch.setattr(metrics_callback, "_summarize", lambda played, reward: played)


STUCK: list[list[float | None]] = [[0.0, 0.0, None], [0.0, 0.0, 0.0]]
MOVING: list[list[float | None]] = [[0.0, 0.0, None], [0.0, 1.0, 0.0]]


@pytest.mark.usefixtures("plain")
def test_a_standstill_is_named_once_and_noted_while_it_lasts(tmp_path: Path) -> None:
    updates = [*[STUCK] * 7, MOVING, *[STUCK] * 6]
    said = rewarded(tmp_path, updates)
    assert len(said) == 1
    assert said[0].startswith("update 5: nothing to learn: all rewards of each group were the same")
    assert "every reward is 0. Budgets too tight" in said[0]
    assert alarms(tmp_path) == [5, 6, 7, 13, 14]
    lines = (tmp_path / "metrics.jsonl").read_bytes()
    assert rewarded(tmp_path, updates, first=6) == [], "it was said before the kill"
    assert (tmp_path / "metrics.jsonl").read_bytes() == lines


@pytest.mark.usefixtures("plain")
def test_one_group_that_differs_is_something_to_learn_from(tmp_path: Path) -> None:
    assert not rewarded(tmp_path, [*[STUCK] * (STILL - 1), MOVING] * 3)
    assert not alarms(tmp_path)


@pytest.mark.usefixtures("plain")
def test_a_batch_counts_once_and_credit_by_turn_is_not_judged_by_totals(tmp_path: Path) -> None:
    rewarded(tmp_path / "twice", [STUCK] * 12, patience=2)
    assert alarms(tmp_path / "twice") == [10, 11, 12]
    assert not rewarded(tmp_path / "turns", [STUCK] * 12, patience=0)


@pytest.mark.parametrize(
    ("reward", "says"),
    [(0.0, "too tight"), (1.0, "too easy"), (0.4, "mean is 0.4"), (None, "ruler.jsonl")],
)
def test_a_standstill_has_its_likely_reason(reward: float | None, says: str) -> None:
    assert says in find_standstill([1.0] * 5, [reward] * 5)
    assert not find_standstill([1.0, 1.0, 1.0, 0.5, 1.0], [reward] * 5)
    assert not find_standstill([None] * 5, [reward] * 5), "metrics from before it was measured"


@pytest.mark.usefixtures("plain")
def test_budgets_stand_in_their_order(tmp_path: Path) -> None:
    journal = MetricsCallback(tmp_path, steps=3)
    every = [
        {"key": b, "failed": False, "reward": 0.0, "budget": b, "tokens": 1.0, "right": True}
        for b in ("none", "8s", "10s", "0.5s")
    ]
    journal.note(1, every, [0.0] * 4)  # type: ignore[arg-type]
    assert list(journal._played["tokens"]) == ["0.5s", "8s", "10s", "none"]
    assert list(journal._played["right_in_time"]) == ["0.5s", "8s", "10s", "none"]
