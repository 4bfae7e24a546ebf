"""The controller: what its calls cost, how texts go on, and what it is told."""

import re
from collections.abc import Iterable, Sequence
from functools import partial
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.environments.kitchen.menus import SILENT, case, critical, problem, soft
from timeful.agents.agile import agile
from timeful.agents.connection import Interface
from timeful.agents.controller import ControllerSettings, Resumption, controller
from timeful.agents.prompt_kit import prompt_kit
from timeful.agents.prompts.kitchen import NAMES, Briefing, Situation, read_choice
from timeful.agents.prompts.tutor import Lesson
from timeful.core.clock import VirtualClock
from timeful.core.source import Chunk
from timeful.core.units import Instant
from timeful.environments.kitchen.cases import multi_dish_case
from timeful.environments.kitchen.policy import decide, reflex
from timeful.environments.kitchen.settings import Case, KitchenSettings, in_ticks
from timeful.environments.kitchen.world import Kitchen
from timeful.errors import IllegalActionError
from timeful.interfaces.event_driven import EventDriven
from timeful.interfaces.fixed_rate import FixedRate
from timeful.interfaces.frozen import Frozen
from timeful.interfaces.loop import Loop
from timeful.interfaces.polling import Polling
from timeful.interfaces.reflex import Reflex
from timeful.models.model import Prompt
from timeful.models.pace import NO_TIME, tokens
from timeful.models.rules import Answer, RuleModel
from timeful.models.scripted import ScriptedModel
from timeful.records.events import (
    Acted,
    Entry,
    Happened,
    Looked,
    Noted,
    ThoughtChunk,
    ThoughtEnded,
    ThoughtPaused,
    ThoughtResumed,
    ThoughtStarted,
)
from timeful.records.recorder import Recorder
from timeful.runs.episode import EpisodeSetting, play_episode
from timeful.seeding import child

EP: Interface = partial(EventDriven, full=False)
LOOP: Interface = partial(Loop, full=False)
POLL: Interface = partial(Polling, interval=tokens(40), cost=NO_TIME, full=False)
REFLEX: Interface = partial(Reflex, rule=reflex, delay=tokens(12), full=False)

COOK = ['<prepare dish="D1"/>', '<stage dish="D1"/>']


def says(answers: Iterable[str], cost: int = 12) -> ScriptedModel:
    """A controller whose answers cost so many tokens each."""
    return ScriptedModel([[Chunk(answer, cost)] for answer in answers], name="cook")


def writer(length: int = 400) -> ScriptedModel:
    """A tutor that counts, a token a number."""
    return ScriptedModel(lambda _: [Chunk(f"{n} ", 1) for n in range(length)], name="tutor")


def played(
    model: Any,
    *,
    interface: Interface = EP,
    menu: Case | None = None,
    tutor: Any = None,
    calls: int = 40,
    resumption: Resumption = "stream",
) -> list[Entry]:
    recorder = Recorder()
    setting = ControllerSettings(
        calls=calls, resumption=resumption, briefing=Briefing(rule="THE RULE")
    )
    ok = play_episode(
        EpisodeSetting(settings={}, seed=0),
        environment=Kitchen(
            menu or case(problems=(problem(length=300),)), SILENT, child(0, "jitter")
        ),
        interface=interface,
        agent=partial(controller, model=model, tutor=tutor or writer(), settings=setting),
        clock=VirtualClock(),
        recorder=recorder,
    )
    assert ok, recorder.events[-2]
    return recorder.events


def of(events: Sequence[Entry], kind: type[Any]) -> list[Any]:
    return [event for event in events if isinstance(event, kind)]


def happened(events: Sequence[Entry]) -> list[tuple[str, float]]:
    return [(event.what, in_ticks(event.at)) for event in of(events, Happened)]


def tutored(events: Sequence[Entry]) -> str:
    """The recorded text of the tutor, in the order in which it came."""
    kinds = {event.thought: event.purpose for event in of(events, ThoughtStarted)}
    chunks = [event for event in of(events, ThoughtChunk) if kinds[event.thought] == "tutor"]
    return "".join(chunk.text for chunk in chunks)


def test_a_call_takes_its_tokens_and_an_action_its_time() -> None:
    events = played(says([*COOK, "<wait/>", '<finish dish="D1"/>', "<end/>"]))
    assert happened(events) == [
        ("prepared", 12 + 10),
        ("staged", 22 + 12),
        ("signal", 34 + 100),
        ("finished", 134 + 12 + 8),
        ("ended", 154 + 12),
    ]


TUTOR = '<tutor problem="Q1"/>'


def test_a_signal_interrupts_tutoring_and_the_text_goes_on_from_the_same_token() -> None:
    events = played(says([*COOK, TUTOR, '<finish dish="D1"/>', TUTOR, "<end/>"]))
    paused, resumed = of(events, ThoughtPaused), of(events, ThoughtResumed)
    # Tutoring begins at 46 and the signal comes at 134.
    assert [(in_ticks(p.at), p.tokens) for p in paused] == [(134, 88)]
    # One call, 8 ticks of finishing, and another call later.
    assert [in_ticks(r.at) for r in resumed] == [134 + 12 + 8 + 12]
    assert tutored(events) == "".join(f"{n} " for n in range(300))
    assert ("tutored", 166 + 212) in happened(events)


def test_under_a_loop_the_same_signal_is_seen_after_the_text() -> None:
    events = played(says([*COOK, TUTOR, '<finish dish="D1"/>', "<end/>"]), interface=LOOP)
    assert not of(events, ThoughtPaused)
    signal = next(e for e in of(events, Happened) if e.what == "signal")
    looked = next(e for e in of(events, Looked) if e.through >= signal.number)
    assert (in_ticks(signal.at), in_ticks(looked.at)) == (134, 46 + 300)


def test_a_bound_gives_control_back_after_so_many_tokens() -> None:
    bounded = '<tutor problem="Q1" tokens="30"/>'
    events = played(says([bounded, TUTOR, "<end/>"]))
    assert [(in_ticks(p.at), p.tokens) for p in of(events, ThoughtPaused)] == [(42, 30)]
    told = [e.data["written"] for e in of(events, Happened) if e.what == "tutored"]
    assert told == [30, 300]


@pytest.mark.parametrize("interface", [EP, POLL, REFLEX])
@pytest.mark.parametrize("resumption", ["stream", "prompt"])
def test_no_token_of_a_problem_is_lost_or_paid_twice(
    interface: Interface, resumption: Resumption
) -> None:
    events = played(
        RuleModel(lambda s, _: Answer(str(decide(s.view, s.now)), 12), name="rules"),
        interface=interface,
        menu=case(critical(), soft(), problems=(problem(length=90), problem("Q2", 120)), stoves=2),
        resumption=resumption,
    )
    kinds = {event.thought: event.purpose for event in of(events, ThoughtStarted)}
    spent = sum(e.tokens for e in of(events, ThoughtEnded) if kinds[e.thought] == "tutor")
    assert spent == 90 + 120
    last = {e.data["problem"]: e.data for e in of(events, Happened) if e.what == "tutored"}
    assert {name: data["written"] for name, data in last.items()} == {"Q1": 90, "Q2": 120}
    assert all(data["complete"] for data in last.values())


def test_a_text_that_is_asked_for_again_is_asked_to_continue_its_own_end() -> None:
    asked: list[Lesson] = []

    def answer(prompt: Prompt) -> list[Chunk]:
        assert isinstance(prompt.view, Lesson)
        asked.append(prompt.view)
        return [Chunk(f"{n} ", 1) for n in range(prompt.view.left)]

    played(
        says([*COOK, TUTOR, '<finish dish="D1"/>', TUTOR, "<end/>"]),
        tutor=ScriptedModel(answer),
        resumption="prompt",
    )
    first, second = asked
    assert (first.left, second.left) == (300, 300 - 88)
    assert second.transcript == "".join(f"{n} " for n in range(88))


def test_what_cannot_be_done_is_told_with_the_next_call() -> None:
    asked: list[Situation] = []
    answers = iter(["Hm.", '<finish dish="D1"/>', '<tutored problem="Q1" tokens="300"/>', "<end/>"])

    def answer(prompt: Prompt) -> list[Chunk]:
        assert isinstance(prompt.view, Situation)
        asked.append(prompt.view)
        return [Chunk(next(answers), 12)]

    events = played(ScriptedModel(answer))
    told = [situation.refused for situation in asked]
    assert told[0] == ""
    assert told[1] == "no-answer: Hm."
    assert "D1 is raw, not signalled" in told[2]
    assert "<tutored> is no action; did you mean <tutor>?" in told[3]
    assert [note.topic for note in of(events, Noted)] == ["answer", "answer"]
    assert [act.legal for act in of(events, Acted)] == [False, True]


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        ("", "empty"),
        ("I would wait.", "no-answer: I would wait."),
        ("<think><wait/></think>", "empty"),
        ('<finish dish="D1"/> or <wait/>', "several: <finish dish='D1'/>, <wait/>"),
        ('<finish dish="D1">', "<finish> is not closed"),
        ("<finish dish=D1/>", "cannot read 'dish=D1'"),
        ('<roast dish="D1"/>', "<roast> is no action"),
        ('<tutored problem="Q1" tokens="9"/>', "<tutored> is no action"),
        ('<tutor problem="Q1" tokens="many"/>', "no whole number"),
        ('<finish dish=""/>', "needs the attribute dish"),
    ],
)
def test_an_answer_names_exactly_one_action(answer: str, reason: str) -> None:
    with pytest.raises(IllegalActionError, match=re.escape(reason)):
        read_choice(answer)


@given(st.text(alphabet="<>/=\"'tutorwainfshdQD1 \n", max_size=60))
def test_any_answer_is_an_action_or_refused(text: str) -> None:
    try:
        action = read_choice(text)
    except IllegalActionError:
        return
    assert read_choice(f"I think so.\n{action}\n") == action


@pytest.mark.parametrize("late", [TUTOR, "<wait/>", '<wait ticks="70"/>'])
def test_what_would_take_long_is_not_begun_if_a_signal_came_while_it_was_decided(late: str) -> None:
    # The call that asks for it runs from 130 to 142; the signal comes at 134.
    waits = ['<wait ticks="84"/>']
    events = played(says([*COOK, *waits, late, '<finish dish="D1"/>', "<end/>"]))
    assert [e.text for e in of(events, Noted) if e.topic == "overtaken"] == [late]
    assert late not in [event.action for event in of(events, Acted)]
    assert ("finished", 142 + 12 + 8) in happened(events)
    assert not [e for e in of(events, ThoughtStarted) if e.purpose == "tutor"]


def test_when_all_calls_are_used_up_the_episode_is_ended() -> None:
    events = played(RuleModel(lambda s, _: Answer("Hm.", 12), name="muddled"), calls=5)
    assert len(of(events, ThoughtStarted)) == 5
    assert [note.topic for note in of(events, Noted)] == ["answer"] * 5 + ["calls"]
    assert happened(events) == [("ended", 60)]


@pytest.mark.parametrize("interface", [EP, LOOP, POLL, REFLEX])
def test_an_answer_of_nothing_takes_a_tick_as_one_of_a_token_does(interface: Interface) -> None:
    for cost in (0, 1):
        model = RuleModel(lambda s, _, cost=cost: Answer("", cost), name="mute")
        events = played(model, interface=interface, calls=5)
        began = [in_ticks(event.at) for event in of(events, ThoughtStarted)]
        assert began == [0, 1, 2, 3, 4]
        assert happened(events)[-1] == ("ended", 5)


def test_an_action_that_is_refused_takes_a_tick_even_if_it_cost_no_token() -> None:
    events = played(says(['<finish dish="D1"/>', "<end/>"], cost=0))
    assert happened(events) == [("ended", 1)]


def test_a_controller_is_told_what_is_left_and_what_it_did_in_words_that_it_knows() -> None:
    asked: list[str] = []
    bounded = '<tutor problem="Q1" tokens="30"/>'
    answers = ["Hm.", *['<wait ticks="2"/>'] * 5, bounded, TUTOR, "<end/>"]
    said = iter(answers)

    def answer(prompt: Prompt) -> list[Chunk]:
        asked.append(prompt.messages[-1].content)
        return [Chunk(next(said), 12)]

    played(ScriptedModel(answer), calls=9)
    assert "Left: 7988 ticks, 8 calls (this one included).\n" in asked[1]
    assert "Left: 7594 ticks, 1 call (this one included).\n" in asked[-1]
    history = asked[-1].partition("What happened of late:\n")[2].partition("\n\n")[0]
    assert history.splitlines() == [
        "- tick 82: waited",
        "- tick 94: began Q1",
        "- tick 124: tutored 30 tokens of Q1",
        "- tick 136: went on with Q1",
        "- tick 406: tutored the whole of Q1",
    ]
    assert "tutored" not in asked[1] + asked[2], "an action of the program's own"


def test_an_endless_answer_ends_with_the_time_budget() -> None:
    events = played(says(["<wait/>"], cost=9_000))
    assert happened(events) == [("budget", 8000)]


def test_prompts_hold_what_the_paper_lists_and_the_rule_of_the_interface_last() -> None:
    prompts: list[Prompt] = []

    def answer(prompt: Prompt) -> list[Chunk]:
        prompts.append(prompt)
        return [Chunk("<end/>", 12)]

    played(ScriptedModel(answer), menu=case(critical(), soft(), stoves=2))
    system, user = (message.content for message in prompts[0].messages)
    for part in ("one timeline", "one tick", "<prepare", "<tutor", "tokens", "<wait", "<end/>"):
        assert part in system
    assert "minus 0.003 for each tick" in system
    assert "not begun" in system
    assert system.rstrip().endswith("THE RULE")
    assert (
        "D1, critical, raw: prep 10 ticks, finish 8 ticks, window 20 ticks after its signal\n"
        in user
    )
    assert "window 20 ticks after its signal, keeps warm 200 ticks longer\n" in user
    assert "Left: 8000 ticks, 40 calls (this one included)." in user
    assert "Q1, Slope: 0 of 50 tokens" in user
    # When a dish will signal is nobody's to know.
    assert "100" not in user


# --- AgileThinker -----------------------------------------------------------------------------

WORDS = {element: word for word, element in NAMES.items()}
INTERFACES: dict[str, Interface] = {
    "event-driven": EP,
    "loop": LOOP,
    "polling": POLL,
    "reflex": REFLEX,
    "fixed-rate": partial(FixedRate, period=tokens(16), full=False),
}
FROZEN: Interface = partial(Frozen, patience=tokens(1000), full=False)


@pytest.mark.parametrize("interface", [*INTERFACES.values(), FROZEN])
def test_the_controller_does_all_there_is_to_do_under_every_interface(
    interface: Interface,
) -> None:
    events = played(
        RuleModel(lambda s, _: Answer(str(decide(s.view, s.now)), 12), name="rules"),
        interface=interface,
        menu=case(critical(), soft(), problems=(problem(length=90),), stoves=2),
    )
    done = [name for name, _ in happened(events)]
    assert done.count("finished") == 2
    assert done[-1] == "ended"
    assert [e.data["complete"] for e in of(events, Happened) if e.what == "tutored"][-1]


def react(view: Any, _: Any) -> Answer:
    return Answer(f"\\boxed{{{WORDS[str(decide(view, view.at))]}}}", 12)


def agile_in_the_kitchen(interface: Interface) -> list[Entry]:
    heard: list[str] = []

    def reactor(prompt: Prompt) -> list[Chunk]:
        heard.extend(guidance.text for guidance in prompt.guidance)
        assert "PREPARE-D1" in prompt.messages[-1].content
        answer = react(prompt.view, None)
        return [Chunk(answer.text, answer.tokens)]

    recorder = Recorder()
    ok = play_episode(
        EpisodeSetting(settings={}, seed=0),
        environment=Kitchen(
            multi_dish_case(family="resume_pressure", dishes=3, problems=2, stoves=1, seed=7),
            KitchenSettings(writes_itself=True),
            child(7, "jitter"),
        ),
        interface=interface,
        agent=partial(
            agile,
            planner=RuleModel(lambda v, _: Answer("Watch D1.\n\\boxed{WAIT}", 30), name="planner"),
            reactor=ScriptedModel(reactor),
            prompts=prompt_kit("kitchen"),
            reserve=tokens(12),
        ),
        clock=VirtualClock(),
        recorder=recorder,
    )
    assert ok, recorder.events[-2]
    assert "Watch D1.\n\\boxed{WAIT}" in heard
    return recorder.events


# A frozen world waits for whoever tutors, so that what the world writes itself is never written.
@pytest.mark.parametrize("name", INTERFACES)
def test_agile_thinker_runs_the_whole_kitchen(name: str) -> None:
    events = agile_in_the_kitchen(INTERFACES[name])
    done = [event for event in of(events, Happened) if event.what == "finished"]
    complete = {e.data["problem"] for e in of(events, Happened) if e.data.get("complete")}
    assert sorted(event.data["dish"] for event in done) == ["D1", "D2", "D3"]
    assert complete == {"Q1", "Q2"}
    assert happened(events)[-1][0] == "ended"


def test_a_plan_is_read_in_the_words_of_the_kitchen() -> None:
    book = prompt_kit("kitchen")
    plan = book.read_plan("\\boxed{PREPARE-D1\nSTAGE-D1\nTUTOR-Q2}")
    assert plan.actions == ('<prepare dish="D1"/>', '<stage dish="D1"/>', '<tutor problem="Q2"/>')
    assert not book.read_action("\\boxed{FINISH-D9}").actions
    view = Kitchen(case(), SILENT, child(0, "jitter")).view()
    for prompt in (book.plan(view), book.react(view), book.code(view)):
        assert "D1" in prompt.messages[0].content


def test_the_rule_defers_a_soft_dish_until_shortly_before_it_is_cold() -> None:
    events = played(
        RuleModel(lambda s, _: Answer(str(decide(s.view, s.now, soft="deferred")), 12), name="r"),
        menu=case(soft("D1"), problems=(problem(length=900),)),
        tutor=writer(900),
    )
    finish = next(e for e in of(events, Acted) if e.action.startswith("<finish"))
    # It signals at 134 and keeps warm to 354. The call at 134 bounds tutoring to what is left
    # until 60 ticks before that, 160; both it and the call that finishes the dish take 12.
    assert in_ticks(Instant(finish.at)) == 134 + 12 + 160 + 12
