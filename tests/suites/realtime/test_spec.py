"""The episodes of a sweep."""

from dataclasses import replace
from typing import Any

import pytest

from timeful.errors import SettingsError
from timeful.experiments.sweep import Choice, plan_episodes
from timeful.models.model_spec import ModelSpec
from timeful.models.pace import TOKEN_TIME
from timeful.suites.realtime.episode import RealtimeEpisode, resolve
from timeful.suites.realtime.suite import check, suite

LIKE = RealtimeEpisode(game="freeway", agent="reactive")


def spell_out(
    *parts: str, fixed: dict[str, Any] | None = None, **values: Any
) -> list[RealtimeEpisode]:
    planned = plan_episodes(suite, Choice(parts=parts, values=values, fixed=fixed or {}))
    episodes = [each.episode for each in planned]
    assert len({each.key for each in planned}) == len(planned)
    return episodes


def test_the_default_is_the_papers_two_main_experiments() -> None:
    specs = spell_out()
    assert len(specs) == 3 * 3 * (3 + 3) * 8 * 4, "games, agents, conditions, seeds, samples"
    assert {(s.difficulty, s.step) for s in specs} == {
        ("easy", 8192),
        ("medium", 8192),
        ("hard", 8192),
        ("medium", 32768),
        ("medium", 16384),
        ("medium", 4096),
    }


def test_budgets_are_8k_under_load_and_4k_under_pressure() -> None:
    budgets = {spec.step: spec.budget for spec in spell_out(agent=("reactive",))}
    assert budgets == {8192: 8192, 32768: 4096, 16384: 4096, 4096: 4096}


def test_the_reserve_never_exceeds_the_turn() -> None:
    specs = spell_out(step=(512, 8192), agent=("agile",))
    assert {spec.step: spec.reserve for spec in specs} == {512: 512, 8192: 2048}
    assert {spec.reserve for spec in spell_out(agent=("planning",))} == {None}


def test_the_reserve_sweep_is_for_agents_of_two_threads() -> None:
    specs = spell_out("reserve", agent=("reactive", "agile"))
    assert {spec.agent for spec in specs} == {"agile"}
    assert {spec.reserve for spec in specs} == {512, 1024, 2048, 4096, 8192}


def test_all_parts_together_play_each_episode_once() -> None:
    specs = spell_out("load", "pressure", "grid", "reserve", game=("snake",), agent=("agile",))
    assert len(specs) == (3 + 3 + 4 + 4) * 8 * 4


@pytest.mark.parametrize(
    "values",
    [
        {"game": ("tetris",)},
        {"agent": ("agil",)},
        {"difficulty": ("brutal",)},
        {"difficulty": ("hard",), "parts": ("pressure",)},
        {"difficulty": ("hard",), "parts": ("reserve",)},
        {"step": (4096,), "parts": ("reserve",)},
        {"parts": ("loads",)},
        {"game": ()},
        {"step": (0,)},
        {"game_seed": range(10**10)},
        {"fixed": {"usual_reserve": -1}, "agent": ("agile",)},
        {"fixed": {"usual_reserve": 40_000}, "agent": ("agile",)},
        {"fixed": {"usual_budget": 9000}, "parts": ("load",)},
        {"fixed": {"clock": "wall"}},
        {"fixed": {"clock": "wall"}, "parts": ("load",), "step": (8192,)},
        {"fixed": {"clock": "paced"}, "step": (1000,)},
        {"fixed": {"clock": "sundial"}, "step": (1000,)},
        {"fixed": {"mode": "papers"}},
        {"fixed": {"transcripts": "ful"}},
    ],
)
def test_a_sweep_that_cannot_run_is_an_error_before_it_runs(values: dict[str, Any]) -> None:
    parts = values.pop("parts", ())
    with pytest.raises(SettingsError):
        check(spell_out(*parts, **values))


@pytest.mark.parametrize(
    "changes",
    [
        {"interface": "frozn"},
        {"interface": "polling"},
        {"interface": "loop:512"},
        {"interface": "polling:0"},
        {"interface": "polling:1.5"},
        {"interface": "reflex"},
        {"usual_budget": 0},
        {"time_scale": 2.0},
    ],
)
def test_settings_that_do_not_fit_are_refused(changes: dict[str, Any]) -> None:
    with pytest.raises(SettingsError):
        replace(LIKE, **changes)


@pytest.mark.parametrize(
    ("choice", "message"),
    [
        ({"spec": "serch"}, "Did you mean 'search'"),
        ({"spec": "openai"}, "openai:NAME"),
        ({"spec": "search:deep"}, "`search`"),
        ({"spec": "openai:gpt"}, "--base-url"),
        ({"spec": "search", "base_url": "http://localhost"}, "takes no endpoint"),
        ({"spec": "search", "temperature": 0.5}, "no temperature"),
        ({"spec": "openai:gpt", "base_url": "localhost"}, "must look like"),
        ({"spec": "replay:nowhere.jsonl"}, "no cassette 'nowhere.jsonl'"),
    ],
)
def test_a_model_that_cannot_be_is_named(choice: dict[str, Any], message: str) -> None:
    with pytest.raises(SettingsError, match=message):
        ModelSpec(**choice)


def test_the_record_names_what_the_agent_uses_and_never_a_key() -> None:
    live = ModelSpec(spec="openai:big", base_url="http://localhost:1/v1")
    spec = resolve(replace(LIKE, agent="agile", planner=live))
    assert spec is not None
    named = spec.settings()["episode"]
    assert named["model"] == "openai:big + search"
    assert named["stand_in"]
    assert (spec.pace, spec.transcripts) == (TOKEN_TIME, "full")
    assert not replace(spec, reactor=live).settings()["episode"]["stand_in"]


def test_outside_token_time_the_usual_reserve_is_a_quarter_of_a_turn() -> None:
    specs = spell_out(step=(1000,), agent=("agile",), fixed={"clock": "wall"})
    assert {spec.reserve for spec in specs} == {250}
