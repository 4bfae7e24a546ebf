"""Which episodes a sweep is made of."""

from collections import Counter
from dataclasses import replace
from typing import Any

import pytest

from timeful.errors import SettingsError
from timeful.models.model_spec import ModelSpec
from timeful.models.pace import TOKEN_TIME
from timeful.suites.realtime.spec import EpisodeSpec, Sweep, episodes

LIKE = EpisodeSpec(
    game="freeway", difficulty="medium", agent="reactive", step=8192, game_seed=0, sample=0
)


def spell_out(**parts: Any) -> list[EpisodeSpec]:
    return episodes(Sweep(**parts), LIKE)


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


def test_no_two_episodes_of_a_sweep_bear_one_name() -> None:
    specs = spell_out(experiments=("load", "pressure", "grid", "reserve"), samples=2)
    assert max(Counter(spec.key for spec in specs).values()) == 1


def test_budgets_are_8k_under_load_and_4k_under_pressure() -> None:
    budgets = {spec.step: spec.budget for spec in spell_out(agents=("reactive",))}
    assert budgets == {8192: 8192, 32768: 4096, 16384: 4096, 4096: 4096}


def test_the_reserve_never_exceeds_the_turn() -> None:
    specs = spell_out(experiments=(), steps=(512, 8192), agents=("agile",))
    assert {spec.step: spec.reserve for spec in specs} == {512: 512, 8192: 2048}
    assert {spec.reserve for spec in spell_out(agents=("planning",))} == {None}


def test_the_reserve_sweep_is_for_agents_of_two_threads() -> None:
    specs = spell_out(experiments=("reserve",), agents=("reactive", "agile"))
    assert {spec.agent for spec in specs} == {"agile"}
    assert {spec.reserve for spec in specs} == {512, 1024, 2048, 4096, 8192}


@pytest.mark.parametrize(
    ("parts", "message"),
    [
        ({"games": ("tetris",)}, "unknown game 'tetris'"),
        ({"games": ("snak",)}, "Did you mean 'snake'"),
        ({"agents": ("agil",)}, "Did you mean 'agile'"),
        ({"experiments": ("loads",)}, "Did you mean 'load'"),
        ({"difficulties": ("brutal",)}, "unknown difficulty"),
        ({"seeds": 0}, "at least one game seed"),
        ({"samples": 0}, "one sampling seed"),
        ({"difficulties": ("hard",), "experiments": ("pressure",)}, "nothing to run"),
        ({"difficulties": ("hard",), "experiments": ("reserve",)}, "nothing to run"),
        ({"steps": (4096,), "experiments": ("reserve",)}, "nothing to run"),
        ({"games": ()}, "nothing to run"),
        ({"reserve": -1, "agents": ("agile",)}, "reserve must be above 0"),
        ({"steps": (0,), "experiments": ()}, "length of a turn must be above 0, got 0"),
        ({"seeds": 10**10}, "too many"),
        ({"reserve": 40_000, "agents": ("agile",)}, "fits into no turn; the longest is 32768"),
        ({"budget": 9000, "experiments": ("load",)}, "a budget of 9000 fits into no turn"),
    ],
)
def test_a_sweep_that_cannot_run_is_an_error_before_it_runs(
    parts: dict[str, Any], message: str
) -> None:
    with pytest.raises(SettingsError, match=message):
        spell_out(**parts)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"clock": "sundial"}, "unknown clock"),
        ({"interface": "frozn"}, "Did you mean 'frozen'"),
        ({"interface": "polling"}, "needs an interval, as in polling:512"),
        ({"interface": "loop:512"}, "nothing else has one"),
        ({"interface": "polling:0"}, "whole number of tokens above 0, got '0'"),
        ({"interface": "polling:1.5"}, "whole number of tokens above 0, got '1.5'"),
        ({"interface": "reflex"}, "needs a rule of its own"),
        ({"mode": "papers"}, "Did you mean 'paper'"),
        ({"clock": "paced", "pace": None}, "needs a pace"),
        ({"clock": "token", "pace": None}, "pace of its own"),
        ({"budget": 9000}, "fit into a turn of 8192"),
        ({"time_scale": 2.0}, "for clock 'wall'"),
        ({"transcripts": "ful"}, "Did you mean 'full'"),
    ],
)
def test_settings_that_do_not_fit_are_named(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(SettingsError, match=message):
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
    spec = replace(LIKE, agent="agile", reserve=2048, planner=live)
    named = spec.settings()["episode"]
    assert named["model"] == "openai:big + search"
    assert named["stand_in"]
    assert spec.pace == TOKEN_TIME
    assert not replace(spec, reactor=live).settings()["episode"]["stand_in"]


@pytest.mark.parametrize("parts", [{}, {"experiments": ()}])
def test_outside_token_time_a_turn_has_no_usual_length(parts: dict[str, Any]) -> None:
    wall = replace(LIKE, clock="wall", pace=None, step=1000)
    with pytest.raises(SettingsError, match="in wall time give --step"):
        episodes(Sweep(**parts), wall)


def test_outside_token_time_the_usual_reserve_is_a_quarter_of_a_turn() -> None:
    wall = replace(LIKE, clock="wall", pace=None, step=1000)
    [step] = {
        s.reserve for s in episodes(Sweep(experiments=(), steps=(1000,), agents=("agile",)), wall)
    }
    assert step == 250
