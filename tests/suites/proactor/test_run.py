"""ProActor as one call: resumed, repeated, reported again, through an endpoint, and too slow."""

import json
import re
from collections.abc import Iterator
from csv import DictReader
from dataclasses import replace
from pathlib import Path

import pytest

pytest.importorskip("yaml")
pytest.importorskip("jinja2")
pytest.importorskip("matplotlib")

from tests.servers.fake import Body, FakeServer, Say, Status, Step
from tests.suites.proactor.material import FAST, FILES, RIG, SLOW, SMALL, run
from timeful.core.units import in_seconds, milliseconds
from timeful.dialogues.abcd_shape import write_abcd
from timeful.dialogues.jsonl import write_jsonl
from timeful.domains.dialogue_set import DialogueSource, load_dialogue_set
from timeful.domains.generator import generate
from timeful.domains.library import load_domain
from timeful.environments.dialogue.timing import Paced
from timeful.errors import SettingsError
from timeful.metrics.proactor.episodes import read_conversation, score_conversations
from timeful.models.pace import Pace
from timeful.models.role import read_role
from timeful.records.recorder import read_record, record_hash
from timeful.runs.experiment import report_again
from timeful.seeding import child
from timeful.suites.proactor.numbers import Cell, make_cells
from timeful.suites.proactor.outlook import outlook
from timeful.suites.proactor.rows import ProactorRow
from timeful.suites.proactor.run import experiment
from timeful.suites.proactor.spec import RULES, ProactorSpec, Rig
from timeful.suites.proactor.sweep import Sweep, episodes
from timeful.suites.proactor.tables import text_tables

ONE = replace(SMALL, thresholds=(0.7,), runs=1)


def contents(out: Path) -> dict[str, object]:
    hashes = {p.name: record_hash(read_record(p)) for p in (out / "episodes").glob("*.jsonl")}
    pages = {p.name: p.read_bytes() for p in (out / "dialogues").glob("*.html")}
    return {**{name: (out / name).read_bytes() for name in FILES}, **hashes, **pages}


def cell_of(rows: list[ProactorRow], **wanted: object) -> Cell:
    found = [
        cell
        for cell in make_cells(rows)
        if all(getattr(cell, name) == value for name, value in wanted.items())
    ]
    assert len(found) == 1
    return found[0]


def test_one_worker_and_two_write_the_same_bytes_and_so_does_a_report_from_records(
    tmp_path: Path,
) -> None:
    for workers in (1, 2):
        run(tmp_path / str(workers), workers=workers)
    first = contents(tmp_path / "1")
    assert contents(tmp_path / "2") == first
    for path in ("report.html", "results.json", "rows.jsonl"):
        (tmp_path / "1" / path).unlink()
    report_again(experiment(), tmp_path / "1")
    assert contents(tmp_path / "1") == first


def test_a_run_that_lost_episodes_goes_on_and_is_as_if_nothing_had_happened(
    tmp_path: Path,
) -> None:
    run(tmp_path, ONE)
    before = contents(tmp_path)
    records = sorted((tmp_path / "episodes").glob("*.jsonl"))
    for record in records[::2]:
        record.unlink()
    (tmp_path / "rows.jsonl").unlink()
    kept = {record: record.stat().st_mtime_ns for record in records[1::2]}
    run(tmp_path, ONE)
    assert contents(tmp_path) == before
    assert {record: record.stat().st_mtime_ns for record in kept} == kept


def test_the_means_are_those_that_the_metrics_make_of_the_records(tmp_path: Path) -> None:
    slower = Pace(per_token=milliseconds(40))
    sweep = replace(ONE, thresholds=(0.2,), timings=("pace",), paces=(slower,))
    rows = run(tmp_path, sweep).rows
    (cell,) = make_cells(rows)
    records = sorted((tmp_path / "episodes").glob("*.jsonl"))
    found = score_conversations(read_conversation(read_record(path)) for path in records)
    for name in ("ac", "max_ac", "pt", "ftr", "rar"):
        number = cell.numbers[name]
        assert number is not None
        assert number.mean == pytest.approx(found.means.means[name])
    for name in ("ac", "pt"):
        with_lost = cell.of_all(name)
        assert with_lost is not None
        assert with_lost.mean == pytest.approx(found.with_lost[name])
    assert cell.count("lost") == found.n_lost > 0
    assert cell.count("late") == found.n_late
    assert cell.count("lost_late") == found.n_lost_late < found.n_lost
    assert cell.count("empty") == found.n_empty


def test_a_wall_clock_is_said_beforehand_to_take_the_time_of_the_conversations() -> None:
    def told(rig: Rig) -> str:
        sweep = replace(ONE, timings=("pace",), paces=(FAST,))
        return " ".join(outlook(episodes(sweep, rig, RULES, count=2), workers=2))

    assert "minutes" not in told(RIG)
    wall = replace(RIG, clock="wall")
    ends = [
        Paced().timetable(one, child(0, "any")).end
        for one in load_dialogue_set(RIG.source).dialogues
    ]
    minutes = sum(map(in_seconds, ends)) / 60
    found = re.search(r"take ([\d]+) minutes in all, ([\d]+) or more with 2 workers", told(wall))
    assert found is not None
    assert float(found[1]) == pytest.approx(minutes, rel=0.25), "spans vary from run to run"
    assert float(found[2]) == pytest.approx(float(found[1]) / 2, abs=1)


def test_by_turn_nothing_is_lost_and_runs_differ_by_the_temperature_alone(tmp_path: Path) -> None:
    for temperature in (0.0, 0.6):
        rig = replace(RIG, temperature=temperature)
        rows = run(tmp_path / str(temperature), replace(SMALL, timings=("by-turn",)), rig).rows
        assert not any(row.lost or row.late for row in rows)
        for cell in make_cells(rows):
            first, second = ([row for row in cell.rows if row.run == run] for run in (0, 1))
            is_same = [row.sums for row in first] == [row.sums for row in second]
            assert is_same == (not temperature)
            spread = cell.numbers["ac"]
            assert spread is not None
            assert spread.n == 2
            assert bool(spread.std) == bool(temperature)


def test_whoever_is_slower_loses_more_and_a_lost_turn_counts_for_nothing(tmp_path: Path) -> None:
    rows = run(tmp_path).rows
    fast = cell_of(rows, part="time", who="eager 0.2", token_ns=FAST.per_token)
    slow = cell_of(rows, part="time", who="eager 0.2", token_ns=SLOW.per_token)
    assert slow.count("lost") > fast.count("lost")
    assert slow.count("turns") == fast.count("turns")
    for cell in (fast, slow):
        whole, of_all = cell.numbers["pt"], cell.of_all("pt")
        assert whole is not None
        assert of_all is not None
        assert of_all.mean <= whole.mean


def test_everybody_meets_a_conversation_at_the_same_pace_within_a_run(tmp_path: Path) -> None:
    agents = ("non-reasoning", "reasoning", "reasoning-asg")
    sweep = replace(SMALL, timings=("pace",), agents=agents, thresholds=(0.2,))
    specs = episodes(sweep, RIG, RULES, count=2)
    keys = [spec.key for spec in specs]
    assert len(set(keys)) == len(keys) == 3 * 2 * 2 * 2
    assert isinstance(specs[0].law, Paced)
    rows = run(tmp_path, sweep).rows
    assert len({(row.place, row.run, row.ended_s) for row in rows}) == 4, "whoever listens"
    assert len({(row.place, row.ended_s) for row in rows}) == 4, "another pace in another run"


def test_an_eager_one_that_is_shown_its_states_holds_on_to_them(tmp_path: Path) -> None:
    agents = ("reasoning", "reasoning-asg")
    sweep = replace(ONE, timings=("by-turn",), agents=agents, thresholds=(0.2,))
    rows = run(tmp_path, sweep).rows
    without, shown = (cell_of(rows, agent=agent) for agent in agents)
    assert sum(sum(row.ready) for row in shown.rows) > sum(sum(row.ready) for row in without.rows)


def test_who_says_the_same_is_drawn_once(tmp_path: Path) -> None:
    sweep = replace(ONE, timings=("by-turn",), agents=("non-reasoning", "reasoning"))
    page = run(tmp_path, sweep).report.read_text()
    assert page.count("mark for mark as Non-Reasoning, cautious 0.7; by turn") == 2


def test_the_episodes_stand_in_a_spreadsheet_as_means(tmp_path: Path) -> None:
    (row, _) = run(tmp_path, replace(ONE, timings=("by-turn",))).rows
    with (tmp_path / "episodes.csv").open() as file:
        line = next(DictReader(file))
    assert line["key"] == row.key
    assert float(line["pt"]) == pytest.approx(row.sums["pt"] / row.scored)


def test_a_curve_is_no_part_of_the_group(tmp_path: Path) -> None:
    sweep = replace(ONE, timings=("by-turn",), curve=(0.3, 0.7, 0.9))
    rows = run(tmp_path, sweep).rows
    assert [row.threshold for row in rows if row.part == "curve"] == [0.3, 0.3, 0.9, 0.9]
    said = text_tables(rows, {"source": {"size": 2}})
    assert "No PRI: it compares, and one is alone" in said
    assert said.splitlines()[3].split()[-7] == "-", "and not 0.5, whatever it does"
    assert (tmp_path / "trade_off.svg").exists()
    assert not (tmp_path / "by_pace.svg").exists()


# --- models -------------------------------------------------------------------------------------


def script(body: Body) -> Iterator[Step]:
    asked = body["messages"][-1]["content"]
    if "Turn 2," not in asked:
        return iter([Say("I have nothing to say about that.")])
    found = {
        "name": "find-account",
        "inputs": {"required": [], "optional": []},
        "action_trigger_status": "ready_to_trigger",
    }
    text = json.dumps({"proactive_action_opportunities": [found, {**found, "name": "fly"}]})
    return iter([Say(text[:40]), Say(text[40:])])


def test_an_endpoint_and_what_was_recorded_of_it_give_the_same_numbers(tmp_path: Path) -> None:
    pytest.importorskip("openai")
    cassette = tmp_path / "said.jsonl"
    sweep = replace(ONE, timings=("by-turn",))
    rig = replace(RIG, source=DialogueSource(size=1))
    with FakeServer(script) as server:
        live = read_role(
            "openai:m", stand_in="rules", base_url=server.base_url, record=str(cassette)
        )
        spoken = run(tmp_path / "live", sweep, rig, live).rows
        bodies = [request.body for request in server.requests]
    replayed = run(
        tmp_path / "again", sweep, rig, read_role(f"replay:{cassette}", stand_in="rules")
    ).rows
    assert bodies[0]["temperature"] == 0.1, "as the agent's file says"
    (row,) = spoken
    assert not row.stand_in
    assert row.notes["no-json"] == 1
    assert row.notes["unknown-action"] == row.turns - 1 == row.scored
    assert [(one.sums, one.notes) for one in replayed] == [(row.sums, row.notes)]
    page = (tmp_path / "live" / "report.html").read_text()
    assert "no language model was run" not in page
    assert "unknown-action" in page


def test_an_endpoint_in_wall_time_is_timed_by_when_its_tokens_come(tmp_path: Path) -> None:
    pytest.importorskip("openai")
    rig = replace(RIG, source=DialogueSource(size=1), clock="wall", arrival=True)
    with FakeServer(script) as server:
        live = read_role("openai:m", stand_in="rules", base_url=server.base_url)
        (row,) = run(tmp_path, replace(ONE, timings=("by-turn",)), rig, live).rows
    assert row.status == "ok"
    assert row.lost == 0
    assert 0 < row.ended_s < 60


def test_an_endpoint_that_fails_costs_the_episode_and_not_the_run(tmp_path: Path) -> None:
    pytest.importorskip("openai")
    sweep = replace(ONE, timings=("by-turn",))
    with FakeServer([Status(400)]) as server:
        broken = read_role("openai:m", stand_in="rules", base_url=server.base_url)
        finished = run(tmp_path, sweep, replace(RIG, source=DialogueSource(size=1)), broken)
    (row,) = finished.rows
    assert row.status == "failed"
    assert row.error
    assert "1 of 1 episodes failed" in text_tables(finished.rows, {"source": {}})
    assert "Failed episodes (1)" in finished.report.read_text()


# --- data ---------------------------------------------------------------------------------------


def test_dialogues_of_ones_own_in_both_shapes(tmp_path: Path) -> None:
    made = list(generate(load_domain("shop"), n=2, seed=5))
    write_jsonl(tmp_path / "own.jsonl", made)
    write_abcd(tmp_path / "own.json.gz", made)
    sweep = replace(ONE, timings=("by-turn",))
    cells = {}
    for name in ("own.jsonl", "own.json.gz"):
        source = DialogueSource(data=str(tmp_path / name), split="", size=None)
        cells[name] = make_cells(run(tmp_path / f"run-{name}", sweep, Rig(source=source)).rows)[0]
    lines, shaped = cells["own.jsonl"].numbers, cells["own.json.gz"].numbers
    assert lines["pt"] == shaped["pt"]
    assert lines["rar"] == shaped["rar"]
    assert lines["ac"] is not None
    assert shaped["ac"] is None, "that shape has no references"
    rows = list(cells["own.json.gz"].rows)
    said = text_tables(rows, {"source": {"data": "own.json.gz", "split": ""}})
    assert "no AC, Max AC and PRI" in said
    assert "No PRI: nobody has all of its numbers" in said
    by_action = said.partition("By action")[2].partition("n: ")[0].splitlines()[2:]
    assert {line.split()[2] for line in by_action} == {"-"}


def test_dialogues_that_cannot_be_are_refused_before_anything_is_played(tmp_path: Path) -> None:
    made = list(generate(load_domain("shop"), n=1, seed=5))
    write_jsonl(tmp_path / "own.jsonl", made)
    source = DialogueSource(data=str(tmp_path / "own.jsonl"), split="trian", size=None)
    with pytest.raises(SettingsError, match="Did you mean 'train'"):
        load_dialogue_set(source)
    untimed = Rig(source=replace(source, split="train"))
    with pytest.raises(SettingsError, match="turn 1 has no start_s"):
        run(tmp_path / "run", replace(ONE, timings=("timestamps",)), untimed)
    assert not (tmp_path / "run" / "settings.json").exists()
    write_jsonl(
        tmp_path / "bare.jsonl",
        [made[0].__class__(id="bare", split="test", turns=made[0].turns)],
    )
    with pytest.raises(SettingsError, match="bare"):
        load_dialogue_set(DialogueSource(data=str(tmp_path / "bare.jsonl"), size=None))
    silent = made[0].__class__(id="silent", split="train", turns=made[0].turns)
    write_jsonl(tmp_path / "some.jsonl", [silent, *made])
    found = load_dialogue_set(
        DialogueSource(data=str(tmp_path / "some.jsonl"), split="", size=None)
    )
    assert len(found.dialogues) == 2, "in one of several nothing may ever have been ready"


@pytest.mark.parametrize(
    ("wrong", "says"),
    [
        ({"interface": "reflex"}, "unknown interface|cannot have"),
        ({"interface": "polling:0"}, "above 0"),
        ({"interface": "loop:2"}, "only polling and fixed-rate"),
        ({"arrival": True}, "wall time only"),
        ({"thinking": -1}, "0 or more"),
        ({"temperature": 3.0}, "from 0 to 2"),
        ({"policy": "wait"}, "unknown policy"),
    ],
)
def test_what_cannot_be_is_refused(wrong: dict[str, object], says: str) -> None:
    with pytest.raises(SettingsError, match=says):
        Rig(**wrong)  # type: ignore[arg-type]


@pytest.mark.parametrize("interface", ["polling:2", "loop", "fixed-rate:1", "frozen"])
def test_every_interface_plays_the_same_conversation(tmp_path: Path, interface: str) -> None:
    rig = replace(RIG, interface=interface, source=DialogueSource(size=1))
    rows = run(tmp_path, replace(ONE, timings=("pace",), paces=(FAST,)), rig).rows
    assert [row.status for row in rows] == ["ok"]
    assert rows[0].scored > 0


def test_a_sweep_knows_its_conditions() -> None:
    found = Sweep(timings=("pace", "by-turn"), paces=(FAST, SLOW)).conditions()
    assert found == [("main", "pace", FAST), ("time", "pace", SLOW), ("time", "by-turn", FAST)]
    spec: ProactorSpec = episodes(SMALL, RIG, RULES, count=1)[0]
    assert spec.settings()["episode"]["key"] == spec.key
