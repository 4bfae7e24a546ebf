"""A proactive agent in a conversation that does not wait for it."""

from functools import partial
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.agents.proactive.material import (
    PAY,
    Played,
    actions,
    agent_file,
    questions,
    topics,
)
from tests.environments.dialogue.material import SECOND, one, talk
from timeful.agents.connection import Interface
from timeful.agents.proactive.agent import PromptView
from timeful.core.clock import WallClock
from timeful.core.source import Chunk
from timeful.core.units import Duration, milliseconds, seconds
from timeful.dialogues.dialogue import Dialogue, Turn
from timeful.environments.dialogue.timing import ByTurn, Stamped
from timeful.interfaces.event_driven import EventDriven
from timeful.interfaces.fixed_rate import FixedRate
from timeful.interfaces.frozen import Frozen
from timeful.interfaces.loop import Loop
from timeful.interfaces.polling import Polling
from timeful.models.model import Prompt
from timeful.models.pace import Pace
from timeful.models.scripted import ScriptedModel
from timeful.records.events import Acted, Happened, ThoughtEnded, ThoughtStarted

SECOND_A_TOKEN = Pace(per_token=seconds(1))


def thinker(took: Any, said: Any = None) -> ScriptedModel:
    """Answers about a turn after so many seconds: a number, or by the number of the turn."""

    def answer(prompt: Prompt) -> list[Chunk]:
        shown = prompt.view
        assert isinstance(shown, PromptView)
        number = shown.turns[-1].number
        span = took(number, shown.asks) if callable(took) else took
        text = said(shown) if said else (PAY if shown.asks == "actions" else questions("Who?"))
        return [Chunk(text, span)]

    return ScriptedModel(answer, pace=SECOND_A_TOKEN)


# --- time ------------------------------------------------------------------------------------


def test_who_is_fast_enough_predicts_for_every_turn() -> None:
    played = Played(thinker(3), talk(0.0, 5.0, 9.0), Stamped())
    assert played.said == {1: ["pay"], 2: ["pay"], 3: ["pay"]}
    assert [e.at / SECOND for e in played.events if isinstance(e, Acted)] == [3, 8, 12]
    assert (played.world.score, played.notes) == (pytest.approx(1.0), [])


def test_an_answer_at_the_very_instant_of_the_next_turn_is_in_time() -> None:
    assert Played(thinker(5), talk(0.0, 5.0), Stamped(closing=seconds(5))).conversed.lost == ()
    slow = ScriptedModel(lambda _: [Chunk(PAY, 1)], pace=Pace(per_token=Duration(5 * SECOND + 1)))
    played = Played(slow, talk(0.0, 5.0), Stamped(closing=seconds(5)))
    assert (played.conversed.lost, played.conversed.late) == ((1, 2), (1,))


@pytest.mark.parametrize(
    ("policy", "said", "late", "notes"),
    [
        # Thinks from 0 to 6, late; then of turn 3, for turn 2 has passed; from 6 to 12.
        ("finish", {3: ["pay"]}, (1,), ["skipped-turns"]),
        # Drops at 2 and at 5, and thinks of turn 3 from 5 to 11.
        ("drop", {3: ["pay"]}, (), ["dropped-thought", "dropped-thought"]),
    ],
)
def test_the_next_turn_does_not_wait_and_the_policy_says_what_becomes_of_the_thought(
    policy: str, said: dict[int, list[str]], late: tuple[int, ...], notes: list[str]
) -> None:
    played = Played(thinker(6), talk(0.0, 2.0, 5.0), Stamped(), policy=policy)
    assert (played.said, played.conversed.late, topics(played.notes)) == (said, late, notes)
    ends = [e.at / SECOND for e in played.events if isinstance(e, ThoughtEnded)]
    assert ends == ([6, 12] if policy == "finish" else [2, 5, 11])


def test_dropping_wins_the_turn_that_finishing_loses() -> None:
    """Thinking to the end at 6 leaves 4 s of turn 2, and 6 are needed."""
    dialogue = talk(0.0, 2.0, 10.0)
    drop = Played(thinker(6), dialogue, Stamped(), policy="drop")
    finish = Played(thinker(6), dialogue, Stamped(), policy="finish")
    assert (list(drop.said), list(finish.said)) == ([2, 3], [3])


def test_by_turn_the_conversation_waits_and_nothing_is_lost() -> None:
    played = Played(thinker(60), talk(None, None, None), ByTurn(patience=seconds(61)))
    assert list(played.said) == [1, 2, 3]
    assert played.events[-2].at == 180 * SECOND
    hasty = Played(thinker(60), talk(None, None, None), ByTurn(patience=seconds(59)), policy="drop")
    assert hasty.conversed.lost == (1, 2, 3)


def test_the_end_of_the_conversation_ends_the_thought() -> None:
    played = Played(thinker(60), talk(0.0), Stamped(closing=seconds(7)))
    (ended,) = [e for e in played.events if isinstance(e, ThoughtEnded)]
    assert (ended.state, ended.at) == ("orphaned", 7 * SECOND)
    assert (played.said, played.events[-2].at) == ({}, 7 * SECOND)


def test_a_limit_cuts_a_thought_and_what_was_said_by_then_is_read() -> None:
    words = ScriptedModel([f"<action>{PAY}</action> and more and more"] * 2, pace=SECOND_A_TOKEN)
    count = len(f"<action>{PAY}</action>".split())
    played = Played(
        words,
        talk(0.0, 300.0),
        Stamped(closing=seconds(300)),
        file=agent_file(reasons=True),
        thought_limit=seconds(count),
    )
    assert played.said == {1: ["pay"], 2: ["pay"]}
    assert topics(played.notes) == ["cut-thought"] * 2
    assert [e.at / SECOND for e in played.events if isinstance(e, Acted)] == [count, 300 + count]


INTERFACES: dict[str, Interface] = {
    "event-driven": partial(EventDriven, full=False),
    "loop": partial(Loop, full=False),
    "polling": partial(Polling, interval=seconds(1), cost=Duration(0), full=False),
    "fixed-rate": partial(FixedRate, period=seconds(1), full=False),
    "frozen": partial(Frozen, patience=seconds(1000), full=False),
}


@pytest.mark.parametrize(
    ("law", "said"),
    [
        ("event-driven", [2, 3]),  # drops turn 1 at 2 s
        ("loop", [3]),  # sees nothing until 6 s
        ("polling", [2, 3]),
        ("fixed-rate", [2, 3]),
        ("frozen", [1, 2, 3]),  # the conversation waits for it
    ],
)
def test_the_same_agent_under_every_interface(law: str, said: list[int]) -> None:
    played = Played(
        thinker(6), talk(0.0, 2.0, 10.0), Stamped(), interface=INTERFACES[law], policy="drop"
    )
    assert not played.failed
    assert list(played.said) == said


def test_in_wall_time_it_is_the_same_and_who_is_slow_loses() -> None:
    """Tenths of a second: the conversation lasts 0.5 s; answers take 10 ms, and 1 s."""
    dialogue = talk(0.0, 0.2, 0.4)
    timing = Stamped(closing=milliseconds(100))
    for per_token, lost in ((milliseconds(10), ()), (seconds(1), (1, 2, 3))):
        model = ScriptedModel(lambda _: [Chunk(PAY, 1)], pace=Pace(per_token=per_token))
        played = Played(model, dialogue, timing, clock=WallClock(), policy="drop")
        assert played.conversed.lost == lost
        turns = [e.at for e in played.events if isinstance(e, Happened) and e.what == "turn"]
        late = [at - begin for at, begin in zip(turns, (0, 2e8, 4e8), strict=True)]
        assert all(0 <= span < milliseconds(80) for span in late)


@settings(max_examples=40)
@given(
    st.lists(st.integers(0, 8), min_size=1, max_size=6),
    st.integers(0, 9),
    st.sampled_from(["finish", "drop"]),
)
def test_which_turns_are_lost_is_what_a_plain_simulation_says(
    gaps: list[int], took: int, policy: str
) -> None:
    """An agent that takes `took` s for each thought, and sees a turn when it begins."""
    begins = [sum(gaps[1 : n + 1]) for n in range(len(gaps))]
    ends = [*begins[1:], begins[-1] + 7]
    in_time, done, now = set[int](), 0, 0
    while now <= ends[-1]:
        arrived = sum(begin <= now for begin in begins)  # it has waited for this
        while done < arrived:
            done = arrived
            if now + took <= ends[done - 1]:
                in_time.add(done)
            if policy == "drop" and now + took > ends[done - 1]:
                now = ends[done - 1]
                arrived = sum(begin <= now for begin in begins)
            else:
                # What comes at the very instant at which it is done, comes after it.
                now += took
                arrived = max(done, sum(begin < now for begin in begins))
        if done == len(begins):
            break
        now = max(now, begins[done])
    played = Played(
        thinker(took), talk(*map(float, begins)), Stamped(closing=seconds(7)), policy=policy
    )
    assert set(played.said) == in_time
    assert played.world.score == pytest.approx(len(in_time) / len(begins))


# --- what is said ------------------------------------------------------------------------------


def test_questions_are_thought_of_beside_and_said_in_the_same_intervention() -> None:
    def took(number: int, asks: str) -> int:
        return 3 if asks == "actions" else 4

    played = Played(thinker(took), talk(0.0, 10.0), Stamped(), asks=True)
    assert [e.at / SECOND for e in played.events if isinstance(e, Acted)] == [4, 14]
    assert played.conversed.questions == ((("Who?",), ("Who is there?",)), (("Who?",), ()))
    without = Played(thinker(took), talk(0.0, 10.0), Stamped())
    assert without.conversed.questions == (((), ("Who is there?",)), ((), ()))


def test_a_dropped_turn_drops_the_thought_of_questions_as_well() -> None:
    played = Played(
        thinker(lambda _, asks: 1 if asks == "actions" else 9),
        talk(0.0, 5.0),
        Stamped(closing=seconds(20)),
        asks=True,
        policy="drop",
    )
    states = [e.state for e in played.events if isinstance(e, ThoughtEnded)]
    assert sorted(states) == ["cancelled", "completed", "completed", "completed"]
    assert list(played.said) == [2]


def test_the_prompts_show_the_catalog_the_turns_so_far_and_the_states_and_no_reference() -> None:
    model = thinker(1)
    played = Played(model, talk(0.0, 5.0, 9.0), Stamped(), file=agent_file(tracks=True), asks=True)
    assert list(played.said) == [1, 2, 3]
    for prompt in model.asked:
        shown = prompt.view
        assert isinstance(shown, PromptView)
        system, task = (message.content for message in prompt.messages)
        assert '"name": "send"' in system
        assert "ANSWER {}" in system
        number = shown.turns[-1].number
        assert [f"w{n} " in task for n in (1, 2, 3)] == [n <= number for n in (1, 2, 3)]
        assert "secret" not in system + task
        assert "Who is there" not in system + task
    last = model.asked[-1].view
    assert isinstance(last, PromptView)
    assert [(each.name, each.status) for each in last.states] == [
        ("pay", "ready_to_trigger"),
        ("open", "triggered"),
    ], "what was predicted, and what was seen to be done at turn 2"
    started = [e for e in played.events if isinstance(e, ThoughtStarted)]
    assert [e.purpose for e in started] == ["react", "main"] * 3


def test_what_was_done_is_taken_into_the_states_once_and_only_where_they_are_tracked() -> None:
    """Done at turn 2, and predicted to be pending from then on."""
    model = thinker(1, lambda _: actions(one("open", "pending")))
    for tracks in (True, False):
        Played(model, talk(0.0, 5.0, 9.0), Stamped(), file=agent_file(tracks=tracks))
    states = [prompt.view.states for prompt in model.asked]  # type: ignore[attr-defined]
    assert [[each.status for each in some] for some in states] == [
        *([], ["triggered"], ["pending"]),
        *([], [], []),
    ]


def test_what_a_restricted_graph_rejects_is_noted_and_not_said() -> None:
    def said(shown: PromptView) -> str:
        status = "ready_to_trigger" if len(shown.turns) == 1 else "pending"
        return actions(one("pay", status), one("open", "pending"))  # type: ignore[arg-type]

    graph = {"ready_to_trigger": ("triggered",), "pending": ("pending",)}
    played = Played(
        thinker(1, said),
        talk(0.0, 5.0, 9.0),
        Stamped(),
        file=agent_file(tracks=True, transitions=graph),
    )
    assert played.said == {1: ["pay", "open"], 2: [], 3: []}
    assert [text for _, text in played.notes] == [
        "pay: ready_to_trigger -> pending",
        "open: triggered -> pending",  # turn 2 has shown that it was done
        "pay: ready_to_trigger -> pending",
        "open: triggered -> pending",
    ]


def test_a_dialogue_that_speaks_in_placeholders_fills_nothing_in() -> None:
    text = "{tool_catalog} {action_states} {{x}}"
    dialogue = Dialogue(id="d", turns=(Turn(number=1, speaker="customer", text=text, at=0),))
    model = thinker(1)
    Played(model, dialogue, Stamped(), file=agent_file(tracks=True))
    assert model.asked[0].messages[1].content.startswith(f"SO FAR Turn 1, customer: {text}")


GARBAGE = ["", "no", PAY[:30], '{"proactive_action_opportunities": [5]}', "{" * 500]


@pytest.mark.parametrize("said", GARBAGE)
@pytest.mark.parametrize("reasons", [False, True])
def test_an_answer_that_says_nothing_is_an_empty_set_in_time_and_noted(
    said: str, reasons: bool
) -> None:
    played = Played(
        thinker(1, lambda _: said), talk(0.0, 5.0), Stamped(), file=agent_file(reasons=reasons)
    )
    assert not played.failed
    assert played.said == {1: [], 2: []}
    assert topics(played.notes)
    assert played.conversed.notes == {
        topic: topics(played.notes).count(topic) for topic in topics(played.notes)
    }


def test_the_same_seed_is_the_same_bytes_and_what_differs_is_seen() -> None:
    def sha(took: int) -> str:
        return Played(thinker(took), talk(0.0, 5.0, 9.0), Stamped(), policy="drop").recorder.sha256

    assert sha(6) == sha(6) != sha(3)
