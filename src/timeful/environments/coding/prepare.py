"""Prepares the four cases of the paper from archives that the user downloaded from Kaggle.

Splits and layouts are those of MLE-bench (commit 93ef344), re-implemented:

| case | test split | public | labels |
| --- | --- | --- | --- |
| leaf | a tenth of the labelled rows, `random_state=0` | `images/` of both splits, too | one-hot |
| spaceship | the same | | |
| pizza | the share that Kaggle's test set has, `random_state=0` | JSON, also zipped | |
| insults | `test_with_solutions.csv`, without `Usage` | | |

Kaggle's own test sets have no labels, so they are left out. We ship none of these data: whoever
uses them has accepted Kaggle's rules of the competition.
"""

import hashlib
import io
import json
import os
import re
import shutil
import tempfile
import zipfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from typing import Any

from timeful.environments.coding.archive import Archive
from timeful.environments.coding.prepared import PREPARED
from timeful.errors import SettingsError, check_known

Frame = Any
"""A pandas table; pandas is an extra, and has no types."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Preparation:
    """What came of it: rows of the two splits, and what the user should know."""

    folder: Path
    train_rows: int
    test_rows: int
    warnings: tuple[str, ...]


@dataclass(slots=True, kw_only=True)
class _Split:
    """Files of a case, by their paths."""

    files: dict[str, bytes]
    rows: tuple[int, int]
    warnings: list[str] = field(default_factory=list)


def prepare(name: str, archive: Path, out: Path) -> Preparation:
    """Make the folder of a case, with `public` and `private`.

    Args:
        name: One of `PREPARED`.
        archive: The zip archive from Kaggle.
        out: The folder; it must be new, or empty.

    Raises:
        SettingsError: If the archive lacks something, the folder is in use, or pandas is missing.
    """
    check_known("case to prepare", name, PREPARED)
    if not archive.is_file():
        raise SettingsError(f"there is no file {archive}")
    if out.exists() and (not out.is_dir() or any(out.iterdir())):
        raise SettingsError(f"{out} is there already; give another --out, or remove it")
    warnings = _check_md5(name, archive)
    with Archive(archive, name=archive.name) as members:
        split = _SPLITS[name](members)
    _write(split.files, out)
    return Preparation(
        folder=out,
        train_rows=split.rows[0],
        test_rows=split.rows[1],
        warnings=(*warnings, *split.warnings),
    )


def _check_md5(name: str, archive: Path) -> list[str]:
    with archive.open("rb") as file:
        digest = hashlib.file_digest(file, lambda: hashlib.md5(usedforsecurity=False)).hexdigest()
    if digest == PREPARED[name].md5:
        return []
    return [
        f"{archive.name} has the MD5 sum {digest}; MLE-bench's has {PREPARED[name].md5}. Kaggle "
        "repacks archives at times; compare the numbers of rows with those in docs/coding.md"
    ]


def _write(files: Mapping[str, bytes], out: Path) -> None:
    """Write all files or none: into a folder beside, which then gets its name."""
    out.parent.mkdir(parents=True, exist_ok=True)
    scratch = Path(tempfile.mkdtemp(prefix=f".{out.name}-", dir=out.parent))
    try:
        for path, content in files.items():
            (scratch / path).parent.mkdir(parents=True, exist_ok=True)
            (scratch / path).write_bytes(content)
        (scratch / "private").chmod(0o700)
        scratch.chmod(0o755)
        os.rename(scratch, out)  # an empty folder is replaced
    except BaseException:
        shutil.rmtree(scratch, ignore_errors=True)
        raise


# --- the four ------------------------------------------------------------------------------------


def _leaf(archive: Archive) -> _Split:
    table = _table(archive, "train.csv", ("id", "species"))
    train, test = _split(table, 0.1)
    species = sorted(set(table["species"]))
    labels = test[["id"]].copy()
    for name in species:
        labels[name] = (test["species"] == name).astype(int)
    blank = labels.copy()
    blank[species] = 1 / len(species)
    split = _Split(
        files={
            "public/train.csv": _csv(train),
            "public/test.csv": _csv(test.drop(columns=["species"])),
            "public/sample_submission.csv": _csv(blank),
            "private/test.csv": _csv(labels),
        },
        rows=(len(train), len(test)),
    )
    _add_images(archive, {f"{name}.jpg" for name in table["id"]}, split)
    return split


def _add_images(archive: Archive, filenames: set[str], split: _Split) -> None:
    """Those that belong to a row; Kaggle's has pictures of its own test set, too."""
    if not archive.has("images.zip"):
        split.warnings.append("there is no images.zip in it, and so there will be no pictures")
        return
    with archive.inner("images.zip") as inner:
        for name, content in inner.files(".jpg"):
            if name in filenames and re.fullmatch(r"\d+\.jpg", name):
                split.files[f"public/images/{name}"] = content
    missing = len(filenames) - sum(path.endswith(".jpg") for path in split.files)
    if missing:
        split.warnings.append(f"{missing} of {len(filenames)} pictures are missing")


def _spaceship(archive: Archive) -> _Split:
    table = _table(archive, "train.csv", ("PassengerId", "Transported"))
    train, test = _split(table, 0.1)
    labels = test[["PassengerId", "Transported"]]
    return _Split(
        files={
            "public/train.csv": _csv(train),
            "public/test.csv": _csv(test.drop(columns=["Transported"])),
            "public/sample_submission.csv": _csv(labels.assign(Transported=False)),
            "private/test.csv": _csv(labels),
        },
        rows=(len(train), len(test)),
    )


def _pizza(archive: Archive) -> _Split:
    key, target = "request_id", "requester_received_pizza"
    labelled = _objects(archive, "train.json", (key, target))
    unlabelled = _objects(archive, "test.json", (key,))
    share = len(unlabelled) / (len(labelled) + len(unlabelled))
    train, test = _split(labelled, share)
    columns = [name for name in unlabelled[0] if name != target]  # what was known when they asked
    _check_columns("train.json", labelled[0], columns)
    labels = _pandas().DataFrame(
        [{key: row[key], target: int(bool(row[target]))} for row in test], columns=[key, target]
    )
    files = {
        "public/train.json": _json(train),
        "public/test.json": _json([{name: row[name] for name in columns} for row in test]),
        "public/sampleSubmission.csv": _csv(labels.assign(**{target: 0})),
        "private/test.csv": _csv(labels),
    }
    for name in ("train.json", "test.json"):
        files[f"public/{name}.zip"] = _zipped(name, files[f"public/{name}"])
    return _Split(files=files, rows=(len(train), len(test)))


def _insults(archive: Archive) -> _Split:
    columns = ["Insult", "Date", "Comment"]
    train = _table(archive, "train.csv", columns)
    test = _table(archive, "test_with_solutions.csv", columns)[columns]
    return _Split(
        files={
            "public/train.csv": archive.read("train.csv"),
            "public/test.csv": _csv(test.drop(columns=["Insult"])),
            "public/sample_submission_null.csv": _csv(test.assign(Insult=0)),
            "private/test.csv": _csv(test),
        },
        rows=(len(train), len(test)),
    )


_SPLITS: Mapping[str, Callable[[Archive], _Split]] = {
    "leaf-classification": _leaf,
    "spaceship-titanic": _spaceship,
    "random-acts-of-pizza": _pizza,
    "detecting-insults-in-social-commentary": _insults,
}


# --- reading and writing -------------------------------------------------------------------------


def _table(archive: Archive, name: str, columns: Sequence[str]) -> Frame:
    pandas, content = _pandas(), archive.read(name)
    try:
        # As texts: numbers then stay as they are written, whatever the version of pandas.
        table = pandas.read_csv(io.BytesIO(content), dtype=str)
    except (ValueError, pandas.errors.ParserError) as error:  # no text is one, too
        raise SettingsError(f"{name} cannot be read as CSV: {error}") from None
    _check_columns(name, table.columns, columns)
    return table


def _objects(archive: Archive, name: str, fields: Sequence[str]) -> list[dict[str, Any]]:
    try:
        objects = json.loads(archive.read(name))
    except (ValueError, RecursionError) as error:
        raise SettingsError(f"{name} cannot be read as JSON: {error}") from None
    if not isinstance(objects, list) or not all(isinstance(row, dict) for row in objects):
        raise SettingsError(f"{name} must be a list of objects")
    if not objects or any(row.keys() != objects[0].keys() for row in objects):
        raise SettingsError(f"the objects in {name} must all have the same fields, and be some")
    _check_columns(name, objects[0], fields)
    return objects


def _check_columns(name: str, columns: Any, required: Sequence[str]) -> None:
    for column in required:
        if column not in columns:
            raise SettingsError(
                f"{name} has no {column!r}; it has {', '.join(map(str, columns))[:200]}"
            )


def _split(rows: Any, share: float) -> tuple[Any, Any]:
    try:
        train, test = _extra("sklearn.model_selection").train_test_split(
            rows, test_size=share, random_state=0
        )
    except ValueError as error:
        raise SettingsError(f"the labelled rows cannot be split: {error}") from None
    return train, test


def _csv(table: Frame) -> bytes:
    text: str = table.to_csv(index=False, lineterminator="\n")
    return text.encode()


def _json(objects: Sequence[Mapping[str, Any]]) -> bytes:
    return json.dumps(objects, indent=4).encode()


def _zipped(name: str, content: bytes) -> bytes:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr(zipfile.ZipInfo(name), content, zipfile.ZIP_DEFLATED)
    return packed.getvalue()


def _pandas() -> Any:
    return _extra("pandas")


def _extra(module: str) -> Any:
    try:
        return import_module(module)
    except ImportError:
        raise SettingsError(
            f"this needs {module.partition('.')[0]}: pip install 'timeful[timely]'"
        ) from None
