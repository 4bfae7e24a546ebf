"""Default cases from the data that scikit-learn carries, damaged by a seed.

As they come, these sets are too easy: a quick model gets 0.96, a slow one 0.97. So there are few
rows to learn from, some with a wrong label; cells are noisy or missing, and some are words. The
labels of the test split are right. All sets are copies of UCI's; iris is Fisher's.
"""

import sys
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from timeful.environments.coding.dataset import Dataset, Layout, csv_bytes
from timeful.environments.coding.graders import Answers, Metric
from timeful.errors import SettingsError
from timeful.seeding import child

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


@dataclass(frozen=True, slots=True, kw_only=True)
class Damage:
    """What is done to a set.

    Attributes:
        rows: Rows of the train split and of the test split.
        wrong: The share of wrong labels in the train split.
        missing: The share of missing cells.
        noise: The standard deviation of what is added to a cell, in those of its column.
        worded: How many columns are told in words: low, middle or high.
        inverted: The share of rows from an instrument, named in a column, whose scale is upside
            down, so that a cell means nothing without that column.
    """

    rows: tuple[int, int]
    wrong: float = 0.0
    missing: float = 0.0
    noise: float = 0.0
    worded: int = 0
    inverted: float = 0.0


def digits(seed: int) -> Dataset:
    """Ten classes by log loss, in place of leaves: 8 x 8 pictures of hand-written digits."""
    damage = Damage(rows=(400, 600), wrong=0.1, missing=0.1, noise=0.4, worded=8, inverted=0.3)
    return _make_dataset(
        "digits",
        "Recognise hand-written digits. A row is a picture of 8 x 8 cells, read by one of two "
        "instruments. Cells can be missing or noisy, some are told in words, and some labels of "
        "the train split are wrong.",
        _load("load_digits"),
        damage,
        metric="log_loss",
        seed=seed,
    )


def cancer(seed: int) -> Dataset:
    """Two classes by AUC: measurements of cells."""
    damage = Damage(rows=(220, 340), wrong=0.15, missing=0.15, noise=1.5, worded=6, inverted=0.35)
    return _make_dataset(
        "cancer",
        "Predict from measurements of its cells, taken with one of two instruments, whether a "
        "tumour is benign. Measurements can be missing or noisy, some are told in words, and some "
        "labels of the train split are wrong.",
        _load("load_breast_cancer"),
        damage,
        metric="auc",
        seed=seed,
    )


def wine(seed: int) -> Dataset:
    """Three classes by accuracy, small: whether all works."""
    return _make_dataset(
        "wine",
        "Predict from a chemical analysis which of three growers a wine is from. Some cells are "
        "missing or told in words.",
        _load("load_wine"),
        Damage(rows=(80, 90), missing=0.05, noise=0.5, worded=2),
        metric="accuracy",
        seed=seed,
    )


def iris(seed: int) -> Dataset:
    """Three classes by accuracy, smaller still."""
    return _make_dataset(
        "iris",
        "Predict from the lengths and widths of its leaves which of three species an iris is.",
        _load("load_iris"),
        Damage(rows=(60, 80), noise=0.3),
        metric="accuracy",
        seed=seed,
    )


def _load(name: str) -> tuple[Floats, Ints]:
    try:
        datasets = import_module("sklearn.datasets")  # slow to load
    except ImportError:
        raise SettingsError(
            "the cases of machine learning need scikit-learn: pip install 'timeful[timely]'"
        ) from None
    cells, labels = getattr(datasets, name)(return_X_y=True)
    return cells, labels


_KEPT = (
    *("sklearn/datasets/data", "sklearn/datasets/tests/data"),
    *("scipy/io/arff/tests/data", "scipy/spatial/tests/data"),
)
"""Where packages have the sets; the tests of both have iris."""


def _sources() -> tuple[Path, ...]:
    """Where the sets lie: cells are noisy, but rows could be found there.

    A sandbox shows more than one folder of packages: that of the Python from which this
    environment was made, too, and the system's.
    """
    folders = {Path(import_module("sklearn").__path__[0]).parent}
    for prefix in (sys.prefix, sys.base_prefix, "/usr", "/usr/local"):
        folders |= set(Path(prefix).glob("lib*/python3*/*-packages"))
    candidates = (folder / path for folder in folders for path in _KEPT)
    return tuple(sorted(candidate for candidate in candidates if candidate.is_dir()))


def _make_dataset(
    name: str,
    task: str,
    data: tuple[Floats, Ints],
    damage: Damage,
    *,
    metric: Metric,
    seed: int,
) -> Dataset:
    cells, labels = data
    rng = child(seed, "coding", name)
    train_rows, test_rows = damage.rows
    sample = rng.permutation(len(labels))[: train_rows + test_rows]
    labels = labels[sample].astype(np.int64)
    names, columns = _columns(cells[sample], damage, rng)
    rows = [list(row) for row in zip(*columns, strict=True)]
    classes = int(labels.max()) + 1
    noisy_labels = labels.copy()
    wrong: NDArray[np.bool_] = rng.random(len(noisy_labels)) < damage.wrong
    noisy_labels[wrong] = (noisy_labels + rng.integers(1, classes, len(noisy_labels)))[
        wrong
    ] % classes
    words = [f"class_{k}" if metric == "log_loss" else str(k) for k in range(classes)]
    ids = [str(number) for number in range(train_rows + test_rows)]
    labelled = [[ids[i], *rows[i], words[noisy_labels[i]]] for i in range(train_rows)]
    test = range(train_rows, train_rows + test_rows)
    predicted = tuple(words) if metric == "log_loss" else ("label",)
    blank = f"{1 / classes:.6f}" if metric == "log_loss" else "0"
    right = labels[train_rows:]
    truth = np.zeros((test_rows, len(predicted)))
    if metric == "log_loss":
        truth[np.arange(test_rows), right] = 1
    else:
        truth[:, 0] = right
    return Dataset(
        task=task,
        layout=Layout(kind="table", target="label"),
        public={
            "train.csv": csv_bytes(["id", *names, "label"], labelled),
            "test.csv": csv_bytes(["id", *names], ([ids[i], *rows[i]] for i in test)),
            "sample_submission.csv": csv_bytes(
                ["id", *predicted], ([ids[i], *[blank] * len(predicted)] for i in test)
            ),
        },
        answers=Answers(
            metric=metric,
            id_column="id",
            columns=predicted,
            ids=tuple(ids[i] for i in test),
            truth=truth,
        ),
        hidden=_sources(),
    )


def _columns(
    cells: Floats, damage: Damage, rng: np.random.Generator
) -> tuple[list[str], list[list[str]]]:
    """The columns of cells as texts, with their names."""
    count, width = cells.shape
    spread = cells.std(axis=0)
    cells = cells + damage.noise * spread * rng.standard_normal(cells.shape)
    names, columns = [], list[list[str]]()
    if damage.inverted:
        upside: NDArray[np.bool_] = rng.random((count, 1)) < damage.inverted
        cells = np.where(upside, 2 * cells.mean(axis=0) - cells, cells)
        names.append("instrument")
        columns.append(["B" if is_inverted else "A" for is_inverted in upside[:, 0]])
    missing: NDArray[np.bool_] = rng.random(cells.shape) < damage.missing
    worded = set(rng.choice(width, damage.worded, replace=False).tolist())
    for column in range(width):
        names.append(f"cell_{column:02d}")
        values = cells[:, column]
        if column in worded:
            low, high = np.quantile(values, [0.33, 0.67])
            texts = ["low" if v < low else "high" if v > high else "middle" for v in values]
        else:
            texts = [f"{v:.4g}" for v in values]
        columns.append(
            [
                "" if is_missing else text
                for text, is_missing in zip(texts, missing[:, column], strict=True)
            ]
        )
    return names, columns
