"""The second table: what Table 1 leaves out, from the same rows."""

from dataclasses import replace
from pathlib import Path

import pytest

pytest.importorskip("yaml")
pytest.importorskip("jinja2")
pytest.importorskip("matplotlib")

from tests.suites.proactor.material import RIG, SMALL, run
from timeful.domains.dialogue_set import DialogueSource
from timeful.domains.generator import generate
from timeful.domains.library import load_domain
from timeful.metrics.proactor.alignment import alignments
from timeful.metrics.proactor.auxiliary import auxiliary
from timeful.metrics.proactor.episodes import read_conversation, score_conversations
from timeful.metrics.proactor.repeatability import final_consistency, trajectory_correlation
from timeful.records.recorder import read_record
from timeful.suites.proactor.further import FURTHER, alike_runs, further, of_references
from timeful.suites.proactor.numbers import make_cells
from timeful.suites.proactor.tables import text_tables

ONE = replace(SMALL, thresholds=(0.2,), timings=("by-turn",), runs=1)
ASKS = replace(RIG, asks=True)


def test_they_are_those_that_the_metrics_make_of_the_records(tmp_path: Path) -> None:
    (cell,) = make_cells(run(tmp_path, ONE, ASKS).rows)
    read = [
        read_conversation(read_record(path))
        for path in sorted((tmp_path / "episodes").glob("*.jsonl"))
    ]
    whole = [one for one in read if one is not None]
    found = further([cell])[cell.title]
    pooled = score_conversations(read).means.means
    for name in ("atr", "false_triggered", "frr"):
        number = found[name]
        assert number is not None
        assert number.mean == pytest.approx(pooled[name])
    beside = auxiliary(whole)
    for name, theirs in (("ad", beside.ad), ("ic", beside.ic)):
        number = found[name]
        assert number is not None
        assert theirs is not None
        assert number.mean == pytest.approx(theirs.mean)
        assert number.mean > 0, name


def test_the_references_are_scored_once_a_dialogue_as_the_dialogues_are(tmp_path: Path) -> None:
    rows = run(tmp_path, replace(SMALL, timings=("by-turn",))).rows
    talks = [one for one in generate(load_domain("shop"), n=20, seed=0) if one.split == "test"]
    assert of_references(make_cells(rows)) == alignments(talks)


def test_runs_are_alike_by_their_means_and_by_their_conversations(tmp_path: Path) -> None:
    sweep = replace(ONE, runs=2)
    rig = replace(RIG, temperature=1.0, source=DialogueSource(size=3))
    (cell,) = make_cells(run(tmp_path / "warm", sweep, rig).rows)
    found = alike_runs(cell)
    assert found is not None
    names = ("ac", "max_ac", "pt", "ftr", "rar")
    finals, shapes = [], []
    for name in names:
        runs = [
            (
                sum(row.sums[name] for row in run) / sum(row.scored for row in run),
                {row.place: row.sums[name] / row.scored for row in run},
            )
            for run in cell.runs
        ]
        (mean, series), (other, others) = runs
        finals.append(final_consistency(mean, other))
        shapes.append(trajectory_correlation(series, others))
    known = [one for one in shapes if one is not None]
    assert found.final == pytest.approx(sum(finals) / len(finals))
    assert found.final < 1
    assert found.trajectory == pytest.approx(sum(known) / len(known))
    (same,) = make_cells(run(tmp_path / "cold", sweep, replace(rig, temperature=0.0)).rows)
    alike = alike_runs(same)
    assert alike is not None
    assert (alike.final, alike.combined) == (1, pytest.approx(1))
    (single,) = make_cells(run(tmp_path / "one", ONE).rows)
    assert alike_runs(single) is None, "a single run is like nothing"


def test_what_is_not_known_is_a_dash_and_said(tmp_path: Path) -> None:
    (cell,) = make_cells(run(tmp_path / "shop", ONE).rows)
    assert further([cell])[cell.title]["ic"] is None, "it was not asked to ask"
    loan = replace(RIG, source=DialogueSource(domain="loan", size=2))
    rows = run(tmp_path / "loan", ONE, loan).rows
    assert of_references(make_cells(rows)) == []
    said = text_tables(rows, {"source": {"domain": "loan", "size": 2}})
    assert "nobody recorded what was done" in said
    assert set(further(make_cells(rows)).popitem()[1]) == set(FURTHER)
