"""The kitchen against the paper: bands, orders, and what holds of every single episode."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cache
from itertools import pairwise
from typing import Any

import msgspec
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.environments.kitchen.menus import SILENT, case, critical, problem, soft
from timeful.agents.prompts.kitchen import Situation
from timeful.environments.kitchen.settings import Case, in_ticks
from timeful.errors import RecordError, SettingsError
from timeful.experiments.sweep import Choice, plan_episodes
from timeful.models.filler_text import FillerModel, Passage
from timeful.models.role import read_role
from timeful.models.rules import Answer, RuleModel
from timeful.records.events import Entry, Happened, Looked, Observed, ThoughtEnded
from timeful.records.recorder import Recorder
from timeful.reports.results import ResultRow
from timeful.suites.engagement.kitchen import play as kitchen_play
from timeful.suites.engagement.kitchen.episode import METHODS, KitchenEpisode, cases_of
from timeful.suites.engagement.kitchen.play import play
from timeful.suites.engagement.kitchen.rows import (
    KitchenRow,
    is_restart,
    overlap,
    summarize,
    utility,
)
from timeful.suites.engagement.kitchen.rules import Cook, passage
from timeful.suites.engagement.kitchen.suite import check_orders, suite
from timeful.suites.engagement.kitchen.trace import Stretch, Trace, read_trace

MENU = case(critical(), soft(), problems=(problem(length=300), problem("Q2", 90)), stoves=2)
LIKE = KitchenEpisode(setting="multi-dish", menu=MENU, transcripts="answers")
SETTINGS = ("one-dish", "multi-dish")


def events_of(episode: KitchenEpisode) -> list[Entry]:
    recorder = Recorder()
    assert play(episode, recorder), recorder.events[-2]
    return recorder.events


def episodes(samples: int = 1, **fixed: Any) -> list[KitchenEpisode]:
    choice = Choice(values={"sample": range(samples)}, fixed=fixed)
    return [planned.episode for planned in plan_episodes(suite, choice)]


@cache
def rows() -> tuple[KitchenRow, ...]:
    """The paper's seeds, 128 and 72 cases, under every method and variant."""
    return tuple(summarize(events_of(episode)) for episode in episodes())


@cache
def cells() -> tuple[ResultRow, ...]:
    return tuple(suite.make_cells(rows()))


def means(setting: str, method: str) -> Mapping[str, float | None]:
    """The values of a method over all families, by metric."""
    where = {"setting": setting, "method": method, "family": None}
    return {cell.metric: cell.value for cell in cells() if cell.matches(where)}


# --- against the paper ------------------------------------------------------------------------


@pytest.mark.slow
def test_all_cases_of_the_paper_are_inside_every_band_and_in_its_order() -> None:
    assert len(rows()) == 5 * 128 + 5 * 72
    banded = [(c, band) for c in cells() if (band := suite.reference.band(c))]
    assert len(banded) == len(suite.reference.bands) == 15
    assert [c for c, band in banded if c.value is None or not band.holds(c.value)] == []
    claims = list(check_orders(cells()))
    assert len(claims) == 6
    assert all(claim.holds for claim in claims)


@pytest.mark.slow
def test_finishing_begins_exactly_one_call_after_a_signal_is_seen() -> None:
    for method in ("ReflexPatch", "EP"):
        for row in rows():
            if (row.setting, row.method) == ("one-dish", method):
                pairs = zip(row.seen_after, row.finished_after, strict=True)
                assert [late - seen for seen, late in pairs] == [12.0] * len(row.seen_after)


def test_with_soft_dishes_finished_at_once_the_reflex_does_what_the_controller_would() -> None:
    for setting in SETTINGS:
        reflex, ep = means(setting, "ReflexPatch"), means(setting, "EP")
        for metric in ("Utility", "Dish done", "Critical", "Fin. delay"):
            assert reflex[metric] == pytest.approx(ep[metric], nan_ok=True)


def test_the_loop_is_never_interrupted_and_switches_twice_with_one_dish() -> None:
    loop = [row for row in rows() if row.method == "AgentLoop"]
    assert not any(row.interrupted for row in loop)
    assert {row.switches for row in loop if row.setting == "one-dish"} == {2}


def test_polls_are_counted_as_checks_and_signals_are_seen_within_their_interval() -> None:
    for row in rows():
        if row.method == "Periodic Poll":
            assert row.checks > 0
            assert row.score is not None
            assert row.utility == pytest.approx(row.score - 0.05 * row.checks)
        else:
            assert row.checks == 0
    one_dish = [r for r in rows() if (r.setting, r.method) == ("one-dish", "Periodic Poll")]
    assert max(max(row.seen_after, default=0) for row in one_dish) <= 40


def test_no_rule_is_ever_refused_and_every_problem_is_complete() -> None:
    for row in rows():
        assert row.refused == 0
        assert row.complete == row.problems
        assert row.calls <= (40 if row.setting == "one-dish" else 60)


def test_every_published_number_is_compared_with_one_cell() -> None:
    numbers = suite.reference.numbers
    assert len(numbers) == 4 * 5 + 16 * 3 + 4 * 8 - 1 + 12 * 5 + (4 * 4 - 2) * 2
    assert sum(cell.published is not None for cell in cells()) == len(numbers)
    cell = next(
        c for c in cells() if (c.method, c.metric, c.setting) == ("EP", "Dish done", "rules")
    )
    assert (cell.published, cell.source, cell.n) == (0.938, "Tables 4 and 20", 128)


@pytest.mark.parametrize(
    ("metric", "in_order", "broken"),
    [
        (
            "Vis. delay",
            (70, 20, 4, 4),
            [(50, 20, 4, 4), (70, 4, 4, 4), (70, 4, 20, 4), (70, 20, 4, 5)],
        ),
        (
            "Dish done",
            (0.1, 0.6, 0.8, 0.8),
            [(0.6, 0.6, 0.8, 0.8), (0.1, 0.8, 0.8, 0.8), (0.1, 0.6, 0.8, 0.7)],
        ),
    ],
)
def test_an_order_is_claimed_of_all_four_methods(
    metric: str, in_order: tuple[float, ...], broken: list[tuple[float, ...]]
) -> None:
    for values in (in_order, *broken):
        of_method = dict(zip(METHODS.values(), values, strict=True))
        changed = [
            msgspec.structs.replace(cell, value=of_method[cell.method])
            for cell in cells()
            if cell.matches({"setting": "one-dish", "family": None})
            if cell.metric == metric and cell.method in of_method
        ]
        (claim,) = check_orders(changed)
        assert claim.holds == (values == in_order), values
    assert list(check_orders(changed[1:])) == []


# --- settings ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "make",
    [
        lambda: KitchenEpisode(interval=0),
        lambda: KitchenEpisode(delay=-1),
        lambda: KitchenEpisode(calls=0),
        lambda: KitchenEpisode(answer_tokens=-1),
        lambda: KitchenEpisode(interface="fixed-rate"),
        lambda: KitchenEpisode(case=-1),
        lambda: Cook(quits=1.1),
        lambda: Cook(quits=-0.1),
        lambda: Cook(quits=float("nan")),
        lambda: Cook(soft="never"),  # type: ignore[arg-type]
        lambda: episodes(resumption="guess"),
        lambda: episodes(transcripts="none"),
        lambda: episodes(setting="two-dish"),
    ],
)
def test_settings_out_of_range_are_refused(make: Any) -> None:
    with pytest.raises(SettingsError):
        make()


def test_a_language_model_has_no_variants_bands_or_claims() -> None:
    role = read_role("openai:x", stand_in="rules", base_url="http://localhost:1/v1")
    assert {episode.method for episode in episodes(controller=role)} == set(METHODS.values())
    models = [msgspec.structs.replace(row, stand_in=False, controller="x") for row in rows()]
    answers = suite.make_cells(models)
    assert not any(suite.reference.band(cell) for cell in answers)
    assert list(check_orders(answers)) == []


def test_a_part_of_a_set_has_no_bands_and_no_claims() -> None:
    some = suite.make_cells([row for row in rows() if not row.case.endswith("seed23")])
    assert {c.where["setting"] for c in some if suite.reference.band(c)} == {"multi-dish"}
    assert all(claim.text.startswith("multi-dish") for claim in check_orders(some))


def test_every_method_plays_the_same_cases_under_unique_names() -> None:
    every = episodes(2)
    assert len({episode.key for episode in every}) == len(every) == 2 * (5 * 128 + 5 * 72)
    for setting in SETTINGS:
        tasks: dict[str, list[str]] = {}
        for episode in every:
            if episode.setting == setting:
                tasks.setdefault(episode.method, []).append(episode.task.name)
        expected = [task.name for sample in range(2) for task in cases_of(setting, sample)]
        assert all(names == expected for names in tasks.values())
        assert len(tasks) == 5


def test_a_few_cases_are_taken_from_every_family() -> None:
    for setting in SETTINGS:
        cases = cases_of(setting, 0)
        assert {task.family for task in cases[:8]} == {task.family for task in cases}


# --- by hand ----------------------------------------------------------------------------------


class Script:
    """A controller that says what it is written to, and then ends the episode."""

    def __init__(self, *answers: str) -> None:
        self.answers = iter(answers)

    def __call__(self, situation: Situation, rng: np.random.Generator) -> Answer:
        return Answer(next(self.answers, "<end/>"), 12)


def scripted(
    monkeypatch: pytest.MonkeyPatch, episode: KitchenEpisode, *answers: str
) -> list[Entry]:
    monkeypatch.setattr(kitchen_play, "RuleModel", lambda _, name: _model(Script(*answers), name))
    return events_of(episode)


def _model(script: Any, name: str) -> RuleModel:
    return RuleModel(script, name=name)


PLAN = (
    '<prepare dish="D1"/>',  # 12 to 22
    '<stage dish="D1"/>',  # 34, signals at 134
    '<prepare dish="D2"/>',  # 46 to 56
    '<stage dish="D2"/>',  # 68, signals at 168
    '<tutor problem="Q1"/>',  # 80 to 134, under a poll to 160
    '<tutor problem="Q1"/>',  # the controller defers D1: 146, under a poll 172
    '<finish dish="D1"/>',
    '<finish dish="D2"/>',
    "<check/>",
)


def test_a_scripted_episode_is_summed_up_as_worked_out_by_hand(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    row = summarize(scripted(monkeypatch, replace(LIKE, world=SILENT), *PLAN))
    # D1 signals at 134, is seen at once, left to tutoring from 146, which D2's signal at 168
    # interrupts; D1 is finished from 180 to 188, too late, and D2 from 200 to 212, in time.
    assert (row.seen_after, row.finished_after) == ((0.0, 0.0), (46.0, 32.0))
    assert (row.in_time, row.critical_in_time, row.soft_in_time) == (1, 0, 1)
    assert (row.interrupted, row.resumed, row.resumed_after) == (2, 1, (12.0,))
    # Kitchen, tutor, kitchen: two switches. The finish of D1 was chosen with both ready.
    assert (row.switches, row.priority_chosen, row.priority_chances) == (2, 1, 1)
    assert (row.soft_seen, row.soft_deferred) == (1, 0)
    # The check is over at 224, and the last call at 236.
    assert (row.ticks, row.checks, row.complete) == (236.0, 1, 0)
    assert row.utility == pytest.approx(5 - 0.003 * 236 - 0.75 * 2 - 0.05)
    assert row.score == pytest.approx(row.utility)


def test_under_polls_the_same_script_sees_later_and_pays_for_looking(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    row = summarize(scripted(monkeypatch, replace(LIKE, world=SILENT, interface="polling"), *PLAN))
    # Looks at 120 and 160; D2's signal at 168 comes while the controller decides until 172.
    assert row.seen_after == (26.0, 4.0)
    assert row.checks == 2 + 1
    assert row.interrupted == 1
    assert row.utility == pytest.approx((row.score or 0) - 0.05 * 2)


def test_a_dish_that_was_seen_and_never_finished_has_one_delay_and_not_the_other() -> None:
    row = rows()[0]
    left = msgspec.structs.replace(row, seen_after=(4.0, 8.0), finished_after=(20.0,))
    other = msgspec.structs.replace(row, case="other", seen_after=(), finished_after=())
    values = {cell.metric: cell.value for cell in suite.make_cells([left, other])}
    assert (values["Vis. delay"], values["Fin. delay"]) == (6.0, 20.0)


@pytest.mark.parametrize(
    ("before", "after", "share"),
    [
        ("one two three", "four five", 0.0),
        ("one two three", "three four", 1 / 2),
        ("one two three", "two three four five", 2 / 4),
        ("one two one two", "one two", 1.0),
        ("one two", "", 0.0),
        ("", "one", 0.0),
        ("one two three", "two four", 0.0),
    ],
)
def test_overlap_is_what_was_said_last_and_is_said_again(
    before: str, after: str, share: float
) -> None:
    assert overlap(before, after) == pytest.approx(share)


def test_a_restart_begins_with_the_same_eight_words() -> None:
    first = "slope is how much a line goes up for each step to the right"
    assert is_restart(first, first + " and on")
    assert not is_restart(first, "slope is how much a line goes")
    assert not is_restart(first, "so " + first)


def test_a_tutor_that_starts_over_is_found_out(monkeypatch: pytest.MonkeyPatch) -> None:
    again = replace(LIKE, resumption="prompt")
    row = summarize(events_of(again))
    assert row.resumed > 0
    assert row.restarts == 0

    def begins(lesson: Any) -> Passage:
        # The same words every time, as if nothing had been written before.
        opening = "the slope of a line is how much it goes up for each step to the right"
        return replace(passage(lesson), opening=opening)

    monkeypatch.setattr(kitchen_play, "FillerModel", lambda _: FillerModel(begins))
    row = summarize(events_of(again))
    assert row.restarts == row.resumed > 0


def test_a_record_of_something_else_or_without_an_end_is_refused() -> None:
    events = events_of(LIKE)
    with pytest.raises(RecordError):
        read_trace(events[:-2])
    with pytest.raises(RecordError):
        read_trace(events[1:])


# --- any controller, any case, any method -----------------------------------------------------

ANSWERS = [
    *(f'<{verb} dish="D{n}"/>' for verb in ("prepare", "stage", "finish") for n in range(1, 6)),
    *(f'<tutor problem="Q{n}"/>' for n in range(1, 4)),
    *(f'<tutor problem="Q{n}" tokens="{k}"/>' for n in (1, 2) for k in (1, 45)),
    "<wait/>", '<wait ticks="70"/>', "<check/>", "Hm.", "<wait/> <end/>", '<finish dish="D7"/>',
]  # fmt: skip


class Whim:
    """Mostly the rule, sometimes anything at all."""

    def __init__(self, share: float) -> None:
        self.share = share

    def __call__(self, situation: Situation, rng: np.random.Generator) -> Answer:
        if rng.random() < self.share:
            return Answer(ANSWERS[rng.integers(len(ANSWERS))], int(rng.integers(1, 40)))
        return Cook()(situation, rng)


def check_laws(events: Sequence[Entry], trace: Trace, task: Case) -> None:
    assert all(one.at <= other.at for one, other in pairwise(events))
    # On the stove: from the end of staging to the end of finishing.
    changes = [(d.end, 1) for d in trace.executions if d.verb == "stage" and d.end is not None]
    changes += [(d.end, -1) for d in trace.executions if d.verb == "finish" and d.end is not None]
    on_stove = 0
    for _, change in sorted(changes):
        on_stove += change
        assert 0 <= on_stove <= task.stoves
    finishes = [execution for execution in trace.executions if execution.verb == "finish"]
    assert len({execution.dish for execution in finishes}) == len(finishes)
    for execution in finishes:
        signal = trace.signals[execution.dish]
        assert signal.at <= execution.start
        if execution.end is not None:
            assert execution.quality == int(execution.end <= signal.deadline)
    for signal in trace.signals.values():
        assert signal.seen_at is None or signal.seen_at >= signal.at
    # One pair of hands: what is done is done one after the other.
    busy = sorted((s.start, s.end) for s in trace.stretches)
    busy = sorted(busy + [(d.start, d.end) for d in trace.executions if d.end is not None])
    assert all(one[1] <= other[0] for one, other in pairwise(busy))


def check_texts(events: Sequence[Entry], trace: Trace) -> None:
    """Tokens are neither lost nor counted twice, however often a text was broken off."""
    written: dict[str, int] = {}
    for event in events:
        if isinstance(event, Happened) and "written" in event.data:
            assert event.data["written"] >= written.get(event.data["problem"], 0)
            written[event.data["problem"]] = event.data["written"]
    spans: dict[str, list[Stretch]] = {}
    for stretch in trace.stretches:
        spans.setdefault(stretch.problem, []).append(stretch)
    for name, stretches in spans.items():
        is_cut = any(stretch.ending == "cut" for stretch in stretches)
        tokens = sum(stretch.tokens for stretch in stretches)
        # Each token takes a tick; of a word that was broken off, some may have been paid before.
        assert sum(in_ticks(stretch.end - stretch.start) for stretch in stretches) >= tokens
        assert tokens == written[name] or (is_cut and tokens >= written[name])
        # Where it was broken off is counted in the text that is recorded.
        assert trace.breaks[name] == sorted(trace.breaks[name])
        assert trace.breaks[name][-1] == len(trace.texts[name]) or is_cut
    thoughts = [e for e in events if isinstance(e, ThoughtEnded)]
    assert len({thought.thought for thought in thoughts}) == len(thoughts)


def check_seeing(events: Sequence[Entry]) -> None:
    """Everything that happened is seen once, in order, and nothing before it happened."""
    happened = {e.number: e.at for e in events if isinstance(e, Happened)}
    observed = [e for e in events if isinstance(e, Observed)]
    assert [e.turn for e in observed] == sorted(happened)
    assert all(happened[e.turn] == e.happened_at <= e.at for e in observed)
    looks = [e.through for e in events if isinstance(e, Looked)]
    assert looks == sorted(looks)


@settings(max_examples=60, deadline=None)
@given(
    setting=st.sampled_from(SETTINGS),
    index=st.integers(0, 10_000),
    interface=st.sampled_from(list(METHODS)),
    share=st.sampled_from([0.1, 0.4, 1.0]),
    resumption=st.sampled_from(["stream", "prompt"]),
    interval=st.sampled_from([7, 40]),
)
def test_any_controller_leaves_a_record_that_the_record_keeps_the_laws(
    setting: Any, index: int, interface: str, share: float, resumption: Any, interval: int
) -> None:
    cases = cases_of(setting, 0)
    episode = KitchenEpisode(
        setting=setting,
        menu=cases[index % len(cases)],
        sample=index,
        interface=interface,
        resumption=resumption,
        interval=interval,
        transcripts="answers",
    )
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(kitchen_play, "RuleModel", lambda _, name: _model(Whim(share), name))
        events = events_of(episode)
    trace = read_trace(events)
    check_laws(events, trace, episode.task)
    check_texts(events, trace)
    check_seeing(events)
    assert trace.score == pytest.approx(utility(trace) + 0.05 * len(trace.polls))
    row = summarize(events)
    assert row.in_time <= row.dishes
    assert row.in_time == row.critical_in_time + row.soft_in_time
    assert row.resumed <= row.interrupted
