"""Cases: what is to be predicted, from which public files, and how it is graded.

The default cases are made here, by a seed, from data that scikit-learn carries and from phrases of
our own; the four of the paper are prepared once from archives that the user brings
(`timeful prepare`), and read from that folder. A runner of code is given `files` and nothing
else: labels of the test split are in `answers`, which stays in this process.
"""

import shutil
import tempfile
import weakref
from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path

from timeful.environments.coding.dataset import PUBLIC, SUBMISSION, Dataset, Layout
from timeful.environments.coding.graders import Answers
from timeful.environments.coding.prepared import PREPARED, read_prepared
from timeful.errors import SettingsError, check_known

SYNTHETIC = {
    "digits": "timeful.environments.coding.bundled:digits",
    "cancer": "timeful.environments.coding.bundled:cancer",
    "wine": "timeful.environments.coding.bundled:wine",
    "iris": "timeful.environments.coding.bundled:iris",
    "reviews": "timeful.environments.coding.reviews:reviews",
}
"""Cases made by a seed, by name, and where."""


@dataclass(frozen=True, slots=True, kw_only=True, weakref_slot=True)
class Case:
    """A case that can be worked on.

    A sandbox gets it by `Workspace(files=case.files, outputs=case.outputs, hidden=case.hidden)`.

    Attributes:
        name: Its name.
        opening: The task in words.
        layout: How its files are laid out.
        public: The folder of public files.
        answers: The labels of the test split, and the metric.
        hidden: What a program must not read, since it holds the labels, or what they came from.
    """

    name: str
    opening: str
    layout: Layout
    public: Path
    answers: Answers
    hidden: tuple[Path, ...] = ()

    @property
    def files(self) -> dict[str, Path]:
        """What a runner of code must be given, and where in its folder it goes."""
        return {PUBLIC: self.public}

    @property
    def outputs(self) -> tuple[str, ...]:
        """What a runner of code must hand back."""
        return (SUBMISSION,)


def case_names() -> tuple[str, ...]:
    """All cases, the default ones first."""
    return (*SYNTHETIC, *PREPARED)


def open_case(name: str, *, data: Path | None = None, seed: int = 0) -> Case:
    """Open a case.

    Args:
        name: One of `case_names()`.
        data: For a case of the paper, the folder that `timeful prepare` wrote.
        seed: For a default case, what it is made by. Its public files are in a temporary folder,
            which lasts as long as the case.

    Raises:
        SettingsError: If there is no such case, or its data are missing.
    """
    check_known("coding case", name, case_names())
    if name in PREPARED:
        if data is None:
            raise SettingsError(
                f"{name} needs its data: download the archive from Kaggle, where its rules must be "
                f"accepted, run `timeful prepare {name} --zip FILE`, and give the "
                "folder it wrote (--data)"
            )
        return _case(name, read_prepared(name, data), data / "public")
    if data is not None:
        raise SettingsError(f"{name} is made by its seed, and reads no data; got {data}")
    module, _, attribute = SYNTHETIC[name].partition(":")
    make: Callable[[int], Dataset] = getattr(import_module(module), attribute)
    dataset = make(seed)
    folder = Path(tempfile.mkdtemp(prefix="timeful-case-"))
    for file, content in dataset.public.items():
        (folder / file).write_bytes(content)
    case = _case(name, dataset, folder)
    weakref.finalize(case, shutil.rmtree, folder, ignore_errors=True)
    return case


def _case(name: str, dataset: Dataset, public: Path) -> Case:
    return Case(
        name=name,
        opening=_opening(dataset),
        layout=dataset.layout,
        public=public,
        answers=dataset.answers,
        hidden=dataset.hidden,
    )


_ASKED = {
    "accuracy": "Predict the label of each row. What counts is the share that is right.",
    "log_loss": (
        "Predict the probability of each class for each row. What counts is the multi-class log "
        "loss. The probabilities of a row must sum to 1 to within 1e-6, so normalise them again "
        "if you clip them to [1e-15, 1 - 1e-15]."
    ),
    "auc": (
        "Predict a probability, 0 to 1, for each row. What counts is the area under the ROC curve."
    ),
}


def _opening(dataset: Dataset) -> str:
    layout, answers = dataset.layout, dataset.answers
    columns = ", ".join((answers.id_column, *answers.columns))
    return "\n".join(
        [
            "First say in a few words how you will solve it, then give the code.",
            "",
            dataset.task,
            "",
            f"* The data are in ./{PUBLIC}/: {layout.train} has the labels, in {layout.target!r}; "
            f"{layout.test} is the test split; {layout.sample} shows the form of a submission.",
            f"* {_ASKED[answers.metric]}",
            f"* Your code must write ./{SUBMISSION} for the test split, with the columns",
            f"  {columns}",
        ]
    )
