"""The tool user: whatever a model says, it is told what came of it, and all of it is counted."""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.environments.timed.tasks import Counting
from timeful.agents.connection import Interface
from timeful.agents.prompts.timely import Calls
from timeful.agents.session import Session
from timeful.agents.tool_user import Round, Transcript, find_calls, tool_user
from timeful.core.clock import VirtualClock
from timeful.core.kernel import Kernel
from timeful.core.source import Chunk, End
from timeful.core.units import Duration, milliseconds, seconds
from timeful.environments.timed.latency import Constant
from timeful.environments.timed.world import TimedTask, TimeSettings
from timeful.interfaces.event_driven import EventDriven
from timeful.interfaces.loop import Loop
from timeful.interfaces.polling import Polling
from timeful.models.model import Message, Prompt
from timeful.models.scripted import Answer, ScriptedModel
from timeful.records.events import Acted, EpisodeFailed, Happened, Noted
from timeful.records.recorder import Recorder
from timeful.runs.episode import EpisodeSetting, play_episode
from timeful.tools import ToolCall

COUNT = '<tool_call>{"name": "count", "arguments": {"by": 1}}</tool_call>'
EVENT_DRIVEN: Interface = partial(EventDriven, full=False)


def count(by: int, identity: str = "") -> str:
    call = ToolCall(name="count", arguments={"by": by}, id=identity)
    return f"<tool_call>{call!s}</tool_call>"


@dataclass(frozen=True)
class Played:
    """An episode, its task, and what its model was asked."""

    events: Sequence[Any]
    task: Counting
    asked: Sequence[Prompt]

    @property
    def acted(self) -> list[str]:
        """The names of the calls that were legal."""
        done = [e.action for e in self.events if isinstance(e, Acted) and e.legal]
        return [re.findall(r'"name": "(\w+)"', action)[0] for action in done]

    @property
    def noted(self) -> list[str]:
        return [e.topic for e in self.events if isinstance(e, Noted)]

    @property
    def over(self) -> Happened:
        return next(e for e in self.events if isinstance(e, Happened) and e.what == "over")

    def read(self, number: int) -> list[tuple[str, str]]:
        """What a request showed beyond the one before it."""
        before = len(self.asked[number - 1].messages)
        return [(one.role, one.content) for one in self.asked[number].messages[before:]]


def play(
    *answers: Answer,
    calls: Calls = "text",
    interface: Interface = EVENT_DRIVEN,
    budget: Duration | None = None,
    span: int = 0,
    **settings: Any,
) -> Played:
    recorder, task, model = Recorder(), Counting(), ScriptedModel(answers)
    agent = partial(
        tool_user,
        model=model,
        briefing=lambda view, calls: [Message("user", view.opening)],
        calls=calls,
        **settings,
    )
    play_episode(
        EpisodeSetting(settings={}, seed=0),
        environment=TimedTask(
            task, TimeSettings(budget=budget, latency=Constant(Duration(span))), seed=0
        ),
        interface=interface,
        agent=agent,
        clock=VirtualClock(),
        recorder=recorder,
    )
    assert not [e for e in recorder.events if isinstance(e, EpisodeFailed)], recorder.events[-2]
    return Played(recorder.events, task, model.asked)


# --- what usually happens --------------------------------------------------------------------


def test_a_call_is_made_its_reply_is_read_and_a_message_without_one_is_the_answer() -> None:
    played = play(f"one more {COUNT}", "That is <answer>1</answer>")
    assert played.acted == ["count", "answer"]
    told = "<tool_response>\nThe score is 1.\nYou have spent 0.01 seconds.\n</tool_response>"
    assert played.read(1) == [("assistant", f"one more {COUNT}"), ("user", told)]
    assert played.task.said == "That is <answer>1</answer>"
    assert played.over.data["reason"] == "answered"
    assert played.noted == []


def test_several_calls_of_one_message_are_made_one_after_the_other() -> None:
    played = play(count(1) + count(2) + "and " + count(3), "done", span=seconds(1))
    replies = [e for e in played.events if isinstance(e, Happened) and e.what == "reply"]
    gaps = [replies[i + 1].at - replies[i].at for i in range(2)]
    assert gaps == [seconds(1)] * 2
    assert [e.score for e in replies] == [1, 3, 6]
    [(_, _), (role, said)] = played.read(1)
    assert (role, said.count("<tool_response>")) == ("user", 3)
    assert said.index("is 1.") < said.index("is 3.") < said.index("is 6.")


@pytest.mark.parametrize(
    "interface",
    [
        EVENT_DRIVEN,
        partial(Loop, full=False),
        partial(Polling, interval=milliseconds(7), cost=milliseconds(1), full=False),
    ],
)
def test_replies_reach_the_model_under_every_interface(interface: Interface) -> None:
    played = play(COUNT + COUNT, COUNT, "done", interface=interface, span=milliseconds(50))
    assert [
        said.count("The score is") for said in (played.read(1)[1][1], played.read(2)[1][1])
    ] == [
        2,
        1,
    ]


def test_code_may_be_written_with_its_line_ends_as_they_are() -> None:
    played = play('<tool_call>{"name": "count",\n"arguments": {"by": 1, "x\n": 2}}', "done")
    assert "count has no argument 'x\\n'; it takes by" in played.read(1)[1][1]


# --- what goes wrong -------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("call", "why", "topic"),
    [
        ("not even JSON", "the call is no valid JSON", "malformed-call"),
        ("[1, 2]", 'a call is {"name": "...", "arguments": {...}}', "malformed-call"),
        ('{"arguments": {}}', 'a call is {"name"', "malformed-call"),
        ('{"name": "count", "arguments": "{by"}', "arguments are no valid JSON", "malformed-call"),
        ('{"name": "count", "arguments": [1]}', "must be a JSON object", "malformed-call"),
        ('{"name": "cuont"}', "Did you mean 'count'", "refused-call"),
        ('{"name": "count"}', "needs the argument 'by'", "refused-call"),
        ('{"name": "count", "arguments": {"by": 1.5}}', "type integer, got float", "refused-call"),
        ('{"name": "answer", "arguments": {"text": "7"}}', "no tool 'answer'", "refused-call"),
    ],
)
@pytest.mark.parametrize("calls", ["text", "native"])
def test_a_call_that_cannot_be_made_is_answered_with_what_is_wrong(
    call: str, why: str, topic: str, calls: Calls
) -> None:
    played = play(f"<tool_call>{call}</tool_call>{COUNT}", "done", calls=calls)
    *_, reply = [content for _, content in played.read(1) if "Error: " in content]
    assert why in reply
    assert played.noted == [topic]
    assert played.acted == ["count", "answer"], "the call after it is made all the same"
    assert played.task.score == 1


def test_after_the_deadline_no_call_is_made() -> None:
    played = play(count(1) + count(2) + count(4), budget=seconds(2.5), span=seconds(1.2))
    assert played.acted == ["count", "count", "count"]
    assert played.over.data["cut"] == "count"
    assert (played.over.at, played.task.score) == (seconds(2.5), 3)
    played = play(count(1) + count(2) + count(4), budget=seconds(2), span=seconds(1.2))
    assert played.acted == ["count", "count"]
    assert (played.over.at, played.task.score) == (seconds(2), 1)


def test_nothing_is_done_after_the_end_where_the_timeline_goes_on() -> None:
    """As in a module, whose agent outlives its world."""
    recorder, task = Recorder(), Counting()
    model = ScriptedModel([count(1) + count(2), "done"])
    time = TimeSettings(budget=seconds(1), latency=Constant(seconds(1)))
    with Kernel() as kernel:
        port = EventDriven(kernel, TimedTask(task, time, seed=0), recorder, full=False)
        session = Session(kernel, port, recorder, seed=0)
        kernel.start(tool_user(session, model=model, briefing=lambda view, calls: []))
        kernel.run()
    assert len([e for e in recorder.events if isinstance(e, Acted)]) == 1
    assert len(model.asked) == 1
    assert task.score == 0


def test_a_thought_that_the_deadline_cuts_is_no_answer() -> None:
    played = play("hm " * 100 + COUNT, budget=milliseconds(50))
    assert played.acted == []
    assert (played.over.data["reason"], played.task.said) == ("deadline", None)


@pytest.mark.parametrize(("late", "reason"), [(0, "answered"), (1, "deadline")])
def test_an_answer_whose_last_token_falls_on_the_deadline_counts_and_a_nanosecond_later_not(
    late: int, reason: str
) -> None:
    call = f"hm {COUNT}"  # 6 tokens of a millisecond; then the tool, and 2 tokens of answer
    budget = Duration(milliseconds(6 + 5 + 2) - late)
    played = play(call, "one two", budget=budget, span=milliseconds(5))
    assert (played.over.data["reason"], played.over.at) == (reason, budget)
    assert played.task.said == (None if late else "one two")


def test_a_call_that_a_limit_of_tokens_cuts_is_answered_with_that() -> None:
    long = '<tool_call>{"name": "count", "arguments": {"by": 1, "and": "so on and so on"}}'
    played = play(f"<tool_call>?</tool_call>{COUNT} {long}", COUNT, "done", most_tokens=8)
    first, second, third = played.read(1)[1][1].split("</tool_response>\n")
    assert "the call is no valid JSON" in first
    assert "The score is 1" in second
    assert "Your message was cut off at its limit" in third
    assert "cut off" not in first
    assert played.noted == ["cut-thought", "malformed-call", "malformed-call"]
    assert played.task.score == 2, "what was whole is made"


def test_a_thought_cut_by_its_span_is_the_answer_as_far_as_it_came() -> None:
    played = play("one two three four", thought_limit=milliseconds(2))
    assert played.task.said == "one two "
    assert played.noted == ["cut-thought"]


def test_a_model_that_only_thinks_is_asked_again_and_the_third_silence_is_the_end() -> None:
    silence: Answer = [Chunk("hm ", 5, "reasoning"), End()]
    played = play(silence, " ", COUNT, silence, "<think>hm</think>", "done")
    assert played.noted == ["silence"] * 4
    assert played.acted == ["count", "answer"]
    nudge = "You said nothing. Call a tool, or give your final answer."
    assert played.read(1) == [("assistant", "..."), ("user", nudge)]
    played = play(silence, silence, silence)
    assert played.noted == ["silence", "silence", "gave-up"]
    assert (played.task.said, played.over.data["reason"]) == ("", "answered")


def test_a_thought_cut_before_its_answer_is_a_silence() -> None:
    played = play([Chunk("hm ", 5, "reasoning"), Chunk("hm ", 5, "reasoning")], "1", most_tokens=7)
    assert played.noted == ["cut-thought", "silence"]
    assert played.task.said == "1"


def test_a_task_of_too_many_rounds_is_given_up() -> None:
    played = play(*[COUNT] * 9, most_rounds=3)
    assert (played.task.score, played.task.said) == (3, "")
    assert played.noted == ["gave-up"]


# --- finding calls ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("said", "found"),
    [
        ("no call", []),
        ("<tool_call>a</tool_call> b <tool_call> c \n</tool_call>", ["a", "c"]),
        ("<tool_call>a", ["a"]),
        ("<tool_call>a<tool_call>b</tool_call>", ["a", "b"]),
        ("<think><tool_call>a</tool_call></think><tool_call>b</tool_call>", ["b"]),
        ("<tool_call>a</tool_call> so</think><tool_call>b</tool_call>", ["b"]),
        ("<tool_call>a</tool_call><think>or <tool_call>b</tool_call></think>", ["a"]),
        ("<think>still <tool_call>a</tool_call>", []),
        ("<tool_call>print('</think>')</tool_call>", ["print('</think>')"]),
        ("a</tool_call>", []),
    ],
)
def test_calls_are_found_where_they_are_said_and_not_where_they_are_thought(
    said: str, found: list[str]
) -> None:
    assert find_calls(said) == found


@given(st.lists(st.text(alphabet='ab{}":,\\ \n<>'), max_size=5), st.text(alphabet="ab \n"))
def test_calls_are_found_as_they_were_written(texts: list[str], between: str) -> None:
    texts = [text for text in texts if "<t" not in text]
    said = between.join(["", *(f"<tool_call>{text}</tool_call>" for text in texts), ""])
    assert find_calls(said) == [text.strip() for text in texts]


# --- native calls ----------------------------------------------------------------------------


def test_native_calls_are_shown_as_the_api_has_them() -> None:
    played = play(f"Well. {count(1, 'c1')}{count(2, 'c2')}", "done", calls="native")
    first, second = (ToolCall(name="count", arguments={"by": n}, id=f"c{n}") for n in (1, 2))
    told = "The score is {}.\nYou have spent 0.01 seconds."
    assert [tool.name for tool in played.asked[0].tools] == ["count", "quit", "dig", "get_duration"]
    assert list(played.asked[1].messages[1:]) == [
        Message("assistant", "Well.", (first, second)),
        Message("tool", told.format(1), call_id="c1"),
        Message("tool", told.format(3), call_id="c2"),
    ]


def test_in_the_text_form_no_tools_are_offered_to_the_api() -> None:
    assert play("done").asked[0].tools == ()


def test_a_malformed_native_call_is_answered_under_its_own_id() -> None:
    broken = '<tool_call>{"name": "count", "arguments": "{\\"by\\": ", "id": "c9"}</tool_call>'
    played = play(broken, "done", calls="native")
    _, shown, reply = played.asked[1].messages
    call = ToolCall(name="count", arguments={"unreadable": '{"by": '}, id="c9")
    assert shown == Message("assistant", "", (call,))
    assert (reply.role, reply.call_id) == ("tool", "c9")
    assert reply.content.startswith("Error: the arguments are no valid JSON")


SAID = st.lists(
    st.sampled_from(
        [
            "well ",
            COUNT,
            count(1, "c1"),
            count(2, "c2"),
            count(1, "call00001"),
            "<tool_call>{</tool_call>",
            '<tool_call>{"name": 5, "id": "c1"}</tool_call>',
            '<tool_call>{"name": "no such tool", "id": 7}</tool_call>',
            '<tool_call>{"name": "a", "arguments": "\\ud83d", "id": "c3"}</tool_call>',
            "<think>hm</think>",
        ]
    ),
    max_size=4,
).map("".join)


@given(answers=st.lists(SAID, max_size=6))
def test_whatever_is_said_a_native_conversation_is_one_that_an_api_takes(
    answers: list[str],
) -> None:
    played = play(*answers, "done", "done", "done", calls="native")
    ids: list[str] = []
    for message in played.asked[-1].messages[1:]:
        message.shown.encode()
        if message.role == "assistant":
            assert not ids, "every call has its reply"
            assert message.content or message.calls
            ids = [call.id for call in message.calls]
        elif message.role == "tool":
            assert message.call_id == ids.pop(0)
    assert not ids
    used = [call.id for message in played.asked[-1].messages for call in message.calls]
    assert all(used)
    assert len(set(used)) == len(used)


# --- the cost of a long conversation ---------------------------------------------------------


@pytest.mark.parametrize("calls", ["text", "native"])
def test_messages_are_made_once_however_long_the_conversation(calls: Calls) -> None:
    opened = []

    def briefing(view: Any, calls: Calls) -> Sequence[Message]:
        opened.append(view)
        return [Message("user", view.opening)]

    model = ScriptedModel([*[COUNT] * 20, "done"])
    play_episode(
        EpisodeSetting(settings={}, seed=0, transcripts="answers"),  # nobody renders them before
        environment=TimedTask(Counting(), TimeSettings(), seed=0),
        interface=EVENT_DRIVEN,
        agent=partial(tool_user, model=model, briefing=briefing, calls=calls),
        clock=VirtualClock(),
        recorder=Recorder(),
    )
    assert len(opened) == 1
    shown = [prompt.messages for prompt in model.asked]
    assert [len(messages) for messages in shown] == [1 + 2 * n for n in range(21)]
    for messages in shown:
        assert all(one is last for one, last in zip(messages, shown[-1], strict=False))


def test_a_prompt_is_only_rendered_for_who_reads_it() -> None:
    """Stand-ins read the transcript: a round costs them the same, the first or the last."""
    seen: list[Transcript] = []

    def rule(prompt: Prompt) -> str:
        assert isinstance(prompt.view, Transcript)
        assert prompt._messages is None
        seen.append(prompt.view)
        return COUNT if len(seen) < 9 else "done"

    play_quietly(rule)
    assert [len(one.rounds) for one in seen] == list(range(9))
    last = seen[-1].rounds[-1]
    assert isinstance(last, Round)
    assert last.replies[0].call == ToolCall(name="count", arguments={"by": 1})
    assert last.replies[0].text.startswith("The score is 8.")


def play_quietly(rule: Callable[[Prompt], str]) -> None:
    play_episode(
        EpisodeSetting(settings={}, seed=0, transcripts="answers"),
        environment=TimedTask(Counting(), TimeSettings(), seed=0),
        interface=EVENT_DRIVEN,
        agent=partial(tool_user, model=ScriptedModel(rule), briefing=lambda view, calls: []),
        clock=VirtualClock(),
        recorder=Recorder(),
    )
