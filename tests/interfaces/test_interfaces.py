"""What each interface does at the seams: calls, interruptions, errors, reactions, settings."""

from collections.abc import Callable, Coroutine
from functools import partial
from typing import Any

import pytest

from tests.interfaces.bells import (
    COST,
    INTERVAL,
    LAWS,
    PATIENCE,
    PERIOD,
    PROMPT,
    Actor,
    Bells,
    BellsView,
    Played,
    answer_first,
    halves,
    thinker,
)
from timeful.agents.connection import Interface
from timeful.agents.session import Session
from timeful.core.activity import Interrupted
from timeful.core.clock import VirtualClock
from timeful.core.kernel import Kernel
from timeful.core.source import Chunk
from timeful.core.units import Duration, Instant
from timeful.environments.environment import Environment
from timeful.environments.ticking import Ticking
from timeful.errors import ModelError, SettingsError
from timeful.interfaces.event_driven import EventDriven
from timeful.interfaces.fixed_rate import FixedRate
from timeful.interfaces.frozen import Frozen
from timeful.interfaces.polling import Polling
from timeful.interfaces.reflex import Reflex
from timeful.models.pace import tokens
from timeful.models.scripted import ScriptedModel
from timeful.records.events import (
    Acted,
    EpisodeEnded,
    EpisodeFailed,
    Happened,
    Observed,
    Polled,
    ThoughtEnded,
    ThoughtPaused,
    ThoughtResumed,
    ThoughtStarted,
)
from timeful.records.recorder import Recorder
from timeful.runs.episode import EpisodeSetting, play_episode

every_law = pytest.mark.parametrize("law", LAWS)
MOVING = [law for law in LAWS if law != "frozen"]
Play = Callable[[Session], Coroutine[Any, Any, None]]


def run(
    agent: Play,
    law: str | Interface,
    *,
    rings: tuple[int, ...] = (),
    end: int = 200,
    world: Environment | None = None,
    fails: bool = False,
) -> Played:
    recorder = Recorder()
    ok = play_episode(
        EpisodeSetting(settings={}, seed=0),
        environment=world or Bells([Instant(halves(ring)) for ring in rings], Instant(halves(end))),
        interface=LAWS[law] if isinstance(law, str) else law,
        agent=agent,
        clock=VirtualClock(),
        recorder=recorder,
    )
    assert ok != fails, recorder.events[-2]
    return Played(ok, recorder.events, recorder.sha256, None)  # type: ignore[arg-type]


# --- handing back control --------------------------------------------------------------------


@pytest.mark.parametrize(
    ("law", "back"),
    [
        ("event-driven", [(11, False), (60, True)]),
        ("reflex", [(11, False), (60, True)]),
        ("slow-reflex", [(15, False), (64, True)]),
        ("loop", [(60, True)]),
        ("polling", [(14, False), (60, True)]),
        ("polling-at-a-cost", [(18, False), (76, True)]),
        ("fixed-rate", [(10 * n, False) for n in range(1, 6)] + [(60, True)]),
        ("frozen", [(60, True)]),
    ],
)
def test_control_comes_back_by_the_law(law: str, back: list[tuple[int, bool]]) -> None:
    """A thought of 30 tokens; a bell rings after 5.5, and nothing else happens."""
    came = []

    async def agent(session: Session) -> None:
        thought = session.think(thinker(), PROMPT, max_tokens=30)
        over = False
        while not over:
            over = await session.run_until_event(thought)
            came.append((session.now // halves(1), over))

    run(agent, law, rings=(11,), end=100)
    assert came == back


@every_law
def test_an_agent_that_never_observes_is_called_once_for_each_event(law: str) -> None:
    came: list[Instant] = []

    async def agent(session: Session) -> None:
        thought = session.think(thinker(), PROMPT, max_tokens=90)
        while not await session.run_until_event(thought):
            came.append(session.now)
            assert len(came) < 40, "it gets nowhere"

    run(agent, law, rings=(3, 3, 11, 30), end=400)
    assert len(came) == len(set(came))


def test_an_event_from_before_hands_back_control_at_once_and_the_thought_does_not_run() -> None:
    async def agent(session: Session) -> None:
        thought = session.think(thinker(), PROMPT, max_tokens=30)
        assert not await session.run_until_event(thought, span=tokens(2))
        await session.sleep(tokens(10))
        assert not await session.run_until_event(thought)
        assert (session.now, thought.tokens) == (tokens(12), 2)
        assert await session.run_until_event(thought)
        assert session.now == tokens(40)

    run(agent, "event-driven", rings=(11,))


@pytest.mark.parametrize("law", ["loop", "polling", "polling-at-a-cost", "frozen"])
def test_what_was_visible_between_two_steps_takes_nobody_away_from_the_next(law: str) -> None:
    async def agent(session: Session) -> None:
        thought = session.think(thinker(), PROMPT, max_tokens=30)
        assert not await session.run_until_event(thought, span=tokens(2))
        await session.sleep(tokens(10))
        assert await session.run_until_event(thought)

    run(agent, law, rings=(11,))


def test_every_activity_that_is_engaged_is_called() -> None:
    came = []

    async def agent(session: Session) -> None:
        async def work(words: int) -> None:
            thought = session.think(thinker(), PROMPT, max_tokens=words)
            assert not await session.run_until_event(thought)
            came.append((words, session.now))

        session.spawn(work(20))
        session.spawn(work(30))

    run(agent, "event-driven", rings=(11,))
    assert came == [(20, halves(11)), (30, halves(11))]


@every_law
def test_the_end_of_an_action_of_its_own_calls_nobody_away(law: str) -> None:
    came = []

    async def agent(session: Session) -> None:
        session.act("walk:11")
        thought = session.think(thinker(), PROMPT, max_tokens=30)
        while not await session.run_until_event(thought):
            came.append(session.now)

    run(agent, law)
    if law != "fixed-rate":  # whose ticks call by themselves
        assert came == []


@pytest.mark.parametrize("law", MOVING)
def test_to_engage_without_a_thought_goes_on_with_the_action_under_way(law: str) -> None:
    async def agent(session: Session) -> None:
        session.act("walk:30")
        calls = 0
        while not await session.run_until_event():
            calls += 1
        view = session.view
        assert isinstance(view, BellsView)
        assert (view.walks, session.now >= halves(30)) == (1, True)
        assert calls == {"loop": 0, "fixed-rate": 2}.get(law, 1)

    run(agent, law, rings=(11,))


@every_law
def test_do_lasts_as_long_as_the_action_whatever_happens(law: str) -> None:
    async def agent(session: Session) -> None:
        assert await session.act("walk:30")
        assert session.now == halves(0 if law == "frozen" else 30)
        assert not await session.act("fly:1")

    played = run(agent, law, rings=(11,))
    walked, illegal = [e for e in played.of(Acted) if e.by == "agent"]
    assert (walked.legal, illegal.legal) == (True, False)


def test_at_a_fixed_rate_the_end_of_an_action_is_seen_at_the_tick() -> None:
    done = []

    async def agent(session: Session) -> None:
        await session.act("walk:8")
        done.append((session.now, [seen.event for seen in session.observe()]))

    run(agent, "fixed-rate")
    assert done == [(PERIOD, ["arrived"])]


def test_a_thought_goes_on_in_a_frozen_world_that_its_agent_has_moved() -> None:
    done = []

    async def agent(session: Session) -> None:
        thought = session.think(thinker(), PROMPT, max_tokens=30)
        assert not await session.run_until_event(thought, span=tokens(4))
        assert session.act("walk:30")
        done.append((await session.run_until_event(thought), session.now))

    run(agent, "frozen", rings=(11,))
    assert done == [(True, tokens(30))]


# --- polling ---------------------------------------------------------------------------------


def test_an_awaited_thought_goes_on_after_a_look_that_found_something() -> None:
    async def agent(session: Session) -> None:
        await session.think(thinker(), PROMPT, max_tokens=30)
        assert session.now == tokens(30) + 4 * COST

    played = run(agent, "polling-at-a-cost", rings=(11, 15, 40))
    assert [e.found for e in played.of(Polled)] == [1, 0, 1, 0]
    # At 7 a look begins; the bell at 7.5 rings within it, and is seen at once.
    assert [e.at - e.happened_at for e in played.of(Observed)][:3] == [halves(3), 0, halves(10)]


def test_a_look_is_cut_short_where_the_agent_wanted_control_back() -> None:
    async def agent(session: Session) -> None:
        thought = session.think(thinker(), PROMPT, max_tokens=30)
        assert not await session.wait(thought, until=Instant(INTERVAL + COST // 2))
        assert session.now == INTERVAL + COST // 2
        assert thought.stream.state == "running"
        assert not await session.run_until_event(thought, span=INTERVAL)
        assert session.now == 2 * INTERVAL + COST // 2

    played = run(agent, "polling-at-a-cost")
    assert len(played.of(Polled)) == 1, "no look at the instant of control itself"


@pytest.mark.parametrize("rings", [(), (17,)])
def test_an_agent_interrupted_during_a_look_finds_its_awaited_thought_running(
    rings: tuple[int, ...],
) -> None:
    async def agent(session: Session) -> None:
        thought = session.think(thinker(), PROMPT, max_tokens=30)

        async def read() -> None:
            try:
                await thought
            except Interrupted:
                await thought

        reading = session.spawn(read())
        await session.sleep_until(Instant(INTERVAL + COST // 2))
        reading.interrupt("hello")
        await reading
        assert thought.tokens == 30

    run(agent, "polling-at-a-cost", rings=rings)


def test_two_steps_side_by_side_leave_nothing_unseen_for_longer_than_the_interval() -> None:
    """The first ends just before its look, when the second has only begun."""

    async def agent(session: Session) -> None:
        async def second() -> None:
            await session.sleep(tokens(5))
            await session.think(thinker(), PROMPT, max_tokens=30)

        session.spawn(second())
        await session.think(thinker(), PROMPT, max_tokens=6)

    for law in ("polling", "loop"):
        played = run(agent, law, rings=(3,))
        assert played.of(Observed)[0].at == tokens(6)


# --- reflex ----------------------------------------------------------------------------------


def reactions(played: Played) -> list[tuple[int, str, bool]]:
    return [(e.at // halves(1), e.action, e.legal) for e in played.of(Acted) if e.by == "reflex"]


def test_the_engine_reacts_before_the_agent_and_to_all_that_comes_meanwhile() -> None:
    async def agent(session: Session) -> None:
        thought = session.think(thinker(), PROMPT, max_tokens=60)
        assert not await session.run_until_event(thought)
        assert session.now == halves(19)
        assert [seen.event for seen in session.observe()] == ["bell", "bell", *["answered"] * 2]
        assert await session.run_until_event(thought)

    played = run(agent, "slow-reflex", rings=(11, 13), end=300)
    assert reactions(played) == [(15, "answer:1", True), (19, "answer:2", True)]


def test_the_engine_does_not_react_when_nothing_happened_or_the_agent_has_seen_it() -> None:
    async def agent(session: Session) -> None:
        await session.sleep(tokens(10))
        assert session.observe()
        for _ in range(3):
            await session.run_until_event(span=tokens(1))
        await session.run_until_event()

    assert reactions(run(agent, "reflex", rings=(11, 60))) == [(60, "answer:1", True)]


def test_what_came_while_the_agent_decided_is_reacted_to_when_it_waits_next() -> None:
    async def agent(session: Session) -> None:
        await session.think(thinker(), PROMPT, max_tokens=10)
        await session.run_until_event()

    assert reactions(run(agent, "reflex", rings=(11,))) == [(20, "answer:1", True)]


def test_the_engine_waits_for_an_action_under_way() -> None:
    async def agent(session: Session) -> None:
        session.act("walk:30")
        while not await session.run_until_event():
            pass
        assert [seen.event for seen in session.observe()] == ["bell", "arrived", "answered"]

    assert reactions(run(agent, "reflex", rings=(11,))) == [(30, "answer:1", True)]


def test_a_reaction_that_has_become_impossible_is_recorded_and_fails_nobody() -> None:
    async def agent(session: Session) -> None:
        async def meddle() -> None:
            await session.sleep_until(Instant(halves(13)))
            session.act("answer:1")

        session.spawn(meddle())
        await session.wait_for_tick()

    played = run(agent, "slow-reflex", rings=(11,))
    assert reactions(played) == [(15, "answer:1", False)]


def test_control_comes_back_when_a_reaction_that_lasts_is_over() -> None:
    async def agent(session: Session) -> None:
        thought = session.think(thinker(), PROMPT, max_tokens=60)
        assert not await session.run_until_event(thought)
        assert (session.now, thought.tokens) == (halves(19), 5)

    law = partial(
        Reflex, rule=lambda view: None if view.walks else "walk:8", delay=Duration(0), full=False
    )
    assert reactions(run(agent, law, rings=(11,))) == [(11, "walk:8", True)]


def test_what_the_agent_has_just_done_is_not_done_again_by_the_engine() -> None:
    async def agent(session: Session) -> None:
        await session.act("walk:1")
        assert session.act("answer:1")
        await session.run_until_event()

    assert reactions(run(agent, "reflex", rings=(0,))) == []


def test_two_activities_that_are_called_get_one_reaction() -> None:
    async def agent(session: Session) -> None:
        async def wait() -> None:
            await session.wait_for_tick()
            assert session.now == halves(15)

        session.spawn(wait())
        await wait()

    assert len(reactions(run(agent, "slow-reflex", rings=(11,)))) == 1


def test_a_reaction_under_way_outlives_an_interruption_of_the_agent() -> None:
    async def agent(session: Session) -> None:
        waiting = session.spawn(session.run_until_event())
        await session.sleep_until(Instant(halves(13)))
        waiting.interrupt("hello")

    assert reactions(run(agent, "slow-reflex", rings=(11,))) == [(15, "answer:1", True)]


# --- frozen ----------------------------------------------------------------------------------


def test_a_frozen_world_moves_once_an_action_and_when_patience_is_used_up() -> None:
    async def agent(session: Session) -> None:
        await session.act("walk:3")
        await session.think(thinker(), PROMPT, max_tokens=90)
        assert [seen.event for seen in session.observe()] == ["arrived"]
        await session.wait_for_tick()
        assert [seen.event for seen in session.observe()] == []
        await session.wait_for_tick()
        assert session.now == PATIENCE
        assert [seen.event for seen in session.observe()] == ["bell"]

    run(agent, "frozen", rings=(11,), end=20)


class Silent(Bells):
    """What happens before the second bell cannot be seen."""

    def advance(self, to: Instant) -> tuple[Any, ...]:
        return tuple(seen for seen in super().advance(to) if seen.view.turn > 2)


def test_patience_begins_anew_with_every_move_that_was_seen_or_not() -> None:
    async def agent(session: Session) -> None:
        await session.sleep(Duration(PATIENCE // 2))
        session.act("walk:3")

    world = Silent([Instant(halves(11))], Instant(halves(20)))
    played = run(agent, "frozen", world=world)
    # Moves at half the patience, then twice after all of it; only the last can be seen.
    assert [e.at for e in played.of(Happened)] == [PATIENCE // 2 + 2 * PATIENCE]


# --- errors, interruptions, ends -------------------------------------------------------------


@every_law
@pytest.mark.parametrize("way", ["engage", "await", "wait"])
@pytest.mark.parametrize("broken_at", [3, 11, 20])
def test_an_error_of_a_model_arrives_at_the_agent(law: str, way: str, broken_at: int) -> None:
    said = [Chunk("n ", 1)] * broken_at
    model = ScriptedModel([[*said, ModelError("no answer")]])
    caught = []

    async def agent(session: Session) -> None:
        thought = session.think(model, PROMPT)
        try:
            while way == "engage" and not await session.run_until_event(thought):
                session.observe()
            if way == "await":
                await thought
            if way == "wait":
                await session.wait(thought, until=Instant(tokens(90)))
        except ModelError:
            caught.append(thought.tokens)
        await session.sleep(tokens(5))

    run(agent, law, rings=(11, 22))
    assert caught == [broken_at]


@every_law
@pytest.mark.parametrize("at", range(1, 40, 3))
def test_an_interrupted_agent_can_engage_again_and_misses_nothing(law: str, at: int) -> None:
    seen = []

    async def agent(session: Session) -> None:
        thought = session.think(thinker(), PROMPT, max_tokens=30)

        async def work() -> None:
            while not await session.run_until_event(thought):
                seen.extend(session.observe())

        working = session.spawn(work())
        await session.sleep_until(Instant(halves(at)))
        assert working.interrupt("hello")
        await session.sleep(Duration(0))
        assert thought.stream.state == "paused", "an engaged thought waits for its agent"
        await session.sleep(tokens(20))
        await work()
        assert thought.tokens == 30
        seen.extend(session.observe())

    played = run(agent, law, rings=(9, 25), end=300)
    bells = [what.data["number"] for what in seen if what.event == "bell"]
    assert bells == ([] if law == "frozen" else [1, 2])
    assert [e.turn for e in played.of(Observed)] == list(range(1, len(played.of(Happened)) + 1))


@every_law
@pytest.mark.parametrize("way", ["engage", "wait", "do", "idle", "tick"])
def test_an_episode_that_ends_around_an_agent_ends_cleanly(law: str, way: str) -> None:
    async def agent(session: Session) -> None:
        actor = Actor(session)
        await actor.think(190)
        numbers = {"engage": (0, 0), "wait": (0, 0), "do": (150,), "idle": (0,)}
        while not (session.over or actor.thoughts[0].done):
            await actor.perform(way, *numbers.get(way, ()))

    played = run(agent, law, rings=(9, 25), end=60)
    *_, end, _ = played.events
    assert isinstance(end, EpisodeEnded)
    assert len(played.of(ThoughtEnded)) == len(played.of(ThoughtStarted)) == 1
    assert played.of(Happened)[-1].what == "closing"
    assert played.of(Observed)[-1].turn == played.of(Happened)[-1].number


@every_law
def test_an_agent_that_breaks_fails_the_episode_and_nothing_else(law: str) -> None:
    async def agent(session: Session) -> None:
        thought = session.think(thinker(), PROMPT, max_tokens=30)
        session.spawn(session.run_until_event(thought))
        await session.sleep(tokens(10))
        raise ValueError("of its own making")

    played = run(agent, law, rings=(11,), fails=True)
    [failure] = played.of(EpisodeFailed)
    assert (failure.boundary, failure.error) == ("agent", "ValueError: of its own making")


class Closed(Bells):
    """A world that an answer ends, without a change of its own to come."""

    def intervene(self, actions: Any, *, at: Instant) -> None:
        super().intervene(actions, at=at)
        self._is_over = True

    def advance(self, to: Instant) -> tuple[Any, ...]:
        return ()


@pytest.mark.parametrize("law", LAWS)
def test_a_world_that_an_action_ends_is_over_at_once(law: str) -> None:
    async def agent(session: Session) -> None:
        await session.sleep(tokens(3))
        session.act("walk:9")

    played = run(agent, law, world=Closed([], Instant(halves(90))))
    assert played.of(EpisodeEnded)[0].at == tokens(3)


@every_law
def test_a_world_that_is_over_from_the_start_is_an_episode_of_no_time(law: str) -> None:
    world = Bells([], Instant(0))
    world.advance(Instant(0))

    async def agent(session: Session) -> None:
        assert session.over
        await session.wait_for_tick()
        await session.run_until_event()

    played = run(agent, law, world=world)
    assert played.of(EpisodeEnded)[0].at == 0


# --- settings --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "interface",
    [
        partial(Polling, interval=Duration(0), cost=COST),
        partial(Polling, interval=INTERVAL, cost=Duration(-1)),
        partial(Reflex, rule=answer_first, delay=Duration(-1)),
        partial(Frozen, patience=Duration(0)),
        partial(FixedRate, period=Duration(0)),
        partial(FixedRate),
    ],
)
def test_an_interface_with_an_impossible_span_is_refused(interface: Any) -> None:
    with Kernel() as kernel, pytest.raises(SettingsError):
        interface(kernel, Bells([], Instant(1)), Recorder(), full=False)


def test_a_world_of_turns_has_a_period_of_its_own() -> None:
    from tests.agents.stage import Tape

    world = Ticking(Tape(3), tokens(2))
    with Kernel() as kernel, pytest.raises(SettingsError, match="has its own period"):
        FixedRate(kernel, world, Recorder(), period=PERIOD, full=False)
    with Kernel() as kernel:
        assert EventDriven(kernel, world, Recorder(), full=False).next_tick == tokens(2)


@every_law
def test_a_thought_that_was_paused_by_hand_stays_paused_through_every_look(law: str) -> None:
    async def agent(session: Session) -> None:
        thought = session.think(thinker(), PROMPT, max_tokens=30)
        await session.sleep(tokens(4))
        thought.interrupt("later")
        await session.wait(thought, until=Instant(tokens(60)))
        assert thought.tokens == 4

    run(agent, law, rings=(40,))


@every_law
def test_an_event_driven_law_is_kept_side_by_side_with_tick(law: str) -> None:
    """One activity watches, the other thinks on: watching takes nothing from the other."""
    seen = []

    async def agent(session: Session) -> None:
        async def watch() -> None:
            while True:
                await session.wait_for_tick()
                seen.extend(what.event for what in session.observe())

        session.spawn(watch())
        thought = session.think(thinker(), PROMPT, max_tokens=30)
        while not await session.run_until_event(thought):
            assert thought.stream.state == "paused"

    played = run(agent, law, rings=(11, 30))
    if law != "frozen":
        assert [what for what in seen if what == "bell"] == ["bell", "bell"]
    assert len(played.of(ThoughtPaused)) == len(played.of(ThoughtResumed))
