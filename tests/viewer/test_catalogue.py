"""What the catalogue finds, and what it says of what it cannot read."""

import json
import os
from pathlib import Path

import pytest

from tests.viewer.material import game, write_record, write_run
from timeful.errors import RecordError
from timeful.reports.html import write_page
from timeful.reports.page import Entry, Grid, Notice, Page, Section
from timeful.viewer.catalogue import Runs
from timeful.viewer.pack import pack_apart
from timeful.viewer.schema import Rows


def columns(rows: Rows) -> dict[str, list[object]]:
    return {column.name: list(column.values) for column in rows.columns}


def test_runs_are_found_below_a_folder_and_a_record_alone(tmp_path: Path) -> None:
    write_run(tmp_path / "a" / "deep" / "run")
    write_record(tmp_path / "loose" / "one.jsonl", game())
    runs = Runs([tmp_path])
    assert [(run.name, run.kind) for run in runs.runs] == [
        ("a/deep/run", "run"),
        ("loose", "records"),
    ]
    single = Runs([tmp_path / "loose" / "one.jsonl"])
    assert single.run(0).keys == ["one"]
    assert single.rows(0).keys == ["one"]


def test_a_table_has_the_columns_of_rows_and_their_levels(tmp_path: Path) -> None:
    write_run(tmp_path / "run", count=30)
    rows = Runs([tmp_path]).rows(0)
    by_name = {column.name: column for column in rows.columns}
    assert by_name["seed"].kind == "number"
    assert by_name["seed"].levels == []
    assert by_name["game"].levels == ["snake"]
    assert rows.lead[0] == "seed"
    assert rows.pending == 0


def test_a_result_names_its_episodes_by_columns_that_rows_have(tmp_path: Path) -> None:
    write_run(tmp_path / "run")
    (section,) = Runs([tmp_path]).rows(0).sections
    (grid,) = section.blocks
    where = (("game", "snake"), ("condition", "easy"))
    entries = (Entry("2", "[1 3]", "strong", where=where), Entry("(1.50)", tone="quiet"))
    assert isinstance(grid, Grid)
    assert (grid.head, grid.rows) == (("method", "snake"), (("agile", entries),))
    assert not section.is_folded
    write_page(Page(title="t", sections=[Section("Results", (Notice("n"),))]), tmp_path / "run")
    first, second = Runs([tmp_path]).rows(0).sections
    assert (first.title, second.blocks, second.is_folded) == ("Results", (grid,), True)
    (tmp_path / "run" / "report.json").write_text("[")
    assert Runs([tmp_path]).rows(0).notices


def test_rows_without_an_index_come_from_the_records(tmp_path: Path) -> None:
    run = write_run(tmp_path / "run", count=3)
    (run / "rows.jsonl").unlink()
    table = columns(Runs([tmp_path]).rows(0))
    assert table["score"] == [2.0] * 3
    assert table["agent"] == ["agile"] * 3
    rows = Runs([tmp_path]).rows(0, budget=1)
    assert rows.pending == 2
    assert columns(rows)["score"] == [2.0, None, None]


def test_rows_that_a_table_lacks_are_read_in_the_background(tmp_path: Path) -> None:
    run = write_run(tmp_path / "run", count=3)
    (run / "rows.jsonl").unlink()
    runs = Runs([tmp_path])
    before = runs.signature()
    assert runs.rows(0, budget=1).pending == 2
    after = runs.signature()
    assert after != before
    assert runs.rows(0, budget=0).pending == 0
    assert runs.signature() == after


def test_a_run_that_grows_keeps_the_numbers_of_its_episodes(tmp_path: Path) -> None:
    run = write_run(tmp_path / "run", count=1)
    runs = Runs([tmp_path])
    assert runs.run(0).keys == ["e0"]
    part = run / "episodes" / f"a0.jsonl.{os.getpid()}.1.part"
    write_record(part, game()[:4])
    assert runs.run(0).keys == ["e0", "a0"]
    assert runs.catalogue().runs[0].state == "running"
    assert json.loads(runs.part(0, 1, "lanes"))["status"] == "open"
    write_record(run / "episodes" / "a0.jsonl", game())
    part.unlink()
    assert json.loads(runs.part(0, 1, "lanes"))["status"] == "ok"
    assert runs.catalogue().runs[0].state == "done"


def test_a_run_whose_process_was_killed_is_stopped(tmp_path: Path) -> None:
    run = write_run(tmp_path / "run", count=1)
    write_record(run / "episodes" / "b.jsonl.999999999.1.part", game()[:4])
    assert Runs([tmp_path]).catalogue().runs[0].state == "stopped"


def test_what_cannot_be_read_hides_nothing_else(tmp_path: Path) -> None:
    write_run(tmp_path / "good")
    bad = write_run(tmp_path / "bad")
    (bad / "settings.json").write_text("{")
    (bad / "rows.jsonl").write_text('nonsense\n{"key": 1}\n')
    (bad / "results.json").write_text("[1]")
    runs = Runs([tmp_path])
    assert {entry.name: entry.state for entry in runs.catalogue().runs} == {
        "good": "done",
        "bad": "unreadable",
    }
    rows = runs.rows(0)
    assert len(rows.notices) == 3
    assert columns(rows)["score"] == [2.0, 2.0]


def test_an_episode_that_vanishes_says_so(tmp_path: Path) -> None:
    run = write_run(tmp_path / "run")
    runs = Runs([tmp_path])
    runs.part(0, 1, "lanes")
    (run / "episodes" / "e1.jsonl").unlink()
    with pytest.raises(RecordError):
        runs.part(0, 1, "lanes")
    assert runs.rows(0).keys == ["e0", "e1"]


def test_a_loop_of_links_ends(tmp_path: Path) -> None:
    (tmp_path / "loop").symlink_to(tmp_path)
    write_run(tmp_path / "run")
    assert [run.name for run in Runs([tmp_path]).runs] == ["run"]


def test_the_journal_of_a_training_is_curves(tmp_path: Path) -> None:
    run = write_run(tmp_path / "train", count=0)
    lines = [{"update": i, "reward": i / 2, "tokens": {"1x": 5}, "alarm": ""} for i in range(3)]
    (run / "metrics.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines) + "{")
    write_record(run / "episodes" / "0001" / "a.jsonl", game())
    runs = Runs([tmp_path])
    assert runs.runs[0].kind == "training"
    rows = runs.rows(0)
    assert rows.keys == ["0001/a"]
    curves = {curve.name: (curve.x, curve.y) for curve in rows.curves}
    assert curves == {
        "reward": ([0.0, 1.0, 2.0], [0.0, 0.5, 1.0]),
        "tokens.1x": ([0.0, 1.0, 2.0], [5.0] * 3),
    }


def test_a_run_of_several_trainings_has_their_curves_and_rollouts(tmp_path: Path) -> None:
    run = tmp_path / "run"
    for arm in ("seed-1/EP-aware", "fraction-0.5/seed-2/long"):
        write_record(run / arm / "episodes" / "00001" / "a.jsonl", game())
        (run / arm / "metrics.jsonl").write_text('{"update":1,"reward":0.5}\n')
    (run / "settings.json").write_text('{"suite":"train/quick"}')
    runs = Runs([tmp_path])
    assert [(found.name, found.kind) for found in runs.runs] == [("run", "training")]
    rows = runs.rows(0)
    assert rows.keys == ["fraction-0.5/seed-2/long/00001/a", "seed-1/EP-aware/00001/a"]
    names = ["seed-1/EP-aware: reward", "fraction-0.5/seed-2/long: reward"]
    assert [(curve.name, curve.x, curve.y) for curve in rows.curves] == [
        (name, [1.0], [0.5]) for name in names
    ]
    assert runs.record(0, 1).end is not None


def test_packs_in_memory_are_bounded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("timeful.viewer.catalogue._CACHE_BYTES", 10)
    write_run(tmp_path / "run", count=3)
    runs = Runs([tmp_path])
    for episode in (0, 1, 2):
        runs.part(0, episode, "lanes")
    assert len(runs._packs) == 1


def test_a_long_record_is_packed_in_a_process_of_its_own_to_the_same_bytes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = write_record(tmp_path / "one.jsonl", game())
    here = Runs([path]).part(0, 0, "lanes")
    monkeypatch.setattr("timeful.viewer.catalogue._LONG_BYTES", 0)
    assert Runs([path]).part(0, 0, "lanes") == here
    with pytest.raises(RecordError, match="cannot read"):
        pack_apart(tmp_path / "missing.jsonl", "lanes")


def test_triggers_are_counted_by_action_and_lead_to_their_dialogues(tmp_path: Path) -> None:
    run = write_run(tmp_path / "run", count=2)
    actions = [{"refund": {"predicted": 2, "too_late": 1}}, {"refund": {"predicted": 3}, "ask": {}}]
    rows = [
        {"key": f"e{n}", "size": 1, "row": {"agent": "a", "who": "eager", "actions": counts}}
        for n, counts in enumerate(actions)
    ]
    (run / "rows.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    table = Runs([run]).rows(0)
    (grid,) = table.sections[-1].blocks
    assert isinstance(grid, Grid)
    assert grid.head == ("action", "predicted", "too late")
    ask = (("agent", "a"), ("who", "eager"), ("predicts ask", True))
    assert grid.rows[0] == ("ask", Entry("0", where=ask), Entry("0", where=ask))
    assert [e.text for e in grid.rows[1][1:] if isinstance(e, Entry)] == ["5", "1"]
    flags = {column.name: column.values for column in table.columns}
    assert flags["predicts ask"] == [None, True]
