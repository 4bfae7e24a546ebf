"""Verdicts of records, compared with the rows that the suites make of the same records."""

from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest

from tests.golden.test_rows import play
from timeful.experiments.rows import row_maker
from timeful.experiments.suite import Suite
from timeful.records.recorder import read_record
from timeful.records.store import read_log
from timeful.records.verdicts import Judgement, judge
from timeful.registry import load
from timeful.runs.batch import IndexedRow

Pairs = list[tuple[int, int]]


def of_slots(judgement: Judgement) -> Counter[str]:
    return Counter(v.kind for v in judgement.verdicts if v.slot and v.thought is None)


def of_game(row: Any, slots: Counter[str], _: Counter[str]) -> Pairs:
    return [(slots["default"], row.late_turns), (slots["in time"], row.turns - row.late_turns)]


def of_inbox(row: Any, slots: Counter[str], every: Counter[str]) -> Pairs:
    return [
        (slots["in time"], row.on_time),
        (slots["late"], row.late),
        (slots["lost"], row.timed_out),
        (every["illegal"], row.illegal),
    ]


def of_kitchen(row: Any, slots: Counter[str], _: Counter[str]) -> Pairs:
    return [(slots["in time"], row.in_time)]


def of_conversation(row: Any, slots: Counter[str], every: Counter[str]) -> Pairs:
    return [
        (every["early"], sum(counts.early for counts in row.actions.values())),
        (slots["lost"], row.lost),
        (slots["late"], row.late),
        (slots["in time"], row.turns - row.lost),
    ]


def of_task(row: Any, slots: Counter[str], _: Counter[str]) -> Pairs:
    return [(slots["in time"], int(row.is_on_time))]


SUITES: dict[str, tuple[str, Callable[[Any, Counter[str], Counter[str]], Pairs]]] = {
    "realtime": ("realtime", of_game),
    "inbox": ("engagement/inbox", of_inbox),
    "kitchen": ("engagement/kitchen", of_kitchen),
    "proactor": ("proactor", of_conversation),
    "fiction": ("timely/fiction", of_task),
    "reasoning": ("timely/reasoning", of_task),
}


@pytest.mark.parametrize("name", SUITES)
def test_verdicts_equal_the_rows_of_a_suite(name: str, tmp_path: Path) -> None:
    suite_name, expect = SUITES[name]
    play(name, tmp_path)
    suite = load("suite", suite_name)
    assert isinstance(suite, Suite)
    kind = row_maker(suite).row_type
    lines = list(read_log(tmp_path / "rows.jsonl", IndexedRow))
    assert lines
    for line in lines:
        row = msgspec.json.decode(line.row, type=kind)
        events = list(read_record(tmp_path / "episodes" / f"{line.key}.jsonl"))
        judgement = judge(events)
        pairs = expect(row, of_slots(judgement), Counter(v.kind for v in judgement.verdicts))
        assert [a for a, _ in pairs] == [b for _, b in pairs], line.key
