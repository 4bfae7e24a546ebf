"""The kitchen against the paper: bands, orders, and what holds of every single episode."""

from collections.abc import Sequence
from dataclasses import replace
from functools import cache
from itertools import pairwise
from math import isnan
from typing import Any

import msgspec
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.environments.kitchen.menus import case, critical, problem, soft
from timeful.agents.prompts.kitchen import Situation
from timeful.core.units import Duration
from timeful.environments.kitchen.settings import KitchenSettings, in_ticks, ticks
from timeful.errors import RecordError, SettingsError
from timeful.models.filler_text import FillerModel, Passage
from timeful.models.role import read_role
from timeful.models.rules import Answer, RuleModel
from timeful.records.events import Entry, Happened, Looked, Observed, ThoughtEnded
from timeful.records.recorder import Recorder
from timeful.suites.engagement.kitchen import play as kitchen_play
from timeful.suites.engagement.kitchen.numbers import (
    METRICS,
    Cell,
    claims,
    make_cells,
    result_rows,
)
from timeful.suites.engagement.kitchen.play import play
from timeful.suites.engagement.kitchen.published import (
    ALL,
    BANDS,
    CRITICAL,
    DISH,
    FINISHED,
    MULTI,
    ONE,
    PUBLISHED,
    SEEN,
    UTILITY,
)
from timeful.suites.engagement.kitchen.rows import (
    KitchenRow,
    is_restart,
    overlap,
    summarize,
    utility,
)
from timeful.suites.engagement.kitchen.rules import Cook, passage
from timeful.suites.engagement.kitchen.spec import (
    METHODS,
    KitchenSpec,
    Rig,
    Sweep,
    cases_of,
    episodes,
)
from timeful.suites.engagement.kitchen.tables import LAYOUTS, banded, text_tables
from timeful.suites.engagement.kitchen.trace import Stretch, Trace, trace

BY_NAME = {method.name: method for method in METHODS}


def spec(method: str = "EP", *, rig: Rig | None = None, **changes: Any) -> KitchenSpec:
    menu = case(critical(), soft(), problems=(problem(length=300), problem("Q2", 90)), stoves=2)
    usual = KitchenSpec(
        setting="multi-dish", case=menu, sample=0, method=BY_NAME[method], rig=rig or Rig()
    )
    return replace(usual, **changes)


def played(which: KitchenSpec) -> list[Entry]:
    recorder = Recorder()
    assert play(which, recorder), recorder.events[-2]
    return recorder.events


@cache
def rows() -> tuple[KitchenRow, ...]:
    """The whole of the paper's seeds, 128 and 72 cases, under every method and variant."""
    return tuple(summarize(played(which)) for which in episodes(Sweep(samples=1), Rig()))


@cache
def cells() -> tuple[Cell, ...]:
    return tuple(make_cells(rows()))


def cell(setting: str, method: str) -> Cell:
    return next(c for c in cells() if (c.setting, c.family, c.method) == (setting, ALL, method))


# --- against the paper ------------------------------------------------------------------------


def test_all_cases_of_the_paper_are_inside_every_band_and_in_its_order() -> None:
    assert len(rows()) == 5 * 128 + 5 * 72
    found = banded(cells())
    assert {(c.setting, c.family, c.method, metric) for c, metric, _ in found} == set(BANDS)
    out = [(c.method, m, c.mean(m)) for c, m, band in found if not band.holds(c.mean(m))]
    assert out == []
    made = claims(cells())
    assert len(made) == 6
    assert [claim.text for claim in made if not claim.holds] == []


def test_finishing_begins_exactly_one_call_after_a_signal_is_seen() -> None:
    for method in ("ReflexPatch", "EP"):
        for row in rows():
            if (row.setting, row.method) == (ONE, method):
                pairs = zip(row.seen_after, row.finished_after, strict=True)
                assert [late - seen for seen, late in pairs] == [12.0] * len(row.seen_after)


def test_with_soft_dishes_finished_at_once_the_reflex_does_what_the_controller_would() -> None:
    for setting in (ONE, MULTI):
        for metric in (UTILITY, DISH, CRITICAL, FINISHED):
            one, other = cell(setting, "ReflexPatch").mean(metric), cell(setting, "EP").mean(metric)
            assert one == pytest.approx(other, nan_ok=True)


def test_the_loop_is_never_interrupted_and_switches_twice_with_one_dish() -> None:
    loop = [row for row in rows() if row.method == "AgentLoop"]
    assert not any(row.interrupted for row in loop)
    assert {row.switches for row in loop if row.setting == ONE} == {2}


def test_polls_are_counted_as_checks_and_signals_are_seen_within_their_interval() -> None:
    for row in rows():
        if row.method == "Periodic Poll":
            assert row.checks > 0
            assert row.score is not None
            assert row.utility == pytest.approx(row.score - 0.05 * row.checks)
        else:
            assert row.checks == 0
    one_dish = [r for r in rows() if (r.setting, r.method) == (ONE, "Periodic Poll")]
    assert max(max(row.seen_after, default=0) for row in one_dish) <= 40


def test_no_rule_is_ever_refused_and_every_problem_is_complete() -> None:
    for row in rows():
        assert row.refused == 0
        assert row.complete == row.problems
        assert row.calls <= (40 if row.setting == ONE else 60)


def test_every_published_number_is_typed_once_and_stands_in_a_table() -> None:
    assert len(PUBLISHED) == 4 * 5 + 16 * 3 + 4 * 8 - 1 + 12 * 5 + (4 * 4 - 2) * 2
    shown = {(layout.setting, metric) for layout in LAYOUTS for metric in layout.metrics}
    assert {(setting, metric) for setting, _, _, metric in PUBLISHED} == shown
    assert PUBLISHED[ONE, ALL, "EP", UTILITY].value == 5.731
    assert PUBLISHED[MULTI, "resume_pressure", "ReflexPatch", CRITICAL].half_width == 0.045


def test_tables_fit_80_columns_and_show_both_numbers() -> None:
    text = text_tables(rows())
    assert max(map(len, text.splitlines())) <= 80
    assert "Stand-in: a rule cooks" in text
    assert "Bands: 15 of 15 numbers are inside." in text
    assert "Orders on means: 6 of 6 hold." in text
    for name in ("Tables 4 and 20", "Tables 4 and 22", "Table 21", "Table 23", "Table 24"):
        assert f"{name}: " in text
    assert "5.73±.31" in text
    assert "Band: where a number" in text
    assert "ReflexPatch and EP coincide" in text
    assert "could not be used" not in text, "there is no language model"


def test_of_a_language_model_the_tables_say_what_came_to_nothing() -> None:
    change = msgspec.structs.replace
    spoken = [
        change(row, stand_in=False, calls=10, refused=place % 2, out_of_calls=place < 3)
        for place, row in enumerate(rows()[:8])
    ]
    text = text_tables(spoken)
    assert max(map(len, text.splitlines())) <= 80
    assert (
        "answers that could not be used: 5 % (4 of 80)\nepisodes ended by --calls: 3 of 8" in text
    )
    assert "coincide" not in text
    assert "Bands and orders are for whole sets" not in text
    assert "Bands and orders are for whole sets" in text_tables(rows()[:8])


def test_results_hold_ours_beside_the_published_and_nothing_that_was_not_counted() -> None:
    made = result_rows(cells())
    assert len(made) == len(cells()) * len(METRICS)
    ours = next(
        row for row in made if (row.method, row.metric, row.setting) == ("EP", DISH, "rules")
    )
    assert (ours.published, ours.n, ours.stand_in) == (0.938, 128, True)
    assert all(row.value is None or not isnan(row.value) for row in made)


FOUR = ("AgentLoop", "Periodic Poll", "ReflexPatch", "EP")


@pytest.mark.parametrize(
    ("metric", "in_order", "broken"),
    [
        (SEEN, (70, 20, 4, 4), [(50, 20, 4, 4), (70, 4, 4, 4), (70, 4, 20, 4), (70, 20, 4, 5)]),
        (
            DISH,
            (0.1, 0.6, 0.8, 0.8),
            [(0.6, 0.6, 0.8, 0.8), (0.1, 0.8, 0.8, 0.8), (0.1, 0.6, 0.8, 0.7)],
        ),
    ],
)
def test_an_order_is_claimed_of_all_four_methods(
    metric: str, in_order: tuple[float, ...], broken: list[tuple[float, ...]]
) -> None:
    for means in (in_order, *broken):
        four = [
            with_mean(cell(ONE, name), metric, mean) for name, mean in zip(FOUR, means, strict=True)
        ]
        (held,) = (one.holds for one in claims(four) if f": {metric} AgentLoop" in one.text)
        assert held == (means == in_order), means


def with_mean(one: Cell, metric: str, mean: float) -> Cell:
    number = replace(one.numbers[metric], by_set=(mean,))
    return replace(one, numbers={**one.numbers, metric: number})


# --- settings ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "make",
    [
        lambda: Rig(interval=Duration(0)),
        lambda: Rig(delay=Duration(-1)),
        lambda: Rig(calls=0),
        lambda: Rig(answer_tokens=-1),
        lambda: Rig(resumption="guess"),  # type: ignore[arg-type]
        lambda: Rig(transcripts="none"),  # type: ignore[arg-type]
        lambda: Cook(quits=1.1),
        lambda: Cook(quits=-0.1),
        lambda: Cook(quits=float("nan")),
        lambda: Cook(soft="never"),  # type: ignore[arg-type]
        lambda: Sweep(settings=("two-dish",)),
        lambda: Sweep(laws=("fixed-rate",)),
        lambda: Sweep(samples=0),
        lambda: Sweep(cases=0),
    ],
)
def test_settings_that_cannot_be_are_refused(make: Any) -> None:
    with pytest.raises(SettingsError):
        make()


def test_a_language_model_has_no_variants_and_no_bands() -> None:
    live = Rig(controller=read_role("openai:x", stand_in="rules", base_url="http://localhost:1/v1"))
    names = {which.method.name for which in episodes(Sweep(samples=1), live)}
    assert names == {"AgentLoop", "Periodic Poll", "ReflexPatch", "EP"}
    spoken = make_cells(msgspec.structs.replace(row, stand_in=False) for row in rows())
    assert banded(spoken) == []
    assert claims(spoken) == []


def test_a_part_of_a_set_has_no_bands_and_no_orders() -> None:
    some = make_cells(row for row in rows() if not row.case.endswith("seed23"))
    assert {c.setting for c, _, _ in banded(some)} == {MULTI}
    assert all(claim.text.startswith(MULTI) for claim in claims(some))


def test_every_method_plays_the_same_cases_under_names_of_their_own() -> None:
    specs = episodes(Sweep(samples=2), Rig())
    assert len({which.key for which in specs}) == len(specs) == 2 * (5 * 128 + 5 * 72)
    for method in BY_NAME.values():
        for setting in (ONE, MULTI):
            mine = [s.case for s in specs if (s.method, s.setting) == (method, setting)]
            if method.setting in (None, setting):
                assert mine == [*cases_of(setting, 0), *cases_of(setting, 1)]  # type: ignore[arg-type]
            else:
                assert mine == []


# --- by hand ----------------------------------------------------------------------------------


class Script:
    """A controller that says what it is told to, and then ends the episode."""

    def __init__(self, *answers: str) -> None:
        self.answers = iter(answers)

    def __call__(self, situation: Situation, rng: np.random.Generator) -> Answer:
        return Answer(next(self.answers, "<end/>"), 12)


def scripted(monkeypatch: pytest.MonkeyPatch, which: KitchenSpec, *answers: str) -> list[Entry]:
    monkeypatch.setattr(kitchen_play, "RuleModel", lambda _, name: _model(Script(*answers), name))
    return played(which)


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
    still = Rig(world=KitchenSettings(jitter=0.0))
    row = summarize(scripted(monkeypatch, spec(rig=still), *PLAN))
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
    still = Rig(world=KitchenSettings(jitter=0.0))
    row = summarize(scripted(monkeypatch, spec("Periodic Poll", rig=still), *PLAN))
    # Looks at 120 and 160; D2's signal at 168 comes while the controller decides until 172.
    assert row.seen_after == (26.0, 4.0)
    assert row.checks == 2 + 1
    assert row.interrupted == 1
    assert row.utility == pytest.approx((row.score or 0) - 0.05 * 2)


def test_a_dish_that_was_seen_and_never_finished_has_one_delay_and_not_the_other() -> None:
    row = rows()[0]
    left = msgspec.structs.replace(row, seen_after=(4.0, 8.0), finished_after=(20.0,))
    other = msgspec.structs.replace(row, case="other", seen_after=(), finished_after=())
    whole = make_cells([left, other])[0]
    assert (whole.mean(SEEN), whole.mean(FINISHED)) == (6.0, 20.0)


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
    again = Rig(resumption="prompt")
    row = summarize(played(spec(rig=again)))
    assert row.resumed > 0
    assert row.restarts == 0

    def begins(lesson: Any) -> Passage:
        # The same words every time, as if nothing had been written before.
        opening = "the slope of a line is how much it goes up for each step to the right"
        return replace(passage(lesson), opening=opening)

    monkeypatch.setattr(kitchen_play, "FillerModel", lambda _: FillerModel(begins))
    row = summarize(played(spec(rig=again)))
    assert row.restarts == row.resumed > 0


def test_a_record_of_something_else_or_without_an_end_is_refused() -> None:
    events = played(spec())
    with pytest.raises(RecordError, match="no end"):
        trace(events[:-2])
    with pytest.raises(RecordError, match="no kitchen"):
        trace(events[1:])


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


def check_laws(events: Sequence[Entry], made: Trace, which: KitchenSpec) -> None:
    assert all(one.at <= other.at for one, other in pairwise(events))
    # On the stove: from the end of staging to the end of finishing.
    changes = [(d.end, 1) for d in made.deeds if d.verb == "stage" and d.end is not None]
    changes += [(d.end, -1) for d in made.deeds if d.verb == "finish" and d.end is not None]
    on_stove = 0
    for _, change in sorted(changes):
        on_stove += change
        assert 0 <= on_stove <= which.case.stoves
    finishes = [deed for deed in made.deeds if deed.verb == "finish"]
    assert len({deed.dish for deed in finishes}) == len(finishes)
    for deed in finishes:
        signal = made.signals[deed.dish]
        assert signal.at <= deed.start
        if deed.end is not None:
            assert deed.quality == int(deed.end <= signal.deadline)
    for signal in made.signals.values():
        assert signal.seen is None or signal.seen >= signal.at
    # One pair of hands: what is done is done one after the other.
    busy = sorted((s.start, s.end) for s in made.stretches)
    busy = sorted(busy + [(d.start, d.end) for d in made.deeds if d.end is not None])
    assert all(one[1] <= other[0] for one, other in pairwise(busy))


def check_texts(events: Sequence[Entry], made: Trace) -> None:
    """Tokens are neither lost nor counted twice, however often a text was broken off."""
    told: dict[str, int] = {}
    for event in events:
        if isinstance(event, Happened) and "written" in event.data:
            assert event.data["written"] >= told.get(event.data["problem"], 0)
            told[event.data["problem"]] = event.data["written"]
    spans: dict[str, list[Stretch]] = {}
    for stretch in made.stretches:
        spans.setdefault(stretch.problem, []).append(stretch)
    for name, stretches in spans.items():
        is_cut = any(stretch.ending == "cut" for stretch in stretches)
        tokens = sum(stretch.tokens for stretch in stretches)
        # Each token takes a tick; of a word that was broken off, some may have been paid before.
        assert sum(in_ticks(stretch.end - stretch.start) for stretch in stretches) >= tokens
        assert tokens == told[name] or (is_cut and tokens >= told[name])
        # Where it was broken off is counted in the text that is recorded.
        assert made.breaks[name] == sorted(made.breaks[name])
        assert made.breaks[name][-1] == len(made.texts[name]) or is_cut
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
    setting=st.sampled_from([ONE, MULTI]),
    place=st.integers(0, 10_000),
    method=st.sampled_from([m.name for m in METHODS if not m.is_variant]),
    share=st.sampled_from([0.1, 0.4, 1.0]),
    resumption=st.sampled_from(["stream", "prompt"]),
    interval=st.sampled_from([7, 40]),
)
def test_whatever_a_controller_does_the_record_keeps_the_laws(
    setting: Any, place: int, method: str, share: float, resumption: Any, interval: int
) -> None:
    cases = cases_of(setting, 0)
    rig = Rig(resumption=resumption, interval=ticks(interval))
    which = replace(
        spec(method, rig=rig), setting=setting, case=cases[place % len(cases)], sample=place
    )
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(kitchen_play, "RuleModel", lambda _, name: _model(Whim(share), name))
        events = played(which)
    made = trace(events)
    check_laws(events, made, which)
    check_texts(events, made)
    check_seeing(events)
    assert made.score == pytest.approx(utility(made) + 0.05 * len(made.polls))
    row = summarize(events)
    assert row.in_time <= row.dishes
    assert row.in_time == row.critical_in_time + row.soft_in_time
    assert row.resumed <= row.interrupted
