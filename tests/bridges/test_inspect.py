"""Suites as tasks of Inspect, with the real Inspect; `make peers` runs these tests."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("inspect_ai", reason="Inspect is not installed here: make peers")

from click.testing import CliRunner
from inspect_ai import Task, eval  # noqa: A004
from inspect_ai.analysis import samples_df
from inspect_ai.event import InfoEvent, ModelEvent
from inspect_ai.log import EvalLog, read_eval_log
from inspect_ai.model import Model, get_model

from tests.servers.fake import (
    Answer,
    Body,
    FakeServer,
    Hang,
    Say,
    Script,
    Status,
    Step,
    Usage,
    Wait,
)
from timeful import evaluate
from timeful.bridges.inspect.tasks import make_task
from timeful.cli.main import app
from timeful.errors import SettingsError
from timeful.models.calibrate import load_calibration
from timeful.models.traffic import Limits


def run(task: Task | str, model: Model | str, folder: Path, **options: Any) -> EvalLog:
    [log] = eval(task, model=model, log_dir=str(folder), display="none", **options)
    return log


def connect(server: FakeServer) -> Model:
    return get_model("openai-api/local/fake", base_url=server.base_url, api_key="key-of-a-test")


class FullAnswer(Answer):
    """An answer with the fields that the client of Inspect insists on."""

    def _event(self, event: dict[str, object]) -> None:
        super()._event({"model": "fake", "created": 0, "object": "chat.completion.chunk"} | event)


def serve(script: Script) -> FakeServer:
    return FakeServer(script, dialect=FullAnswer, answers_probes=True)


def answer(body: Body) -> Iterator[Step]:
    yield Say("I go ")
    yield Say("up.\n")
    yield Say("\\boxed{U}")
    yield Usage(400, total=407)


def hashes(log: EvalLog) -> list[str]:
    assert log.samples is not None
    infos = [
        [event.data for event in sample.events if isinstance(event, InfoEvent)]
        for sample in log.samples
    ]
    return [next(data["sha256"] for data in reversed(events)) for events in infos]


def test_stand_ins_score_as_a_run_does_without_a_network(tmp_path: Path) -> None:
    log = run("timeful/freeway", "timeful/search", tmp_path, task_args={"seeds": 2})
    assert log.status == "success"
    results = evaluate(
        "agile", "realtime", out=tmp_path / "run", workers=1, game="freeway",
        difficulty=["medium"], game_seed=range(2), step=[8192], sample=[0],
    )  # fmt: skip
    assert log.samples is not None
    scores = [sample.scores["outcome"].value for sample in log.samples if sample.scores]
    assert [value["score"] for value in scores if isinstance(value, dict)] == [
        row["score"] for row in results.rows
    ]
    assert hashes(log) == [row["sha256"] for row in results.rows]


@pytest.mark.parametrize(
    ("name", "model", "options"),
    [
        ("snake", "search", {"seeds": 1, "agent": "reactive", "step": 4096}),
        ("overcooked", "search", {"seeds": 1, "agent": "reactive", "interface": "frozen"}),
        ("inbox", "rules", {"seeds": 1, "interface": "polling"}),
        ("kitchen", "rules", {"cases": 1}),
        ("reasoning", "paced", {"size": 3, "budget": "20s"}),
        ("fiction", "hasty", {"budget": "30s"}),
    ],
)
def test_each_task_runs_with_its_stand_in(
    name: str, model: str, options: dict[str, Any], tmp_path: Path
) -> None:
    log = run(f"timeful/{name}", f"timeful/{model}", tmp_path, task_args=options)
    assert log.status == "success", log.error
    assert log.results is not None
    assert {metric.name for metric in log.results.scores} >= {"score"}


def test_a_model_of_inspect_leaves_the_record_of_a_run(tmp_path: Path) -> None:
    with serve(answer) as server:
        options = {"seeds": 1, "difficulty": "easy", "agent": "reactive"}
        log = run("timeful/freeway", connect(server), tmp_path, task_args=options)
        assert log.status == "success", log.error
        count = len(server.work)
        results = evaluate(
            "reactive", "realtime", out=tmp_path / "run", workers=1, game="freeway",
            difficulty=["easy"], game_seed=[0], step=[8192], sample=[0],
            reactor=_spec(server), api_key="key-of-a-test",
        )  # fmt: skip
    assert len(server.work) == 2 * count
    assert hashes(log) == [row["sha256"] for row in results.rows]
    assert log.samples is not None
    events = [event for event in log.samples[0].events if isinstance(event, ModelEvent)]
    assert len(events) == count


def _spec(server: FakeServer) -> Any:
    from timeful.models.model_spec import ModelSpec

    return ModelSpec(spec="openai:fake", base_url=server.base_url)


def test_roles_get_their_own_models(tmp_path: Path) -> None:
    with serve(answer) as reactor, serve([Say("1. U"), Usage(5000, total=5007)]) as planner:
        options = {"seeds": 1, "difficulty": "easy", "agent": "agile"}
        log = run(
            "timeful/freeway", connect(reactor), tmp_path, task_args=options,
            model_roles={"planner": connect(planner)},
        )  # fmt: skip
    assert log.status == "success", log.error
    assert planner.requests
    assert reactor.requests


def test_an_epoch_is_a_seed_of_sampling(tmp_path: Path) -> None:
    options = {"seeds": 1, "agent": "reactive"}
    log = run("timeful/snake", "timeful/search", tmp_path, task_args=options, epochs=2)
    assert log.samples is not None
    starts = [
        next(e.data for e in sample.events if isinstance(e, InfoEvent)) for sample in log.samples
    ]
    assert [start["settings"]["episode"]["sample"] for start in starts] == [0, 1]
    assert log.samples[0].id == log.samples[1].id


@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("freeway", {"dificulty": "easy"}),
        ("freeway", {"difficulty": "harder"}),
        ("freeway", {"seeds": 1000}),
        ("freeway", {"seeds": "two"}),
        ("freeway", {"clock": "wall"}),
        ("reasoning", {"budget": "0.75x"}),
    ],
)
def test_bad_options_are_refused_before_the_first_sample(
    name: str, options: dict[str, Any]
) -> None:
    with pytest.raises(SettingsError):
        make_task(name, options)


def test_an_unknown_stand_in_is_refused_before_the_first_sample(tmp_path: Path) -> None:
    with pytest.raises(SettingsError):
        run("timeful/inbox", "timeful/serch", tmp_path)


def test_a_failing_sample_ends_the_evaluation(tmp_path: Path) -> None:
    def script(body: Body) -> Iterator[Step]:
        if body["seed"] % 7 == 0:
            yield Status(400, "no such thing")
        else:
            yield from answer(body)

    began = time.monotonic()
    with serve(script) as server:
        options = {"seeds": 8, "difficulty": "easy", "agent": "reactive"}
        log = run("timeful/freeway", connect(server), tmp_path, task_args=options)
    assert log.status == "error"
    assert time.monotonic() - began < 30


def test_a_limit_of_tokens_ends_a_sample_without_an_error(tmp_path: Path) -> None:
    with serve(answer) as server:
        options = {"seeds": 1, "difficulty": "easy", "agent": "reactive"}
        log = run("timeful/freeway", connect(server), tmp_path, task_args=options, token_limit=2000)
    assert log.status == "success", log.error
    assert log.samples is not None
    assert log.samples[0].limit is not None
    assert log.samples[0].limit.type == "token"


def test_a_limit_of_time_ends_a_sample_that_waits_for_its_model(tmp_path: Path) -> None:
    began = time.monotonic()
    with serve([Say("well "), Hang()]) as server:
        options = {"seeds": 1, "difficulty": "easy", "agent": "agile"}
        log = run("timeful/freeway", connect(server), tmp_path, task_args=options, time_limit=2)
    assert time.monotonic() - began < 20
    assert log.samples is not None
    assert log.samples[0].limit is not None
    assert log.samples[0].limit.type == "time"


@pytest.mark.parametrize("hangs", [True, False])
def test_ctrl_c_ends_an_evaluation(hangs: bool, tmp_path: Path) -> None:
    with serve([Say("well "), Hang()]) as server:
        model = "openai-api/local/fake" if hangs else "timeful/search"
        environment = {**os.environ, "LOCAL_BASE_URL": server.base_url, "LOCAL_API_KEY": "key"}
        process = subprocess.Popen(
            [
                *(sys.executable, "-m", "inspect_ai", "eval", "timeful/snake", "--model", model),
                *("--display", "plain", "-T", "difficulty=hard", "--log-dir", str(tmp_path)),
            ],
            env=environment,
            stdout=subprocess.DEVNULL,
        )
        while not (server.requests if hangs else [*tmp_path.glob("*.eval")]):
            assert process.poll() is None
            time.sleep(0.05)
        process.send_signal(signal.SIGINT)
        process.wait(20)  # less than 5 s on a quiet machine
    assert [read_eval_log(str(path)).status for path in tmp_path.glob("*.eval")] == ["cancelled"]


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run of snake on an endpoint, with one failed episode."""
    folder = tmp_path_factory.mktemp("finished") / "run"

    def script(body: Body) -> Iterator[Step]:
        if script.count > 60:  # type: ignore[attr-defined]
            yield Status(400, "no more")
        script.count += 1  # type: ignore[attr-defined]
        yield from answer(body)

    script.count = 0  # type: ignore[attr-defined]
    with serve(script) as server:
        evaluate(
            "reactive", "realtime", out=folder, workers=1, game="snake", difficulty=["easy"],
            step=[8192], game_seed=[0, 1, 2], sample=[0], reactor=_spec(server),
            api_key="key-of-a-test", limits=Limits(connections=1),
        )  # fmt: skip
    return folder


def test_an_exported_run_is_read_by_inspect(finished: Path, tmp_path: Path) -> None:
    out = tmp_path / "run.eval"
    result = CliRunner().invoke(
        app, ["export", str(finished), "--as", "inspect", "--out", str(out)]
    )
    assert result.exit_code == 0, result.output
    log = read_eval_log(str(out))
    assert log.samples is not None
    rows = [json.loads(line)["row"] for line in (finished / "rows.jsonl").read_text().splitlines()]
    by_hash = {sample.metadata["sha256"]: sample for sample in log.samples}
    assert set(by_hash) == {row["sha256"] for row in rows}
    for row in rows:
        sample = by_hash[row["sha256"]]
        assert (sample.error is not None) == (row["status"] == "failed")
        if row["status"] == "ok":
            assert sample.scores is not None
            assert sample.scores["outcome"].value["score"] == row["score"]  # type: ignore[index]
            tokens = sum(usage.output_tokens for usage in sample.model_usage.values())
            assert tokens == row["tokens"]
    assert log.status == ("error" if any(r["status"] == "failed" for r in rows) else "success")
    frame = samples_df(str(out))
    assert len(frame) == len(rows)
    command = [sys.executable, "-m", "inspect_ai", "log", "dump", str(out)]
    dump = subprocess.run(command, capture_output=True, check=True)
    assert json.loads(dump.stdout)["eval"]["task"] == "realtime"


def test_an_export_refuses_other_names_and_existing_files(finished: Path, tmp_path: Path) -> None:
    arguments = ["export", str(finished), "--as", "inspect", "--out"]
    assert isinstance(
        CliRunner().invoke(app, [*arguments, str(tmp_path / "run.txt")]).exception, SettingsError
    )
    out = tmp_path / "run.eval"
    out.write_text("mine")
    assert isinstance(CliRunner().invoke(app, [*arguments, str(out)]).exception, SettingsError)
    assert out.read_text() == "mine"


def test_a_pace_is_fitted_from_a_log(tmp_path: Path) -> None:
    def script(body: Body) -> Iterator[Step]:
        count = 3 + len(script_calls) % 4 * 5
        script_calls.append(count)
        for _ in range(count):
            yield Wait(20)
            yield Say("U ")
        yield Usage(count, total=count + 7)

    script_calls: list[int] = []
    with serve(script) as server:
        options = {"seeds": 1, "difficulty": "easy", "agent": "reactive"}
        log = run(
            "timeful/freeway", connect(server), tmp_path, task_args=options, message_limit=None,
            time_limit=8,
        )  # fmt: skip
    out = tmp_path / "pace.json"
    result = CliRunner().invoke(app, ["calibrate", "--from", log.location, "--out", str(out)])
    assert result.exit_code == 0, result.output
    assert load_calibration(out).alpha_s_per_token == pytest.approx(0.02, rel=0.15)


def test_a_log_without_answers_is_refused(tmp_path: Path) -> None:
    log = run("timeful/freeway", "timeful/search", tmp_path, task_args={"seeds": 1})
    result = CliRunner().invoke(app, ["calibrate", "--from", log.location])
    assert isinstance(result.exception, SettingsError)
