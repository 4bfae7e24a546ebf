"""Runs of ProActor: the same bytes whoever plays them, models, data, and what is refused."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

pytest.importorskip("yaml")
pytest.importorskip("jinja2")
pytest.importorskip("matplotlib")

from tests.servers.fake import Body, FakeServer, Say, Status, Step
from tests.suites.proactor.material import FAST, ONE, SLOW, cell, episodes, run
from timeful.dialogues.jsonl import write_jsonl
from timeful.domains.generator import generate
from timeful.domains.library import load_domain
from timeful.errors import SettingsError
from timeful.suites.proactor.agents import digest_agents
from timeful.suites.proactor.episode import ProactorEpisode
from timeful.suites.proactor.suite import suite

CAUTIOUS = {**ONE, "threshold": [0.7]}
SINGLE = {**CAUTIOUS, "dialogues": 1}


def test_agents_meet_a_conversation_at_the_same_pace_within_a_run(tmp_path: Path) -> None:
    agents = ["non-reasoning", "reasoning", "reasoning-asg"]
    values = {**ONE, "timing": ["pace"], "agent": agents, "run": range(2), "token_ms": [FAST, SLOW]}
    keys = [episode.key for episode in episodes(**values)]
    assert len(set(keys)) == len(keys) == 3 * 2 * 2 * 2
    rows = run(tmp_path, values).episodes
    assert len({(row.place, row.run, row.ended_s) for row in rows}) == 4, "for all agents"
    assert len({(row.place, row.ended_s) for row in rows}) == 4, "another pace in another run"


def test_an_eager_agent_that_is_shown_its_states_keeps_them(tmp_path: Path) -> None:
    rows = run(tmp_path, {**ONE, "agent": ["reasoning", "reasoning-asg"]}).episodes
    ready = {
        agent: sum(sum(row.ready) for row in rows if row.agent == agent)
        for agent in ("reasoning", "reasoning-asg")
    }
    assert ready["reasoning-asg"] > ready["reasoning"]


def test_equal_predictions_are_drawn_once(tmp_path: Path) -> None:
    results = run(tmp_path, {**CAUTIOUS, "agent": ["non-reasoning", "reasoning"]})
    page = results.report().read_text()
    assert page.count("mark for mark as Non-Reasoning, cautious 0.7; by turn") == 2


# --- models -------------------------------------------------------------------------------------


def script(body: Body) -> Iterator[Step]:
    prompt = body["messages"][-1]["content"]
    if "Turn 2," not in prompt:
        return iter([Say("I have nothing to say about that.")])
    opportunity = {
        "name": "find-account",
        "inputs": {"required": [], "optional": []},
        "action_trigger_status": "ready_to_trigger",
    }
    text = json.dumps(
        {"proactive_action_opportunities": [opportunity, {**opportunity, "name": "fly"}]}
    )
    return iter([Say(text[:40]), Say(text[40:])])


def test_an_endpoint_and_its_cassette_give_the_same_numbers(tmp_path: Path) -> None:
    pytest.importorskip("openai")
    cassette = tmp_path / "answers.jsonl"
    with FakeServer(script) as server:
        live = {"model": "openai:m", "base_url": server.base_url, "record": str(cassette)}
        (row,) = run(tmp_path / "live", SINGLE, **live).episodes
        bodies = [request.body for request in server.requests]
    replayed = run(tmp_path / "again", SINGLE, model=f"replay:{cassette}").episodes
    assert bodies[0]["temperature"] == 0.1, "as the agent's file says"
    assert not row.stand_in
    assert row.notes["no-json"] == 1
    assert row.notes["unknown-action"] == row.turns - 1 == row.scored
    assert [(other.sums, other.notes) for other in replayed] == [(row.sums, row.notes)]
    page = (tmp_path / "live" / "report.html").read_text()
    assert suite.notice not in page
    assert "unknown-action" in page


def test_an_endpoint_in_wall_time_is_timed_by_the_arrival_of_its_tokens(tmp_path: Path) -> None:
    pytest.importorskip("openai")
    with FakeServer(script) as server:
        live = {"model": "openai:m", "base_url": server.base_url}
        (row,) = run(tmp_path, SINGLE, **live, clock="wall", arrival=True).episodes
    assert row.status == "ok"
    assert row.lost == 0
    assert 0 < row.ended_s < 60


def test_an_endpoint_that_fails_costs_the_episode_and_not_the_run(tmp_path: Path) -> None:
    pytest.importorskip("openai")
    with FakeServer([Status(413)]) as server:
        results = run(tmp_path, SINGLE, model="openai:m", base_url=server.base_url)
    (row,) = results.episodes
    assert row.status == "failed"
    assert row.error
    assert cell(results, "AC").failed == 1
    assert "Failed episodes (1)" in results.report().read_text()


# --- data ---------------------------------------------------------------------------------------


def test_dialogues_that_cannot_be_played_are_refused_before_anything_is(tmp_path: Path) -> None:
    made = list(generate(load_domain("shop"), n=1, seed=5))
    write_jsonl(tmp_path / "own.jsonl", made)
    own = {**ONE, "dialogues": None, "data": str(tmp_path / "own.jsonl")}
    with pytest.raises(SettingsError, match="'train'"):
        episodes(**own, split="trian")
    with pytest.raises(SettingsError, match="start_s"):
        run(tmp_path / "run", {**own, "split": "train", "timing": ["timestamps"]})
    assert not (tmp_path / "run" / "settings.json").exists()
    silent = made[0].__class__(id="silent", split="train", turns=made[0].turns)
    write_jsonl(tmp_path / "bare.jsonl", [silent])
    with pytest.raises(SettingsError, match="silent"):
        episodes(**{**own, "data": str(tmp_path / "bare.jsonl")})
    write_jsonl(tmp_path / "some.jsonl", [silent, *made])
    some = episodes(**{**own, "data": str(tmp_path / "some.jsonl"), "split": "all"})
    assert len(some) == 2, "in one of several no action may be ready"


@pytest.mark.parametrize(
    "wrong",
    [
        {"interface": "reflex"},
        {"interface": "polling:0"},
        {"interface": "loop:2"},
        {"arrival": True},
        {"thinking": -1},
        {"stand_in_temperature": 3.0},
        {"threshold": 1.5},
        {"token_ms": -1.0},
        {"pause": float("nan")},
        {"spread": 3.0},
    ],
)
def test_a_value_out_of_its_range_is_refused(wrong: dict[str, object]) -> None:
    with pytest.raises(SettingsError):
        ProactorEpisode(**wrong)  # type: ignore[arg-type]


@pytest.mark.parametrize("interface", ["polling:2", "loop", "fixed-rate:1", "frozen"])
def test_every_interface_plays_the_same_conversation(tmp_path: Path, interface: str) -> None:
    values = {**SINGLE, "timing": ["pace"], "token_ms": [FAST]}
    rows = run(tmp_path, values, interface=interface).episodes
    assert [row.status for row in rows] == ["ok"]
    assert rows[0].scored > 0


def test_the_first_timing_and_pace_are_the_main_part_and_by_turn_has_one_pace() -> None:
    values = {**ONE, "timing": ["pace", "by-turn"], "token_ms": [FAST, SLOW], "dialogues": 1}
    conditions = [(e.part, e.timing, e.token_ms) for e in episodes(**values)]
    assert conditions == [("main", "pace", FAST), ("time", "pace", SLOW), ("time", "by-turn", FAST)]


def test_digests_of_agents_keep_their_value_over_versions() -> None:
    digests = dict(digest_agents(["non-reasoning", "reasoning", "reasoning-asg"]))
    assert digests == {
        "non-reasoning": "558786ec89c6441f",
        "reasoning": "2e74568fc3939ea0",
        "reasoning-asg": "b961b8a95ba08772",
    }
