"""Traces from an endpoint: side by side, killed and continued, checked by rules and a judge."""

import json
import re
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from threading import Event

import pytest

pytest.importorskip("openai")

from tests.servers.fake import Body, Call, FakeServer, Hang, Say, Status, Step, Think
from tests.training.data.making import rows_of, saved, timeful
from timeful.environments.reasoning.problems import load
from timeful.errors import SettingsError

CALL = '<tool_call>{"name": "get_duration", "arguments": {}}</tool_call>'
N = 4
SPLITS = ("train.jsonl", "validation.jsonl", "test.jsonl", "rejected.jsonl")

ANSWERS = {problem.question: problem.answer for problem in load("sums", size=N, seed=0)}


def config(server: FakeServer, *, judge: bool = False, **also: object) -> str:
    at = f'model = "fake"\nbase_url = "{server.base_url}"\n'
    top = "".join(f"{name} = {json.dumps(value)}\n" for name, value in also.items())
    return (
        f'source = "teacher"\n{top}[problems]\nsets = ["sums"]\nsize = {N}\n'
        f'[time]\nbudget = ["20s", "30s"]\n[teacher]\n{at}'
        "[splits]\ntrain = 0.4\nvalidation = 0.3\ntest = 0.3\n"
        + (f"[judge]\n{at}max_tokens = 50\n" if judge else "")
    )


def is_judge(body: Body) -> bool:
    return "THE RIGHT ANSWER" in body["messages"][-1]["content"]


def right(body: Body) -> str:
    question: str = body["messages"][1]["content"].partition("\n")[0]
    return ANSWERS[question]


def readings(body: Body) -> list[str]:
    text = "\n".join(one["content"] for one in body["messages"])
    return re.findall(r"<tool_response>\n([0-9.]+) seconds", text)


def solving(answer: Callable[[Body], str] = right) -> Callable[[Body], Iterator[Step]]:
    """A teacher that asks the timer once, and then answers."""

    def script(body: Body) -> Iterator[Step]:
        read = readings(body)
        if not read:
            yield Say(f"I add up.\n{CALL}", tokens=40)
        else:
            yield Say(f"<conclusion>total duration: {read[-1]} seconds</conclusion>\n", tokens=5)
            yield Say(f"<answer>{answer(body)}</answer>", tokens=12)

    return script


def traces(folder: Path, *options: object, workers: int = 1) -> tuple[int, str]:
    command = ["traces", folder / "traces.toml", "--out", folder / "out", "--workers", workers]
    found = timeful(*command, *options, env={"OPENAI_API_KEY": "sk-private-77"})
    if found.exception is not None and not isinstance(found.exception, SystemExit):
        raise found.exception
    return found.exit_code, found.output


def test_what_a_teacher_solves_in_time_becomes_data(tmp_path: Path) -> None:
    with FakeServer(solving()) as server:
        saved(
            tmp_path,
            config(server, judge=True).replace("[splits]", "extra = {top_k = 20}\n[splits]"),
        )
        code, output = traces(tmp_path)
        assert code == 0, output
        assert len(server.work) == 2 * N, "no judge is asked about right answers"
        assert {one.body["top_k"] for one in server.work} == {20}
        assert all("sk-private-77" in one.headers["authorization"] for one in server.requests)
    rows = [row for name in SPLITS[:3] for row in rows_of(tmp_path / "out" / name)]
    assert len(rows) == N
    for row in rows:
        assert [one["role"] for one in row["messages"]] == [
            "system",
            "user",
            "assistant",
            "user",
            "assistant",
        ]
        assert row["model"] == "fake"
        assert row["tokens"] == 52
    for path in (tmp_path / "out").rglob("*"):
        assert path.is_dir() or b"sk-private-77" not in path.read_bytes()


def test_what_a_teacher_thought_stands_before_what_it_said(tmp_path: Path) -> None:
    def script(body: Body) -> Iterator[Step]:
        yield Think("let me see")
        yield from solving()(body)

    with FakeServer(script) as server:
        saved(tmp_path, config(server))
        assert traces(tmp_path)[0] == 0
    row = rows_of(tmp_path / "out" / "train.jsonl")[0]
    said = [one["content"] for one in row["messages"] if one["role"] == "assistant"]
    assert len(said) == 2
    assert all(text.startswith("<think>\nlet me see\n</think>\n\n") for text in said)


def hasty(body: Body) -> Iterator[Step]:
    """It never asks the timer."""
    yield Say(f"<answer>{right(body)}</answer>")


def liar(body: Body) -> Iterator[Step]:
    """It claims another duration."""
    words = f"<conclusion>total duration: 19 seconds</conclusion><answer>{right(body)}</answer>"
    yield Say(words if readings(body) else CALL)


def slow(body: Body) -> Iterator[Step]:
    if readings(body):
        yield Say("and so on, ", tokens=100_000)
    yield from solving()(body)


@pytest.mark.parametrize(("script", "rule"), [(hasty, "calls"), (liar, "times"), (slow, "late")])
def test_a_trace_that_breaks_a_rule_is_rejected_and_counted(
    tmp_path: Path, script: Callable[[Body], Iterator[Step]], rule: str
) -> None:
    with FakeServer(script) as server:
        saved(tmp_path, config(server, judge=True))
        code, output = traces(tmp_path)
        assert code == 0, output
        assert not any(is_judge(request.body) for request in server.requests)
    out = tmp_path / "out"
    assert [row["rule"] for row in rows_of(out / "rejected.jsonl")] == [rule] * N
    assert all(not (out / split).read_bytes() for split in SPLITS[:3])
    assert f"| {rule} | {N} |" in (out / "README.md").read_text()


# --- the judge -----------------------------------------------------------------------------------


def spelled(body: Body) -> str:
    return f"the number {right(body)}, I think"


def judging(votes: list[str]) -> Callable[[Body], Iterator[Step]]:
    """A teacher whose answers no rule can read, and a judge with these votes, in turn."""
    count: dict[str, int] = {}

    def script(body: Body) -> Iterator[Step]:
        if not is_judge(body):
            yield from solving(spelled)(body)
            return
        asked = body["messages"][-1]["content"]
        number = count[asked] = count.get(asked, 0) + 1
        yield Say(f"They agree? <answer>{votes[(number - 1) % len(votes)]}</answer>")

    return script


@pytest.mark.parametrize(
    ("votes", "asked", "kept"),
    [
        (["yes", "yes", "yes"], 3, N),
        (["yes", "yes", "no"], 3, 0),
        (["no"], 1, 0),
        (["yes</answer>, but no: <answer> No "], 1, 0),  # the last word counts
    ],
)
def test_a_judge_must_say_yes_three_times(
    tmp_path: Path, votes: list[str], asked: int, kept: int
) -> None:
    with FakeServer(judging(votes)) as server:
        saved(tmp_path, config(server, judge=True))
        code, output = traces(tmp_path)
        assert code == 0, output
        judged = [one.body for one in server.requests if is_judge(one.body)]
    assert len(judged) == asked * N
    assert len({body["seed"] for body in judged}) == len(judged), "each vote has luck of its own"
    found = {name: rows_of(tmp_path / "out" / name) for name in SPLITS[:3]}
    assert sum(map(len, found.values())) == kept
    assert all(f"{row['split']}.jsonl" == name for name, rows in found.items() for row in rows)
    assert not kept or sum(map(bool, found.values())) > 1, "else all of this were true of one file"
    assert f"judged     {N} {'right' if kept else 'wrong'}" in output


def test_a_verdict_is_on_the_words_that_were_judged(tmp_path: Path) -> None:
    """An answer that is another one by now is judged anew, under the same name."""
    is_second = Event()

    def script(body: Body) -> Iterator[Step]:
        if is_judge(body):
            verdict = "yes" if "and that is sure" in body["messages"][-1]["content"] else "no"
            yield Say(f"<answer>{verdict}</answer>")
        else:
            sure = ", and that is sure" if is_second.is_set() else ""
            yield from solving(lambda body: spelled(body) + sure)(body)

    with FakeServer(script) as server:
        saved(tmp_path, config(server, judge=True))
        assert f"judged     {N} wrong" in traces(tmp_path)[1]
        is_second.set()
        for path in (tmp_path / "out" / "episodes").iterdir():
            path.unlink()
        (tmp_path / "out" / "rows.jsonl").unlink()
        assert f"judged     {N} right" in traces(tmp_path)[1]


def test_a_judge_without_a_verdict_is_a_failure_that_is_listed_and_asked_again(
    tmp_path: Path,
) -> None:
    is_well = Event()

    def script(body: Body) -> Iterator[Step]:
        if is_judge(body) and not is_well.is_set():
            yield Say("hard to say")
        else:
            yield from judging(["yes"])(body)

    with FakeServer(script) as server:
        saved(tmp_path, config(server, judge=True))
        code, output = traces(tmp_path)
        assert code == 1
        assert f"judged     {N} no verdict" in output
        assert "it must end with <answer>yes</answer>" in output
        asked = len(server.work)
        assert asked == N * (2 + 3), "three tries of the first vote"
        is_well.set()
        assert traces(tmp_path)[0] == 1
        assert len(server.work) == asked, "what failed is kept, too"
        code, output = traces(tmp_path, "--retry-failed")
        assert code == 0, output
        assert len(server.work) == asked + 3 * N, "no problem is solved again"
    assert f"judged     {N} right" in output


def test_calls_by_the_api_become_words_without_the_endpoints_ids(tmp_path: Path) -> None:
    def script(body: Body) -> Iterator[Step]:
        if len(body["messages"]) == 2:
            yield Say("Let me look.")
            yield Call("get_duration", "{}", "abc123456")
        else:
            yield Say("<answer>4</answer>")

    with FakeServer(script) as server:
        found = timeful(
            *("run", "timely/reasoning", "--model", "openai:fake", "--base-url", server.base_url),
            *("--case", "sums", "--size", 1, "--budget", "20s", "--out", tmp_path / "run"),
            *("--workers", 1),
        )
    assert found.exit_code == 0, found.output
    found = timeful("export", tmp_path / "run", "--as", "sft", "--out", tmp_path / "x.jsonl")
    assert found.exit_code == 0, found.output
    [row] = rows_of(tmp_path / "x.jsonl")
    assert row["messages"][2:] == [
        {"role": "assistant", "content": f"Let me look.{CALL}"},
        {"role": "user", "content": row["messages"][3]["content"]},
        {"role": "assistant", "content": "<answer>4</answer>"},
    ]
    assert row["messages"][3]["content"].startswith("<tool_response>\n0.0")
    [tool] = json.loads(row["tools"])
    assert tool["function"]["name"] == "get_duration"


def test_a_run_that_was_played_already_is_judged_without_playing(tmp_path: Path) -> None:
    with FakeServer(judging(["yes"])) as server:
        found = timeful(
            *("run", "timely/reasoning", "--model", "openai:fake", "--base-url", server.base_url),
            *("--case", "sums", "--size", N, "--budget", "20s", "--calls", "text"),
            *("--out", tmp_path / "run", "--workers", 1),
        )
        assert found.exit_code == 0, found.output
        played = len(server.work)
        at = f'model = "fake"\nbase_url = "{server.base_url}"\n'
        saved(tmp_path, f'records = "run"\n[judge]\n{at}')
        code, output = traces(tmp_path)
        assert code == 0, output
        assert len(server.work) == played + 3 * N
        sent = len(server.requests)
        assert traces(tmp_path)[0] == 0
        assert len(server.requests) == sent, "what was judged is kept"
    rows = [row for name in SPLITS[:3] for row in rows_of(tmp_path / "out" / name)]
    assert len(rows) == N
    assert not (tmp_path / "out" / "episodes").exists()


def read_judge(output: str) -> list[str]:
    """The row of the judge in an estimate."""
    [row] = [line.split() for line in output.splitlines() if "  judge  " in line]
    return row


def test_an_estimate_has_the_judge(tmp_path: Path) -> None:
    price = ("--price", "1,2")
    with FakeServer(judging(["yes"])) as server:
        saved(tmp_path, config(server, judge=True))
        code, output = traces(tmp_path, "--dry-run", *price)
        assert (code, len(server.requests)) == (0, 0)
        assert read_judge(output)[:3] == ["fake", "judge", str(3 * N)], "each answer may be wrong"
        assert max(map(len, output.splitlines())) <= 80
        assert not (tmp_path / "out").exists()
        assert traces(tmp_path)[0] == 0
        code, output = traces(tmp_path, "--dry-run", *price)
        assert "judge" not in output, "each answer has its verdict"
        again = config(server, judge=True).replace("max_tokens = 50", "max_tokens = 50\nvotes = 2")
        saved(tmp_path, again)
        code, output = traces(tmp_path, "--dry-run", *price)
        assert read_judge(output)[:3] == ["fake", "judge", str(2 * N)], "another judge"


def test_an_estimate_for_a_run_that_exists_counts_its_wrong_answers(tmp_path: Path) -> None:
    with FakeServer(judging(["yes"])) as server:
        saved(tmp_path, config(server))
        assert traces(tmp_path)[0] == 0
        sent = len(server.requests)
        at = f'model = "fake"\nbase_url = "{server.base_url}"\n'
        saved(tmp_path / "new", f'records = "../out"\n[judge]\n{at}')
        code, output = traces(tmp_path / "new", "--dry-run")
        assert (code, len(server.requests)) == (0, sent)
        assert read_judge(output)[:3] == ["fake", "judge", str(3 * N)]
        saved(tmp_path / "new", 'records = "../out"\n')
        with pytest.raises(SettingsError, match="--dry-run"):
            traces(tmp_path / "new", "--dry-run")


def test_the_key_of_a_judge_is_checked_before_a_run_is_judged(tmp_path: Path) -> None:
    with FakeServer(judging(["yes"])) as server:
        saved(tmp_path, config(server))
        assert traces(tmp_path)[0] == 0
    at = 'model = "fake"\nbase_url = "https://judge.example/v1"\napi_key_name = "MISSING_KEY"\n'
    saved(tmp_path / "new", f'records = "../out"\n[judge]\n{at}')
    with pytest.raises(SettingsError, match="MISSING_KEY"):
        traces(tmp_path / "new")
    assert not (tmp_path / "new" / "out").exists()


# --- stopping and failing ------------------------------------------------------------------------


def data_of(out: Path) -> list[bytes]:
    return [(out / name).read_bytes() for name in SPLITS]


@pytest.mark.parametrize("sign", [signal.SIGKILL, signal.SIGINT], ids=["kill -9", "Ctrl-C"])
def test_what_was_stopped_goes_on_and_comes_to_the_same_bytes(
    tmp_path: Path, sign: signal.Signals
) -> None:
    reached, hangs = Event(), Event()
    judged: list[Body] = []

    def stopping(body: Body) -> Iterator[Step]:
        """It hangs in the middle of judging, when all episodes are played."""
        if is_judge(body) and hangs.is_set():
            judged.append(body)
            if len(judged) > 7:
                reached.set()
                yield Hang()
        yield from judging(["yes"])(body)

    folder = tmp_path / "stopped"
    with FakeServer(stopping) as server:
        for place in (tmp_path / "calm", folder):
            saved(place, config(server, judge=True))
        assert traces(tmp_path / "calm")[0] == 0
        undisturbed = len(server.work)
        hangs.set()
        command = [sys.executable, "-m", "timeful", "traces", str(folder / "traces.toml")]
        with subprocess.Popen(
            [*command, "--out", str(folder / "out"), "--connections", "1"],
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),  # noqa: PLW1509
        ) as process:
            try:
                assert reached.wait(60)
                process.send_signal(sign)
                output, _ = process.communicate(timeout=60)
            finally:
                process.kill()
        assert process.returncode == (-sign if sign == signal.SIGKILL else 130), output
        assert "Traceback" not in output
        assert not (folder / "out" / "train.jsonl").exists(), "a half would be taken for a whole"
        first = len(server.work)
        hangs.clear()
        assert traces(folder)[0] == 0
        # Two answers were judged, three votes each; the third was hanging at its second vote.
        assert len(server.work) - first == undisturbed - 2 * N - 6
    assert data_of(folder / "out") == data_of(tmp_path / "calm" / "out")


@pytest.mark.slow
def test_the_number_in_flight_changes_no_byte(tmp_path: Path) -> None:
    found = []
    with FakeServer(judging(["yes"])) as server:
        for workers, connections in ((1, 1), (1, 8), (1, 64), (2, 64)):
            folder = tmp_path / f"{workers}-{connections}"
            saved(folder, config(server, judge=True, each=3))
            assert traces(folder, "--connections", connections, workers=workers)[0] == 0
            out = folder / "out"
            found.append([*data_of(out), (out / "README.md").read_bytes()])
    assert all(each == found[0] for each in found)
    assert any(found[0][:3])


def test_an_endpoint_that_fails_is_counted_and_asked_again(tmp_path: Path) -> None:
    is_well = Event()

    def script(body: Body) -> Iterator[Step]:
        if not is_well.is_set() and body["messages"][1]["content"].startswith(sick):
            yield Status(413, "no")
        else:
            yield from solving()(body)

    sick = next(iter(ANSWERS))
    with FakeServer(script) as server:
        saved(tmp_path, config(server))
        code, output = traces(tmp_path)
        assert code == 1
        assert output.count("failed     ") == 1
        assert ": model: ModelRefusedError: " in output
        rows = [row for name in SPLITS for row in rows_of(tmp_path / "out" / name)]
        assert len(rows) == N - 1, "a failed episode is neither data nor a rejected trace"
        is_well.set()
        assert traces(tmp_path, "--retry-failed")[0] == 0
    rows = [row for name in SPLITS[:3] for row in rows_of(tmp_path / "out" / name)]
    assert len(rows) == N


def test_credentials_in_an_address_are_written_nowhere(tmp_path: Path) -> None:
    with FakeServer(judging(["yes"])) as server:
        text = config(server, judge=True).replace("http://", "http://me:hidden-5@")
        saved(tmp_path, text)
        assert traces(tmp_path)[0] == 0
    for path in (tmp_path / "out").rglob("*"):
        assert path.is_dir() or b"hidden-5" not in path.read_bytes(), path.name


def test_private_problems_are_never_made_data(tmp_path: Path) -> None:
    line = {"Question": "1+1?", "Correct Answer": "2"}
    line |= {f"Incorrect Answer {i}": str(i + 5) for i in (1, 2, 3)}
    (tmp_path / "mine.jsonl").write_text(json.dumps(line) + "\n")
    with FakeServer(solving()) as server:
        text = config(server).replace(
            f'sets = ["sums"]\nsize = {N}', 'file = "mine.jsonl"\nbenchmark = "gpqa"'
        )
        saved(tmp_path, text)
        with pytest.raises(SettingsError, match="private"):
            traces(tmp_path)
        assert not server.requests
    assert not (tmp_path / "out").exists()
