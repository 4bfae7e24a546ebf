"""The numbers of a run: as the metrics compute them from its records, over runs and in groups."""

from csv import DictReader
from pathlib import Path

import pytest

pytest.importorskip("yaml")
pytest.importorskip("jinja2")
pytest.importorskip("matplotlib")

from tests.suites.proactor.material import FAST, ONE, SLOW, SMALL, cell, run
from timeful.dialogues.abcd_shape import write_abcd
from timeful.dialogues.jsonl import write_jsonl
from timeful.domains.generator import generate
from timeful.domains.library import load_domain
from timeful.metrics.proactor.alignment import alignments
from timeful.metrics.proactor.auxiliary import auxiliary
from timeful.metrics.proactor.episodes import read_conversation, score_conversations
from timeful.metrics.proactor.repeatability import final_consistency, trajectory_correlation
from timeful.records.recorder import read_record
from timeful.suites.proactor.cells import MEANS, align_references, compare_runs, main_groups
from timeful.suites.proactor.suite import nearest_data


def test_means_are_those_of_the_metrics_over_the_records(tmp_path: Path) -> None:
    results = run(tmp_path, ONE, timing=["pace"], token_ms=[40.0], questions=True, domain="shop")
    paths = sorted((tmp_path / "episodes").glob("*.jsonl"))
    read = [read_conversation(read_record(path)) for path in paths]
    scores = score_conversations(read)
    names = {**MEANS, "atr": "ATR", "false_triggered": "false triggered", "frr": "FRR"}
    for name, title in names.items():
        assert cell(results, title).value == pytest.approx(scores.means.means[name])
    for name in ("ac", "pt"):
        with_lost = cell(results, f"{MEANS[name]}, a lost turn as 0")
        assert with_lost.value == pytest.approx(scores.with_lost[name])
    turns = sum(row.turns for row in results.episodes)
    for name in ("lost", "late", "lost_late", "empty"):
        count = getattr(scores, f"n_{name}")
        share = cell(results, f"{name.replace('_', ' ')} turns")
        assert share.value == pytest.approx(count / turns)
    assert scores.n_lost > scores.n_lost_late
    further = auxiliary([conversed for conversed in read if conversed is not None])
    for title, theirs in (("AD", further.ad), ("IC by tfidf", further.ic)):
        assert theirs is not None
        assert cell(results, title).value == pytest.approx(theirs.mean)


def test_the_references_are_scored_once_a_dialogue(tmp_path: Path) -> None:
    rows = run(tmp_path, timing=["by-turn"]).episodes
    dialogues = [d for d in generate(load_domain("shop"), n=20, seed=0) if d.split == "test"]
    assert align_references(rows) == alignments(dialogues)


def test_runs_are_similar_by_their_means_and_by_their_dialogues(tmp_path: Path) -> None:
    values = {**ONE, "run": range(2), "dialogues": 3}
    (group,) = main_groups(run(tmp_path / "warm", values, temperature=1.0).episodes)
    similar = compare_runs(group)
    finals, shapes = [], []
    for name in MEANS:
        runs = [
            (
                sum(row.sums[name] for row in rows) / sum(row.scored for row in rows),
                {row.place: row.sums[name] / row.scored for row in rows},
            )
            for rows in group.runs
        ]
        (mean, series), (other, others) = runs
        finals.append(final_consistency(mean, other))
        shapes.append(trajectory_correlation(series, others))
    known = [shape for shape in shapes if shape is not None]
    assert similar["means"] == pytest.approx(sum(finals) / len(finals))
    assert similar["by conversation"] == pytest.approx(sum(known) / len(known))
    (same,) = main_groups(run(tmp_path / "cold", values, temperature=0.0).episodes)
    assert compare_runs(same)["combined"] == pytest.approx(1)
    (single,) = main_groups(run(tmp_path / "one", ONE).episodes)
    assert compare_runs(single) == {}, "a single run is like nothing"


def test_by_turn_nothing_is_lost_and_runs_differ_by_the_temperature_alone(tmp_path: Path) -> None:
    for temperature in (0.0, 0.6):
        results = run(tmp_path / str(temperature), timing=["by-turn"], temperature=temperature)
        assert not any(row.lost or row.late for row in results.episodes)
        for who in ("cautious 0.7", "eager 0.2"):
            spread = cell(results, "AC", who=who)
            assert spread.n == 2
            assert bool(spread.spread) == bool(temperature)


def test_a_slower_agent_loses_more_and_a_lost_turn_counts_as_0(tmp_path: Path) -> None:
    results = run(tmp_path)
    lost, means, with_lost = (
        [
            cell(results, metric, part="time", who="eager 0.2", token_ns=int(ms * 1e6)).value
            for ms in (FAST, SLOW)
        ]
        for metric in ("lost turns", "PT", "PT, a lost turn as 0")
    )
    assert lost[0] < lost[1]
    assert all(a <= b for a, b in zip(with_lost, means, strict=True))


def test_pri_ranks_the_group_of_table_1_and_the_curve_is_no_part_of_it(tmp_path: Path) -> None:
    results = run(tmp_path / "two", timing=["by-turn"])
    pri = [c for c in results.cells if c.metric.startswith("PRI in the group")]
    assert len(pri) == 2
    assert all(c.method in pri[0].metric for c in pri)
    alone = run(tmp_path / "one", ONE, curve=True)
    thresholds = {row.threshold for row in alone.episodes if row.part == "curve"}
    assert thresholds == {0.1, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9}
    assert not any(c.metric.startswith("PRI in the group") for c in alone.cells)


def test_ready_ranges_without_references_give_no_consistency(tmp_path: Path) -> None:
    dialogues = list(generate(load_domain("shop"), n=2, seed=5))
    write_jsonl(tmp_path / "own.jsonl", dialogues)
    write_abcd(tmp_path / "own.json.gz", dialogues)
    values = {**ONE, "split": "all", "dialogues": None}
    lines, shaped = (
        run(tmp_path / f"run-{name}", values, data=str(tmp_path / name))
        for name in ("own.jsonl", "own.json.gz")
    )
    for metric in ("PT", "RAR"):
        assert cell(lines, metric).value == cell(shaped, metric).value
    assert cell(lines, "AC").value is not None
    assert (cell(shaped, "AC").value, cell(shaped, "AC").n) == (None, 0)
    assert not any(c.metric.startswith("PRI in the group") for c in shaped.cells)


def test_episodes_are_a_spreadsheet_of_means(tmp_path: Path) -> None:
    (row, _) = run(tmp_path, ONE).episodes
    with (tmp_path / "episodes.csv").open() as file:
        line = next(DictReader(file))
    assert line["key"] == row.key
    assert float(line["pt"]) == pytest.approx(row.sums["pt"] / row.scored)


def test_published_numbers_are_listed_and_never_compared(tmp_path: Path) -> None:
    results = run(tmp_path, SMALL, timing=["by-turn"])
    for c in results.cells:
        assert c.published is None or (c.value is None and c.stand_in is None)
    assert nearest_data("domain loan, made") == "Home Loan"
    assert nearest_data("domain shop, made") == "ABCD+"
