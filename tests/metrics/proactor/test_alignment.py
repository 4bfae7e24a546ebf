"""EC: worked by hand, its laws, and the synthetic dialogues counted another way."""

import gzip
import json
from statistics import fmean, pstdev

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.dialogues.material import ABCD, needs_abcd
from timeful.dialogues.abcd import read_abcd
from timeful.dialogues.dialogue import Dialogue, ObservedAction, Turn
from timeful.metrics.proactor.alignment import (
    Alignment,
    Unmatched,
    alignment,
    alignments,
    dialogue_score,
    early_ready,
    is_kept,
)
from timeful.metrics.proactor.tables import alignment_table


def dialogue(observed: dict[int, str], **ready: list[int]) -> Dialogue:
    """A dialogue in which actions were taken at some turns."""
    return Dialogue(
        id="d",
        turns=tuple(
            Turn(number=n, speaker="action", text="", observed=(ObservedAction(name=observed[n]),))
            for n in sorted(observed)
        ),
        ready_ranges={name: tuple(numbers) for name, numbers in ready.items()},
    )


BY_HAND = dialogue({3: "a", 5: "b", 7: "c", 9: "a"}, a=[2, 4], b=[6], d=[1], c=[])


def test_a_dialogue_worked_by_hand() -> None:
    # The second a shares the start of the first; b was ready too late; c never was.
    assert early_ready(BY_HAND, 0) == [True, False, None, True]
    assert early_ready(BY_HAND, 1) == [True, False, None, True], "start + sigma = t is early"
    assert early_ready(BY_HAND, 2) == [False, False, None, True]
    assert dialogue_score(BY_HAND, 0) == pytest.approx(2 / 3)
    assert dialogue_score(BY_HAND, 0, unmatched="zero") == pytest.approx(2 / 4)


def test_dialogues_are_averaged_and_those_without_an_action_that_counts_left_out() -> None:
    silent, strange = dialogue({}), dialogue({1: "x"})
    perfect = dialogue({4: "a", 5: "b"}, a=[4], b=[1])
    given = [BY_HAND, silent, strange, perfect]
    assert alignment(given, 0) == Alignment(
        sigma=0,
        unmatched="skip",
        n_observed=7,
        n_matched=5,
        n_actions=5,
        n_hit=4,
        n_dialogues=2,
        dialogue_mean=pytest.approx(5 / 6),
        dialogue_std=pytest.approx(1 / 6),
        n_kept=1,
    )
    zero = alignment(given, 0, unmatched="zero")
    assert (zero.n_actions, zero.n_hit, zero.n_dialogues, zero.n_kept) == (7, 4, 3, 1)
    assert zero.dialogue_mean == pytest.approx((0.5 + 0 + 1) / 3)
    assert zero.coverage == pytest.approx(5 / 7)


def test_four_of_five_is_not_above_the_threshold() -> None:
    observed = {n: "ab"[n == 9] for n in range(5, 10)}
    four = dialogue(observed, a=[1], b=[10])
    assert dialogue_score(four, 0) == 0.8
    assert alignment([four], 0).n_kept == 0
    assert not is_kept(four)
    assert not is_kept(dialogue({1: "x"})), "nothing says that it is good"
    assert is_kept(dialogue({**observed, 4: "a"}, a=[1], b=[10]))


def test_nothing_observed_has_no_mean() -> None:
    found = alignment([dialogue({}, a=[1])], 0)
    assert (found.n_actions, found.n_dialogues) == (0, 0)
    assert found.action_level is found.coverage is found.share_above is None
    assert found.dialogue_mean is found.dialogue_std is None
    assert "-" in alignment_table([found])
    with pytest.raises(ValueError, match="got -1"):
        alignment([], -1)


some = st.builds(
    lambda observed, ready: dialogue(observed, **{n: sorted(ready[n]) for n in ready}),
    st.dictionaries(st.integers(1, 9), st.sampled_from("abc"), max_size=4),
    st.dictionaries(st.sampled_from("abc"), st.sets(st.integers(1, 9), max_size=3)),
)


@settings(max_examples=60, deadline=None)
@given(st.lists(some, max_size=5), st.sampled_from(["skip", "zero"]))
def test_asking_for_more_turns_never_finds_more(given: list[Dialogue], how: Unmatched) -> None:
    rows = alignments(given, (0, 1, 2, 3, 4), unmatched=how)
    assert [row.n_hit for row in rows] == sorted((row.n_hit for row in rows), reverse=True)
    for row in rows:
        assert row.n_hit <= row.n_matched <= row.n_observed
        assert row.n_actions == (row.n_matched if how == "skip" else row.n_observed)
        assert row.n_kept <= row.n_dialogues <= len(given)
        assert row == alignment(given[::-1], row.sigma, unmatched=how)


@settings(max_examples=60, deadline=None)
@given(st.lists(some, max_size=5))
def test_a_reference_made_of_what_was_done_is_perfect(given: list[Dialogue]) -> None:
    made = []
    for one in given:
        ready: dict[str, list[int]] = {}
        for turn, action in one.observed:
            ready.setdefault(action.name, []).append(turn)
        made.append(dialogue({turn: action.name for turn, action in one.observed}, **ready))
    found = alignment(made, 0)
    assert found.action_level in (None, 1.0)
    assert found.share_above in (None, 1.0)
    assert found.coverage in (None, 1.0)


@needs_abcd
@pytest.mark.parametrize("sigma", [0, 1, 2, 3, 4])
@pytest.mark.parametrize("how", ["skip", "zero"])
def test_the_synthetic_dialogues_have_the_numbers_that_a_plain_count_gives(
    sigma: int, how: Unmatched
) -> None:
    path = ABCD / "abcd_like.json.gz"
    hits, means = [], []
    for dialogues in json.loads(gzip.decompress(path.read_bytes())).values():
        for one in dialogues:
            values = []
            for turn in one["delexed"]:
                if turn["speaker"] == "action":
                    ready = one["reference_ready_range"].get(turn["targets"][2])
                    if ready:
                        values.append(int(min(ready) + sigma <= turn["turn_count"]))
                    elif how == "zero":
                        values.append(0)
            hits += values
            if values:
                means.append(fmean(values))
    found = alignment(read_abcd(path), sigma, unmatched=how)
    assert (found.n_actions, found.n_hit) == (len(hits), sum(hits))
    assert (found.n_dialogues, found.dialogue_mean) == (len(means), fmean(means))
    assert found.dialogue_std == pytest.approx(pstdev(means))
    assert found.share_above == sum(mean > 0.8 for mean in means) / len(means)
