"""The kitchen's laws, by hand and for any case under any actions."""

from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.environments.kitchen.menus import (
    SILENT,
    at,
    case,
    critical,
    do,
    kitchen,
    names,
    problem,
    soft,
)
from timeful.core.units import Duration, Instant
from timeful.environments.environment import Observation
from timeful.environments.kitchen.cases import multi_dish_cases, one_dish_cases
from timeful.environments.kitchen.settings import (
    Case,
    Dish,
    KitchenSettings,
    Utility,
    in_ticks,
    ticks,
)
from timeful.environments.kitchen.world import Kitchen
from timeful.errors import IllegalActionError, SettingsError
from timeful.seeding import child


def started(world: Kitchen, dish: str = "D1", tick: int = 0) -> int:
    """Prepare and stage a dish; the tick at which it is on the stove."""
    do(world, tick, f'<prepare dish="{dish}"/>')
    do(world, tick + 10, f'<stage dish="{dish}"/>')
    return tick + 10


def test_the_utility_of_an_episode_worked_out_by_hand() -> None:
    world = kitchen(critical(offset=100), soft(offset=100), stoves=2)
    do(world, 0, '<prepare dish="D1"/>')  # to 10
    do(world, 12, '<stage dish="D1"/>')  # signals at 112, counts to 132
    do(world, 20, '<prepare dish="D2"/>')  # to 30
    do(world, 30, '<stage dish="D2"/>')  # signals at 130, counts to 350
    do(world, 40, '<tutor problem="Q1"/>')  # a switch
    do(world, 90, '<tutored problem="Q1" tokens="50"/>')  # complete
    do(world, 91, "<check/>")
    seen = do(world, 113, '<finish dish="D1"/>')  # to 121, in time; a switch
    assert names(seen) == ["signal", "finished"]
    assert seen[1].data == {"dish": "D1", "quality": 1}
    seen = do(world, 345, '<finish dish="D2"/>')  # to 357, too late
    assert seen[-1].data == {"dish": "D2", "quality": 0}
    do(world, 400, "<end/>")
    assert world.next_change() is None
    # 5 for D1, 5 for Q1, 400 ticks, two switches, one check.
    assert world.score == pytest.approx(5 + 5 - 0.003 * 400 - 0.75 * 2 - 0.05)


@pytest.mark.parametrize(
    ("judged", "begun", "quality"),
    [("end", 122, 1), ("end", 123, 0), ("start", 130, 1), ("start", 131, 0)],
)
def test_a_dish_counts_to_the_last_tick_of_its_window(
    judged: Any, begun: int, quality: int
) -> None:
    world = kitchen(settings=replace(SILENT, judged=judged))
    assert started(world) == 10  # signals at 110, its window ends at 130, finishing takes 8
    assert do(world, begun, '<finish dish="D1"/>')[-1].data["quality"] == quality


@pytest.mark.parametrize(("begun", "quality"), [(110, 1), (200, 1), (318, 1), (319, 0)])
def test_a_soft_dish_keeps_its_whole_worth_until_it_no_longer_keeps_warm(
    begun: int, quality: int
) -> None:
    world = kitchen(soft("D1"))
    started(world)  # signals at 110, warm until 110 + 20 + 200, finishing takes 12
    assert do(world, begun + 1 if begun == 110 else begun, '<finish dish="D1"/>')[-1].data == {
        "dish": "D1",
        "quality": quality,
    }


def test_an_action_at_the_instant_of_a_signal_comes_before_it() -> None:
    world = kitchen()
    started(world)
    with pytest.raises(IllegalActionError, match="D1 is staged, not signalled"):
        do(world, 110, '<finish dish="D1"/>')


@pytest.mark.parametrize(
    ("action", "reason"),
    [
        ('<stage dish="D1"/>', "raw, not prepared"),
        ('<finish dish="D1"/>', "raw, not signalled"),
        ('<prepare dish="D9"/>', "D9.*legal actions are D1"),
        ('<tutor problem="Q9"/>', "Q9.*legal actions are Q1"),
        ('<tutor problem="Q1" tokens="0"/>', "at least 1 token"),
        ('<wait ticks="0"/>', "at least 1 tick"),
        ("<wait/>", "nothing to wait for"),
        ("<fly/>", "illegal action"),
        ("nonsense", "not one element"),
    ],
)
def test_an_illegal_action_says_why_and_changes_nothing(action: str, reason: str) -> None:
    world = kitchen()
    before = (world.view(), world.next_change(), world.score)
    with pytest.raises(IllegalActionError, match=reason):
        world.intervene((action,), at=at(0))
    assert (world.view(), world.next_change(), world.score) == before


def test_a_dish_needs_a_free_slot_and_frees_it_when_it_is_finished() -> None:
    world = kitchen(critical("D1"), critical("D2"))
    started(world)
    do(world, 20, '<prepare dish="D2"/>')
    with pytest.raises(IllegalActionError, match="no slot"):
        do(world, 30, '<stage dish="D2"/>')
    do(world, 200, '<finish dish="D1"/>')  # spoiled by now, but it has to be cleared away
    do(world, 208, '<stage dish="D2"/>')
    assert world.view().free_slots == 0


def test_a_wait_is_over_with_its_ticks_or_with_a_signal() -> None:
    world = kitchen()
    started(world)
    world.intervene(('<wait ticks="30"/>',), at=at(20))
    assert names(list(world.advance(at(60)))) == ["timer"]
    world.intervene(('<wait ticks="300"/>',), at=at(60))
    assert names(list(world.advance(at(1000)))) == ["signal"]
    # A bare wait for a dish that has signalled is over at once: it never signals again.
    world.intervene(("<wait/>",), at=at(1000))
    assert world.next_change() == at(1000)


def test_a_wait_that_was_given_up_does_not_ring() -> None:
    world = kitchen()
    world.intervene(('<wait ticks="30"/>',), at=at(0))
    do(world, 5, '<prepare dish="D1"/>')
    assert names(list(world.advance(at(7999)))) == []


def test_the_time_budget_ends_an_episode_that_nobody_ended() -> None:
    world = kitchen(settings=replace(SILENT, budget=ticks(500)))
    assert [(one.event, one.at) for one in world.advance(at(9999))] == [("budget", at(500))]
    assert world.next_change() is None
    assert world.score == pytest.approx(-0.003 * 500)
    with pytest.raises(IllegalActionError, match="over"):
        world.intervene(('<prepare dish="D1"/>',), at=at(500))


def test_tutoring_is_what_the_tutor_tells_and_never_less_than_before() -> None:
    world = kitchen()
    do(world, 0, '<tutor problem="Q1"/>')
    do(world, 30, '<tutored problem="Q1" tokens="30"/>')
    with pytest.raises(IllegalActionError, match="30 tokens were written"):
        do(world, 31, '<tutored problem="Q1" tokens="29"/>')
    # A text that came to its end is complete, however short it is.
    seen = do(world, 40, '<tutored problem="Q1" tokens="40" done="yes"/>')
    assert seen[-1].data == {"problem": "Q1", "written": 40, "complete": True}
    with pytest.raises(IllegalActionError, match="complete"):
        do(world, 41, '<tutor problem="Q1"/>')


def test_a_kitchen_whose_problems_write_themselves_counts_the_ticks_of_tutoring() -> None:
    world = kitchen(settings=replace(SILENT, writes_itself=True))
    do(world, 0, '<tutor problem="Q1"/>')
    do(world, 30, '<prepare dish="D1"/>')  # 30 of 50 are written
    assert world.view().problems[0].written == 30
    do(world, 40, '<tutor problem="Q1"/>')
    assert [(one.event, one.at) for one in world.advance(at(100))] == [("tutored", at(60))]
    assert world.view().problems[0].is_complete


def test_nobody_can_tell_how_far_a_problem_came_that_writes_itself() -> None:
    world = kitchen(settings=replace(SILENT, writes_itself=True))
    with pytest.raises(IllegalActionError, match="write themselves"):
        do(world, 0, '<tutored problem="Q1" tokens="50"/>')


def test_only_whistles_jitter_in_whole_ticks_and_every_dish_has_luck_of_its_own() -> None:
    def signals(*dishes: Dish, seed: int) -> list[float]:
        world = Kitchen(case(*dishes, stoves=len(dishes)), KitchenSettings(), child(seed, "jitter"))
        for place, dish in enumerate(dishes):
            started(world, dish.name, tick=20 * place)
        return [in_ticks(one.at) for one in world.advance(at(1000)) if one.event == "signal"]

    late = [signals(critical("D1"), soft("D2"), seed=seed) for seed in range(200)]
    assert {second for _, second in late} == {130.0}
    firsts = [first for first, _ in late]
    assert all(first == int(first) for first in firsts)
    assert abs(sum(firsts) / 200 - 110) < 0.8
    assert 2.2 < (sum((first - 110) ** 2 for first in firsts) / 200) ** 0.5 < 3.8
    assert signals(critical("D1"), critical("D2"), seed=5)[0] == late[5][0]


@pytest.mark.parametrize(
    "make",
    [
        lambda: ticks(-1),
        lambda: replace(critical(), prep=Duration(-1)),
        lambda: replace(critical(), offset=Duration(-1)),
        lambda: replace(critical(), finish=Duration(0)),
        lambda: replace(critical(), window=Duration(0)),
        lambda: replace(soft(), slack=Duration(-1)),
        lambda: problem(length=0),
        lambda: case(stoves=0),
        lambda: case(critical("D1"), soft("D1")),
        lambda: Case(name="", family="", dishes=(), problems=(), stoves=1),
        lambda: KitchenSettings(staging=Duration(-1)),
        lambda: KitchenSettings(jitter=-0.1),
        lambda: KitchenSettings(jitter=float("nan")),
        lambda: KitchenSettings(budget=Duration(0)),
        lambda: KitchenSettings(judged="middle"),  # type: ignore[arg-type]
        lambda: Utility(switch=-1.0),
        lambda: Utility(dish=float("inf")),
    ],
)
def test_settings_that_cannot_be_are_refused(make: Any) -> None:
    with pytest.raises(SettingsError):
        make()


# --- any case, any actions --------------------------------------------------------------------

CASES = [*one_dish_cases()[::9], *multi_dish_cases()[::5]]
NAMES = [*(f"D{n}" for n in range(1, 6)), *(f"Q{n}" for n in range(1, 4))]
COMMANDS = st.one_of(
    st.builds(
        '<{} dish="{}"/>'.format,
        st.sampled_from(["prepare", "stage", "finish"]),
        st.sampled_from(NAMES),
    ),
    st.builds('<tutor problem="{}"/>'.format, st.sampled_from(NAMES)),
    st.builds(
        '<tutored problem="{}" tokens="{}"/>'.format, st.sampled_from(NAMES), st.integers(0, 900)
    ),
    st.builds('<wait ticks="{}"/>'.format, st.integers(0, 500)),
    st.sampled_from(["<wait/>", "<check/>", "<end/>", "<nonsense/>", ""]),
)


def played(
    given_case: Case, laws: KitchenSettings, plan: Sequence[tuple[int, str]]
) -> tuple[Kitchen, list[Observation], list[str]]:
    """Act at spans after each other, whatever is refused, to the end of the time budget."""
    world = Kitchen(given_case, laws, child(1, "test"))
    now, seen, taken = Instant(0), [], []
    for span, action in plan:
        now = Instant(now + ticks(span))
        seen += world.advance(Instant(now - 1))
        try:
            world.intervene((action,), at=now)
            taken.append(action)
        except IllegalActionError:
            pass
    seen += world.advance(Instant(now + laws.budget))
    return world, seen, taken


@settings(max_examples=150, deadline=None)
@given(
    st.sampled_from(CASES),
    st.booleans(),
    st.lists(st.tuples(st.integers(0, 120), COMMANDS), max_size=60),
)
def test_whatever_is_done_the_laws_hold(
    given_case: Case, writes_itself: bool, plan: list[tuple[int, str]]
) -> None:
    laws = KitchenSettings(writes_itself=writes_itself)
    world, seen, taken = played(given_case, laws, plan)
    instants = [one.at for one in seen]
    assert instants == sorted(instants)
    signals: dict[str, Instant] = {}
    finished: dict[str, int] = {}
    for one in seen:
        view: Any = one.view
        assert 0 <= view.free_slots <= given_case.stoves
        if one.event == "signal":
            assert one.data["dish"] not in signals
            signals[one.data["dish"]] = one.at
        if one.event == "finished":
            assert signals[one.data["dish"]] <= one.at
            assert one.data["dish"] not in finished
            finished[one.data["dish"]] = one.data["quality"]
    assert world.next_change() is None
    assert seen[-1].event in ("ended", "budget")
    last = world.view()
    assert {d.name: d.quality for d in last.dishes if d.quality is not None} == finished
    for told in last.problems:
        assert told.written >= 0
    verbs = [action.split()[0] for action in taken]
    modes = [verb for verb in verbs if verb in ("<prepare", "<stage", "<finish", "<tutor")]
    tutors = [False, *(mode == "<tutor" for mode in modes)]
    switches = sum(one != other for one, other in pairwise(tutors))
    assert last.switches == switches
    assert last.checks == taken.count("<check/>")
    complete = sum(p.is_complete for p in last.problems)
    expected = (
        5 * sum(finished.values())
        + 5 * complete
        - 0.003 * in_ticks(seen[-1].at)
        - 0.75 * switches
        - 0.05 * last.checks
    )
    assert world.score == pytest.approx(expected)
    assert sum(one.reward for one in seen) == pytest.approx(world.score)
