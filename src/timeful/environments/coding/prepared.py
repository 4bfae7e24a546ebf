"""The four cases of the paper, once prepared (appendix A.1.3 and A.3): words, files and labels.

The prompts say what the paper's say, in our own words.
"""

import csv
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from timeful.environments.coding.dataset import Dataset, Layout
from timeful.environments.coding.graders import Answers, Metric
from timeful.environments.coding.submission import numbers
from timeful.errors import SettingsError


@dataclass(frozen=True, slots=True, kw_only=True)
class Competition:
    """A competition on Kaggle.

    Attributes:
        md5: Of its archive, as MLE-bench gives it.
        task: The task in words.
        layout: How its public files are laid out.
        metric: What its submissions are graded by.
        id_column: The column of ids in a submission.
        column: The column of predictions; empty if there is one for each class.
    """

    md5: str
    task: str
    layout: Layout
    metric: Metric
    id_column: str
    column: str = ""


PREPARED: Mapping[str, Competition] = {
    "leaf-classification": Competition(
        md5="043bdec7fadb7922978b7484217b6007",
        task=(
            "Tell 99 species of plants apart by their leaves: black-and-white pictures of single "
            "leaves, in images/, and what was computed from them, which is their margin, shape and "
            "texture."
        ),
        layout=Layout(kind="table", target="species"),
        metric="log_loss",
        id_column="id",
    ),
    "spaceship-titanic": Competition(
        md5="67c177886736583aff9b947e121395a9",
        task=(
            "The Spaceship Titanic has hit an anomaly of spacetime, and some of its passengers "
            "ended up in another dimension. Predict which ones were transported."
        ),
        layout=Layout(kind="table", target="Transported"),
        metric="accuracy",
        id_column="PassengerId",
        column="Transported",
    ),
    "random-acts-of-pizza": Competition(
        md5="16319db32e81271a30f106f4e86f1b3d",
        task=(
            "People ask a community on Reddit to give them a pizza. Predict from the text of a "
            "request, and from what is known of it and its author, whether it was successful."
        ),
        layout=Layout(
            kind="text",
            target="requester_received_pizza",
            train="train.json",
            test="test.json",
            sample="sampleSubmission.csv",
            text="request_text_edit_aware",
        ),
        metric="auc",
        id_column="request_id",
        column="requester_received_pizza",
    ),
    "detecting-insults-in-social-commentary": Competition(
        md5="719b313286d397ddc6d8e454135249de",
        task=(
            "Detect comments that would insult another person in the same conversation, so that "
            "they can be moderated as they come. The model should hold for comments of people that "
            "it has not seen."
        ),
        layout=Layout(
            kind="text", target="Insult", sample="sample_submission_null.csv", text="Comment"
        ),
        metric="auc",
        id_column="Comment",
        column="Insult",
    ),
}


def read_prepared(name: str, folder: Path) -> Dataset:
    """Read what `timeful prepare` wrote; the public files stay where they are.

    Args:
        name: A competition.
        folder: The folder with `public` and `private`.

    Raises:
        SettingsError: If a file is missing, or the labels are damaged.
    """
    competition = PREPARED[name]
    layout = competition.layout
    private = folder / "private" / "test.csv"
    for file in (private, *(folder / "public" / f for f in (layout.train, layout.test))):
        if not file.is_file():
            raise SettingsError(
                f"{folder} has no {file.relative_to(folder)}; make it with "
                f"`timeful prepare {name} --zip FILE --out {folder}`"
            )
    try:
        return Dataset(
            task=competition.task,
            layout=layout,
            public={},
            answers=_answers(competition, private),
            hidden=(folder / "private",),
        )
    except (OSError, ValueError, KeyError, csv.Error):
        # What is wrong with it is not said: the labels are in it.
        raise SettingsError(f"{private} is no file of labels for {name}") from None


def _answers(competition: Competition, private: Path) -> Answers:
    with private.open(encoding="utf-8", newline="") as file:
        reader = csv.DictReader(file)
        header = tuple(reader.fieldnames or ())
        rows = list(reader)
    key = competition.id_column
    target = competition.column
    columns = (target,) if target else tuple(name for name in header if name != key)
    cells = [numbers(name, [row[name] for row in rows]) for name in columns]
    return Answers(
        metric=competition.metric,
        id_column=key,
        columns=columns,
        ids=tuple(row[key] for row in rows),
        truth=np.array(cells, dtype=np.float64).T,
    )
