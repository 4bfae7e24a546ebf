"""Graders: how good a submission is, as MLE-bench counts it and as the paper does.

| metric | of a submission | reward accuracy |
| --- | --- | --- |
| `accuracy` | share of rows with the right label | the same |
| `log_loss` | mean -log of the true class's share, lower is better | share of rows it leads |
| `auc` | area under the ROC curve | the same |

A submission must be there, have the ids of the test split, each once, and keep the rules below;
all else is invalid, with a reason, and nothing crashes. What is right is rounded to 5 decimals.
The rules are those of MLE-bench, re-implemented, and so are these quirks of it:

* Rows of probabilities must sum to 1, and are not normalised for you: clipping alone breaks the
  rule. Its tolerance is called 1e-6 but is 1.1e-5, since numpy's own 1e-5 comes on top.
* Probabilities are clipped at 2.2e-16, as scikit-learn has it since 1.5: a class that was given
  nothing and is true costs 36.04.
* Missing values are numbers between 0 and 1 as far as the AUC's check can tell, and then break
  the metric. So they are invalid either way, and here the reason says so.
* Where the id is a text that occurs twice (insults: the comment itself), an unstable sort pairs
  the two at random. Here they are paired in the order in which they stand.

The paper reports a number called accuracy for all four tasks, without a definition (A.1.3, A.2.4).
Its 0.9394 for leaf is 93 of 99, so it is no log loss; for the two AUC tasks we take the AUC.
"""

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from timeful.environments.coding.submission import (
    InvalidSubmissionError,
    numbers,
    read_table,
)
from timeful.errors import SettingsError

Metric = Literal["accuracy", "log_loss", "auc"]
Floats = NDArray[np.float64]

DECIMALS = 5
_SUM_TOLERANCE = 1e-6 + 1e-5


@dataclass(frozen=True, slots=True, kw_only=True)
class Grade:
    """How good a submission is: by the benchmark's own metric, and as a reward in [0, 1]."""

    metric: float
    reward_accuracy: float


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Answers:
    """The private labels of a test split, and the metric that compares with them.

    Attributes:
        metric: By its name.
        id_column: The column of ids.
        columns: The columns of predictions: one, or one for each class.
        ids: The ids, as texts.
        truth: (rows, columns): labels, or 1 for the class of a row and 0 for others.

    Raises:
        SettingsError: If no metric can be computed from them.
    """

    metric: Metric
    id_column: str
    columns: tuple[str, ...]
    ids: tuple[str, ...]
    truth: Floats

    def __post_init__(self) -> None:
        shape = (len(self.ids), len(self.columns))
        if self.truth.shape != shape or not self.ids:
            raise SettingsError(f"labels of shape {self.truth.shape} do not fit {shape}")
        if self.metric == "auc" and set(np.unique(self.truth)) != {0.0, 1.0}:
            raise SettingsError("an AUC needs labels of 0 and 1, and both of them")
        if self.metric == "log_loss" and not np.all(self.truth.sum(axis=1) == 1):
            raise SettingsError("a log loss needs one class for each row")

    def __repr__(self) -> str:  # labels must not leak into logs and tracebacks
        return f"Answers({self.metric}, {len(self.ids)} rows)"


def grade(data: bytes | None, answers: Answers) -> Grade:
    """Grade a submission.

    Args:
        data: The file; None if there is none.
        answers: The private labels.

    Raises:
        InvalidSubmissionError: If it cannot be graded.
    """
    if data is None:
        raise InvalidSubmissionError("there is none")
    table = read_table(data, names=(answers.id_column, *answers.columns), rows=len(answers.ids))
    if answers.metric == "log_loss" and len(table.header) != len(answers.columns) + 1:
        raise InvalidSubmissionError(
            f"it has {len(table.header)} columns; it must have {answers.id_column!r} and the "
            f"{len(answers.columns)} classes, each once"
        )
    predictions = np.array([numbers(name, table.columns[name]) for name in answers.columns]).T
    order, submitted_order = _aligned(answers.ids, table.columns[answers.id_column])
    return _METRICS[answers.metric](answers.truth[order], predictions[submitted_order])


def _aligned(ids: Sequence[str], submitted_ids: Sequence[str]) -> tuple[list[int], list[int]]:
    """The order that sorts the ids of each side, which must then be the same."""
    true_keys: Sequence[str] | Sequence[float] = ids
    keys: Sequence[str] | Sequence[float] = submitted_ids
    with suppress(InvalidSubmissionError):  # they are texts, at least on one side
        true_keys, keys = numbers("id", ids), numbers("id", submitted_ids)
    order = sorted(range(len(true_keys)), key=true_keys.__getitem__)
    submitted_order = sorted(range(len(keys)), key=keys.__getitem__)
    if [true_keys[i] for i in order] != [keys[i] for i in submitted_order]:
        raise InvalidSubmissionError("its ids are not those of the test split")
    return order, submitted_order


def accuracy(truth: Floats, predictions: Floats) -> Grade:
    """Share of rows whose label is right; labels are whole numbers, or yes and no."""
    if not np.all(np.isfinite(predictions)) or np.any(predictions != np.floor(predictions)):
        raise InvalidSubmissionError("its predictions must be labels, without missing ones")
    share = round(float(np.mean(truth == predictions)), DECIMALS)
    return Grade(metric=share, reward_accuracy=share)


def log_loss(truth: Floats, predictions: Floats) -> Grade:
    """Multi-class log loss; the first of several equal classes is the one predicted."""
    if not np.all(np.isfinite(predictions)) or np.any(predictions < 0) or np.any(predictions > 1):
        raise InvalidSubmissionError("its probabilities must be between 0 and 1, with none missing")
    sums = predictions.sum(axis=1)
    off = np.abs(sums - 1)
    if np.any(off > _SUM_TOLERANCE):
        raise InvalidSubmissionError(
            f"each row of probabilities must sum to 1; one sums to {sums[np.argmax(off)]:.6g}"
        )
    least = float(np.finfo(np.float64).eps)
    of_true = np.sum(truth * np.clip(predictions, least, 1 - least), axis=1)
    hits = np.argmax(predictions, axis=1) == np.argmax(truth, axis=1)
    return Grade(
        metric=round(float(-np.mean(np.log(of_true))), DECIMALS),
        reward_accuracy=round(float(np.mean(hits)), DECIMALS),
    )


def auc(truth: Floats, predictions: Floats) -> Grade:
    """Area under the ROC curve: the chance that a yes ranks above a no, ties counting half."""
    if np.any(np.isnan(predictions)):
        raise InvalidSubmissionError("its predictions must have no missing values")
    if np.any(predictions < 0) or np.any(predictions > 1):
        raise InvalidSubmissionError("its predictions must be between 0 and 1")
    yes = truth[:, 0] == 1
    _, indices, counts = np.unique(predictions[:, 0], return_inverse=True, return_counts=True)
    ranks = (np.cumsum(counts) - (counts - 1) / 2)[indices.ravel()]
    positives = int(yes.sum())
    above = float(ranks[yes].sum()) - positives * (positives + 1) / 2
    area = round(above / (positives * (len(yes) - positives)), DECIMALS)
    return Grade(metric=area, reward_accuracy=area)


_METRICS: Mapping[Metric, Callable[[Floats, Floats], Grade]] = {
    "accuracy": accuracy,
    "log_loss": log_loss,
    "auc": auc,
}
