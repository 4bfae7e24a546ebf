"""The inbox as one call: resumed, repeated, reported again, and through an endpoint."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import msgspec
import pytest

from tests.servers.fake import Body, FakeServer, Say, Status, Step, Wait
from timeful.core.units import seconds
from timeful.errors import RecordError, SettingsError
from timeful.models.role import read_role
from timeful.records.events import Noted, ThoughtEnded, ThoughtStarted
from timeful.records.recorder import Recorder, read_record, record_hash
from timeful.runs.experiment import Finished, report_again, run_experiment
from timeful.suites.engagement.inbox.play import play
from timeful.suites.engagement.inbox.rows import InboxRow, summarize
from timeful.suites.engagement.inbox.run import experiment
from timeful.suites.engagement.inbox.spec import MODEL, InboxSpec, Sweep, episodes

LIKE = InboxSpec(
    decomposition="single", interface="event-driven", policy="stand-in", seed=0, episode=0
)
SMALL = Sweep(decompositions=("milestones",), seeds=2, episodes=1)
FILES = ("report.html", "results.json", "table.csv", "episodes.csv", "settings.json")


def run(
    out: Path, sweep: Sweep = SMALL, like: InboxSpec = LIKE, **changes: Any
) -> Finished[InboxRow]:
    options = {"workers": 1, "settings": like.common(), **changes}
    return run_experiment(experiment(), episodes(sweep, like), out, **options)


def contents(out: Path) -> dict[str, object]:
    hashes = {p.name: record_hash(read_record(p)) for p in (out / "episodes").glob("*.jsonl")}
    return {**{name: (out / name).read_bytes() for name in FILES}, **hashes}


def test_one_worker_and_two_write_the_same_bytes(tmp_path: Path) -> None:
    for workers in (1, 2):
        run(tmp_path / str(workers), workers=workers)
    assert contents(tmp_path / "1") == contents(tmp_path / "2")


def test_a_run_that_lost_episodes_goes_on_and_is_as_if_nothing_had_happened(
    tmp_path: Path,
) -> None:
    run(tmp_path)
    before = contents(tmp_path)
    records = sorted((tmp_path / "episodes").glob("*.jsonl"))
    for record in records[::2]:
        record.unlink()
    (tmp_path / "rows.jsonl").unlink()
    kept = {record: record.stat().st_mtime_ns for record in records[1::2]}
    run(tmp_path)
    assert contents(tmp_path) == before
    assert {record: record.stat().st_mtime_ns for record in kept} == kept


def test_a_sweep_can_be_widened_and_another_world_needs_another_folder(tmp_path: Path) -> None:
    run(tmp_path)
    wider = replace(SMALL, seeds=3)
    assert len(run(tmp_path, wider).rows) == 24
    other = replace(LIKE, world=replace(LIKE.world, arrival_rate=0.3))
    with pytest.raises(SettingsError, match="different: world"):
        run(tmp_path, SMALL, other)
    assert len(run(tmp_path, SMALL, other, replace=True).rows) == 16


def test_the_report_is_made_again_from_the_records_alone(tmp_path: Path) -> None:
    run(tmp_path)
    before = contents(tmp_path)
    for name in (*FILES[:4], "rows.jsonl"):
        (tmp_path / name).unlink()
    finished = report_again(experiment(), tmp_path)
    assert contents(tmp_path) == before
    assert len(finished.rows) == 16


def test_a_folder_of_another_suite_is_no_inbox(tmp_path: Path) -> None:
    with pytest.raises(RecordError, match="holds no run"):
        report_again(experiment(), tmp_path)
    (tmp_path / "settings.json").write_text('{"suite": "realtime"}')
    with pytest.raises(RecordError, match="'realtime', not of 'engagement/inbox'"):
        report_again(experiment(), tmp_path)


def test_nothing_is_written_when_a_setting_cannot_work(tmp_path: Path) -> None:
    for wrong in ({"workers": 0}, {"sweep": replace(SMALL, interfaces=())}):
        with pytest.raises(SettingsError):
            run(tmp_path / "run", **wrong)
    assert not (tmp_path / "run").exists()


def test_the_page_says_what_was_run_and_what_was_not(tmp_path: Path) -> None:
    page = run(tmp_path).report.read_text()
    for words in (
        "no language model was run",
        "Qwen3.5-Plus: not run",
        "arrival rate",
        "AgentLoop",
        "Reflex (ours)",
        "0.569±.014",
    ):
        assert words in page
    assert str(tmp_path) not in page


# --- through an endpoint -------------------------------------------------------------------------


def answers(delay_ms: float) -> object:
    """Write when asked to write; else handle what is urgent, and mumble about what is low."""

    def script(body: Body) -> Iterator[Step]:
        asked = body["messages"][-1]["content"]
        if asked.startswith("The document"):
            for word in range(300):
                if word % 100 == 0:
                    yield Wait(delay_ms)
                yield Say(f"word{word} ", tokens=word + 1)
            return
        yield Wait(delay_ms)
        number = asked.split("Email ")[1].split(",")[0]
        if "low urgency" in asked:
            yield Say("That can wait.")
        elif "high urgency" in asked:
            yield Say("It is due soon. ")
            yield Say(f'<handle id="{number}"/>')
        else:
            yield Say(f'<remind id="{number}" after="9"/>')

    return script


def live(base_url: str, *, record: Path | None = None, interface: str) -> InboxSpec:
    voices = {
        role: read_role(
            "openai:fake",
            stand_in=stand_in,
            base_url=base_url,
            temperature=0.0,
            record=None if record is None else str(record),
        )
        for role, stand_in in (("triage", "rules"), ("writer", "prose"))
    }
    world = replace(LIKE.world, horizon=seconds(25))
    return replace(
        LIKE,
        policy=MODEL,
        interface=interface,
        transcripts="full",
        world=world,
        **voices,  # type: ignore[arg-type]
    )


@pytest.mark.parametrize("interface", ["event-driven", "polling"])
def test_a_live_episode_is_the_same_whatever_the_servers_delays(interface: str) -> None:
    rows = []
    for delay in (0, 15):
        recorder = Recorder()
        with FakeServer(answers(delay)) as server:  # type: ignore[arg-type]
            assert play(live(server.base_url, interface=interface), recorder)
        rows.append(summarize(recorder.events))
    assert rows[0] == rows[1]
    assert rows[0].emails > 0
    assert rows[0].tokens == 300
    assert not rows[0].stand_in
    assert rows[0].progress == 4


def test_triage_costs_the_same_whatever_a_model_says_about_it() -> None:
    recorder = Recorder()
    with FakeServer(answers(0)) as server:  # type: ignore[arg-type]
        play(live(server.base_url, interface="event-driven"), recorder)
    begun = {e.thought: e for e in recorder.events if isinstance(e, ThoughtStarted)}
    spans = {
        event.at - begun[event.thought].at
        for event in recorder.events
        if isinstance(event, ThoughtEnded) and begun[event.thought].purpose == "triage"
    }
    assert spans == {seconds(0.2)}
    mumbled = [event for event in recorder.events if isinstance(event, Noted)]
    assert len(mumbled) == summarize(recorder.events).malformed > 0


def test_what_was_recorded_is_replayed_without_the_server(tmp_path: Path) -> None:
    cassette = tmp_path / "said.jsonl"
    first, second = Recorder(), Recorder()
    with FakeServer(answers(0)) as server:  # type: ignore[arg-type]
        spec = live(server.base_url, record=cassette, interface="event-driven")
        assert play(spec, first)
    again = replace(
        spec,
        triage=read_role(f"replay:{cassette}", stand_in="rules"),
        writer=read_role(f"replay:{cassette}", stand_in="prose"),
    )
    assert play(again, second), second.events[-2]
    one, other = summarize(first.events), summarize(second.events)
    apart = {"model", "writer", "sha256"}
    assert {
        name for name, value in msgspec.structs.asdict(one).items() if getattr(other, name) != value
    } == apart


def test_an_endpoint_that_says_no_fails_the_episode_and_it_can_be_played_again(
    tmp_path: Path,
) -> None:
    sweep = Sweep(
        decompositions=("single",), interfaces=("loop",), policies=(MODEL,), seeds=1, episodes=1
    )
    out = tmp_path / "run"
    refuses = True

    def script(body: Body) -> Iterator[Step]:
        return iter([Status(400, "no such model")]) if refuses else answers(0)(body)  # type: ignore[operator]

    with FakeServer(script) as server:
        like = live(server.base_url, interface="loop")
        finished = run(out, sweep, like)
        assert str(finished.failed[0].error).startswith("model: ModelRefusedError")
        assert "no such model" in (out / "report.html").read_text()
        refuses = False
        assert len(run(out, sweep, like).failed) == 1
        assert not run(out, sweep, like, retry_failed=True).failed


def test_a_voice_that_cannot_be_is_refused(tmp_path: Path) -> None:
    for spec, message in (
        ("rule", "Did you mean 'rules'"),
        ("search", "unknown model 'search'"),
        ("openai:", "openai:NAME"),
        ("rules:x", "a model is `rules`"),
        ("openai:gpt", "needs an endpoint"),
        (f"replay:{tmp_path}/none", "there is no cassette"),
    ):
        with pytest.raises(SettingsError, match=message):
            read_role(spec, stand_in="rules")


def test_the_address_of_an_endpoint_is_written_without_its_password() -> None:
    asked = read_role("openai:m", stand_in="rules", base_url="http://me:secret@host:1/v1")
    assert asked.settings()["endpoint"] == "http://host:1/v1"
