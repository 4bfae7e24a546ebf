"""The suite from one call: same seed, same bytes; and live endpoints, cassettes and failures."""

import hashlib
import random
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.servers.fake import FakeServer, Say, Status, Usage
from timeful.errors import SettingsError
from timeful.experiments.run import MAIN_KEY, Results, report_suite, run_suite
from timeful.experiments.sweep import Choice
from timeful.models.model_spec import ModelSpec
from timeful.records.recorder import read_record, record_hash
from timeful.reports.results import read_results
from timeful.suites.realtime.conditions import AGENTS
from timeful.suites.realtime.suite import suite

SMALL: dict[str, Any] = {
    "game": ("freeway",),
    "difficulty": ("easy",),
    "step": (4096,),
    "game_seed": range(2),
    "sample": range(1),
    "agent": AGENTS,
}


def run(
    out: Path,
    values: dict[str, Any] | None = None,
    *,
    workers: int = 1,
    api_key: str = "",
    **fixed: Any,
) -> Results:
    choice = Choice(values=values or SMALL, fixed=fixed)
    return run_suite(suite, choice, out, workers=workers, keys={MAIN_KEY: api_key})


def hashes(results: Results) -> dict[str, str]:
    records = (results.out / "episodes").glob("*.jsonl")
    return {path.stem: record_hash(read_record(path)) for path in records}


@pytest.mark.slow
def test_one_worker_or_two_the_records_are_the_same_bytes(tmp_path: Path) -> None:
    one, two = run(tmp_path / "one"), run(tmp_path / "two", workers=2)
    assert one.episodes == two.episodes
    assert hashes(one) == hashes(two)
    assert len(hashes(one)) == 2 * len(AGENTS)
    assert not one.failed


def test_a_second_call_plays_nothing_and_reports_the_same(tmp_path: Path) -> None:
    first = run(tmp_path)
    before = {path: path.stat().st_mtime_ns for path in (tmp_path / "episodes").iterdir()}
    page = first.page.read_bytes()
    assert run(tmp_path).episodes == first.episodes
    assert {path: path.stat().st_mtime_ns for path in before} == before
    assert first.page.read_bytes() == page


def test_a_run_may_be_widened_but_not_mixed(tmp_path: Path) -> None:
    run(tmp_path, {**SMALL, "agent": ("reactive",)})
    assert len(run(tmp_path, {**SMALL, "agent": ("reactive", "planning")}).episodes) == 4
    with pytest.raises(SettingsError, match="mode"):
        run(tmp_path, mode="paper")


def test_the_report_can_be_made_again_from_the_records_alone(tmp_path: Path) -> None:
    first = run(tmp_path, {**SMALL, "agent": ("reactive",)})
    (tmp_path / "rows.jsonl").unlink()
    again = report_suite(suite, tmp_path)
    assert sorted(again.episodes, key=lambda row: row.game_seed) == first.episodes


def moves(body: dict[str, Any]) -> Iterator[Any]:
    asked = body["messages"][-1]["content"]
    chance = random.Random(hashlib.sha256(asked.encode()).digest())
    yield from [Say("hm ")] * chance.randrange(5)
    yield Say("\\boxed{U}")


def live(server: FakeServer, **changes: Any) -> dict[str, ModelSpec]:
    model = ModelSpec(spec="openai:fake", base_url=server.base_url, **changes)
    return {"planner": model, "reactor": model}


FEW = {**SMALL, "agent": ("reactive", "planning", "agile"), "game_seed": range(1)}


@pytest.mark.slow
def test_a_live_endpoint_is_recorded_and_replayed_to_the_same_bytes(tmp_path: Path) -> None:
    tape = tmp_path / "tape.jsonl"
    with FakeServer(moves) as server:
        first = run(tmp_path / "live", FEW, **live(server, record=str(tape)))
        asked = len(server.requests)
    assert asked > 0
    assert not first.failed
    choice = ModelSpec(spec=f"replay:{tape}")
    replayed = run(tmp_path / "again", FEW, planner=choice, reactor=choice)
    assert [row.score for row in replayed.episodes] == [row.score for row in first.episodes]
    assert [row.tokens for row in replayed.episodes] == [row.tokens for row in first.episodes]


def test_the_tokens_of_a_run_are_reported_by_model_and_role(tmp_path: Path) -> None:
    tape = tmp_path / "tape.jsonl"
    hidden = [Say("\\boxed{U}"), Usage(900, prompt=50, reasoning=880, cached=20)]
    uncounted = [Say("\\boxed{U}"), Usage(None)]
    with FakeServer(lambda body: uncounted if "(2/" in str(body) else hidden) as server:
        models = live(server, record=str(tape), counting="settled")
        first = run(tmp_path / "live", {**FEW, "agent": ("reactive",)}, **models)
        count = len(server.requests)
    (total,) = first.usage
    estimated = total.counted.get("estimated", 0)
    settled = total.counted["settled"]
    assert (total.model, total.role, total.thoughts) == ("fake", "react", count)
    assert settled + estimated == count
    assert (total.prompt, total.cached, total.reasoning) == (
        50 * settled,
        20 * settled,
        880 * settled,
    )
    assert "react" in first.text
    rows = [r for r in read_results(first.out / "results.json") if r.experiment == "usage"]
    assert {(row.method, row.setting) for row in rows} == {("fake", "react")}
    assert {row.metric: row.value for row in rows}["prompt tokens"] == 50 * settled
    choice = ModelSpec(spec=f"replay:{tape}")
    again = run(tmp_path / "again", {**FEW, "agent": ("reactive",)}, planner=choice, reactor=choice)
    assert again.usage == first.usage
    assert report_suite(suite, tmp_path / "live").usage == first.usage


def test_a_run_of_stand_ins_reports_no_usage(tmp_path: Path) -> None:
    finished = run(tmp_path, {**SMALL, "agent": ("reactive",)})
    assert finished.usage == []
    assert b'"usage"' not in (tmp_path / "results.json").read_bytes()


def test_a_cassette_of_two_models_is_replayed_by_their_names(tmp_path: Path) -> None:
    tape = tmp_path / "two # models.jsonl"
    agile = {**FEW, "agent": ("agile",)}
    with FakeServer(moves) as server:
        planner, reactor = (
            ModelSpec(spec=f"openai:{name}", base_url=server.base_url, record=str(tape))
            for name in ("thinker", "doer")
        )
        first = run(tmp_path / "live", agile, planner=planner, reactor=reactor)
    both = ModelSpec(spec=f"replay:{tape}")
    with pytest.raises(SettingsError, match=r"replay:FILE#NAME; it holds: doer, thinker"):
        run(tmp_path / "both", agile, planner=both, reactor=both)
    planner, reactor = (ModelSpec(spec=f"replay:{tape}#{name}") for name in ("thinker", "doer"))
    again = run(tmp_path / "again", agile, planner=planner, reactor=reactor)
    assert [row.tokens for row in again.episodes] == [row.tokens for row in first.episodes]


def test_an_endpoint_that_refuses_a_request_fails_its_episode(tmp_path: Path) -> None:
    with FakeServer([Status(413, "too large: sk-secret")]) as server:
        finished = run(tmp_path, FEW, api_key="sk-secret", **live(server))
    assert len(finished.failed) == len(finished.episodes) == 3
    assert all(
        (row.error or "").startswith("model: ModelRefusedError") for row in finished.episodes
    )
    written = b"".join(path.read_bytes() for path in tmp_path.rglob("*") if path.is_file())
    assert b"sk-secret" not in written


def test_neither_a_key_nor_a_password_in_an_address_is_written(tmp_path: Path) -> None:
    with FakeServer(moves) as server:
        url = server.base_url.replace("://", "://user:passw0rd@")
        choice = ModelSpec(spec="openai:fake", base_url=url)
        run(
            tmp_path,
            {**FEW, "agent": ("reactive",)},
            api_key="sk-secret",
            planner=choice,
            reactor=choice,
        )
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
        run(tmp_path / "run", FEW, planner=choice, reactor=choice)
    assert not (tmp_path / "run").exists()


def test_all_episodes_of_a_process_share_one_thread_for_a_model(tmp_path: Path) -> None:
    def streams() -> set[threading.Thread]:
        return {thread for thread in threading.enumerate() if thread.name == "timeful-streams"}

    before = streams()
    with FakeServer(moves) as server:
        run(tmp_path, {**FEW, "agent": ("agile",), "game_seed": range(2)}, **live(server))
    assert len(streams() - before) == 1


@pytest.mark.parametrize("interface", ["event-driven", "loop", "polling:512"])
def test_a_sweep_runs_under_other_laws_and_says_so(tmp_path: Path, interface: str) -> None:
    sweep = {**SMALL, "agent": ("planning", "agile")}
    usual = run(tmp_path / "usual", sweep)
    other = run(tmp_path / "other", sweep, interface=interface)
    assert not other.failed
    assert {row.agent for row in other.episodes} == {
        f"{row.agent}@{interface}" for row in usual.episodes
    }
    if interface == "event-driven":  # in a world of turns, the same law
        assert [row.score for row in other.episodes] == [row.score for row in usual.episodes]


def test_a_frozen_world_is_labelled(tmp_path: Path) -> None:
    finished = run(tmp_path, {**SMALL, "agent": ("planning",)}, interface="frozen")
    assert {row.agent for row in finished.episodes} == {"planning@frozen"}
    assert {row.late_turns for row in finished.episodes} == {0}
