"""The suite from one call: same seed, same bytes; and live endpoints, cassettes and failures."""

import hashlib
import random
import threading
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import msgspec
import pytest

from tests.servers.fake import FakeServer, Say, Status
from timeful.errors import SettingsError
from timeful.models.model_spec import ModelSpec
from timeful.records.recorder import read_record, record_hash
from timeful.records.rows import EpisodeRow
from timeful.reports.results import read_results
from timeful.runs.experiment import Finished, report_again, run_experiment
from timeful.suites.realtime.conditions import AGENTS
from timeful.suites.realtime.run import experiment, identity
from timeful.suites.realtime.spec import EpisodeSpec, Sweep, episodes

LIKE = EpisodeSpec(
    game="freeway", difficulty="medium", agent="reactive", step=8192, game_seed=0, sample=0
)
SMALL = Sweep(
    experiments=(),
    games=("freeway",),
    difficulties=("easy",),
    steps=(4096,),
    seeds=2,
    samples=1,
    agents=AGENTS,
)


def run(
    out: Path,
    sweep: Sweep = SMALL,
    like: EpisodeSpec = LIKE,
    *,
    workers: int = 1,
    api_key: str = "",
) -> Finished[EpisodeRow]:
    return run_experiment(
        experiment(api_key),
        episodes(sweep, like),
        out,
        settings=identity(sweep, like),
        workers=workers,
    )


def hashes(finished: Finished[EpisodeRow]) -> dict[str, str]:
    records = (finished.report.parent / "episodes").glob("*.jsonl")
    return {path.stem: record_hash(read_record(path)) for path in records}


def test_one_worker_or_two_the_records_are_the_same_bytes(tmp_path: Path) -> None:
    one, two = run(tmp_path / "one"), run(tmp_path / "two", workers=2)
    assert one.rows == two.rows
    assert hashes(one) == hashes(two)
    assert len(hashes(one)) == 2 * len(AGENTS)
    assert not one.failed


def test_a_second_call_plays_nothing_and_reports_the_same(tmp_path: Path) -> None:
    first = run(tmp_path)
    before = {path: path.stat().st_mtime_ns for path in (tmp_path / "episodes").iterdir()}
    page = first.report.read_bytes()
    assert run(tmp_path).rows == first.rows
    assert {path: path.stat().st_mtime_ns for path in before} == before
    assert first.report.read_bytes() == page


def test_a_run_may_be_widened_but_not_mixed(tmp_path: Path) -> None:
    run(tmp_path, replace(SMALL, agents=("reactive",)))
    assert len(run(tmp_path, replace(SMALL, agents=("reactive", "planning"))).rows) == 4
    with pytest.raises(SettingsError, match="mode"):
        run(tmp_path, like=replace(LIKE, mode="paper"))


def test_results_have_the_shape_that_all_suites_share(tmp_path: Path) -> None:
    run(tmp_path, replace(SMALL, agents=("reactive", "agile")))
    raw = msgspec.json.decode((tmp_path / "results.json").read_bytes())
    fields = (
        "suite experiment setting method metric value low high n published source stand_in spread"
    )
    assert {frozenset(row) for row in raw} == {frozenset(fields.split())}
    ours = [row for row in read_results(tmp_path / "results.json") if row.value is not None]
    assert ours
    assert all(row.stand_in for row in ours)


def test_the_report_can_be_made_again_from_the_records_alone(tmp_path: Path) -> None:
    first = run(tmp_path, replace(SMALL, agents=("reactive",)))
    (tmp_path / "rows.jsonl").unlink()
    again = report_again(experiment(), tmp_path)
    assert sorted(again.rows, key=lambda row: row.game_seed) == first.rows


def moves(body: dict[str, Any]) -> Iterator[Any]:
    asked = body["messages"][-1]["content"]
    chance = random.Random(hashlib.sha256(asked.encode()).digest())
    yield from [Say("hm ")] * chance.randrange(5)
    yield Say("\\boxed{U}")


def live(server: FakeServer, **changes: Any) -> EpisodeSpec:
    choice = ModelSpec(spec="openai:fake", base_url=server.base_url, **changes)
    return replace(LIKE, planner=choice, reactor=choice, transcripts="full")


FEW = replace(SMALL, agents=("reactive", "planning", "agile"), seeds=1)


def test_a_live_endpoint_is_recorded_and_replayed_to_the_same_bytes(tmp_path: Path) -> None:
    tape = tmp_path / "tape.jsonl"
    with FakeServer(moves) as server:
        first = run(tmp_path / "live", FEW, live(server, record=str(tape)))
        asked = len(server.requests)
    assert asked > 0
    assert not first.failed
    choice = ModelSpec(spec=f"replay:{tape}")
    replayed = run(
        tmp_path / "again", FEW, replace(LIKE, planner=choice, reactor=choice, transcripts="full")
    )
    assert [row.score for row in replayed.rows] == [row.score for row in first.rows]
    assert [row.tokens for row in replayed.rows] == [row.tokens for row in first.rows]


def test_a_cassette_of_two_models_is_replayed_by_their_names(tmp_path: Path) -> None:
    tape = tmp_path / "two # models.jsonl"
    agile = replace(FEW, agents=("agile",))
    with FakeServer(moves) as server:
        planner, reactor = (
            ModelSpec(spec=f"openai:{name}", base_url=server.base_url, record=str(tape))
            for name in ("thinker", "doer")
        )
        like = replace(LIKE, planner=planner, reactor=reactor, transcripts="full")
        first = run(tmp_path / "live", agile, like)
    both = ModelSpec(spec=f"replay:{tape}")
    with pytest.raises(SettingsError, match=r"replay:FILE#NAME; it holds: doer, thinker"):
        run(tmp_path / "both", agile, replace(like, planner=both, reactor=both))
    planner, reactor = (ModelSpec(spec=f"replay:{tape}#{name}") for name in ("thinker", "doer"))
    again = run(tmp_path / "again", agile, replace(like, planner=planner, reactor=reactor))
    assert [row.tokens for row in again.rows] == [row.tokens for row in first.rows]


def test_an_endpoint_that_refuses_fails_its_episodes_at_the_model(tmp_path: Path) -> None:
    with FakeServer([Status(401, "bad key")]) as server:
        finished = run(tmp_path, FEW, live(server), api_key="sk-secret")
    assert len(finished.failed) == len(finished.rows) == 3
    assert all((row.error or "").startswith("model: ModelRefusedError") for row in finished.rows)
    written = b"".join(path.read_bytes() for path in tmp_path.rglob("*") if path.is_file())
    assert b"sk-secret" not in written


def test_neither_a_key_nor_a_password_in_an_address_is_written(tmp_path: Path) -> None:
    with FakeServer(moves) as server:
        url = server.base_url.replace("://", "://user:passw0rd@")
        choice = ModelSpec(spec="openai:fake", base_url=url)
        like = replace(LIKE, planner=choice, reactor=choice, transcripts="full")
        run(tmp_path, replace(FEW, agents=("reactive",)), like, api_key="sk-secret")
    written = b"".join(path.read_bytes() for path in tmp_path.rglob("*") if path.is_file())
    assert b"localhost" in written or b"127.0.0.1" in written
    assert b"passw0rd" not in written
    assert b"sk-secret" not in written


def test_a_model_that_cannot_be_made_is_found_before_the_folder_is_touched(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("timeful.models.chat.find_spec", lambda _name: None)
    choice = ModelSpec(spec="openai:fake", base_url="http://localhost:1/v1")
    with pytest.raises(SettingsError, match="pip install"):
        run(tmp_path / "run", FEW, replace(LIKE, planner=choice, reactor=choice))
    assert not (tmp_path / "run").exists()


def test_all_episodes_of_a_process_share_one_thread_for_a_model(tmp_path: Path) -> None:
    def streams() -> set[threading.Thread]:
        return {thread for thread in threading.enumerate() if thread.name == "timeful-streams"}

    before = streams()
    with FakeServer(moves) as server:
        run(tmp_path, replace(FEW, agents=("agile",), seeds=2), live(server))
    assert len(streams() - before) == 1


@pytest.mark.parametrize("interface", ["event-driven", "loop", "polling:512"])
def test_a_sweep_runs_under_other_laws_and_says_so(tmp_path: Path, interface: str) -> None:
    sweep = replace(SMALL, agents=("planning", "agile"))
    usual = run(tmp_path / "usual", sweep)
    other = run(tmp_path / "other", sweep, replace(LIKE, interface=interface))
    assert not other.failed
    assert {row.agent for row in other.rows} == {f"{row.agent}@{interface}" for row in usual.rows}
    if interface == "event-driven":  # in a world of turns, the same law
        assert [row.score for row in other.rows] == [row.score for row in usual.rows]


def test_a_frozen_world_is_labelled(tmp_path: Path) -> None:
    finished = run(
        tmp_path, replace(SMALL, agents=("planning",)), replace(LIKE, interface="frozen")
    )
    assert {row.agent for row in finished.rows} == {"planning@frozen"}
    assert {row.late_turns for row in finished.rows} == {0}
