"""Episodes in verifiers, with the released package; `make peers` runs these tests."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("timeful_verifiers", reason="verifiers is not installed here: make peers")

from pydantic import ValidationError
from timeful_verifiers import TimedTaskset

from tests.servers.fake import Answer, Body, FakeServer, Hang, Say, Script, Status, Step, Usage
from timeful.bridges.episodes import TaskEpisodes
from timeful.experiments.run import play_planned
from timeful.models.chat import OpenAIModel
from timeful.models.role import replace_models
from timeful.models.timed_logs import read_timings
from timeful.records.recorder import Recorder

OPTIONS = {"seeds": 4, "difficulty": "easy", "agent": "reactive"}


class FullAnswer(Answer):
    """An answer with all fields of the API."""

    def _event(self, event: dict[str, object]) -> None:
        super()._event({"model": "fake", "created": 0, "object": "chat.completion.chunk"} | event)


def serve(script: Script) -> FakeServer:
    return FakeServer(script, dialect=FullAnswer)


def answer(body: Body) -> Iterator[Step]:
    yield Say("I go up.\n")
    yield Say("\\boxed{U}")
    yield Usage(400, total=407)


def call(tool: str, *arguments: str, folder: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [str(Path(sys.executable).with_name(tool)), *arguments],
        cwd=folder,
        env={**os.environ, "OPENAI_API_KEY": "key", "PRIME_API_KEY": "key"},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
        timeout=200,
    )


def settings(server: FakeServer, folder: Path, **options: Any) -> list[str]:
    return [
        *("timeful-verifiers", "--env.taskset.suite", "freeway"),
        *("--env.taskset.options", json.dumps({**OPTIONS, **options})),
        *("--env.agent.harness.id", "timeful-verifiers", "--env.agent.runtime.type", "subprocess"),
        *("--no-push", "-m", "fake", "--client.base-url", server.base_url, "-o", str(folder)),
    ]


def read_traces(folder: Path) -> list[dict[str, Any]]:
    [path] = folder.rglob("traces.jsonl")
    episodes = map(json.loads, path.read_text().splitlines())
    return [trace for episode in episodes for trace in episode["traces"]]


def test_rollouts_have_the_records_of_the_same_episodes_of_a_suite(tmp_path: Path) -> None:
    with serve(answer) as server:
        run = call("vf-eval", *settings(server, tmp_path), "-r", "2", folder=tmp_path)
        assert run.returncode == 0, run.stdout + run.stderr
        assert len(server.requests) == 8 * 100
        traces = read_traces(tmp_path)
        assert len(traces) == 8
        for trace in traces[:2]:
            info = trace["info"]["timeful"]
            assert info["sha256"] == _play(server, trace)
            assert trace["metrics"]["score"] == info["scores"]["score"]
            assert trace["rewards"]["reward"]["score"] == info["scores"]["normalised"]
            assert len(trace["calls"]) == 100
        samples = {t["info"]["timeful"]["settings"]["episode"]["sample"] for t in traces}
        assert len(samples) == 8
        [log] = tmp_path.rglob("traces.jsonl")
        assert {len(timings) for timings in read_timings(log).values()} == {800}
        [config] = tmp_path.rglob("eval.json")
        again = call("vf-eval", "@", str(config), "--resume", folder=tmp_path)
        assert again.returncode == 0, again.stdout + again.stderr


def _play(server: FakeServer, trace: dict[str, Any]) -> str:
    """The hash of the record of the same episode, without verifiers."""
    episodes = TaskEpisodes("freeway", OPTIONS)
    first = episodes.plan({"model": "openai:fake"})[trace["task"]["data"]["number"]]
    sample = trace["info"]["timeful"]["settings"]["episode"]["sample"]

    def connect(_: str, spec: Any) -> Any:
        client = partial(OpenAIModel, model="fake", base_url=server.base_url)
        return replace(spec, client=lambda pace: client(pace=pace))

    step = episodes.repeat(first, sample)
    step = replace(step, episode=replace_models(step.episode, connect))
    recorder = Recorder()
    play_planned(step, recorder, play=episodes.suite.play, api_key="")
    return recorder.sha256


def test_a_failed_episode_is_an_error_of_its_rollout(tmp_path: Path) -> None:
    with serve(lambda body: [Status(400, "no such thing")]) as server:
        call("vf-eval", *settings(server, tmp_path, seeds=1), folder=tmp_path)
    [trace] = read_traces(tmp_path)
    assert not trace["ok"]
    assert trace["errors"]


def test_a_limit_of_time_ends_the_thoughts_of_a_rollout(tmp_path: Path) -> None:
    with serve([Say("well "), Hang()]) as server:
        limit = ("--env.agent.timeout.rollout", "2")
        call("vf-eval", *settings(server, tmp_path, seeds=1), *limit, folder=tmp_path)
        assert server.requests
        assert all(request.hung_up.wait(10) for request in server.requests)


def test_the_tasks_are_valid(tmp_path: Path) -> None:
    arguments = ["timeful-verifiers", "--taskset.suite", "inbox", "--taskset.options"]
    run = call("vf-validate", *arguments, json.dumps({"seeds": 2}), folder=tmp_path)
    assert run.returncode == 0, run.stdout + run.stderr


@pytest.mark.parametrize(
    "changes",
    [{"suite": "snakes"}, {"options": {"dificulty": "easy"}}, {"options": {"seeds": -1}}],
)
def test_bad_settings_are_an_error_of_the_configuration(changes: dict[str, Any]) -> None:
    from timeful_verifiers import TimedConfig

    with pytest.raises(ValidationError):
        TimedConfig(**changes)
    assert TimedTaskset(TimedConfig(suite="inbox", options={"seeds": 2})).bounded
