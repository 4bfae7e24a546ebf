"""The kitchen as one call: figures of records, and live endpoints."""

import hashlib
import random
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from tests.environments.kitchen.menus import SILENT, case, critical, problem, soft
from tests.servers.fake import FakeServer, Say, Think, Wait
from timeful.experiments.run import report_suite, run_suite
from timeful.experiments.sweep import Choice
from timeful.models.role import read_role
from timeful.records.events import Entry, Happened, ThoughtPaused, Wall
from timeful.records.recorder import Recorder, record_hash
from timeful.suites.engagement.kitchen.episode import KitchenEpisode
from timeful.suites.engagement.kitchen.play import play
from timeful.suites.engagement.kitchen.suite import suite


@pytest.mark.slow
def test_figure_7_is_drawn_from_records_with_a_panel_for_each_interface(tmp_path: Path) -> None:
    values = {"setting": ["multi-dish"], "sample": range(1), "case": range(72)}
    run_suite(suite, Choice(values=values, fixed={"variants": False}), tmp_path, workers=2)
    first = (tmp_path / "figure7.svg").read_bytes()
    report_suite(suite, tmp_path)
    assert (tmp_path / "figure7.svg").read_bytes() == first
    page = (tmp_path / "report.html").read_text()
    assert "resume_pressure-3d3q1s-seed11" in page or "resume_pressure-3d3q1s-seed7" in page


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


def live(base_url: str, interface: str, tape: Path | None = None) -> KitchenEpisode:
    record = None if tape is None else str(tape)
    menu = case(
        critical(offset=60), soft(offset=90), problems=(problem(length=150), problem("Q2", 40))
    )
    return KitchenEpisode(
        setting="multi-dish",
        menu=menu,
        interface=interface,
        transcripts="answers",
        controller=read_role("openai:cook", stand_in="rules", base_url=base_url, record=record),
        tutor=read_role("openai:tutor", stand_in="prose", base_url=base_url, record=record),
        world=SILENT,
    )


def events_of(
    interface: str, delays: random.Random | None, tape: Path | None = None
) -> list[Entry]:
    with FakeServer(lambda body: script(body, delays)) as server:
        recorder = Recorder()
        assert play(live(server.base_url, interface, tape), recorder), recorder.events[-2]
    # The first event names the server, whose port is another one every time.
    return [event for event in recorder.events if not isinstance(event, Wall)][1:]


@pytest.mark.slow
@pytest.mark.parametrize("interface", ["event-driven", "polling", "reflex", "loop"])
def test_a_live_model_plays_the_same_episode_to_the_byte_whatever_the_network_does(
    interface: str,
) -> None:
    expected = events_of(interface, None)
    done = [e.data["dish"] for e in expected if isinstance(e, Happened) if e.what == "finished"]
    assert sorted(done) == ["D1", "D2"]
    assert any(isinstance(e, ThoughtPaused) for e in expected) == (interface != "loop")
    for seed in range(6):
        assert record_hash(events_of(interface, random.Random(seed))) == record_hash(expected), seed
