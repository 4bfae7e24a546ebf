"""What a case is made of, before it lies in a folder."""

import csv
import io
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from timeful.environments.coding.graders import Answers

PUBLIC = "data/public"
"""Where a program finds the public files, under the folder that it runs in."""

SUBMISSION = "submission.csv"
"""What a program must write."""

Kind = Literal["table", "text"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Layout:
    """How the public files of a case are laid out; no more than its opening task.

    Attributes:
        kind: Whether rows are cells or texts.
        train: The file with labels, CSV or JSON.
        test: The file without.
        sample: A submission that shows the form.
        target: The column of labels in `train`.
        text: The column of texts, if that is what rows are.
    """

    kind: Kind
    target: str
    train: str = "train.csv"
    test: str = "test.csv"
    sample: str = "sample_submission.csv"
    text: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Dataset:
    """A case that was made: its words, its public files and its labels.

    `hidden` is what on this machine the labels could be looked up in.
    """

    task: str
    layout: Layout
    public: Mapping[str, bytes]
    answers: Answers
    hidden: tuple[Path, ...] = ()


def csv_bytes(header: Sequence[str], rows: Iterable[Sequence[str]]) -> bytes:
    """A table as the bytes of a CSV file, the same on every machine."""
    text = io.StringIO(newline="")
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(header)
    writer.writerows(rows)
    return text.getvalue().encode()
