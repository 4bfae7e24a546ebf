"""The cases of the paper from archives in Kaggle's shape: splits, layouts, labels, bad archives."""

import csv
import hashlib
import io
import json
import zipfile
from dataclasses import replace
from pathlib import Path

import pytest

from tests.environments.coding.archives import (
    LEAVES,
    PASSENGERS,
    REQUESTS,
    SHAPES,
    SPECIES,
    UNLABELLED,
    archive,
    insults,
    leaf,
    pizza,
    spaceship,
    zipped,
)
from timeful.environments.coding.archive import Archive
from timeful.environments.coding.cases import Case, open_case
from timeful.environments.coding.graders import grade
from timeful.environments.coding.prepare import prepare
from timeful.environments.coding.prepared import PREPARED
from timeful.errors import SettingsError

NAMES = tuple(SHAPES)


def prepared(folder: Path, name: str) -> Case:
    prepare(name, archive(folder, name), folder / name)
    return open_case(name, data=folder / name)


def rows(content: bytes) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(content.decode(), newline="")))


def files(folder: Path) -> set[str]:
    return {str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file()}


# --- the four ------------------------------------------------------------------------------------


def test_leaves_are_split_as_the_benchmark_does_and_labelled_one_hot(tmp_path):
    import pandas as pd
    from sklearn.model_selection import train_test_split

    case = prepared(tmp_path, "leaf-classification")
    whole = pd.read_csv(io.BytesIO(Archive(zipped(leaf()), name="x").read("train.csv")))
    train, test = train_test_split(whole, test_size=0.1, random_state=0)
    found = pd.read_csv(case.public / "train.csv")
    pd.testing.assert_frame_equal(found, train.reset_index(drop=True))
    assert case.answers.ids == tuple(map(str, test["id"]))
    assert case.answers.columns == SPECIES
    hot = [SPECIES[row.argmax()] for row in case.answers.truth]
    assert hot == list(test["species"])
    assert "species" not in pd.read_csv(case.public / "test.csv").columns
    images = {f"images/{i}.jpg" for i in whole["id"]}
    assert files(case.public) == {"train.csv", "test.csv", "sample_submission.csv"} | images
    assert (case.public / "images" / "1.jpg").read_bytes() == b"picture 1"
    assert grade((case.public / "sample_submission.csv").read_bytes(), case.answers).metric == (
        1.09861
    )


def test_passengers_are_split_as_the_benchmark_does(tmp_path):
    import pandas as pd
    from sklearn.model_selection import train_test_split

    case = prepared(tmp_path, "spaceship-titanic")
    whole = pd.read_csv(io.BytesIO(spaceship()["train.csv"]))
    train, test = train_test_split(whole, test_size=0.1, random_state=0)
    pd.testing.assert_frame_equal(
        pd.read_csv(case.public / "train.csv"), train.reset_index(drop=True)
    )
    assert case.answers.ids == tuple(test["PassengerId"])
    assert case.answers.truth[:, 0].tolist() == test["Transported"].astype(float).tolist()
    assert (len(train), len(test)) == (PASSENGERS - 4, 4)
    sample = (case.public / "sample_submission.csv").read_bytes()
    assert {row["Transported"] for row in rows(sample)} == {"False"}
    assert grade(sample, case.answers).metric == 1 - test["Transported"].mean()


def test_requests_are_split_by_the_share_of_kaggles_test_set(tmp_path):
    from sklearn.model_selection import train_test_split

    case = prepared(tmp_path, "random-acts-of-pizza")
    whole = json.loads(pizza()["train.json"])
    share = UNLABELLED / (REQUESTS + UNLABELLED)
    train, test = train_test_split(whole, test_size=share, random_state=0)
    assert json.loads((case.public / "train.json").read_bytes()) == train
    seen = json.loads((case.public / "test.json").read_bytes())
    assert [one["request_id"] for one in seen] == [one["request_id"] for one in test]
    assert set(seen[0]) == set(json.loads(pizza()["test.json"])[0])
    assert case.answers.ids == tuple(one["request_id"] for one in test)
    assert case.answers.truth[:, 0].tolist() == [one["requester_received_pizza"] for one in test]
    with zipfile.ZipFile(case.public / "test.json.zip") as packed:
        assert packed.read("test.json") == (case.public / "test.json").read_bytes()
    assert files(case.public) == {
        "train.json",
        "test.json",
        "train.json.zip",
        "test.json.zip",
        "sampleSubmission.csv",
    }


def test_comments_keep_kaggles_own_split(tmp_path):
    case = prepared(tmp_path, "detecting-insults-in-social-commentary")
    assert (case.public / "train.csv").read_bytes() == insults()["train.csv"]
    test = rows((case.public / "test.csv").read_bytes())
    assert set(test[0]) == {"Date", "Comment"}
    assert [row["Comment"] for row in test] == list(case.answers.ids)
    assert case.answers.truth[:, 0].tolist() == [0, 1, 0, 1, 0, 1, 0]
    assert files(case.public) == {"train.csv", "test.csv", "sample_submission_null.csv"}


@pytest.mark.parametrize("name", NAMES)
def test_a_prepared_folder_is_a_case_whose_form_can_be_filled_in(tmp_path, name):
    import pandas as pd

    case = prepared(tmp_path, name)
    sample = pd.read_csv(case.public / case.layout.sample)
    truth = case.answers.truth
    sample[list(case.answers.columns)] = truth if truth.shape[1] > 1 else truth.astype(int)
    found = grade(sample.to_csv(index=False).encode(), case.answers)
    assert found.reward_accuracy == 1
    assert case.layout.train in case.opening
    assert case.hidden == (tmp_path / name / "private",)


@pytest.mark.parametrize("name", NAMES)
def test_the_same_archive_makes_the_same_bytes(tmp_path, name):
    source = archive(tmp_path, name)
    made = [tmp_path / which for which in ("one", "two")]
    for out in made:
        prepare(name, source, out)
    one, two = ({f: (out / f).read_bytes() for f in files(out)} for out in made)
    assert one == two


@pytest.mark.parametrize("name", NAMES)
def test_no_public_file_has_a_label_of_the_test_split(tmp_path, name):
    case = prepared(tmp_path, name)
    target = case.layout.target
    content = (case.public / case.layout.test).read_bytes()
    is_json = case.layout.test.endswith(".json")
    for row in json.loads(content) if is_json else rows(content):
        assert target not in row
    sample = rows((case.public / case.layout.sample).read_bytes())
    assert len({tuple(row[c] for c in case.answers.columns) for row in sample}) == 1


# --- what can be wrong ---------------------------------------------------------------------------


def test_another_checksum_is_a_warning(tmp_path, monkeypatch):
    name = "spaceship-titanic"
    source = archive(tmp_path, name)
    found = prepare(name, source, tmp_path / "one")
    assert (found.train_rows, found.test_rows) == (PASSENGERS - 4, 4)
    (warning,) = found.warnings
    assert PREPARED[name].md5 in warning
    md5 = hashlib.md5(source.read_bytes()).hexdigest()
    assert md5 in warning
    monkeypatch.setitem(PREPARED, name, replace(PREPARED[name], md5=md5))
    assert prepare(name, source, tmp_path / "two").warnings == ()


def test_pictures_are_missed_but_not_needed(tmp_path):
    without = {name: content for name, content in leaf().items() if name != "images.zip"}
    source = archive(tmp_path, "leaf-classification", without)
    found = prepare("leaf-classification", source, tmp_path / "out")
    assert "there will be no pictures" in found.warnings[1]
    few = leaf() | {"images.zip": zipped({"images/1.jpg": b"x", "images/../1.jpg.exe": b"x"})}
    source = archive(tmp_path, "leaf-classification", few)
    with pytest.raises(SettingsError, match="leads out of it"):
        prepare("leaf-classification", source, tmp_path / "other")
    few = leaf() | {"images.zip": zipped({"images/1.jpg": b"x", "images/1.png": b"x"})}
    source = archive(tmp_path, "leaf-classification", few)
    found = prepare("leaf-classification", source, tmp_path / "few")
    assert f"{LEAVES - 1} of {LEAVES} pictures are missing" in found.warnings[1]


BAD = {
    "nothing": ({}, "has no train.csv; it has nothing"),
    "others": ({"trian.csv": b""}, "has no train.csv; it has trian.csv"),
    "empty": ({"train.csv": b""}, "train.csv cannot be read as CSV"),
    "no text": ({"train.csv": b"\xff\xfe\x00"}, "train.csv cannot be read as CSV"),
    "other columns": ({"train.csv": b"a,b\n1,2\n"}, "train.csv has no 'PassengerId'; it has a, b"),
    "one row": (
        {"train.csv": b"PassengerId,Transported\n1_1,True\n"},
        "the labelled rows cannot be split",
    ),
    "no archive in it": ({"train.csv.zip": b"PK nonsense"}, "cannot be read as a zip archive"),
    "out of it": ({"../train.csv": b"PassengerId,Transported\n"}, "leads out of it: ../train.csv"),
    "from the root": ({"/etc/train.csv": b""}, "leads out of it: /etc/train.csv"),
    "out on Windows": ({"..\\train.csv": b""}, "leads out of it"),
}


@pytest.mark.parametrize("name", BAD)
def test_a_bad_archive_is_refused_and_leaves_nothing(tmp_path, name):
    content, why = BAD[name]
    source = archive(tmp_path, "spaceship-titanic", content)
    with pytest.raises(SettingsError, match=why):
        prepare("spaceship-titanic", source, tmp_path / "out")
    assert list(tmp_path.iterdir()) == [source]


@pytest.mark.parametrize(
    ("content", "why"),
    [
        (b"{", "cannot be read as JSON"),
        (b"{}", "must be a list of objects"),
        (b"[1]", "must be a list of objects"),
        (b"[]", "all have the same fields, and be some"),
        (b'[{"request_id": 1}, {}]', "all have the same fields"),
        (b'[{"request_id": 1}]', "train.json has no 'requester_received_pizza'; it has request_id"),
        (b"[" * 100_000, "cannot be read as JSON"),
    ],
)
def test_bad_json_is_refused(tmp_path, content, why):
    source = archive(tmp_path, "random-acts-of-pizza", pizza() | {"train.json": content})
    with pytest.raises(SettingsError, match=why):
        prepare("random-acts-of-pizza", source, tmp_path / "out")


def test_a_member_that_would_unpack_to_too_much_is_refused():
    bomb = io.BytesIO()
    with zipfile.ZipFile(bomb, "w", zipfile.ZIP_DEFLATED) as packed:
        packed.writestr("train.csv", b"0" * 1_000_000)
    with pytest.raises(SettingsError, match="would unpack to 1000000 bytes"):
        Archive(bomb.getvalue(), name="bomb.zip", most=999_999)
    nested = zipped({"train.csv.zip": bomb.getvalue()})
    outer = Archive(nested, name="nested.zip", most=1_999_999)
    assert len(outer.read("train.csv")) == 1_000_000
    outer = Archive(nested, name="nested.zip", most=999_999)
    with pytest.raises(SettingsError, match=r"nested\.zip/train\.csv\.zip: train\.csv would"):
        outer.read("train.csv")


def test_a_member_is_not_read_beyond_the_size_it_claims():
    packed = bytearray(zipped({"train.csv": b"0" * 1000}))
    place = packed.rfind(b"PK\x01\x02") + 24  # its unpacked size, in the central directory
    packed[place : place + 4] = (10).to_bytes(4, "little")
    liar = Archive(bytes(packed), name="liar.zip")
    with pytest.raises(SettingsError, match=r"train\.csv is damaged"):
        liar.read("train.csv")


def test_archives_in_archives_are_opened_one_level_down():
    deep = zipped({"train.csv.zip": zipped({"train.csv.zip": zipped({"train.csv": b"x"})})})
    outer = Archive(zipped({"train.csv.zip": deep}), name="deep.zip")
    with pytest.raises(SettingsError, match=r"deep\.zip/train\.csv\.zip has no train\.csv"):
        outer.read("train.csv")


def test_the_member_nearest_to_the_top_is_read_and_not_what_macos_adds():
    both = zipped({"__MACOSX/train.csv": b"0", "a/b/train.csv": b"1", "a/train.csv": b"2"})
    assert Archive(both, name="x.zip").read("train.csv") == b"2"


def test_a_folder_in_use_is_left_alone(tmp_path):
    source = archive(tmp_path, "spaceship-titanic")
    out = tmp_path / "out"
    out.mkdir()
    prepare("spaceship-titanic", source, out)
    with pytest.raises(SettingsError, match="is there already"):
        prepare("spaceship-titanic", source, out)


def test_what_is_no_prepared_folder_is_refused(tmp_path):
    with pytest.raises(
        SettingsError, match=r"has no private/test\.csv; make it with `timeful prep"
    ):
        open_case("leaf-classification", data=tmp_path)
    case = prepared(tmp_path, "spaceship-titanic")
    labels = case.public.parent / "private" / "test.csv"
    labels.write_text("PassengerId,Transported\nsecret,maybe\n")
    with pytest.raises(SettingsError, match="no file of labels for spaceship-titanic") as caught:
        open_case("spaceship-titanic", data=case.public.parent)
    assert "secret" not in str(caught.value)
    assert "maybe" not in str(caught.value)
