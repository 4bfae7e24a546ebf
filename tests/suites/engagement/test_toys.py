"""The toy experiments as one call, on few episodes."""

import csv
import re
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from timeful.cli.engagement_toys import toys
from timeful.errors import SettingsError
from timeful.reports.results import read_results
from timeful.suites.engagement.toys.deliberation import jobs as deliberation_jobs
from timeful.suites.engagement.toys.evaluated import Plan
from timeful.suites.engagement.toys.patrol import jobs as patrol_jobs
from timeful.suites.engagement.toys.run import run_toys

SMALL = Plan(seeds=(42, 43), training=6, evaluation=4)
FILES = ("report.html", "results.json", "table.csv", "seeds.csv")


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    return run_toys(SMALL, tmp_path_factory.mktemp("toys") / "run", workers=2)


def read(folder: Path) -> dict[str, bytes]:
    return {name: (folder / name).read_bytes() for name in FILES}


def test_the_same_seeds_give_the_same_bytes_whatever_the_workers(finished, tmp_path):
    again = run_toys(SMALL, tmp_path, workers=1)
    assert again.text == finished.text
    assert read(tmp_path) == read(finished.report.parent)


def test_other_seeds_give_other_numbers(finished, tmp_path):
    other = run_toys(Plan(seeds=(7, 8), training=6, evaluation=4), tmp_path, workers=2)
    assert other.text != finished.text


def test_the_report_has_every_table_and_figure(finished):
    page = finished.report.read_text(encoding="utf-8")
    for number in ("1", "2a", "2b", *range(6, 17)):
        assert re.search(rf"<caption>Table {number}: ", page), number
    for number in (3, 4, 5, 6):
        assert f"As Figure {number}: " in page
    for title in ("Is it reproduced?", "To be said openly", "Every seed"):
        assert f"<h2>{title}</h2>" in page
    assert "http" not in re.sub(r'xmlns(:\w+)?="[^"]*"', "", page)


def test_every_seed_of_every_number_is_in_a_file(finished):
    with (finished.report.parent / "seeds.csv").open(encoding="utf-8") as lines:
        rows = list(csv.DictReader(lines))
    assert len(rows) == 2 * len(finished.numbers)
    for number in finished.numbers:
        mine = [
            float(row["value"])
            for row in rows
            if (row["experiment"], row["method"], row["metric"]) == number.key
            and row["learner"] == number.learner
        ]
        assert mine == list(number.by_seed.values())


def test_results_hold_all_numbers_beside_the_published(finished):
    rows = read_results(finished.report.parent / "results.json")
    assert len(rows) == len(finished.numbers) + 4
    assert {row.suite for row in rows} == {"engagement"}
    assert {row.source for row in rows if row.published is not None} == {
        f"Table {number}" for number in (8, 9, 14, 15, 16)
    }


def test_a_folder_with_other_settings_is_kept_unless_told(finished, tmp_path):
    run_toys(SMALL, tmp_path, workers=2)
    before = read(tmp_path)
    other = Plan(seeds=(42,), training=6, evaluation=4)
    with pytest.raises(SettingsError, match=r"differs in: seeds.*--replace"):
        run_toys(other, tmp_path, workers=2)
    assert read(tmp_path) == before
    run_toys(other, tmp_path, workers=2, replace=True)
    assert read(tmp_path) != before


def test_progress_counts_every_job(tmp_path):
    told = []
    run_toys(SMALL, tmp_path, workers=2, on_progress=lambda *at: told.append(at))
    total = len(deliberation_jobs(SMALL)) + len(patrol_jobs(SMALL))
    assert told == [(done, total) for done in range(total + 1)]


SMALL_OPTIONS = ["--seeds", "2", "--training", "6", "--evaluation", "4", "--workers", "2"]


def test_the_command_prints_the_tables_in_eighty_columns(finished, tmp_path):
    done = CliRunner().invoke(toys, [*SMALL_OPTIONS, "--out", str(tmp_path / "run")])
    assert done.exit_code == 0, done.output
    tables, _, rest = done.stdout.partition("report   ")
    shown, _, warned = tables.partition("\nThe bands are for ")
    assert shown.strip() == finished.text.strip()
    assert warned, "so few episodes say nothing about the bands"
    assert max(map(len, tables.splitlines())) <= 80
    assert str(tmp_path / "run" / "report.html") in rest
    assert "policies" in done.stderr
    assert "policies" not in done.stdout


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--seeds", "0"], "one at least"),
        (["--training", "0"], "training"),
        (["--evaluation", "-1"], "evaluation"),
        (["--workers", "0"], "worker"),
        (["--preset", "quik"], "Did you mean 'quick'"),
    ],
)
def test_wrong_options_are_refused_before_anything_is_written(options, message, tmp_path):
    out = tmp_path / "run"
    done = CliRunner().invoke(toys, [*SMALL_OPTIONS, *options, "--out", str(out)])
    assert isinstance(done.exception, SettingsError)
    assert message in str(done.exception)
    assert not out.exists()


def test_without_numba_it_says_so_once_and_gives_the_same_report(monkeypatch, tmp_path, finished):
    monkeypatch.setitem(sys.modules, "numba", None)
    done = CliRunner().invoke(toys, [*SMALL_OPTIONS, "--out", str(tmp_path / "run")])
    assert done.exit_code == 0, done.output
    assert done.stderr.count("pip install 'timeful[numba]'") == 1
    assert read(tmp_path / "run") == read(finished.report.parent)
