"""Splits: by the words of a problem alone, so that none is ever on two sides."""

import json
from collections import Counter
from pathlib import Path

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from timeful.environments.reasoning.files import from_jsonl
from timeful.environments.reasoning.problems import load
from timeful.environments.reasoning.split import SHARES, SPLITS, Shares, split_of
from timeful.errors import SettingsError

WORDS = st.text(min_size=1)


def test_a_problem_stays_where_it_is_on_every_machine_and_in_every_version() -> None:
    found = {n: split_of(f"What is {n} + {n}?") for n in range(60)}
    assert {n: split for n, split in found.items() if split != "train"} == {
        2: "test",
        4: "test",
        8: "validation",
        16: "test",
        18: "test",
        23: "test",
        29: "test",
        43: "validation",
        46: "test",
        48: "validation",
        50: "validation",
        57: "test",
    }


@given(WORDS)
def test_neither_case_nor_white_space_makes_another_problem(words: str) -> None:
    assert split_of(f"  {words}\n\n") == split_of(words)
    assert split_of(words.casefold()) == split_of(words)
    assert split_of(" \n".join(words.split())) == split_of(words)


def test_the_shares_are_met_by_our_own_problems() -> None:
    problems = load("mixed", size=4000, seed=5)
    counts = Counter(split_of(problem.question) for problem in problems)
    for split in SPLITS:
        share = getattr(SHARES, split)
        # Five standard deviations of a binomial law.
        assert abs(counts[split] / 4000 - share) < 5 * (share * (1 - share) / 4000) ** 0.5


@pytest.mark.parametrize("name", ["mixed", "sums:8"])
def test_a_set_on_a_side_is_what_a_longer_set_has_on_it(name: str) -> None:
    longer = load(name, size=400, seed=3)
    for split in SPLITS:
        there = [one for one in longer if split_of(one.question) == split]
        assert list(load(name, size=len(there), seed=3, split=split)) == there
    with pytest.raises(SettingsError, match="different problems of levels:1"):
        load("levels:1", size=4000, seed=3, split="test")


def test_problems_of_a_file_are_drawn_from_a_side(tmp_path: Path) -> None:
    path = tmp_path / "p.jsonl"
    rows = [{"question": f"What is {n} + {n}?", "answer": str(2 * n)} for n in range(60)]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    whole = from_jsonl(path)
    for split in SPLITS:
        there = [one for one in whole if split_of(one.question) == split]
        assert list(from_jsonl(path, split=split)) == there
        drawn = from_jsonl(path, limit=3, split=split)
        assert len(drawn) == 3
        assert set(drawn) <= set(there)
    path.write_text(json.dumps(rows[0]))
    with pytest.raises(SettingsError, match="no problem on the side of test"):
        from_jsonl(path, split="test")


@given(WORDS, st.floats(0, 1), st.floats(0, 1))
def test_a_side_without_a_share_gets_nothing(words: str, one: float, other: float) -> None:
    assert split_of(words, Shares(train=1, validation=0, test=0)) == "train"
    assert split_of(words, Shares(train=0, validation=0, test=1)) == "test"
    assert split_of(words, Shares(train=0, validation=1, test=0)) == "validation"
    assert split_of(words, Shares(train=one, validation=1 - one, test=0)) != "test"
    assert split_of(words, Shares(train=one, validation=0, test=1 - one)) != "validation"


@given(WORDS, st.floats(0, 0.5), st.floats(0, 0.5))
def test_more_for_training_never_takes_a_problem_out_of_it(
    words: str, least: float, more: float
) -> None:
    before = split_of(words, Shares(train=least, validation=0.2, test=0.8 - least))
    after = split_of(
        words, Shares(train=least + more / 2, validation=0.2, test=0.8 - least - more / 2)
    )
    assert before != "train" or after == "train"


@pytest.mark.parametrize("shares", [{"train": 0.9}, {"train": -0.1, "test": 1.0}, {"dev": 0.1}])
def test_shares_that_are_none_are_refused(shares: dict[str, float]) -> None:
    with pytest.raises(msgspec.ValidationError):
        msgspec.convert(shares, Shares)
