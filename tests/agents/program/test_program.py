"""A program is an agent: in virtual time it plays as an agent of this process does."""

import os
import re
import select
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.agents.program.scripts import PLAYER, write_program
from timeful.core.clock import WallClock
from timeful.core.units import milliseconds, seconds
from timeful.errors import EpisodeError, ProgramError, SettingsError
from timeful.models.model import Prompt
from timeful.models.pace import Pace
from timeful.models.scripted import ScriptedModel
from timeful.models.search.reasoner import SearchModel
from timeful.records.events import (
    Acted,
    EpisodeFailed,
    Noted,
    Printed,
    ThoughtEnded,
    Turned,
)
from timeful.records.recorder import record_hash
from timeful.runs.play import Episode, play

WORLD: dict[str, Any] = {"world": "snake", "transcripts": "full"}


def model(answer: str = "\\boxed{L}", span: int = milliseconds(100)) -> ScriptedModel:
    return ScriptedModel(lambda _: answer, pace=Pace(first=span, per_token=0))


def events(episode: Episode, *kinds: type) -> list[Any]:
    return [event for event in episode.events if isinstance(event, kinds)]


def test_a_program_plays_as_an_agent_that_does_the_same(tmp_path: Path) -> None:
    async def agent(session: Any) -> None:
        while not session.over:
            prompt = Prompt(render=session.view.text, label="react", view=session.view)
            text = await session.think(SearchModel.shallow(), prompt)
            move = re.search(r"boxed\{(\w)", text)
            assert move is not None
            session.act(move[1])
            await session.wait_for_tick()

    reactive = write_program(tmp_path, PLAYER, model=SearchModel.shallow())
    by_program, by_agent = play(reactive, **WORLD), play(agent, **WORLD)
    kinds = (Acted, Turned, ThoughtEnded)
    assert events(by_program, *kinds) == events(by_agent, *kinds)
    assert [e.text for e in events(by_program, Printed)] == ["played\n"]


def test_the_same_program_and_seed_give_the_same_bytes(tmp_path: Path) -> None:
    reactive = write_program(tmp_path, PLAYER, model=SearchModel.shallow())
    records = []
    for name in ("one.jsonl", "two.jsonl"):
        play(reactive, **WORLD, record=tmp_path / name)
        lines = (tmp_path / name).read_text().splitlines()
        records.append([line for line in lines if '"event":"wall"' not in line])
    assert records[0] == records[1]


LANES = """
def plan():
    results["plan"] = think("plan")

def watch():
    results["watch"] = [tool("wait")["now_s"] for _ in range(3)]

results = {}
threads = [threading.Thread(target=work) for work in %s]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
print(json.dumps(results, sort_keys=True))
"""


@pytest.mark.slow
def test_two_lanes_think_and_wait_side_by_side_in_any_order_of_arrival(tmp_path: Path) -> None:
    episodes = []
    for order in ("(plan, watch)", "(watch, plan)"):
        script = write_program(
            tmp_path, LANES % order, lanes=2, model=model("a plan", seconds(2.5)), settle_s=0.1
        )
        episodes.append(play(script, "snake", step=seconds(1)))
    printed = [event.text for event in events(episodes[0], Printed)]
    assert printed == ['{"plan": "a plan", "watch": [1.0, 2.0, 3.0]}\n']
    assert record_hash(episodes[0].events) == record_hash(episodes[1].events)
    assert not events(episodes[0], Noted)


def test_a_program_that_fails_fails_the_episode_with_its_last_line(tmp_path: Path) -> None:
    script = write_program(tmp_path, "tool('wait'); sys.exit('no more')")
    episode = play(script, **WORLD, check=False)
    assert isinstance(episode.error, ProgramError)
    assert "exit code 1" in str(episode.error)
    assert "no more" in str(episode.error)
    [failed] = events(episode, EpisodeFailed)
    assert failed.boundary == "program"
    assert [(e.stream, e.text) for e in events(episode, Printed)] == [("stderr", "no more\n")]


@pytest.mark.slow
def test_a_killed_program_fails_the_episode(tmp_path: Path) -> None:
    script = write_program(tmp_path, "os.kill(os.getpid(), 9)")
    episode = play(script, **WORLD, check=False)
    assert isinstance(episode.error, ProgramError)
    assert "signal 9" in str(episode.error)


def test_a_program_that_ends_leaves_the_world_to_its_defaults(tmp_path: Path) -> None:
    episode = play(write_program(tmp_path, "think('hello')", model=model()), **WORLD)
    assert episode.late == episode.turns > 0


def test_a_program_that_sends_nothing_fails_the_episode(tmp_path: Path) -> None:
    script = write_program(tmp_path, "threading.Event().wait()", patience_s=0.2)
    with pytest.raises(EpisodeError, match="no request") as failure:
        play(script, **WORLD)
    assert isinstance(failure.value.__cause__, ProgramError)


AFTERWARDS = """
state = tool("wait", seconds=1e9)
while not state["over"]:
    state = tool("wait")
print(json.dumps([tool("act", action="U")["over"], think("and now?")]))
"""


def test_open_and_later_requests_are_answered_after_the_end(tmp_path: Path) -> None:
    episode = play(write_program(tmp_path, AFTERWARDS, model=model()), **WORLD)
    assert [e.text for e in events(episode, Printed)] == ['[true, "The episode is over."]\n']
    assert not events(episode, Noted)


REFUSALS = """
good = {"model": "any", "messages": [{"role": "user", "content": "hi"}]}
path = "/v1/chat/completions"
print(send(path, good, key="other")[0], send(path, good, key="")[0])
print(send("/mcp/other", {}, key="")[0])
print(send(path, "{")[0], send(path, {**good, "n": 2})[0], send("/v2", good)[0])
print(call("fly")["isError"], call("act", move="U")["isError"], call("act", action="X")["isError"])
print(call("wait", seconds="long")["isError"], call("look", far=True)["isError"])
print(send(path, {**good, "temperature": 0.5})[0], tool("time")["now_s"])
"""


def test_bad_requests_are_refused_one_by_one_and_take_no_time(tmp_path: Path) -> None:
    episode = play(write_program(tmp_path, REFUSALS, model=model()), **WORLD)
    [printed] = events(episode, Printed)
    assert printed.text.splitlines() == [
        "401 401",
        "401",
        "400 400 404",
        "True True True",
        "True True",
        "200 0.1",
    ]
    topics = [event.topic for event in events(episode, Noted)]
    assert topics == ["refused-call"] * 5 + ["program"]


@pytest.mark.slow
def test_a_program_gets_no_keys_of_ours(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GEMINI_API_KEY", "secret")
    monkeypatch.setenv("HF_TOKEN", "secret")
    script = write_program(tmp_path, "print('secret' in os.environ.values(), 'PATH' in os.environ)")
    episode = play(script, **WORLD)
    assert [event.text for event in events(episode, Printed)] == ["False True\n"]
    assert os.environ["HF_TOKEN"] == "secret"


def test_a_program_without_a_model_is_told_so(tmp_path: Path) -> None:
    script = "print(send('/v1/messages', {'messages': [{'role': 'user', 'content': 'a'}]})[0])"
    episode = play(write_program(tmp_path, script), **WORLD)
    assert [event.text for event in events(episode, Printed)] == ["404\n"]


def test_the_prompt_has_the_rules_and_the_tools(tmp_path: Path) -> None:
    script = write_program(tmp_path, "print(os.environ['TIMEFUL_PROMPT'])")
    [printed] = events(play(script, **WORLD), Printed)
    for text in ("`act`", "`wait`", "## State"):
        assert text in printed.text


@pytest.mark.slow
def test_an_inbox_is_worked_on_by_rules_alone(tmp_path: Path) -> None:
    script = """
state = tool("wait")
while "email 1" not in state["view"]:
    state = tool("wait")
print(tool("act", action="handle 1")["now_s"] > state["now_s"])
tool("act", action="end")
"""
    episode = play(write_program(tmp_path, script), "inbox", interface="event-driven")
    assert [event.text for event in events(episode, Printed)] == ["True\n"]


def test_a_task_offers_its_own_tools_with_their_latency(tmp_path: Path) -> None:
    script = """
print(call("act", action="look")["isError"], tool("step", action="look")["now_s"])
print(tool("answer", text="done")["over"])
"""
    world: dict[str, Any] = {"world": "fiction", "interface": "event-driven", "latency": "2s"}
    episode = play(write_program(tmp_path, script), **world)
    assert [event.text for event in events(episode, Printed)] == ["True 2.0\nTrue\n"]


@pytest.mark.slow
def test_a_program_plays_in_wall_time(tmp_path: Path) -> None:
    script = "tool('wait', seconds=0.01); think('hello'); tool('act', action='end')"
    agent = write_program(tmp_path, script, model=model(span=milliseconds(10)))
    episode = play(agent, "inbox", interface="event-driven", clock=WallClock())
    [acted], [thought] = events(episode, Acted), events(episode, ThoughtEnded)
    assert acted.action == "end"
    assert acted.at > thought.at >= milliseconds(20)


STREAMS = """
def stream(path, body):
    connection = HTTPConnection(BASE.netloc)
    connection.request("POST", path, json.dumps({**body, "stream": True}), {"x-api-key": KEY})
    return connection, connection.getresponse()

told = {"model": "any", "messages": [{"role": "user", "content": "Which way?"}], "max_tokens": 999}
for path in ("chat/completions", "messages", "responses"):
    _, reply = stream(f"/v1/{path}", {**told, "input": "Which way?"})
    lines = reply.read().decode().splitlines()
    events = [json.loads(line[6:]) for line in lines if line.startswith("data: {")]
    deltas = [event["choices"][0]["delta"].get("content") for event in events if "choices" in event]
    deltas += [e["delta"] for e in events if e.get("type") == "response.output_text.delta"]
    deltas += [e["delta"]["text"] for e in events if e.get("type") == "content_block_delta"]
    texts = [delta for delta in deltas if delta]
    print("".join(texts) == "word " * 20, len(texts) > 1)
told["messages"][0]["content"] = "Tell me more."
connection, reply = stream("/v1/messages", told)
reply.readline()
reply.close()
connection.close()
end = tool("time")["now_s"] + 10
while (left := end - tool("time")["now_s"]) > 0:
    tool("wait", seconds=left)
tool("act", action="end")
"""


@pytest.mark.slow
def test_under_a_wall_clock_answers_are_streamed_and_a_hang_up_cancels(tmp_path: Path) -> None:
    def answer(prompt: Prompt) -> str:
        return "word " * (600 if "more" in prompt.messages[0].content else 20)

    slow = ScriptedModel(answer, pace=Pace(per_token=milliseconds(100)))
    script = write_program(tmp_path, STREAMS, model=slow)
    episode = play(script, "inbox", interface="event-driven", clock=WallClock(5))
    assert [event.text for event in events(episode, Printed)] == ["True True\n" * 3]
    states = [event.state for event in events(episode, ThoughtEnded)]
    assert states == ["completed"] * 3 + ["cancelled"]


def test_settings_that_cannot_be_are_refused_before_anything_runs() -> None:
    for command in ("", "no-such-program --at all", "python 'unclosed"):
        with pytest.raises(SettingsError):
            write_program_command(command)
    with pytest.raises(SettingsError):
        write_program_command("python", lanes=0)


def write_program_command(command: str, **options: Any) -> None:
    from timeful.agents.program.agent import program

    program(command, **options)


PARALLEL = """
schema = {"type": "object", "properties": {}}
names = ("act", "wait")
tools = [{"type": "function", "function": {"name": n, "parameters": schema}} for n in names]
state = tool("look")
while not state["over"]:
    messages = [{"role": "user", "content": state["view"]}]
    body = {"model": "any", "messages": messages, "tools": tools}
    message = send("/v1/chat/completions", body)[1]["choices"][0]["message"]
    calls = [call["function"] for call in message.get("tool_calls") or []]
    if [call["name"] for call in calls] != ["act", "wait"]:
        break
    results = {}

    def make(call):
        results[call["name"]] = tool(call["name"], **json.loads(call["arguments"]))

    threads = [threading.Thread(target=make, args=(call,)) for call in reversed(calls)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    state = results["wait"]
"""


@pytest.mark.slow
def test_tools_called_at_once_are_taken_in_the_order_of_the_answer(tmp_path: Path) -> None:
    model = SearchModel.shallow()
    at_once = play(write_program(tmp_path, PARALLEL, model=model, settle_s=0.5), **WORLD)
    in_turn = play(write_program(tmp_path, PLAYER, model=model), **WORLD)
    assert events(at_once, Acted, Turned) == events(in_turn, Acted, Turned)
    assert not events(at_once, Noted)


HOST = """
import sys
from timeful import play, program

play(program([sys.executable, "-I", "-S", sys.argv[1]]), "snake")
"""


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(os, "pidfd_open"), reason="needs Linux")
def test_a_program_ends_with_the_process_that_plays_it(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pid")
    script = tmp_path / "hang.py"
    script.write_text(
        "import os, threading\n"
        f"open({str(tmp_path / 'pid')!r}, 'w').write(str(os.getpid()))\n"
        "threading.Event().wait()\n"
    )
    host = subprocess.Popen([sys.executable, "-c", HOST, str(script)])
    child = os.pidfd_open(int((tmp_path / "pid").read_text()))
    host.kill()
    host.wait()
    ended, _, _ = select.select([child], [], [], 30)
    os.close(child)
    assert ended
