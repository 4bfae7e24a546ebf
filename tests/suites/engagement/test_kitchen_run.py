"""The kitchen as one call: the same bytes whoever plays, and the figure of any record."""

import hashlib
import random
import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.environments.kitchen.menus import case, critical, problem, soft
from tests.servers.fake import FakeServer, Say, Status, Think, Wait
from timeful.environments.kitchen.settings import KitchenSettings
from timeful.errors import RecordError, SettingsError
from timeful.models.model_spec import ModelSpec
from timeful.models.role import ModelRole, read_role
from timeful.records.events import Entry, Happened, ThoughtPaused, Wall
from timeful.records.recorder import Recorder, read_record, record_hash
from timeful.runs.experiment import Finished, report_again, run_experiment
from timeful.suites.engagement.kitchen.play import play
from timeful.suites.engagement.kitchen.rows import KitchenRow, summarize
from timeful.suites.engagement.kitchen.run import draw, experiment
from timeful.suites.engagement.kitchen.spec import METHODS, KitchenSpec, Rig, Sweep, episodes

SMALL = Sweep(samples=1, cases=3)
FILES = ("report.html", "results.json", "table.csv", "episodes.csv")


def run(
    out: Path, sweep: Sweep = SMALL, rig: Rig | None = None, *, workers: int = 1
) -> Finished[KitchenRow]:
    rig = rig or Rig()
    specs = episodes(sweep, rig)
    return run_experiment(experiment(), specs, out, settings=rig.settings(), workers=workers)


def files(out: Path) -> dict[str, bytes]:
    return {name: (out / name).read_bytes() for name in FILES}


def hashes(out: Path) -> dict[str, str]:
    return {
        path.stem: record_hash(read_record(path)) for path in (out / "episodes").glob("*.jsonl")
    }


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A small run, played in this process."""
    out = tmp_path_factory.mktemp("kitchen") / "run"
    finished = run(out)
    assert len(finished.rows) == 30
    assert not finished.failed
    return out


def test_two_workers_make_the_same_bytes_as_one(whole: Path, tmp_path: Path) -> None:
    run(tmp_path, workers=2)
    assert hashes(tmp_path) == hashes(whole)
    assert files(tmp_path) == files(whole)


def test_a_run_goes_on_where_it_stopped(whole: Path, tmp_path: Path) -> None:
    run(tmp_path, replace(SMALL, settings=("one-dish",)))
    before = {path: path.stat().st_mtime_ns for path in (tmp_path / "episodes").glob("*")}
    next(iter(before)).unlink()
    run(tmp_path)
    kept = [path for path, at in before.items() if path.stat().st_mtime_ns == at]
    assert len(kept) == len(before) - 1
    assert files(tmp_path) == files(whole)


def test_the_report_is_made_again_from_records_alone(whole: Path, tmp_path: Path) -> None:
    before = files(whole)
    for name in FILES:
        (whole / name).unlink()
    (whole / "rows.jsonl").unlink()
    report_again(experiment(), whole)
    assert files(whole) == before
    with pytest.raises(RecordError, match="holds no run"):
        report_again(experiment(), tmp_path)


def test_a_run_with_another_rig_does_not_go_on_in_the_same_folder(whole: Path) -> None:
    with pytest.raises(SettingsError, match="other settings"):
        run(whole, rig=Rig(answer_tokens=13))


def test_what_cannot_run_is_refused_before_anything_is_written(tmp_path: Path) -> None:
    out = tmp_path / "run"
    with pytest.raises(SettingsError, match="at least one worker"):
        run(out, workers=0)
    with pytest.raises(SettingsError, match="no cassette"):
        read_role("replay:/nowhere", stand_in="rules")
    assert not out.exists()


def test_figure_7_is_drawn_from_records_with_a_panel_for_each_interface(
    whole: Path, tmp_path: Path
) -> None:
    sweep = Sweep(settings=("multi-dish",), samples=1, variants=False)
    out = tmp_path / "run"
    run(out, sweep)
    once = (out / "figure7.svg").read_bytes()
    report_again(experiment(), out)
    assert (out / "figure7.svg").read_bytes() == once
    page = (out / "report.html").read_text()
    assert "Figure 7" in page
    assert "resume_pressure-3d3q1s-seed11" in page or "resume_pressure-3d3q1s-seed7" in page


def test_any_record_can_be_drawn_and_the_same_records_give_the_same_bytes(
    whole: Path, tmp_path: Path
) -> None:
    records = sorted((whole / "episodes").glob("*.jsonl"))
    one = draw(records[:1], tmp_path / "one.svg").read_bytes()
    two = draw(records[:2], tmp_path / "two.svg").read_bytes()
    assert one == draw(records[:1], tmp_path / "again.svg").read_bytes()
    assert len(two) > len(one)
    with pytest.raises(SettingsError, match="nothing to draw"):
        draw([], tmp_path / "none.svg")
    other = tmp_path / "other.jsonl"
    started = '{"event":"episode-started","at":0,"version":"0","settings":{"suite":"else"}}\n'
    for text in ("", '{"event":"noted","at":0,"topic":"x","text":"y"}\n', started):
        other.write_text(text)
        with pytest.raises(RecordError, match=r"other\.jsonl is no record of a kitchen"):
            draw([other], tmp_path / "none.svg")


# --- a live endpoint --------------------------------------------------------------------------

DISH = re.compile(r"^- (D\d), \w+, (\w+)", re.MULTILINE)
PROBLEM = re.compile(r"^- (Q\d), .*: (\d+) of \d+ tokens", re.MULTILINE)
LENGTH = re.compile(r"Length: about (\d+) tokens")


def answer(asked: Sequence[dict[str, Any]]) -> Iterator[Say | Think]:
    """A language model that reads what the prompts say, and nothing else."""
    text = asked[-1]["content"]
    if "mathematics tutor" in asked[0]["content"]:
        length = LENGTH.search(text)
        assert length is not None
        yield from (Say(f"{n} ") for n in range(int(length[1])))
        return
    words = random.Random(hashlib.sha256(text.encode()).digest())
    yield from (Think("so ") for _ in range(words.randrange(2, 8)))
    stages: dict[str, str] = {stage: dish for dish, stage in reversed(DISH.findall(text))}
    if "signalled" in stages:
        yield Say(f'<finish dish="{stages["signalled"]}"/>')
    elif "prepared" in stages and " 0 of " not in text.split("Dishes:")[0]:
        yield Say(f'<stage dish="{stages["prepared"]}"/>')
    elif "raw" in stages:
        yield Say(f'<prepare dish="{stages["raw"]}"/>')
    elif found := PROBLEM.search(text):
        yield Say(f'I tutor. <tutor problem="{found[1]}"/>')
    elif "staged" in stages:
        yield Say("<wait/>")
    else:
        yield Say("<end/>")


def script(body: dict[str, Any], delays: random.Random | None) -> Iterator[Any]:
    for said in answer(body["messages"]):
        if delays is not None and delays.random() < 0.02:
            yield Wait(delays.random() * 4)
        yield said


def live(base_url: str, method: str, tape: Path | None = None) -> KitchenSpec:
    record = None if tape is None else str(tape)
    rig = Rig(
        controller=read_role("openai:cook", stand_in="rules", base_url=base_url, record=record),
        tutor=read_role("openai:tutor", stand_in="prose", base_url=base_url, record=record),
        world=KitchenSettings(jitter=0.0),
    )
    menu = case(
        critical(offset=60), soft(offset=90), problems=(problem(length=150), problem("Q2", 40))
    )
    how = next(one for one in METHODS if one.name == method)
    return KitchenSpec(setting="multi-dish", case=menu, sample=0, method=how, rig=rig)


def episode(method: str, delays: random.Random | None, tape: Path | None = None) -> list[Entry]:
    with FakeServer(lambda body: script(body, delays)) as server:
        recorder = Recorder()
        assert play(live(server.base_url, method, tape), recorder), recorder.events[-2]
    # The first event names the server, whose port is another one every time.
    return [event for event in recorder.events if not isinstance(event, Wall)][1:]


@pytest.mark.parametrize("method", ["EP", "Periodic Poll", "ReflexPatch", "AgentLoop"])
def test_a_live_model_plays_the_same_episode_to_the_byte_whatever_the_network_does(
    method: str,
) -> None:
    expected = episode(method, None)
    done = [e.data["dish"] for e in expected if isinstance(e, Happened) if e.what == "finished"]
    assert sorted(done) == ["D1", "D2"]
    assert any(isinstance(e, ThoughtPaused) for e in expected) == (method != "AgentLoop")
    for seed in range(6):
        assert record_hash(episode(method, random.Random(seed))) == record_hash(expected), seed


def test_a_recorded_run_is_replayed_without_an_endpoint(tmp_path: Path) -> None:
    tape = tmp_path / "tape.jsonl"
    expected = episode("EP", None, tape)
    spec = live("http://127.0.0.1:1/v1", "EP")

    def replayed(role: str, stand_in: str) -> ModelRole:
        return ModelRole(stand_in=stand_in, choice=ModelSpec(spec=f"replay:{tape}#{role}"))

    rig = replace(spec.rig, controller=replayed("cook", "rules"), tutor=replayed("tutor", "prose"))
    recorder = Recorder()
    assert play(replace(spec, rig=rig), recorder), recorder.events[-2]
    kinds = (Happened, ThoughtPaused)
    again = [event for event in recorder.events if isinstance(event, kinds)]
    assert again == [event for event in expected if isinstance(event, kinds)]


def test_an_endpoint_that_says_no_fails_the_episode_and_is_named_in_its_row() -> None:
    with FakeServer([Status(401, "no such key")]) as server:
        recorder = Recorder()
        assert not play(live(server.base_url, "EP"), recorder)
    row = summarize(recorder.events)
    assert row.status == "failed"
    assert row.utility is None
    assert "model: ModelRefusedError" in (row.error or "")
