"""Proactive agents with a model behind a real server on the loopback interface."""

from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("openai")
pytest.importorskip("yaml")

from tests.agents.proactive.material import CATALOG, PAY, Played, questions, topics
from tests.environments.dialogue.material import talk
from tests.servers.fake import Body, FakeServer, Hang, Say, Step, Think, Wait
from timeful.agents.proactive.settings import AgentFile, load_agent
from timeful.core.clock import Clock, VirtualClock, WallClock
from timeful.core.units import milliseconds, seconds
from timeful.environments.dialogue.timing import ByTurn, Stamped
from timeful.metrics.proactor.episodes import read_conversation, score_conversations
from timeful.models.chat import OpenAIModel
from timeful.models.pace import Pace
from timeful.models.request import Timeouts
from timeful.records.events import Happened, ThoughtEnded
from timeful.records.recorder import Recorder, read_record

Connect = Callable[..., OpenAIModel]
CLOCKS = pytest.mark.parametrize("clock", [VirtualClock, WallClock])


@pytest.fixture
def connect(monkeypatch: pytest.MonkeyPatch) -> Iterator[Connect]:
    """Make models that are ready, and closed at the end; no proxy stands in between."""
    models: list[OpenAIModel] = []
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")

    def connect(server: FakeServer, **more: Any) -> OpenAIModel:
        fixed: dict[str, Any] = {
            "pace": Pace(per_token=milliseconds(10)),
            "timeouts": Timeouts(backoff_s=0.001),
        }
        model = OpenAIModel(model="fake", base_url=server.base_url, **fixed | more)
        model.warm_up()
        models.append(model)
        return model

    yield connect
    for model in models:
        model.close()


def latest(body: Body) -> int:
    """The number of the latest turn that a request shows."""
    return int(body["messages"][-1]["content"].rpartition("Turn ")[2].split(",")[0])


def asks_questions(body: Body) -> bool:
    return "raised_questions" in body["messages"][0]["content"]


@CLOCKS
@pytest.mark.parametrize("name", ["non-reasoning", "reasoning", "reasoning-asg"])
def test_the_three_agents_end_to_end(
    connect: Connect, tmp_path: Path, name: str, clock: type[Clock]
) -> None:
    file = load_agent(name)

    def script(body: Body) -> Iterable[Step]:
        text, section = (questions("Who?"), "question") if asks_questions(body) else (PAY, "action")
        if not file.reasons:
            return [Think("hm, hidden "), Say(text[:20]), Say(text[20:])]
        return [Say(f"<think>let me see</think><{section}>"), Say(text), Say(f"</{section}>")]

    path = tmp_path / "episode.jsonl"
    recorder = Recorder(path)
    with FakeServer(script) as server:
        played = Played(
            connect(server),
            talk(None, None, None),
            ByTurn(),
            clock=clock(),
            recorder=recorder,
            file=file,
            catalog=CATALOG,
            asks=True,
        )
        bodies = [request.body for request in server.requests]
    recorder.close()
    assert not played.failed
    assert (played.notes, played.conversed.lost) == ([], ())
    assert played.said == {1: ["pay"], 2: ["pay"], 3: ["pay"]}
    assert [asked for asked, _ in played.conversed.questions] == [("Who?",)] * 3
    assert sorted((latest(body), asks_questions(body)) for body in bodies) == [
        (number, asks) for number in (1, 2, 3) for asks in (False, True)
    ]
    for body in bodies:
        system, user = (message["content"] for message in body["messages"])
        assert '"name": "send"' in system
        states = user.partition("## ACTION STATES")[2].partition("## CONVERSATION")[0]
        assert ('"pay"' in states) == (name == "reasoning-asg" and latest(body) > 1)
        assert ('"triggered"' in states) == (name == "reasoning-asg" and latest(body) >= 2)
    again = read_conversation(read_record(path))
    assert again == played.conversed, "the file says all that the memory did"


def garbled(body: Body) -> Iterable[Step]:
    return {
        1: [Say(PAY[:30])],
        2: [Say("Sure! \\ud83d "), Say("I will pay.")],
        3: [Say("```json\n"), Say(PAY.replace('"pay"', '"fly"')), Say("\n```")],
        4: [Think("only thought")],
        5: [Say(PAY.replace("ready_to_trigger", "soon"))],
    }[latest(body)]


@CLOCKS
def test_garbled_answers_are_empty_sets_and_counted(connect: Connect, clock: type[Clock]) -> None:
    with FakeServer(garbled) as server:
        played = Played(connect(server), talk(*[None] * 5), ByTurn(), clock=clock())
    assert not played.failed
    assert played.said == {number: [] for number in range(1, 6)}
    assert topics(played.notes) == [
        "bad-json",
        "no-json",
        "unknown-action",
        "no-json",
        "unknown-status",
    ]
    scores = score_conversations([played.conversed])
    assert (scores.means.n_skipped, scores.n_empty, scores.n_lost) == (5, 5, 0)
    assert dict(scores.notes) == {
        "bad-json": 1,
        "no-json": 2,
        "unknown-action": 1,
        "unknown-status": 1,
    }


def test_in_wall_time_a_model_that_hangs_loses_its_turn_and_is_dropped_for_the_next(
    connect: Connect,
) -> None:
    """Turns at 0, 0.4 and 0.8 s; the second is never answered, and the server hung up on."""

    def script(body: Body) -> Iterable[Step]:
        return [Say("{"), Hang()] if latest(body) == 2 else [Wait(5), Say(PAY)]

    with FakeServer(script) as server:
        played = Played(
            connect(server, pace=None),
            talk(0.0, 0.4, 0.8),
            Stamped(closing=seconds(0.4)),
            clock=WallClock(),
            policy="drop",
        )
    assert (list(played.said), topics(played.notes)) == ([1, 3], ["dropped-thought"])
    (cut,) = [e for e in played.events if isinstance(e, ThoughtEnded) and e.state == "cancelled"]
    (third,) = [
        e for e in played.events if isinstance(e, Happened) and e.data.get("text", "")[:2] == "w3"
    ]
    assert 0 <= cut.at - third.at < milliseconds(50)


def test_an_endpoint_that_is_asked_as_the_file_says(connect: Connect) -> None:
    file: AgentFile = load_agent("non-reasoning")
    with FakeServer([Say(PAY)]) as server:
        Played(connect(server), talk(None), ByTurn(), file=file)
        (request,) = server.requests
    assert request.body["max_tokens"] == file.llm.max_tokens == 4096
