"""Cases: same seed, same bytes; hard enough; and no label of the test split among public files."""

import csv
import gc
import sys
from hashlib import sha256
from pathlib import Path

import pytest

from timeful.environments.coding.cases import SYNTHETIC, Case, open_case
from timeful.environments.coding.graders import grade
from timeful.errors import SettingsError

GOLDEN = "b909d6df0bbb67ed"


def contents(case: Case) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in case.public.iterdir()}


def rows(case: Case, name: str) -> list[dict[str, str]]:
    with (case.public / name).open(newline="") as file:
        return list(csv.DictReader(file))


@pytest.fixture(params=SYNTHETIC)
def case(request: pytest.FixtureRequest) -> Case:
    return open_case(request.param)


def test_the_same_seed_makes_the_same_bytes_and_another_seed_others(case):
    assert contents(open_case(case.name)) == contents(case)
    assert open_case(case.name).answers.truth.tolist() == case.answers.truth.tolist()
    assert contents(open_case(case.name, seed=1)) != contents(case)


def test_reviews_are_the_same_on_every_machine():
    made = contents(open_case("reviews"))["train.csv"]
    assert sha256(made).hexdigest()[:16] == GOLDEN


def test_the_public_files_are_two_splits_and_a_form(case):
    train, test = rows(case, "train.csv"), rows(case, "test.csv")
    target, key = case.layout.target, case.answers.id_column
    assert set(train[0]) - set(test[0]) == {target}
    assert [row[key] for row in test] == list(case.answers.ids)
    assert not {row[key] for row in train} & set(case.answers.ids)
    sample = rows(case, case.layout.sample)
    assert list(sample[0]) == [key, *case.answers.columns]
    assert set(contents(case)) == {"train.csv", "test.csv", "sample_submission.csv"}


def test_the_form_is_a_valid_submission_and_tells_nothing(case):
    found = grade(contents(case)["sample_submission.csv"], case.answers)
    assert found.reward_accuracy <= 0.55
    assert len({tuple(row.values())[1:] for row in rows(case, case.layout.sample)}) == 1


def test_every_class_is_in_both_splits(case):
    told = {row[case.layout.target] for row in rows(case, "train.csv")}
    truth = case.answers.truth
    there = truth.sum(axis=0) > 0 if case.answers.metric == "log_loss" else set(truth[:, 0])
    if case.answers.metric == "log_loss":
        assert told == set(case.answers.columns)
        assert all(there)
    else:
        assert {float(one) for one in told} == there


@pytest.mark.parametrize(("name", "share"), [("digits", 0.1), ("cancer", 0.15)])
def test_cells_are_missing_told_in_words_or_upside_down(name, share):
    table = rows(open_case(name), "train.csv")
    cells = [row[c] for row in table for c in row if c.startswith("cell")]
    assert sum(cell == "" for cell in cells) / len(cells) == pytest.approx(share, abs=0.02)
    assert {"low", "middle", "high"} <= set(cells)
    assert {row["instrument"] for row in table} == {"A", "B"}


def test_the_opening_says_what_to_read_what_to_write_and_what_counts(case):
    said = case.opening
    for word in ("./data/public/", "train.csv", "test.csv", "./submission.csv", case.layout.target):
        assert word in said
    assert ", ".join((case.answers.id_column, *case.answers.columns)) in said
    counts = {"accuracy": "share that is right", "log_loss": "log loss", "auc": "ROC curve"}
    assert counts[case.answers.metric] in said


def test_what_the_labels_came_from_is_hidden(case):
    if case.name != "reviews":
        import sklearn

        own = Path(sklearn.__path__[0]) / "datasets" / "data"
        assert own in case.hidden
        openml = own.parent / "tests" / "data" / "openml" / "id_61"  # iris
        assert any(openml.is_relative_to(folder) for folder in case.hidden)


def test_copies_of_other_pythons_that_a_sandbox_shows_are_hidden(tmp_path, monkeypatch):
    copy = tmp_path / "lib" / "python3.11" / "site-packages" / "sklearn" / "datasets" / "data"
    copy.mkdir(parents=True)
    monkeypatch.setattr(sys, "base_prefix", str(tmp_path))
    assert copy in open_case("wine").hidden


def test_a_folder_lasts_as_long_as_its_case():
    case = open_case("iris")
    folder = case.public
    assert folder.is_dir()
    del case
    gc.collect()
    assert not folder.exists()


def test_a_case_of_the_paper_says_how_to_get_its_data():
    with pytest.raises(SettingsError, match="timeful prepare leaf-classification --zip FILE"):
        open_case("leaf-classification")


def test_a_made_case_takes_no_data(tmp_path: Path):
    with pytest.raises(SettingsError, match="made by its seed"):
        open_case("iris", data=tmp_path)
