"""The tool user with a model behind a real server on the loopback interface."""

from collections.abc import Callable, Iterable, Iterator
from functools import partial
from pathlib import Path
from statistics import median
from typing import Any

import pytest

from tests.environments.timed.tasks import Counting
from tests.servers.fake import Body, Call, FakeServer, Finish, Hang, Say, Step, Think, Wait
from timeful.agents.prompts.timely import Calls, reasoning
from timeful.agents.tool_user import tool_user
from timeful.core.clock import Clock, VirtualClock, WallClock, monotonic_ns
from timeful.core.units import Duration, milliseconds, seconds
from timeful.environments.timed.latency import Constant
from timeful.environments.timed.world import TimedTask, TimeSettings
from timeful.interfaces.event_driven import EventDriven
from timeful.models.chat import OpenAIModel
from timeful.models.model import Model
from timeful.models.pace import Pace
from timeful.models.recording import RecordingModel
from timeful.models.replay import ReplayModel
from timeful.models.request import Timeouts
from timeful.records.events import (
    Acted,
    EpisodeEnded,
    EpisodeFailed,
    Happened,
    Noted,
    ThoughtEnded,
    ThoughtStarted,
    Wall,
)
from timeful.records.recorder import Recorder, read_record
from timeful.runs.episode import EpisodeSetting, play_episode

PACE = Pace(per_token=milliseconds(10))
Connect = Callable[..., OpenAIModel]
Script = Callable[[Body], Iterable[Step]]


@pytest.fixture
def connect(monkeypatch: pytest.MonkeyPatch) -> Iterator[Connect]:
    """Make models that are ready, and closed at the end; no proxy stands in between."""
    models: list[OpenAIModel] = []
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")

    def connect(server: FakeServer, **settings: Any) -> OpenAIModel:
        settings = {"pace": PACE, "timeouts": Timeouts(backoff_s=0.001)} | settings
        model = OpenAIModel(model="fake", base_url=server.base_url, **settings)
        model.warm_up()
        models.append(model)
        return model

    yield connect
    for model in models:
        model.close()


def in_turn(*scripts: list[Step]) -> Script:
    """Answer by how many messages of the assistant the request shows."""

    def script(body: Body) -> Iterable[Step]:
        return scripts[sum(one["role"] == "assistant" for one in body["messages"])]

    return script


class Played:
    """An episode, read back from its file."""

    def __init__(self, path: Path, task: Counting, real: int) -> None:
        self.events = list(read_record(path))
        self.task = task
        self.real = real
        """How many real nanoseconds it took."""
        self.acted = [e for e in self.events if isinstance(e, Acted)]
        self.noted = [e.topic for e in self.events if isinstance(e, Noted)]
        self.replies = [e for e in self.events if isinstance(e, Happened) and e.what == "reply"]
        self.overs = [e for e in self.events if isinstance(e, Happened) and e.what == "over"]
        self.thoughts = [e for e in self.events if isinstance(e, ThoughtStarted)]
        self.ended = [e for e in self.events if isinstance(e, ThoughtEnded)]
        self.failed = [e for e in self.events if isinstance(e, EpisodeFailed)]


def play(
    model: Model,
    path: Path,
    *,
    calls: Calls = "native",
    clock: Clock | None = None,
    budget: Duration | None = None,
    span: int = 0,
) -> Played:
    task, recorder, began = Counting(), Recorder(path), monotonic_ns()
    time = TimeSettings(budget=budget, latency=Constant(Duration(span)))
    play_episode(
        EpisodeSetting(settings={"task": "count"}, seed=3),
        environment=TimedTask(task, time, seed=3),
        interface=partial(EventDriven, full=True),
        agent=partial(tool_user, model=model, briefing=reasoning, calls=calls),
        clock=clock or VirtualClock(),
        recorder=recorder,
    )
    real = monotonic_ns() - began
    recorder.close()
    return Played(path, task, real)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "episode.jsonl"


CLOCKS = pytest.mark.parametrize("clock", [VirtualClock, WallClock])
ANSWER = [Think("All done. "), Say("<answer>6</answer>")]


# --- both forms of calls ---------------------------------------------------------------------

WRONG = [
    Say("Let me see. "),
    Call("count", '{"by": ', id="a1"),
    Call(arguments="one}"),
    Call("cuont", '{"by": 1}', id="a2", index=1),
    Call("count", '{"by": "1"}', id="a3", index=2),
    Finish("tool_calls"),
]
RIGHT = [
    Call("count", '{"by"', id="b1"),
    Call("count", '{"by": 2', id="b2", index=1),
    Call(arguments=": 4}"),
    Call(arguments="}", index=1),
    Call("get_duration", "", id="b1", index=2),
    Finish("stop"),
]


@CLOCKS
def test_native_calls_right_and_wrong(connect: Connect, path: Path, clock: type[Clock]) -> None:
    with FakeServer(in_turn(WRONG, RIGHT, ANSWER)) as server:
        played = play(connect(server), path, clock=clock(), span=milliseconds(5))
        first, second, third = (request.body for request in server.requests)
    assert [tool["function"]["name"] for tool in first["tools"]][-1] == "get_duration"
    assert first["messages"][-1] == {"role": "user", "content": "Count as far as you can."}

    said, *replies = second["messages"][2:]
    assert said["content"] == "Let me see."
    functions = [call["function"] for call in said["tool_calls"]]
    assert [call["name"] for call in functions] == ["count", "cuont", "count"]
    assert functions[0]["arguments"] == '{"unreadable": "{\\"by\\": one}"}'
    assert [(one["role"], one["tool_call_id"]) for one in replies] == [
        ("tool", "a1"),
        ("tool", "a2"),
        ("tool", "a3"),
    ]
    whys = ("no valid JSON", "Did you mean 'count'", "must be of type integer, got str")
    assert all(why in one["content"] for one, why in zip(replies, whys, strict=True))
    assert all("You have spent" in one["content"] for one in replies), "the time, in every reply"

    said, *replies = third["messages"][6:]
    ids = [call["id"] for call in said["tool_calls"]]
    assert ids[:2] == ["b1", "b2"]
    assert len(set(ids)) == 3, "an id that came twice is given once"
    assert [one["tool_call_id"] for one in replies] == ids
    assert [one["content"].splitlines()[0] for one in replies[:2]] == [
        "The score is 4.",
        "The score is 6.",
    ]
    assert played.task.said == "<answer>6</answer>"

    assert played.noted == ["malformed-call", "refused-call", "refused-call"]
    assert [act.legal for act in played.acted] == [False, False, False, True, True, True, True]
    assert [reply.data["tool"] for reply in played.replies] == ["count", "count", "get_duration"]
    assert [reply.data["took"] >= milliseconds(5) for reply in played.replies] == [
        True,
        True,
        False,
    ]
    assert played.overs[0].data["reason"] == "answered"
    assert isinstance(played.events[-2], EpisodeEnded)
    shown = dict(played.thoughts[1].messages or [])
    assert '"unreadable"' in shown["assistant"], "the record shows the calls of a message"
    assert played.ended[0].answer.count("<tool_call>") == 3


@CLOCKS
@pytest.mark.parametrize("calls", ["text", "native"])
def test_calls_in_words_right_and_wrong(
    connect: Connect, path: Path, clock: type[Clock], calls: Calls
) -> None:
    """Also from a model that was offered tools by the API, and calls them in words."""
    wrong = 'hm <tool_call>{"name": "count", "argu</tool_call><tool_call>{"name": "cuont"}'
    right = '<tool_call>{"name": "count", "arguments": {"by": 6}}</tool_call>'
    thought = [Say(f"<think>maybe {right}"), Say("</think>"), Say(right)]
    with FakeServer(in_turn([Say(wrong)], thought, ANSWER)) as server:
        played = play(connect(server), path, calls=calls, clock=clock())
        first, second, third = (request.body for request in server.requests)
    assert ("tools" in first) == (calls == "native")
    assert ("<tool_call>" in first["messages"][0]["content"]) == (calls == "text")
    if calls == "text":
        assert second["messages"][2] == {"role": "assistant", "content": wrong}
        assert second["messages"][3]["content"].count("<tool_response>\nError: ") == 2
        assert third["messages"][4]["content"] == right
    else:
        shown = [call["function"]["name"] for call in second["messages"][2]["tool_calls"]]
        assert shown == ["unreadable", "cuont"]
        assert [one["content"][:6] for one in second["messages"][3:]] == ["Error:", "Error:"]
        assert third["messages"][5]["content"] is None
    assert (played.task.score, played.task.said) == (6, "<answer>6</answer>")
    assert played.noted == ["malformed-call", "refused-call"]


def test_an_episode_of_native_calls_is_recorded_and_replayed_to_the_same_bytes(
    connect: Connect, path: Path
) -> None:
    tape = path.with_name("tape.jsonl")
    with FakeServer(in_turn(WRONG, RIGHT, ANSWER)) as server:
        recording = RecordingModel(connect(server), tape)
        play(recording, path, span=milliseconds(5))
    again = path.with_name("again.jsonl")
    play(ReplayModel(tape), again, span=milliseconds(5))

    def bare(one: Path) -> list[str]:
        return [line for line in one.read_text().splitlines() if '"event":"wall"' not in line]

    assert bare(again) == bare(path)


# --- the deadline ----------------------------------------------------------------------------


def test_a_server_that_stalls_fails_the_episode_in_virtual_time(
    connect: Connect, path: Path
) -> None:
    with FakeServer([Say("one "), Hang(keep_alive=True)]) as server:
        model = connect(server, timeouts=Timeouts(idle_s=0.05))
        played = play(model, path, budget=seconds(1))
        assert server.requests[0].hung_up.wait(5)
    assert played.failed[0].boundary == "model"
    assert "ModelTimeoutError" in played.failed[0].error
    assert not played.overs, "nobody can say what it would have done with its time"


SLOW: Script = lambda _: (step for _ in range(10_000) for step in (Say("hm "), Wait(4)))  # noqa: E731
STALLS = {
    "from the start": [Hang()],
    "after a while": [Say("one "), Hang(keep_alive=True)],
    "in the middle of a call": [Call("count", '{"by'), Hang()],
    "never, but slow": SLOW,
}


@pytest.mark.parametrize("stall", STALLS)
def test_a_server_that_stalls_does_not_stop_the_clock_within_50_ms(
    connect: Connect, path: Path, stall: str
) -> None:
    budget, late = milliseconds(60), []
    with FakeServer(STALLS[stall]) as server:
        model = connect(server, pace=None)
        for _ in range(3):
            played = play(model, path, clock=WallClock(), budget=budget)
            late.append(played.real - budget)
            [over] = played.overs
            assert (over.at, over.data["counted"]) == (budget, budget)
            assert played.ended[-1].state == "orphaned"
            path.unlink()
        assert all(request.hung_up.wait(5) for request in server.requests)
    assert min(late) >= 0
    assert median(late) < 50e6, "the usual one: a single one may meet a busy machine"


def test_a_wall_clock_record_says_how_long_it_really_took(connect: Connect, path: Path) -> None:
    with FakeServer(in_turn(ANSWER)) as server:
        played = play(connect(server, pace=None), path, clock=WallClock(), budget=seconds(5))
    wall = played.events[-1]
    assert isinstance(wall, Wall)
    assert played.overs[0].data["counted"] <= wall.real_s * 1e9
