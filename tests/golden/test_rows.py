"""Result rows of every suite at small sizes, compared with golden files.

`python -m tests.golden.test_rows` writes the files again.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from math import nan
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from click.testing import CliRunner

from timeful.cli.main import app

FOLDER = Path(__file__).parent
LABELS = ("suite", "experiment", "setting", "method", "metric")
NUMBERS = ("value", "low", "high", "n", "published", "spread")
MOST = 60
"""The rows that a golden file keeps of each kind: computed, and published only."""
COMMANDS = {
    "realtime": "run realtime --seeds 2 --samples 1 --game freeway --game snake --difficulty easy",
    "realtime-interface": "run realtime load --seeds 1 --samples 1 --game snake --difficulty easy"
    " --agent agile-reduced --agent reactive --interface event-driven",
    "toys": "run engagement/toys --seeds 2 --training 40 --evaluation 30",
    "inbox": "run engagement/inbox --seeds 3 --episodes 1",
    "kitchen": "run engagement/kitchen --seeds 1 --cases 3",
    "fiction": "run timely/fiction --game skerry --runs 1",
    "reasoning": "run timely/reasoning --size 4 --runs 1",
    "proactor": "run proactor --dialogues 2 --runs 1 --agent asg --token-ms 5 --no-curve",
    "train": "train quick --recipe smoke",
}
LABELS_ONLY = {"train"}
"""Suites whose values depend on the CPU: a rounding error changes what a model samples."""


def play(name: str, out: Path) -> list[dict[str, Any]]:
    """Run a command and return its result rows."""
    arguments = [*COMMANDS[name].split(), "--workers", "1", "--out", str(out)]
    result = CliRunner().invoke(app, arguments, catch_exceptions=False)
    assert result.exit_code == 0, result.output
    rows: list[dict[str, Any]] = json.loads((out / "results.json").read_text())
    return rows


def labels_of(row: dict[str, Any]) -> tuple[str, ...]:
    return tuple(row[label] for label in LABELS)


def numbers_of(row: Mapping[str, Any], names: Sequence[str]) -> dict[str, float]:
    """The numbers of a row; an unknown one is nan, since `approx` takes no None."""
    return {name: nan if row[name] is None else row[name] for name in names}


def golden_rows(name: str) -> Iterator[tuple[tuple[str, ...], list[Any]]]:
    """Read the rows of a golden file: labels and numbers."""
    for row in json.loads((FOLDER / f"{name}.json").read_text()):
        yield tuple(row[: len(LABELS)]), row[len(LABELS) :]


@pytest.mark.parametrize("name", COMMANDS)
def test_rows_of_a_suite_equal_the_golden_file(name: str, tmp_path: Path) -> None:
    if name == "proactor":
        pytest.importorskip("jinja2")
    if name == "train":
        pytest.importorskip("torch")
    rows = play(name, tmp_path / "run")
    compared = NUMBERS[3:5] if name in LABELS_ONLY else NUMBERS
    for labels, numbers in golden_rows(name):
        golden = numbers_of(dict(zip(NUMBERS, numbers, strict=True)), compared)
        expected = pytest.approx(golden, rel=1e-6, abs=1e-9, nan_ok=True)
        same = [numbers_of(row, compared) for row in rows if labels_of(row) == labels]
        assert expected in same, labels


def select(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Select evenly among the computed rows and among those that are published only."""
    computed = [row for row in rows if row["n"]]
    published = [row for row in rows if not row["n"]]
    return [row for kind in (computed, published) for row in kind[:: -(-len(kind) // MOST) or 1]]


def main() -> None:
    """Write all golden files."""
    for name in COMMANDS:
        with TemporaryDirectory() as folder:
            rows = select(play(name, Path(folder) / "run"))
        lines = [json.dumps([row[key] for key in LABELS + NUMBERS]) for row in rows]
        (FOLDER / f"{name}.json").write_text("[\n" + ",\n".join(lines) + "\n]\n")


if __name__ == "__main__":
    main()
