"""Runners that run nothing, and a case of four rows."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from timeful.environments.coding.cases import Case
from timeful.environments.coding.dataset import SUBMISSION, Layout
from timeful.environments.coding.graders import Answers

ANSWERS = Answers(
    metric="auc",
    id_column="id",
    columns=("label",),
    ids=("a", "b", "c", "d"),
    truth=np.array([[1.0], [0.0], [1.0], [0.0]]),
)

RIGHT = b"id,label\na,0.9\nb,0.1\nc,0.8\nd,0.2\n"
HALF = b"id,label\na,0.5\nb,0.5\nc,0.5\nd,0.5\n"


def small_case(folder: Path) -> Case:
    return Case(
        name="small",
        opening="Tell a and c from b and d.",
        layout=Layout(kind="table", target="label"),
        public=folder,
        answers=ANSWERS,
    )


@dataclass
class FakeRan:
    stdout: str = ""
    error: str = ""
    seconds: float = 1.0
    files: Mapping[str, bytes] = field(default_factory=dict)


def wrote(submission: bytes, seconds: float = 1.0, *, error: str = "", stdout: str = "") -> FakeRan:
    return FakeRan(stdout, error, seconds, {SUBMISSION: submission})


@dataclass
class FakeRunner:
    """Looks up what a program comes to."""

    of: Callable[[str], FakeRan]
    ran: list[tuple[str, float | None]] = field(default_factory=list)
    stopped: int = 0
    closed: int = 0

    def run(self, code: str, *, limit_s: float | None = None) -> FakeRan:
        self.ran.append((code, limit_s))
        return self.of(code)

    def stop(self) -> None:
        self.stopped += 1

    def close(self) -> None:
        self.closed += 1
