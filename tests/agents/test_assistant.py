"""The assistant: one agent, which the interface interrupts or does not."""

from collections.abc import Callable
from dataclasses import replace
from functools import partial

import pytest

from tests.environments.inbox.post import SETTINGS, at, email
from timeful.agents.assistant import assistant
from timeful.agents.connection import Interface
from timeful.agents.prompts.inbox import (
    Briefing,
    Question,
    triage_prompt,
    write_prompt,
)
from timeful.agents.triage import as_recommended, urgent_first
from timeful.core.clock import VirtualClock
from timeful.core.units import Duration, in_seconds, seconds
from timeful.environments.inbox.mail import Email
from timeful.environments.inbox.policy import answer_urgent
from timeful.environments.inbox.task import DECOMPOSITIONS, MainTask, Part, draw_task
from timeful.environments.inbox.world import Inbox
from timeful.errors import ModelError
from timeful.interfaces.event_driven import EventDriven
from timeful.interfaces.loop import Loop
from timeful.interfaces.polling import Polling
from timeful.interfaces.reflex import Reflex
from timeful.models.model import Prompt
from timeful.models.pace import Pace
from timeful.models.scripted import ScriptedModel
from timeful.records.events import (
    Acted,
    AnyEntry,
    EpisodeFailed,
    Happened,
    Noted,
    ThoughtEnded,
    ThoughtPaused,
    ThoughtStarted,
)
from timeful.records.recorder import Recorder
from timeful.runs.episode import EpisodeSetting, play_episode
from timeful.seeding import child

EP: Interface = partial(EventDriven, full=True)
LOOP: Interface = partial(Loop, full=True)
POLL: Interface = partial(Polling, interval=seconds(15), cost=Duration(0), full=True)
REFLEX: Interface = partial(Reflex, rule=answer_urgent, delay=Duration(0), full=True)

HANDLE = '<handle id="{}"/>'
USUAL = Briefing()
Say = Callable[[Question], str]


def task(*lengths: int) -> MainTask:
    worth = 4 // len(lengths)
    parts = tuple(Part(heading=f"h{n}", tokens=n, progress=worth) for n in lengths)
    return MainTask(title="a plan", parts=parts)


def play(
    *emails: Email, interface: Interface, say: Say | str = HANDLE, lengths: tuple[int, ...] = (400,)
) -> list[AnyEntry]:
    """Write parts of so many tokens at 0.05 s, and answer about emails by a function."""

    def answer(prompt: Prompt) -> str:
        question = prompt.view
        assert isinstance(question, Question)
        return say.format(question.number) if isinstance(say, str) else say(question)

    main = task(*lengths)
    recorder = Recorder()
    writer = ScriptedModel(
        lambda prompt: "w " * prompt.view.part.tokens,  # type: ignore[attr-defined]
        pace=Pace(per_token=SETTINGS.token),
    )
    triage = ScriptedModel(answer, pace=Pace(first=SETTINGS.triage, per_token=Duration(0)))
    ok = play_episode(
        EpisodeSetting(settings={}, seed=0),
        environment=Inbox(SETTINGS, emails, main.units),
        interface=interface,
        agent=partial(assistant, writer=writer, triage=triage, task=main),
        clock=VirtualClock(),
        recorder=recorder,
    )
    assert ok, [event for event in recorder.events if isinstance(event, EpisodeFailed)]
    return recorder.events  # type: ignore[return-value]


def acted(events: list[AnyEntry]) -> list[tuple[float, str]]:
    return [(round(in_seconds(e.at), 3), e.action) for e in events if isinstance(e, Acted)]


def happened(events: list[AnyEntry], *what: str) -> list[tuple[float, str]]:
    found = [e for e in events if isinstance(e, Happened) and e.what in what]
    return [(round(in_seconds(e.at), 3), e.what) for e in found]


def test_event_driven_it_answers_at_once_and_goes_on_from_the_same_token() -> None:
    events = play(email(1, 4.02, 10), interface=EP)
    assert acted(events) == [
        (4.02, "check"),
        (4.12, "open 1"),
        (4.42, "handle 1"),
        (5.42, "return"),
        (21.5, "deliver 1"),
        (21.5, "check"),
        (21.6, "end"),
    ]
    [paused] = [e for e in events if isinstance(e, ThoughtPaused)]
    assert paused.tokens == 80, "the 81st token was still on its way"
    main = next(e for e in events if isinstance(e, ThoughtEnded) and e.thought == 1)
    assert (main.tokens, main.state) == (400, "completed")


def test_an_email_that_comes_while_it_looks_is_seen_by_that_look() -> None:
    events = play(email(1, 4.02, 10), email(2, 4.07, 10), interface=EP)
    assert [when for when, action in acted(events) if action == "check"] == [4.02, 22.8]


def test_in_a_loop_it_sees_nothing_before_a_part_is_written() -> None:
    events = play(email(1, 4, 10), email(2, 5, 60), interface=LOOP, lengths=(100, 100, 100, 100))
    assert not any(isinstance(e, ThoughtPaused) for e in events)
    assert acted(events)[:4] == [
        (5.0, "deliver 1"),
        (5.0, "check"),
        (5.1, "open 1"),
        (5.4, "handle 1"),
    ]


def test_polled_it_sees_what_came_within_the_interval_and_starts_the_next_anew() -> None:
    emails = (email(1, 4, 40), email(2, 16, 40), email(3, 20, 40))
    events = play(*emails, interface=POLL, lengths=(800,))
    checks = [when for when, action in acted(events) if action == "check"]
    # 15 s of writing; 1.5 s in the inbox, in which an email comes; 15 s more; 2.8 s in the inbox.
    assert checks == [15.0, 31.5, pytest.approx(40 + 1.5 + 2.8)]


def test_under_a_reflex_the_engine_has_answered_before_it_looks() -> None:
    events = play(
        email(1, 4, 40), email(2, 4.5, 40, "low"), interface=REFLEX, say='<ignore id="{}"/>'
    )
    by = [(e.action, e.by) for e in events if isinstance(e, Acted)][:5]
    assert by == [
        ("handle 1", "reflex"),
        ("check", "agent"),
        ("open 2", "agent"),
        ("ignore 2", "agent"),
        ("return", "agent"),
    ]


def test_urgent_emails_are_asked_about_first_and_earlier_deadlines_before_later_ones() -> None:
    emails = (
        email(1, 1, 50, "low"),
        email(2, 2, 60, "high"),
        email(3, 3, 40, "high"),
        email(4, 4, 30, "medium"),
    )
    events = play(*emails, interface=LOOP)
    assert [a for _, a in acted(events) if a.startswith("handle")] == [
        "handle 3",
        "handle 2",
        "handle 4",
        "handle 1",
    ]


def test_what_was_put_off_is_left_alone_until_the_task_is_written() -> None:
    def say(question: Question) -> str:
        if question.view.is_written:
            return HANDLE.format(question.number)
        return f'<{"remind" if question.number == 1 else "ignore"} id="{question.number}"/>'

    events = play(email(1, 2, 80), email(2, 3, 80), email(3, 10, 80), interface=EP, say=say)
    thoughts = [e for e in events if isinstance(e, ThoughtStarted) and e.purpose == "triage"]
    assert len(thoughts) == 6, "each once while writing and once after"
    assert len(happened(events, "handled")) == 3
    assert min(when for when, _ in happened(events, "handled")) > 20


def test_a_reminder_that_is_due_takes_it_from_the_task_and_asks_again() -> None:
    answers = iter(['<remind id="1" after="5"/>', HANDLE.format(1)])
    events = play(email(1, 2, 80), interface=EP, say=lambda _: next(answers))
    [(due, _)] = happened(events, "reminder")
    assert due == 7.5
    assert happened(events, "handled") == [(8.8, "handled")]  # opened before: 0.1 + 0.2 + 1.0


def test_return_leaves_the_rest_of_the_inbox_for_later() -> None:
    answers = iter(["<return/>"])
    events = play(
        email(1, 2, 80),
        email(2, 2, 80),
        interface=EP,
        say=lambda q: next(answers, HANDLE.format(q.number)),
    )
    assert acted(events)[:3] == [(2.0, "check"), (2.1, "open 1"), (2.4, "return")]
    assert len(happened(events, "handled")) == 2


@pytest.mark.parametrize(
    ("answer", "why"),
    [
        ("handle it", "no-answer: handle it"),
        ('<handle id="2"/>', "asked about email 1, and answered about 2"),
        ('<handle id="first"/>', "'first' is no email"),
        ('<remind id="1" after="soon"/>', "after is a number of seconds above 0, got 'soon'"),
        ('<handle id="1"/><ignore id="1"/>', "several: "),
        ('<open id="1"/>', "<open> is no action"),
    ],
)
def test_a_malformed_answer_costs_its_time_and_is_recorded(answer: str, why: str) -> None:
    events = play(email(1, 2, 80), interface=EP, say=lambda _: answer)
    [first, *_] = [e for e in events if isinstance(e, Noted)]
    assert first.topic == "triage"
    assert why in first.text
    assert acted(events)[:3] == [(2.0, "check"), (2.1, "open 1"), (2.4, "return")]
    assert happened(events, "over"), "and the episode goes on to its end"


def test_each_question_says_what_the_time_is_now() -> None:
    asked: list[tuple[int, float]] = []

    def say(question: Question) -> str:
        asked.append((question.number, round(in_seconds(question.view.at), 3)))
        return "hm"

    play(email(1, 2, 80), email(2, 2, 80), email(3, 10, 80, "low"), interface=EP, say=say)
    # Look 0.1, read 0.1, think 0.2; the second time, what was read before is not read again.
    assert asked[:5] == [(1, 2.2), (2, 2.5), (1, 10.1), (2, 10.3), (3, 10.6)]


def test_an_email_that_runs_out_while_it_is_thought_about_is_not_acted_on() -> None:
    events = play(email(1, 2, 0.35), interface=EP)
    assert [a for _, a in acted(events)] == [
        "check",
        "open 1",
        "return",
        "deliver 1",
        "check",
        "end",
    ]
    assert all(e.legal for e in events if isinstance(e, Acted))


def test_the_horizon_ends_it_in_the_middle_of_a_word() -> None:
    events = play(email(1, 89.95, 50), interface=EP, lengths=(4000,))
    assert happened(events, "over") == [(90.0, "over")]
    assert all(e.legal for e in events if isinstance(e, Acted))
    assert not happened(events, "delivered")


def test_a_model_that_fails_fails_the_episode_at_that_boundary() -> None:
    recorder = Recorder()
    broken = ScriptedModel([[ModelError("no")]], pace=Pace())
    play_episode(
        EpisodeSetting(settings={}, seed=0),
        environment=Inbox(SETTINGS, (), (4,)),
        interface=EP,
        agent=partial(assistant, writer=broken, triage=broken, task=task(10)),
        clock=VirtualClock(),
        recorder=recorder,
    )
    [failed] = [e for e in recorder.events if isinstance(e, EpisodeFailed)]
    assert (failed.boundary, failed.error) == ("model", "ModelError: no")


# --- prompts and stand-ins -----------------------------------------------------------------------


def opened(urgency: str = "medium") -> Question:
    recommended = (("handle", 0.25), ("remind", 0.25), ("ignore", 0.5))
    one = email(1, 1, 20, urgency)  # type: ignore[arg-type]
    other = email(2, 2, 10, "high")
    inbox = Inbox(SETTINGS, (replace(one, recommended=recommended), other), (1, 1, 1, 1))
    inbox.advance(at(3))
    inbox.intervene(("open 1",), at=at(3))
    inbox.advance(at(4))
    return Question(view=inbox.view(), number=1)


def told(question: Question, briefing: Briefing = USUAL) -> str:
    return "\n".join(message.content for message in triage_prompt(question, briefing).messages)


def test_decisions_and_sections_have_default_limits_of_tokens() -> None:
    assert triage_prompt(opened(), USUAL).most_tokens == 8_192
    assert write_prompt(task(10), 1, ()).most_tokens == 16_384


def test_who_sorts_emails_is_told_what_counts_and_what_takes_how_long_in_this_world() -> None:
    scoring = replace(SETTINGS.scoring, timeout_penalty=7.25, late_reward=0.125)
    world = replace(SETTINGS, scoring=scoring, handle=seconds(3.5))
    text = " ".join(told(opened(), Briefing(world=world)).split())
    for part in (
        "0.4 for each of the document's 4 units of progress, and 0.8 more for all of them",
        "0.4 for each email that is handled by its deadline; 0.125 for one that is handled later, "
        "minus 7.25 for each that reaches its deadline unhandled",
        "minus 0.005 for each change between document and inbox",
        "1.2 for high, 0.5 for medium, 0.1 for low",
        "each token of the document 0.05, a decision 0.2, however long the answer",
        "to handle it 3.5, a reminder 0.1, to go back",
    ):
        assert part in text
    assert "handled later" not in told(opened())
    assert "each token of a decision 0.05" in told(opened(), Briefing(priced_by="tokens"))


def test_without_hints_nothing_is_recommended_and_all_else_is_said() -> None:
    with_hints, without = (told(opened(), Briefing(hints=hints)) for hints in (True, False))
    hint = "What is usually recommended for such an email: handle 25%, remind 25%, ignore 50%.\n\n"
    assert with_hints.replace(hint, "") == without != with_hints


def test_whoever_could_not_be_understood_is_told_why_when_asked_about_that_email_again() -> None:
    asked: list[tuple[int, str]] = []

    def say(question: Question) -> str:
        asked.append((question.number, question.refused))
        return "Hm." if len(asked) == 1 else HANDLE.format(question.number)

    play(email(1, 2, 80), email(2, 2, 90), interface=EP, say=say)
    assert asked == [(1, ""), (2, ""), (1, "no-answer: Hm.")]
    again = told(replace(opened(), refused="no-answer: Hm."))
    assert "Your last answer about this email could not be used: no-answer: Hm." in again


def test_a_part_is_asked_for_with_what_was_written_before_it() -> None:
    text = (
        write_prompt(task(10, 20, 30, 40), 3, ["first words", "second words"]).messages[1].content
    )
    assert "first words\n\nsecond words" in text
    assert "Write part 3, 'h30'." in text
    assert "about 30 tokens" in text


def test_the_stand_in_draws_what_is_recommended_and_at_the_end_handles_everything() -> None:
    question = opened()
    drawn = [as_recommended(question, child(seed, "rule")).text for seed in range(2000)]
    shares = {answer: drawn.count(answer) / len(drawn) for answer in set(drawn)}
    # Four standard errors of a share of one half are 0.045.
    assert shares == {
        '<handle id="1"/>': pytest.approx(0.25, abs=0.045),
        '<remind id="1"/>': pytest.approx(0.25, abs=0.045),
        '<ignore id="1"/>': pytest.approx(0.5, abs=0.045),
    }
    finished = Question(view=replace(question.view, written=4), number=1)
    assert as_recommended(finished, child(0)).text == '<handle id="1"/>'


def test_the_ablation_handles_whatever_it_is_asked_about() -> None:
    assert {urgent_first(opened(u), child(0)).text for u in ("high", "low")} == {'<handle id="1"/>'}


@pytest.mark.parametrize("decomposition", DECOMPOSITIONS)
def test_main_tasks_are_as_long_as_was_fitted(decomposition: str) -> None:
    drawn = [
        draw_task(decomposition, target=4, rng=child(seed, "task"))  # type: ignore[arg-type]
        for seed in range(1500)
    ]
    totals = [sum(part.tokens for part in one.parts) for one in drawn]
    mean, spread = (990, 224) if decomposition == "single" else (1166, 224)
    average = sum(totals) / len(totals)
    assert average == pytest.approx(mean, abs=4 * spread / 1500**0.5)
    deviation = (sum((one - average) ** 2 for one in totals) / len(totals)) ** 0.5
    assert deviation == pytest.approx(spread, rel=0.08)
    assert all(sum(one.units) == 4 for one in drawn)
    if decomposition == "milestones":
        shares = [p.tokens / sum(q.tokens for q in t.parts) for t in drawn for p in t.parts]
        variation = (sum((s - 0.25) ** 2 for s in shares) / len(shares)) ** 0.5 / 0.25
        assert variation == pytest.approx(0.5, abs=0.012)
