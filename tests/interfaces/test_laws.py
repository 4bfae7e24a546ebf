"""The laws of the interfaces, for agents and events in any order.

An event is visible from its `Observed` on; the record's own order decides what came first.
"""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.core.machine import FakeMachine
from tests.interfaces.bells import (
    COST,
    INTERVAL,
    LAWS,
    PATIENCE,
    PERIOD,
    STEP,
    Op,
    Played,
    halves,
    play,
)
from timeful.core.units import Instant
from timeful.models.pace import TOKEN
from timeful.records.events import (
    Acted,
    Happened,
    Looked,
    Noted,
    Observed,
    Polled,
    ThoughtEnded,
    ThoughtPaused,
    ThoughtResumed,
    ThoughtStarted,
)

END = 120
SPANS = st.integers(0, 40)
OPS: list[st.SearchStrategy[Op]] = [
    st.tuples(st.just("think"), st.integers(1, 30)),
    st.tuples(st.just("engage"), st.integers(0, 3), SPANS),
    st.tuples(st.just("engage"), st.integers(0, 3), st.just(0)),
    st.tuples(st.just("wait"), st.integers(0, 3), SPANS),
    st.tuples(st.just("idle"), SPANS),
    st.tuples(st.just("do"), st.integers(1, 30)),
    st.tuples(st.just("act"), st.integers(1, 30)),
    st.tuples(st.just("sleep"), SPANS),
    st.tuples(st.just("answer")),
    st.tuples(st.just("tick")),
    st.tuples(st.just("observe")),
]
ALONE = st.lists(st.one_of(OPS), max_size=12)
SCRIPTS = st.lists(st.one_of(*OPS, st.tuples(st.just("spawn"), ALONE)), max_size=12)
RINGS = st.lists(st.integers(0, END), max_size=8)
every_law = pytest.mark.parametrize("law", LAWS)
any_play = given(script=SCRIPTS, rings=RINGS)
any_play_alone = given(script=ALONE, rings=RINGS)


def played(script: list[Op], rings: list[int], law: str) -> Played:
    result = play(script, LAWS[law], rings=rings, end=END)
    assert result.ok, result.events[-2]
    return result


# --- under every law -------------------------------------------------------------------------


@every_law
@any_play
def test_everything_is_seen_exactly_once_in_order_and_never_before_it_happened(
    law: str, script: list[Op], rings: list[int]
) -> None:
    result = played(script, rings, law)
    happened, observed = result.of(Happened), result.of(Observed)
    assert [e.number for e in happened] == list(range(1, len(happened) + 1))
    assert [(e.turn, e.happened_at) for e in observed] == [(e.number, e.at) for e in happened]
    assert all(e.at >= e.happened_at for e in observed)
    places = {id(e): place for place, e in enumerate(result.events)}
    for what, seen in zip(happened, observed, strict=True):
        assert places[id(what)] < places[id(seen)]


@every_law
@any_play
def test_what_is_observed_is_each_thing_once_and_nothing_that_is_not_visible(
    law: str, script: list[Op], rings: list[int]
) -> None:
    result = played([*script, ("observe",), ("observe",)], rings, law)
    taken = [(seen.event, seen.data["number"]) for seen in result.actor.seen]
    happened = [(e.what, e.data["number"]) for e in result.of(Happened)]
    assert taken == happened[: len(taken)]
    visible = 0
    for event in result.events:
        if isinstance(event, Observed):
            visible = event.turn
        elif isinstance(event, Looked):
            assert event.through == visible
    if result.of(Looked):
        assert len(taken) == result.of(Looked)[-1].through


@every_law
@any_play
def test_a_thought_takes_its_own_time_in_however_many_pieces(
    law: str, script: list[Op], rings: list[int]
) -> None:
    result = played(script, rings, law)
    ran: dict[int, int] = {}
    since: dict[int, int] = {}
    for event in result.events:
        match event:
            case ThoughtStarted() | ThoughtResumed():
                assert event.thought not in since, "it runs once at a time"
                since[event.thought] = event.at
            case ThoughtPaused():
                ran[event.thought] = ran.get(event.thought, 0) + event.at - since.pop(event.thought)
            case ThoughtEnded(state="completed"):
                spent = ran.get(event.thought, 0) + event.at - since.pop(event.thought)
                assert spent == event.tokens * TOKEN
                assert event.answer == "".join(f"n{i} " for i in range(1, event.tokens + 1))


@every_law
@any_play
def test_the_same_episode_has_the_same_bytes(law: str, script: list[Op], rings: list[int]) -> None:
    assert played(script, rings, law).sha256 == played(script, rings, law).sha256


@every_law
@settings(max_examples=25)
@given(script=SCRIPTS, rings=RINGS, overshoot=st.integers(0, 3 * TOKEN))
def test_a_wall_clock_gives_the_same_record_on_a_slow_machine_too(
    law: str, script: list[Op], rings: list[int], overshoot: int
) -> None:
    clock = FakeMachine(overshoot=overshoot).clock()
    again = play(script, LAWS[law], rings=rings, end=END, clock=clock)
    assert again.sha256 == played(script, rings, law).sha256


# --- when an event is visible ----------------------------------------------------------------


@pytest.mark.parametrize("law", ["event-driven", "reflex", "slow-reflex", "frozen"])
@any_play
def test_what_happens_is_visible_at_once(law: str, script: list[Op], rings: list[int]) -> None:
    for event in played(script, rings, law).of(Observed):
        assert event.at == event.happened_at


@any_play
def test_under_a_loop_events_are_visible_at_the_end_of_a_step_and_never_within(
    script: list[Op], rings: list[int]
) -> None:
    result = played(script, rings, "loop")
    [end] = [e.number for e in result.of(Happened) if e.what == "closing"]
    steps, hidden = 0, []
    for place, event in enumerate(result.events):
        match event:
            case Noted(topic=topic, text="begins") if topic == STEP:
                assert steps or not hidden, "before a step all is visible"
                steps += 1
            case Noted(topic=topic) if topic == STEP:
                steps -= 1
                assert steps or not hidden, "at the end of a step all is visible"
            case Happened():
                hidden.append(event)
            case Observed():
                what = hidden.pop(0)
                if not steps:
                    assert event.at == what.at, "in between, what happens is visible at once"
                elif result.of(Happened)[-1].number != end or event.at < halves(END):
                    assert ends_a_step(result, place), "within a step nothing is visible"


def ends_a_step(result: Played, place: int) -> bool:
    """Whether a step ends here: nothing is recorded until then but what it comes to."""
    for event in result.events[place + 1 :]:
        if not isinstance(event, Observed | ThoughtPaused):
            return isinstance(event, Noted) and (event.topic, event.text) == (STEP, "ends")
    return False


@pytest.mark.parametrize("law", ["polling", "polling-at-a-cost"])
@any_play
def test_under_polling_nothing_stays_unseen_for_longer_than_the_interval(
    law: str, script: list[Op], rings: list[int]
) -> None:
    for event in played(script, rings, law).of(Observed):
        assert event.at - event.happened_at <= INTERVAL


@any_play
def test_at_a_fixed_rate_events_are_visible_at_the_tick_that_they_fall_on_or_the_next(
    script: list[Op], rings: list[int]
) -> None:
    result = played(script, rings, "fixed-rate")
    for what, event in zip(result.of(Happened), result.of(Observed), strict=True):
        tick = max(1, -(-what.at // PERIOD)) * PERIOD
        ticks = [tick]
        if what.what == "answered":  # at a tick, after what it showed
            ticks.append(tick + PERIOD)
        assert event.at in [min(tick, halves(END)) for tick in ticks]
        assert event.at - what.at <= PERIOD


# --- who reacts, and what a look costs -------------------------------------------------------


@any_play
def test_a_reflex_answers_no_bell_twice_and_does_what_is_legal(
    script: list[Op], rings: list[int]
) -> None:
    acts = [e for e in played(script, rings, "reflex").of(Acted) if e.by == "reflex"]
    assert all(e.legal for e in acts)
    assert len({e.action for e in acts}) == len(acts)


@any_play_alone
def test_a_reflex_acts_before_control_comes_back(script: list[Op], rings: list[int]) -> None:
    """A call that the agent has not observed has its reaction before the agent's step ends."""
    result = played([op for op in script if op[0] != "answer"], rings, "reflex")
    pending = busy = False
    for place, event in enumerate(result.events):
        match event:
            case Happened(what=what):
                pending |= what == "bell"
                busy &= what != "arrived"
            case Looked() | Acted(by="reflex"):
                pending = False
            case Acted(legal=legal):
                busy |= legal  # a walk: the engine waits for its end
            case Noted(text="ends") if begun_by(result, place) == "engage":
                assert busy or not pending


def begun_by(result: Played, place: int) -> str:
    """What the step that ends here was; only a step that was engaged in has a call."""
    paused = result.events[place - 1]
    return "engage" if isinstance(paused, ThoughtPaused) else ""


@pytest.mark.parametrize("law", ["polling", "polling-at-a-cost"])
@any_play_alone
def test_looks_come_at_the_interval_and_cost_what_they_cost(
    law: str, script: list[Op], rings: list[int]
) -> None:
    cost = COST if law == "polling-at-a-cost" else 0
    result = played(script, rings, law)
    last = None  # the end of the latest look, or the beginning of the step
    for event in result.events:
        match event:
            case Noted(text="begins"):
                last = event.at
            case Polled():
                assert event.at == last + INTERVAL
                last = event.at + cost
    rests = zip_pauses(result)
    assert all(span <= cost for span in rests)


def zip_pauses(result: Played) -> list[int]:
    """How long each thought waited that a look had paused, where it went on by itself."""
    rests, since = [], {}
    for event in result.events:
        match event:
            case ThoughtPaused(cause="a poll"):
                since[event.thought] = event.at
            case Noted(topic=topic) if topic == STEP:
                since.clear()  # what was engaged in and handed back may wait for ever
            case ThoughtResumed() if event.thought in since:
                rests.append(event.at - since.pop(event.thought))
    return rests


@given(words=st.integers(1, 60))
def test_a_thought_in_a_quiet_world_takes_its_own_time_and_its_looks(words: int) -> None:
    for wait in (("wait", 0, 0), ("engage", 0, 0)):
        script = [("think", words), wait, ("answer",)]
        result = play(script, LAWS["polling-at-a-cost"], end=400)
        looks = -(-words * TOKEN // INTERVAL) - 1
        assert [e.found for e in result.of(Polled)] == [0] * looks
        assert result.of(ThoughtEnded)[0].at == words * TOKEN + looks * COST


@any_play
def test_thinking_never_moves_a_frozen_world(script: list[Op], rings: list[int]) -> None:
    quiet = [op for op in script if op[0] in ("think", "engage", "wait", "sleep", "observe")]
    result = played(quiet, rings, "frozen")
    patience = [Instant(n * PATIENCE) for n in range(1, len(rings) + 2)]
    assert {e.at for e in result.of(Happened)} <= set(patience)
