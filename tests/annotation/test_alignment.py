"""`timeful align`: Table 3 by both conventions, and a data set of what was foreseen."""

import json
from pathlib import Path

import msgspec
import pytest

from tests.annotation.annotating import annotated, timeful
from timeful.annotation.alignment import PUBLISHED
from timeful.annotation.hindsight import LABEL
from timeful.dialogues.abcd import read_abcd
from timeful.dialogues.abcd_shape import write_abcd
from timeful.dialogues.dialogue import Dialogue, ObservedAction, Turn
from timeful.dialogues.jsonl import write_jsonl
from timeful.domains.generator import LABEL as GENERATOR
from timeful.errors import SettingsError


def a_talk(name: str, deeds: dict[int, str], ready: dict[str, tuple[int, ...]]) -> Dialogue:
    """A dialogue of ten turns, in some of which something was done."""
    return Dialogue(
        id=name,
        split="train",
        turns=tuple(
            Turn(
                number=number,
                speaker="action" if number in deeds else "customer",
                text="x",
                observed=(ObservedAction(name=deeds[number]),) if number in deeds else (),
            )
            for number in range(1, 11)
        ),
        ready_ranges=ready,
        annotator="somebody",
    )


TALKS = [
    a_talk("early", {5: "a", 9: "b"}, {"a": (2, 3), "b": (8,)}),
    a_talk("late", {5: "a", 9: "b"}, {"a": (6,), "b": (9,)}),
    a_talk("half", {5: "a", 9: "b"}, {"a": (5,)}),
    a_talk("none", {5: "a"}, {"c": (1,)}),
    a_talk("still", {}, {"c": (1,)}),
]


@pytest.fixture
def file(tmp_path: Path) -> Path:
    write_jsonl(tmp_path / "talks.jsonl.gz", TALKS)
    return tmp_path / "talks.jsonl.gz"


def test_both_conventions_are_measured_by_hand(file: Path) -> None:
    found = json.loads(timeful("align", file, "--sigma", 0, "--sigma", 3, "--json").output)
    assert (found["n_observed"], found["n_matched"], found["coverage"]) == (7, 5, 5 / 7)
    [three, none] = found["skip"]
    assert [three["sigma"], none["sigma"]] == [3, 0]
    assert (none["n_hit"], none["n_actions"], none["n_dialogues"]) == (4, 5, 3)
    assert none["dialogue_mean"] == pytest.approx((1 + 0.5 + 1) / 3)
    assert none["share_above"] == pytest.approx(2 / 3)
    assert (three["n_hit"], three["dialogue_mean"]) == (1, pytest.approx(0.5 / 3))
    zero = found["zero"][-1]
    assert (zero["n_hit"], zero["n_actions"], zero["n_dialogues"]) == (4, 7, 4)
    assert zero["share_above"] == 1 / 4


@pytest.mark.parametrize(
    ("options", "kept"),
    [
        ((), ["early", "half"]),
        (("--unmatched", "zero"), ["early"]),
        (("--sigma", 1), ["early"]),
        (("--sigma", 1, "--sigma", 0), ["early", "half"]),
        (("--sigma", 3), []),
    ],
)
def test_what_was_foreseen_is_kept_as_it_is(
    file: Path, options: tuple[object, ...], kept: list[str]
) -> None:
    out = file.with_name("kept.jsonl.gz")
    run = timeful("align", file, *options, "--filter", out)
    assert annotated(out) == [one for one in TALKS if one.id in kept]
    assert f"kept       {len(kept)} of 5 dialogues" in run.output


def test_a_filtered_file_may_have_abcds_shape(file: Path) -> None:
    out = file.with_name("kept.json.gz")
    timeful("align", file, "--filter", out)
    read = list(read_abcd(out, needs_ranges=True))
    assert [one.id for one in read] == ["early", "half"]
    again = json.loads(timeful("align", out, "--json").output)
    assert again["skip"][-1]["share_above"] == 1


def test_the_published_table_stands_beside_and_is_labelled(file: Path) -> None:
    lines = timeful("align", file).output.splitlines()
    place = next(number for number, line in enumerate(lines) if "published" in line)
    assert "another annotation" in lines[place]
    rows = lines[place + 1 :]
    assert [int(row.split()[0]) for row in rows] == [4, 3, 2, 1, 0]
    assert rows[-1].split() == ["0", "25,715", "87.14%", "0.8877", "±", "0.1926", "70.27%"]
    assert all(len(line) <= 80 for line in lines)
    assert "references by: somebody (5)" in lines


def test_only_the_published_rows_of_the_same_sigmas_are_shown(file: Path) -> None:
    shown = timeful("align", file, "--sigma", 2).output
    assert "7,424" in shown
    assert "25,715" not in shown
    assert "not for these sigmas" in timeful("align", file, "--sigma", 9).output


def test_published_shares_are_of_29509_actions() -> None:
    for row in PUBLISHED:
        assert round(100 * row.n_hit / 29_509, 2) == row.share


def test_a_file_that_cannot_be_aligned_says_why(tmp_path: Path) -> None:
    bare = tmp_path / "bare.jsonl"
    write_jsonl(bare, [a_talk("bare", {5: "a"}, {})])
    found = timeful("align", bare)
    assert isinstance(found.exception, SettingsError)
    assert "no ready range" in str(found.exception)


def test_a_file_without_dialogues_says_so(tmp_path: Path) -> None:
    (tmp_path / "empty.jsonl").touch()
    found = timeful("align", tmp_path / "empty.jsonl")
    assert isinstance(found.exception, SettingsError)
    assert "holds no dialogue" in str(found.exception)


def test_where_nothing_was_observed_there_is_nothing_to_align_with(tmp_path: Path) -> None:
    unseen, out = tmp_path / "unseen.jsonl", tmp_path / "kept.jsonl"
    write_jsonl(unseen, [TALKS[4]])
    shown = timeful("align", unseen)
    assert shown.exit_code == 0
    assert "references by: somebody (1)" in shown.output
    assert "No action was observed" in shown.output
    assert "coverage: 0 of 0" in shown.output
    found = json.loads(timeful("align", unseen, "--json").output)
    assert (found["n_observed"], found["n_matched"], found["coverage"]) == (0, 0, None)
    assert {row["action_level"] for row in found["skip"] + found["zero"]} == {None}
    # An empty file would look as if all of it had been found wanting.
    refused = timeful("align", unseen, "--filter", out)
    assert isinstance(refused.exception, SettingsError)
    assert "cannot be filtered: no action was observed" in str(refused.exception)
    assert not out.exists()


def test_an_ec_of_one_by_construction_is_not_shown_without_a_word(file: Path) -> None:
    assert "by construction" not in timeful("align", file).output
    for name, by in (("good.jsonl", LABEL), ("good.jsonl", GENERATOR), ("good.json", "")):
        good = file.with_name(name)
        made = msgspec.structs.replace(TALKS[0], annotator=by)
        (write_jsonl if name == "good.jsonl" else write_abcd)(good, [made])
        assert "by construction" in timeful("align", good).output
        assert "by construction" not in timeful("align", good, "--sigma", 1).output
    model = file.with_name("model.jsonl")
    write_jsonl(model, [TALKS[0]])
    said = timeful("align", model).output
    assert "At sigma 0 EC is 1 throughout" in said
    assert "by construction" not in said, "somebody else made them"
    assert "by construction" in timeful("ec", good).output


def test_a_file_is_not_filtered_into_itself(file: Path) -> None:
    before = file.read_bytes()
    found = timeful("align", file, "--filter", file)
    assert isinstance(found.exception, SettingsError)
    assert file.read_bytes() == before
