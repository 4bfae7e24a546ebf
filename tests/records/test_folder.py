"""Folders of resumable work: equal settings resume, other work is kept, one process at a time."""

from pathlib import Path
from typing import Any

import pytest

from timeful.errors import ModelError, SettingsError
from timeful.records.folder import FolderKind, check_folder, locked, open_folder

KIND = FolderKind(noun="run", contents=("episodes", "seed-*", "rows.jsonl"))
TRAINING = FolderKind(
    noun="training",
    contents=("metrics.jsonl",),
    fields=("model", "run"),
    option="run.out",
    is_always_replaced=True,
)
OLD = {"suite": "s", "seed": 0, "world": {"rate": 1, "size": None}}


def enter(folder: Path, settings: dict[str, Any], kind: FolderKind = KIND, **options: bool) -> bool:
    with open_folder(folder, settings, kind, **options) as has_work:
        return has_work


def work(folder: Path) -> list[Path]:
    """Begin work of the old settings, and put something of each kind into its folder."""
    enter(folder, OLD)
    paths = [
        folder / "episodes" / "a.jsonl",
        folder / "seed-1" / "deep" / "b",
        folder / "rows.jsonl",
    ]
    for path in paths:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("precious")
    return paths


@pytest.mark.parametrize("replace", [False, True])
def test_equal_settings_resume(tmp_path: Path, replace: bool) -> None:
    paths = work(tmp_path)
    assert enter(tmp_path, dict(reversed(OLD.items())), replace=replace)
    assert all(path.read_text() == "precious" for path in paths)


def test_other_settings_are_refused_and_the_fields_named(tmp_path: Path) -> None:
    paths = work(tmp_path)
    with pytest.raises(SettingsError, match=r"differs in: seed, world\.rate\).*--out.*--replace"):
        enter(tmp_path, {"suite": "s", "seed": 1, "world": {"rate": 2}})
    assert all(path.exists() for path in paths)


def test_replacing_deletes_what_belongs_to_the_work_and_nothing_else(tmp_path: Path) -> None:
    work(tmp_path)
    (tmp_path / "notes.txt").write_text("mine")
    assert not enter(tmp_path, {**OLD, "seed": 1}, replace=True)
    assert {path.name for path in tmp_path.iterdir()} == {"settings.json", "notes.txt"}
    assert enter(tmp_path, {**OLD, "seed": 1})


def test_some_work_begins_anew_with_equal_settings_too(tmp_path: Path) -> None:
    settings: dict[str, Any] = {"model": {}, "run": {}}
    enter(tmp_path, settings, TRAINING)
    (tmp_path / "metrics.jsonl").write_text("old")
    assert enter(tmp_path, settings, TRAINING)
    assert not enter(tmp_path, settings, TRAINING, replace=True)
    assert not (tmp_path / "metrics.jsonl").exists()


@pytest.mark.parametrize("replace", [False, True])
@pytest.mark.parametrize(
    ("kind", "stored"),
    [
        (KIND, b'{"suite": "another"}'),
        (KIND, b'{"model": {}}'),
        (KIND, b"no json"),
        (KIND, b"[]"),
        (TRAINING, b'{"suite": "s", "model": {}, "run": {}}'),
        (TRAINING, b'{"model": {}}'),
        (KIND, None),
    ],
)
def test_what_another_command_made_is_not_touched(
    tmp_path: Path, kind: FolderKind, stored: bytes | None, replace: bool
) -> None:
    record = tmp_path / "episodes" / "paid.jsonl"
    record.parent.mkdir()
    record.write_text("precious")
    if stored is not None:
        (tmp_path / "settings.json").write_bytes(stored)
    settings: dict[str, Any] = OLD if kind is KIND else {"model": {}, "run": {}}
    with pytest.raises(SettingsError):
        enter(tmp_path, settings, kind, replace=replace)
    assert record.read_text() == "precious"


def test_what_a_dead_process_was_writing_is_deleted(tmp_path: Path) -> None:
    tmp_path.joinpath("settings.json.4711.part").write_text("{")
    paths = work(tmp_path)
    for path in (*paths, tmp_path / "settings.json", tmp_path / "seed-1"):
        path.with_name(f"{path.name}.4711.part").write_text("half")
    (tmp_path / "mine.part").write_text("mine")
    enter(tmp_path, OLD)
    assert {path.name for path in tmp_path.rglob("*.part")} == {"mine.part"}
    assert all(path.read_text() == "precious" for path in paths)


@pytest.mark.parametrize("name", ["file", "file/deep"])
def test_a_file_is_no_folder(tmp_path: Path, name: str) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(SettingsError, match="file is a file"):
        enter(tmp_path / name, OLD)
    with pytest.raises(SettingsError, match="file is a file"):
        check_folder(tmp_path / name, OLD, KIND)


def test_a_folder_that_may_not_be_written_to_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("timeful.records.folder.os.access", lambda path, mode: False)
    with pytest.raises(SettingsError, match="may not be written to"):
        check_folder(tmp_path / "run", OLD, KIND)


def test_a_check_writes_nothing(tmp_path: Path) -> None:
    check_folder(tmp_path / "run", OLD, KIND)
    assert not list(tmp_path.iterdir())


def test_a_folder_is_for_one_process_at_a_time(tmp_path: Path) -> None:
    other = pytest.raises(SettingsError, match="another process")
    with locked(tmp_path / "run"), other, locked(tmp_path / "run"):
        raise AssertionError("two processes are in one folder")
    with locked(tmp_path / "run"):
        assert not list((tmp_path / "run").iterdir()), "the lock leaves no file"


def fail(out: Path, error: BaseException, *, rows: str = "") -> None:
    """Begin work that ends with an error."""
    with pytest.raises(type(error)), open_folder(out, {}, KIND):
        _fail(out, error, rows)


def _fail(out: Path, error: BaseException, rows: str) -> None:
    (out / "episodes").mkdir()
    (out / "rows.jsonl").write_text(rows)
    raise error


def test_work_that_is_refused_before_it_kept_anything_leaves_no_folder(tmp_path: Path) -> None:
    fail(tmp_path / "new" / "run", ModelError("refused"))
    assert not any(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("error", "rows"), [(ModelError("refused"), "{}"), (KeyboardInterrupt(), "")]
)
def test_work_that_was_kept_or_interrupted_stays(
    tmp_path: Path, error: BaseException, rows: str
) -> None:
    fail(tmp_path / "run", error, rows=rows)
    assert enter(tmp_path / "run", {})
