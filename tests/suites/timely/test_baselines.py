"""Baselines: how budgets become times, and how unhurried times are kept."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import msgspec
import pytest

from tests.suites.timely.synthetic import row
from timeful.errors import RecordError, SettingsError
from timeful.models.pace import Pace
from timeful.models.role import ModelRole, read_role
from timeful.suites.timely.baselines import (
    check_spans,
    complete,
    keep,
    plan_unhurried,
    read_runs,
)
from timeful.suites.timely.episode import FictionEpisode
from timeful.tasks.budgets import NO_LIMIT, read_budget

HASTY, CAREFUL = (ModelRole(stand_in=name) for name in ("hasty", "careful"))
FIRST = FictionEpisode(case="skerry", player=HASTY, budget=read_budget("2x"), seed=3)
SWEEP = [replace(FIRST, player=role, run=run) for role in (HASTY, CAREFUL) for run in (0, 1)]


def played(episodes: Sequence[FictionEpisode], counted: int = 1_000) -> list[tuple[Any, Any]]:
    outcome = row(counted_ns=counted, rounds=2)
    return [(episode, outcome) for episode in plan_unhurried(episodes)]


def test_each_case_and_player_is_played_once_without_a_limit() -> None:
    unhurried = plan_unhurried(SWEEP)
    assert [(e.player, e.budget, e.run) for e in unhurried] == [
        (HASTY, NO_LIMIT, 0),
        (CAREFUL, NO_LIMIT, 0),
    ]
    assert not plan_unhurried([replace(FIRST, budget=read_budget("5s"))])


def test_a_budget_is_a_multiple_of_the_own_baseline_or_of_the_named_player() -> None:
    pairs = [*played(SWEEP[:2], 1_000), *played(SWEEP[2:], 3_000)]
    assert [episode.span for episode in complete(SWEEP, pairs)] == [2_000, 2_000, 6_000, 6_000]
    shared = [replace(episode, budget=read_budget("10@careful")) for episode in SWEEP]
    assert {episode.span for episode in complete(shared, pairs)} == {15_000}
    plain = [replace(episode, budget=read_budget("5s")) for episode in SWEEP]
    assert {episode.span for episode in complete(plain, [])} == {5_000_000_000}


def test_missing_baselines_are_named() -> None:
    with pytest.raises(SettingsError) as raised:
        complete(SWEEP, played(SWEEP[:2]))
    assert "skerry by careful" in str(raised.value)
    assert "skerry by hasty" not in str(raised.value)


@pytest.mark.parametrize(
    "change",
    [
        {"alpha": 2.0},
        {"calls": "native"},
        {"clock": "wall"},
        {"pace": Pace()},
        {"seed": 4},
        {"latency": "2s"},
        {"tool_latencies": (("get_duration", "1s"),)},
    ],
)
def test_settings_that_change_the_time_need_another_baseline(change: dict[str, Any]) -> None:
    with pytest.raises(SettingsError, match="no baseline"):
        complete([replace(FIRST, **change)], played([FIRST]))


def test_timer_settings_need_no_other_baseline() -> None:
    wrong = replace(FIRST, timer_scale=2.0, timer_jitter=1.0, tells="both")
    assert complete([wrong], played([FIRST]))[0].span == 2_000


def test_baselines_of_endpoints_are_kept_by_endpoint_temperature_case_and_run(
    tmp_path: Path,
) -> None:
    path = tmp_path / "deep" / "baselines.json"

    def live(url: str, temperature: float) -> FictionEpisode:
        role = read_role("openai:m", stand_in="hasty", base_url=url, temperature=temperature)
        return replace(FIRST, player=role, baselines=str(path))

    def outcome(episode: FictionEpisode, counted: int, run: int) -> list[tuple[Any, Any]]:
        unhurried = replace(episode, budget=NO_LIMIT, run=run)
        return [(unhurried, row(counted_ns=counted, rounds=2 + 2 * run))]

    first = live("http://a/v1", 0.5)
    assert not plan_unhurried([first])
    with pytest.raises(SettingsError, match="no baseline"):
        complete([first], [])
    assert str(path) in keep(outcome(first, 1_000, 0))
    keep(outcome(first, 3_000, 1))
    assert complete([first], [])[0].span == 4_000
    for other in (live("http://b/v1", 0.5), live("http://a/v1", 0.6)):
        with pytest.raises(SettingsError, match="no baseline"):
            complete([other], [])
    keep(outcome(first, 5_000, 1))
    assert complete([first], [])[0].span == 6_000, "of two runs with one number the later counts"


def test_failed_and_empty_episodes_are_no_baselines() -> None:
    outcomes = (row(status="failed"), row(counted_ns=0), row(rounds=0))
    assert not list(read_runs((FIRST, outcome) for outcome in outcomes))


def test_a_run_is_not_resumed_with_another_baseline() -> None:
    [episode] = complete([FIRST], played([FIRST]))
    check_spans([(episode, row(budget_ns=2_000))])
    with pytest.raises(SettingsError, match="baseline has changed"):
        check_spans([(episode, msgspec.structs.replace(row(), budget_ns=2_001))])


@pytest.mark.parametrize("text", ["{\n", '{"schema": 2}\n', "[]\n"])
def test_a_broken_file_of_baselines_is_named(text: str, tmp_path: Path) -> None:
    path = tmp_path / "b.jsonl"
    path.write_text(text)
    role = read_role("openai:m", stand_in="hasty", base_url="http://a/v1")
    with pytest.raises(RecordError, match=r"b\.jsonl"):
        complete([replace(FIRST, player=role, baselines=str(path))], [])
