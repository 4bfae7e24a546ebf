"""`timeful run timely/...` and `timeful baseline`, as a person uses them."""

import json
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from tests.servers.fake import Body, Call, FakeServer, Hang, Say, Step
from timeful.cli.main import app
from timeful.errors import RecordError, SettingsError

REASONING = ["run", "timely/reasoning", "--case", "sums", "--size", "2", "--workers", "1"]
FICTION = ["run", "timely/fiction", "--game", "skerry", "--workers", "1", "--latency", "none"]


def run(*arguments: str) -> Result:
    return CliRunner().invoke(app, list(arguments))


def ran(*arguments: str) -> str:
    result = run(*arguments)
    assert result.exit_code == 0, f"{result.output}\n{result.exception!r}"
    return result.stdout


def refused(*arguments: str, out: Path) -> str:
    result = run(*arguments, "--out", str(out))
    assert isinstance(result.exception, SettingsError | RecordError), result.output
    assert not out.exists() or not any(out.iterdir())
    return str(result.exception)


def rows(out: Path) -> list[dict[str, Any]]:
    return [json.loads(line)["row"] for line in (out / "rows.jsonl").read_text().splitlines()]


@pytest.mark.parametrize("arguments", [REASONING, [*FICTION, "--budget", "4steps"]])
def test_a_run_prints_tables_in_80_columns_that_name_its_stand_ins(
    arguments: list[str], tmp_path: Path
) -> None:
    out = tmp_path / "run"
    lines = ran(*arguments, "--out", str(out)).splitlines()
    assert max(map(len, lines[:-4])) <= 80
    assert any(line.startswith("Table 1") for line in lines)
    assert "Stand-in: rules work on the cases; no language model was run." in lines
    assert [line.split()[0] for line in lines[-4:]] == ["report", "records", "next", "look"]
    for name in ("report.html", "results.json", "table.csv", "episodes.csv", "settings.json"):
        assert (out / name).stat().st_size > 0
    again = ran("report", str(out))
    assert again.splitlines()[:-4] == lines[:-4]
    record = next((out / "episodes").glob("*.jsonl"))
    assert "episode-started" in ran("show", str(record))


def test_a_run_goes_on_where_it_stopped_with_the_same_baselines(tmp_path: Path) -> None:
    arguments = [*FICTION, "--budget", "4steps", "--out", str(tmp_path / "run")]
    ran(*arguments)
    folders = [tmp_path / name / "episodes" for name in ("run", "run-baseline")]
    before = {p: p.stat().st_mtime_ns for folder in folders for p in folder.glob("*")}
    gone = sorted(before)[0]
    gone.unlink()
    ran(*arguments)
    assert {p for p, at in before.items() if p.stat().st_mtime_ns == at} == set(before) - {gone}
    assert "other settings" in str(run(*arguments, "--seed", "1").exception)
    ran(*arguments, "--seed", "1", "--replace")
    assert all(p.stat().st_mtime_ns != at for p, at in before.items() if p != gone)


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        ([*REASONING, "--preset", "fast"], "unknown preset 'fast'"),
        ([*REASONING, "--preset", "figure2"], "unknown preset"),
        (["run", "timely/reasoning", "--case", "sumz"], "Did you mean 'sums'"),
        (["run", "timely/fiction", "--game", "zork9"], "unknown game"),
        ([*FICTION, "--player", "haste"], "Did you mean 'hasty'"),
        ([*FICTION, "--budget", "soon"], "budget"),
        ([*FICTION, "--budget", "3@paced"], "paced"),
        ([*FICTION, "--latency", "quick"], "latency"),
        ([*FICTION, "--tool-latency", "step"], "--tool-latency"),
        ([*FICTION, "--budget", "1s", "--tool-latency", "stepp=1s"], "Did you mean 'step'"),
        ([*FICTION, "--budget", "1s", "--alpha", "0"], "alpha"),
        ([*FICTION, "--tells", "all"], "timer setting"),
        ([*FICTION, "--timer-scale", "0"], "scale of a timer"),
        ([*FICTION, "--timer-jitter", "-1"], "jitter of a timer"),
        ([*FICTION, "--calls", "native"], "has no effect"),
        (
            [
                *(*FICTION, "--model", "openai:x", "--base-url", "http://h/v1"),
                *("--baselines", "x.json", "--clock", "wall", "--pace", "/nowhere"),
            ],
            "/nowhere",
        ),
        (
            [*FICTION, "--model", "openai:x", "--base-url", "http://h/v1", "--calls", "spoken"],
            "spoken",
        ),
        ([*FICTION, "--clock", "sun"], "unknown clock"),
        ([*FICTION, "--transcripts", "some"], "unknown transcripts"),
        ([*FICTION, "--pace", "/nowhere"], "cannot be read"),
        ([*FICTION, "--runs", "0", "--budget", "1s"], "at least 1"),
        ([*FICTION, "--budget", "1s", "--workers", "0"], "at least 1"),
        ([*FICTION, "--model", "gpt"], "unknown model"),
        ([*FICTION, "--model", "openai:x"], "--base-url"),
        ([*FICTION, "--model", "replay:/nowhere"], "/nowhere"),
        ([*FICTION, "--base-url", "http://localhost:1/v1"], "has no effect"),
        ([*FICTION, "--temperature", "1"], "has no effect"),
        ([*FICTION, "--counting", "running"], "has no effect"),
        ([*FICTION, "--record", "x.jsonl"], "has no effect"),
        ([*FICTION, "--baselines", "x.json"], "has no effect"),
        ([*REASONING, "--size", "0"], "at least one problem"),
        ([*REASONING, "--split", "tests"], "Did you mean 'test'"),
        ([*REASONING, "--private"], "has no effect"),
        ([*REASONING, "--benchmark", "gpqa"], "has no effect"),
        ([*REASONING, "--fields", "question=q"], "has no effect"),
        ([*REASONING, "--unsafe"], "has no effect"),
        (["run", "timely/reasoning", "--problems", "/nowhere.jsonl"], "cannot read problems"),
        (["run", "timely/coding", "--case", "digit"], "Did you mean 'digits'"),
        (["run", "timely/coding", "--case", "leaf-classification"], "timeful prepare"),
    ],
)
def test_bad_settings_are_named_before_anything_runs(
    arguments: list[str], reason: str, tmp_path: Path
) -> None:
    assert reason in refused(*arguments, out=tmp_path / "run")


@pytest.mark.parametrize("command", ["timely", "timely/fiction"])
def test_what_the_run_would_refuse_is_refused_before_baselines_are_made(
    command: str, tmp_path: Path
) -> None:
    file = tmp_path / "mine.txt"
    file.write_text("mine")
    for arguments, reason in (
        (["--workers", "0", "--out", str(tmp_path / "run")], "at least 1, got 0"),
        (["--out", str(file)], str(file)),
    ):
        result = run("run", command, *arguments)
        assert isinstance(result.exception, SettingsError), result.output
        assert reason in str(result.exception)
    assert list(tmp_path.iterdir()) == [file]


@pytest.mark.parametrize("name", ["hasty", "careful"])
def test_every_stand_in_may_be_named_as_a_model(name: str, tmp_path: Path) -> None:
    ran(*FICTION, "--model", name, "--budget", "1s", "--out", str(tmp_path))
    assert {(row["who"], row["stand_in"]) for row in rows(tmp_path)} == {(name, True)}


# --- a language model -----------------------------------------------------------------------------


def solver(body: Body) -> Iterator[Step]:
    """Looks at the timer by a native call, and then answers."""
    if body["messages"][-1]["role"] != "tool":
        yield Say("Let me see. ")
        yield Call("get_duration", "{}", id="c1")
    else:
        yield Say("<answer>7</answer>")


def live(server: FakeServer, tmp_path: Path) -> list[str]:
    return [
        *("--model", "openai:qwen3-8b", "--base-url", server.base_url),
        *("--baselines", str(tmp_path / "b.json")),
    ]


def test_an_endpoint_needs_a_baseline_first_and_is_told_how_to_make_it(tmp_path: Path) -> None:
    with FakeServer(solver) as server:
        model = live(server, tmp_path)
        said = refused(*REASONING, *model, "--budget", "2x", out=tmp_path / "run")
        assert not server.requests
        assert said.startswith("no baseline is known for sums/sums-")
        command = said.partition("Make it with: timeful ")[2].split()
        assert command[:2] == ["baseline", "timely/reasoning"]
        lines = ran(*command, "--out", str(tmp_path / "unhurried")).splitlines()
        table = next(i for i, line in enumerate(lines) if line.startswith("Unhurried"))
        assert max(map(len, lines[table:-5])) <= 80
        assert lines[table + 2].split()[0] == "openai:qwen3-8b"
        assert lines[-5].startswith("kept     2 baselines in ")
        asked = len(server.requests)
        assert asked == 1 + 2 * 2  # a probe comes first
        out = ran(*REASONING, *model, "--budget", "2x", "--out", str(tmp_path / "run"))
        assert len(server.requests) == 2 * asked
    assert all(request.body["tools"] for request in server.requests)
    assert "Stand-in" not in out
    unhurried, hurried = (rows(tmp_path / name) for name in ("unhurried", "run"))
    assert [row["budget_ns"] for row in hurried] == [2 * row["counted_ns"] for row in unhurried]
    assert all(row["timer_calls"] == 1 and row["reason"] == "answered" for row in hurried)
    first = server.requests[1].body["messages"]
    later = server.requests[asked + 1].body["messages"]
    assert "Finish within" not in json.dumps(first)
    assert "Finish within" in json.dumps(later)
    messages = next((tmp_path / "run" / "episodes").glob("*"))
    assert "get_duration" in ran("show", str(messages), "--messages", "2")


def test_the_command_that_makes_a_baseline_works_as_it_stands_run_after_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with FakeServer(solver) as server:
        for alpha in ("1", "2"):
            asked = [*REASONING, *live(server, tmp_path), "--budget", "2x", "--alpha", alpha]
            said = refused(*asked, out=Path(alpha))
            ran(*shlex.split(said.partition("Make it with: timeful ")[2]))
            ran(*asked, "--out", alpha)


def test_what_a_model_does_wrong_with_calls_is_counted_and_not_fatal(tmp_path: Path) -> None:
    script = [
        [Say("ready")],  # to the probe
        [Call("get_duration", '{"unit": "s"}', id="c1")],
        [Call("get_time", "{}", id="c2")],
        [Call("get_duration", "{", id="c3")],
        [Say("<answer>7</answer>")],
    ]
    with FakeServer(lambda body: script.pop(0)) as server:
        out = ran(
            *("run", "timely/reasoning", "--case", "sums", "--size", "1", "--workers", "1"),
            *(*live(server, tmp_path), "--budget", "60s", "--out", str(tmp_path / "run")),
        )
    [row] = rows(tmp_path / "run")
    assert (row["bad_calls"], row["timer_calls"], row["rounds"]) == (3, 0, 4)
    assert row["reason"] == "answered"
    assert "Unusable calls: 100 % (3 of 3)" in out


def test_in_wall_time_a_server_that_stalls_is_cut_at_the_deadline(tmp_path: Path) -> None:
    def stall(body: Body) -> list[Step]:
        is_probe = body["messages"][-1]["content"].endswith("ready")
        return [Say("ready")] if is_probe else [Say("Well, "), Hang()]

    with FakeServer(stall) as server:
        ran(
            *("run", "timely/reasoning", "--case", "sums", "--size", "1", "--clock", "wall"),
            *(*live(server, tmp_path), "--budget", "0.3s", "--out", str(tmp_path / "run")),
        )
    [row] = rows(tmp_path / "run")
    assert (row["reason"], row["counted_ns"], row["correct"]) == ("deadline", 300_000_000, False)


def test_a_recorded_run_is_replayed_for_nothing_baselines_included(tmp_path: Path) -> None:
    tape = str(tmp_path / "tape.jsonl")
    few = ["--case", "sums", "--size", "2", "--workers", "1"]
    with FakeServer(solver) as server:
        model = [*live(server, tmp_path), "--record", tape]
        ran("baseline", "timely/reasoning", *few, *model, "--out", str(tmp_path / "unhurried"))
        ran(*REASONING, *model, "--budget", "2x", "--out", str(tmp_path / "run"))
    ran(
        *(*REASONING, "--model", f"replay:{tape}", "--budget", "2x"),
        *("--out", str(tmp_path / "again")),
    )
    kept = ("budget_ns", "counted_ns", "value", "rounds", "tokens")
    first, second = (
        [[row[name] for name in kept] for row in rows(tmp_path / name)] for name in ("run", "again")
    )
    assert first == second


def test_private_problems_are_neither_recorded_nor_put_on_a_cassette(tmp_path: Path) -> None:
    path = tmp_path / "p.jsonl"
    path.write_text('{"q": "What is left of the zebra?", "a": "7", "id": "z"}\n')
    own = ["--problems", str(path), "--fields", "question=q", "--fields", "answer=a", "--private"]
    with FakeServer(solver) as server:
        model = [*live(server, tmp_path), "--budget", "60s"]
        said = refused(
            *("run", "timely/reasoning", *own, *model, "--record", str(tmp_path / "tape")),
            out=tmp_path / "run",
        )
        assert "no --record" in said
        ran("run", "timely/reasoning", *own, *model, "--out", str(tmp_path / "run"))
    for file in (tmp_path / "run").rglob("*"):
        assert not file.is_file() or "zebra" not in file.read_text(), file
    [row] = rows(tmp_path / "run")
    assert row["correct"] is True


# --- all of it ------------------------------------------------------------------------------------


COPY = "import shutil; shutil.copy('data/public/sample_submission.csv', 'submission.csv')"


def coder(body: Body) -> Iterator[Step]:
    """Hands in the sample, and is content."""
    if body["messages"][-1]["role"] == "tool":
        yield Say("<accuracy>?</accuracy>")
    else:
        yield Call("execute_code_and_get_duration", json.dumps({"code": COPY}), id="c1")


@pytest.mark.slow
def test_machine_learning_runs_in_a_sandbox_that_is_told_and_written_down(tmp_path: Path) -> None:
    pytest.importorskip("sklearn")
    out = tmp_path / "run"
    with FakeServer(coder) as server:
        result = run(
            *("run", "timely/coding", "--case", "iris", "--player", "one-shot", "--workers", "1"),
            *("--budget", "60s", *live(server, tmp_path), "--out", str(out)),
        )
    if "cannot be confined" in str(result.exception):
        pytest.skip(str(result.exception))
    assert result.exit_code == 0, f"{result.output}\n{result.exception!r}"
    assert "Stand-ins, no language models: one-shot." in result.stdout
    settings = json.loads((out / "settings.json").read_text())
    assert settings["sandbox"] in ("bubblewrap", "landlock")
    assert f"Sandbox of programs: {settings['sandbox']}" in result.stdout
    ready, model = rows(out)
    for row in (ready, model):
        assert (row["status"], row["reason"], row["metric_name"]) == ("ok", "answered", "accuracy")
        assert (row["calls"], row["valid_runs"], row["bad_calls"]) == (1, 1, 0)
        assert 0 < row["tool_ns"] < row["counted_ns"] < 60_000_000_000
    assert model["value"] < ready["value"] == ready["reward_accuracy"] <= 1
