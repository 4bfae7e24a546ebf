"""Budgets and baselines: what is written, how long it is, and what is kept."""

from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from timeful.core.units import seconds
from timeful.environments.timed.stopwatch import TimerSettings
from timeful.errors import RecordError, SettingsError
from timeful.models.pace import Pace
from timeful.models.role import ModelRole, read_role
from timeful.suites.timely.baselines import (
    Kept,
    Took,
    load_baselines,
    merged,
    save_baselines,
)
from timeful.suites.timely.spec import Sweep, episodes, unhurried
from timeful.tasks.budgets import NO_LIMIT, Baseline, Budget, read_budget
from timeful.tasks.episode import SharedSettings

TOOK = Baseline(counted=8e9, steps=4)


@pytest.mark.parametrize(
    ("text", "span"),
    [
        ("none", None),
        ("0.75x", 6_000_000_000),
        ("3x", 24_000_000_000),
        ("1steps", 2_000_000_000),
        ("30@careful", 60_000_000_000),
        ("20s", 20_000_000_000),
        ("0.001s", 1_000_000),
    ],
)
def test_a_budget_is_so_long_and_is_written_as_it_was_read(text: str, span: int | None) -> None:
    budget = read_budget(text)
    assert budget.span(TOOK) == span
    assert str(budget) == text


@pytest.mark.parametrize(
    "text", ["", "x", "0x", "-1x", "1", "1y", "infx", "nans", "1..2s", "steps", "5@", "0@a"]
)
def test_what_is_no_budget_is_refused(text: str) -> None:
    with pytest.raises(SettingsError, match="a budget is"):
        read_budget(text)


@pytest.mark.parametrize("text", ["1000000s", "1e300s", "1e30x"])
def test_a_budget_beyond_all_time_is_refused(text: str) -> None:
    with pytest.raises(SettingsError, match="below a million"):
        read_budget(text)


@given(
    st.floats(0, 1e6, exclude_min=True, exclude_max=True),
    st.sampled_from(["x", "steps", "s", "@a"]),
)
def test_two_budgets_bear_one_name_only_if_they_are_the_same(amount: float, unit: str) -> None:
    budget = read_budget(f"{amount!r}{unit}")
    assert budget.amount == amount
    assert read_budget(str(budget)) == budget


@given(st.floats(0.01, 1000), st.sampled_from(["times", "steps"]), st.integers(1, 10**13))
def test_a_relative_budget_grows_with_the_baseline(amount: float, kind: str, counted: int) -> None:
    budget = Budget(kind, amount)  # type: ignore[arg-type]
    one = budget.span(Baseline(counted=counted, steps=3))
    two = budget.span(Baseline(counted=2 * counted, steps=3))
    assert one is not None
    assert two is not None
    assert 1 <= one <= two


def test_half_a_nanosecond_is_a_nanosecond_not_no_time() -> None:
    assert Budget("times", 0.1).span(Baseline(counted=1, steps=1)) == 1
    assert Budget("times", 0.75).span(Baseline(counted=5, steps=1)) == 4


RIG = SharedSettings(seed=3)
SWEEP = Sweep(
    family="reasoning",
    cases=("sums/a", "sums/b"),
    voices=(ModelRole(stand_in="paced"), ModelRole(stand_in="steady")),
    budgets=(read_budget("0.75x"), read_budget("2x")),
    runs=2,
)


def kept(sweep: Sweep = SWEEP, rig: SharedSettings = RIG, counted: int = 1_000) -> list[Kept]:
    return [
        Kept(
            case=spec.case,
            conditions=spec.conditions,
            runs={str(spec.run): Took(counted=counted, steps=2)},
        )
        for spec in unhurried(sweep, rig)
    ]


def test_a_sweep_is_all_combinations_with_the_time_of_their_own_baseline() -> None:
    baselines = merged(kept())
    specs = episodes(SWEEP, RIG, baselines, remedy="")
    assert len(specs) == len({spec.key for spec in specs}) == 2 * 2 * 2 * 2
    assert {(str(spec.budget), spec.span) for spec in specs} == {("0.75x", 750), ("2x", 2000)}
    assert all("/" not in spec.key and " " not in spec.key for spec in specs)


def test_who_has_no_baseline_is_named_with_the_command_that_makes_one() -> None:
    some = [one for one in kept() if one.case == "sums/a"]
    with pytest.raises(SettingsError) as raised:
        episodes(SWEEP, RIG, merged(some), remedy="make it so")
    said = str(raised.value)
    assert "sums/b by paced, sums/b by steady" in said
    assert "sums/a" not in said
    assert said.endswith("make it so")


def test_budgets_that_are_no_multiples_need_no_baseline() -> None:
    sweep = replace(SWEEP, budgets=(NO_LIMIT, read_budget("5s")))
    specs = episodes(sweep, RIG, {}, remedy="")
    assert {spec.span for spec in specs} == {None, seconds(5)}


def test_steps_of_another_are_the_same_time_for_all() -> None:
    sweep = replace(SWEEP, budgets=(read_budget("10@steady"),))
    slow = [
        Kept(case=one.case, conditions=one.conditions, runs={"0": Took(counted=50, steps=1)})
        if one.conditions["who"]["spec"] == "steady"
        else one
        for one in kept(sweep)
    ]
    specs = episodes(sweep, RIG, merged(slow), remedy="")
    assert {spec.span for spec in specs} == {500}
    with pytest.raises(SettingsError, match="10@steadi"):
        replace(sweep, budgets=(read_budget("10@steadi"),))


@pytest.mark.parametrize(
    "rig",
    [
        replace(RIG, alpha=2.0),
        replace(RIG, calls="native"),
        replace(RIG, clock="wall"),
        replace(RIG, pace=Pace()),
        replace(RIG, seed=4),
        replace(RIG, tool_latencies=(("get_duration", "1s"),)),
    ],
)
def test_whatever_changes_the_time_makes_another_baseline(rig: SharedSettings) -> None:
    with pytest.raises(SettingsError, match="no baseline"):
        episodes(SWEEP, rig, merged(kept()), remedy="")


def test_so_do_another_latency_endpoint_and_temperature() -> None:
    with pytest.raises(SettingsError, match="no baseline"):
        episodes(replace(SWEEP, latencies=("2s",)), RIG, merged(kept()), remedy="")

    def live(url: str, temperature: float) -> Sweep:
        who = read_role("openai:m", stand_in="paced", base_url=url, temperature=temperature)
        return replace(SWEEP, voices=(who,))

    first = live("http://a/v1", 0.5)
    baselines = merged(kept(first))
    assert episodes(first, RIG, baselines, remedy="")
    for other in (live("http://b/v1", 0.5), live("http://a/v1", 0.6)):
        assert other.voices != first.voices
        with pytest.raises(SettingsError, match="no baseline"):
            episodes(other, RIG, baselines, remedy="")


def test_what_only_timers_say_does_not() -> None:
    wrong = replace(RIG, timer=TimerSettings(scale=2, jitter=1, tells="both"))
    specs = episodes(SWEEP, wrong, merged(kept()), remedy="")
    assert specs[0].time.timer == wrong.timer
    assert unhurried(SWEEP, wrong)[0].time.timer == TimerSettings()
    assert unhurried(SWEEP, wrong)[0].time.budget is None


def test_latencies_of_one_meaning_are_one() -> None:
    named = [unhurried(replace(SWEEP, latencies=(law,)), RIG)[0] for law in ("none", "0", "0s")]
    assert len({spec.key for spec in named}) == 1
    with pytest.raises(SettingsError, match="named twice"):
        replace(SWEEP, latencies=("2s", "2"))


def test_baselines_are_kept_and_merged_by_case_and_run(tmp_path: Path) -> None:
    path = tmp_path / "deep" / "baselines.json"
    assert load_baselines(path) == {}
    first = kept()[:2]
    save_baselines(path, merged(first))
    again = [
        Kept(case=one.case, conditions=one.conditions, runs={"1": Took(counted=3_000, steps=4)})
        for one in kept()
    ]
    both = merged(load_baselines(path).values(), again)
    save_baselines(path, both)
    assert load_baselines(path) == both
    assert len(both) == 4
    assert both[first[0].key].baseline == Baseline(counted=2_000, steps=3)
    before = path.read_bytes()
    save_baselines(path, load_baselines(path))
    assert path.read_bytes() == before


def test_a_broken_file_of_baselines_is_named(tmp_path: Path) -> None:
    path = tmp_path / "b.json"
    for text in ("{", '{"schema": 2, "version": "0", "baselines": []}', "[]"):
        path.write_text(text)
        with pytest.raises(RecordError, match="cannot be read as baselines"):
            load_baselines(path)


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"cases": ()}, "at least one case"),
        ({"cases": ("a", "a")}, "named twice"),
        ({"voices": ()}, "at least one player"),
        ({"budgets": ()}, "at least one budget"),
        ({"budgets": (NO_LIMIT, NO_LIMIT)}, "named twice"),
        ({"latencies": ("soon",)}, "a latency is"),
        ({"runs": 0}, "at least 1 run"),
    ],
)
def test_a_sweep_that_cannot_be_is_refused(change: dict[str, object], reason: str) -> None:
    with pytest.raises(SettingsError, match=reason):
        replace(SWEEP, **change)  # type: ignore[arg-type]
