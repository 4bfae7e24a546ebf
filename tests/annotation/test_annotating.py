"""Annotating a file: killed and continued, side by side, in parts; nothing lost, nothing twice."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from threading import Event

import pytest

pytest.importorskip("yaml")
pytest.importorskip("jinja2")
pytest.importorskip("openai")

from tests.annotation.annotating import (
    KEY,
    annotated,
    good,
    question,
    saved,
    talks,
    timeful,
)
from tests.servers.fake import Body, FakeServer, Hang, Say, Step
from timeful.errors import SettingsError
from timeful.records.folder import locked

N = 6
NAMES = ("talks_annotated.jsonl.gz", "talks_annotated.meta.json")


def files(folder: Path) -> list[bytes]:
    return [(folder / name).read_bytes() for name in NAMES]


def asked_about(body: Body) -> str:
    """The conversation of a request."""
    return question(body).split("CONVERSATION\n")[1].split("\n\nTURNS")[0]


def fresh(folder: Path) -> Path:
    folder.mkdir()
    talks(folder / "talks.jsonl", n=N)
    return folder


@pytest.fixture
def undisturbed(tmp_path: Path) -> list[bytes]:
    folder = fresh(tmp_path / "undisturbed")
    with FakeServer(good, answers_probes=True) as server:
        # The address of a server stands in the settings; it is another each time.
        assert timeful("annotate", saved(folder, server)).exit_code == 0
    return files(folder)


def but_the_address(found: list[bytes]) -> list[bytes]:
    data, meta = found
    read = json.loads(meta)
    read["llm"].pop("endpoint")
    return [data, json.dumps(read).encode()]


@pytest.mark.slow
@pytest.mark.parametrize("sign", [signal.SIGKILL, signal.SIGINT], ids=["kill -9", "Ctrl-C"])
@pytest.mark.parametrize("workers", [1, 3])
def test_what_was_stopped_goes_on_and_comes_to_the_same_bytes(
    tmp_path: Path, undisturbed: list[bytes], sign: signal.Signals, workers: int
) -> None:
    folder = fresh(tmp_path / "stopped")
    reached, is_second = Event(), Event()
    served: list[str] = []

    def script(body: Body) -> Iterator[Step]:
        if is_second.is_set() or len(served) < 3:
            served.append(asked_about(body))
            yield from good(body)
        else:
            reached.set()
            yield Say("[")
            yield Hang()

    with FakeServer(script, answers_probes=True) as server:
        config = saved(folder, server, annotation={"max_workers": workers, "batch_size": 50})
        command = [sys.executable, "-m", "timeful", "annotate", str(config)]
        with subprocess.Popen(
            command,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            # A shell lets its background jobs ignore Ctrl-C, and so would whoever they start.
            preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),  # noqa: PLW1509
        ) as process:
            try:
                assert reached.wait(60)
                process.send_signal(sign)
                output, _ = process.communicate(timeout=60)
            finally:
                process.kill()
        assert process.returncode == (-sign if sign == signal.SIGKILL else 130), output
        assert not (folder / NAMES[0]).exists(), "a half of an output would be taken for one"
        log = folder / "talks_annotated.jsonl.gz.work" / "log.jsonl"
        # The fourth request may arrive before the first answer is written.
        kept = log.read_bytes().count(b"\n") if log.exists() else 0
        assert kept <= 3
        if sign == signal.SIGINT:
            assert f"stopped: {kept} of {N} dialogues are done" in output
            assert "Traceback" not in output
        first = list(served)
        is_second.set()
        again = timeful("annotate", config)
    assert again.exit_code == 0, again.output
    assert kept == 0 or f"{kept} of {N} dialogues" in again.output
    assert len(served) - len(first) == N - kept, "what was kept is not asked for again"
    assert but_the_address(files(folder)) == but_the_address(undisturbed)


@pytest.mark.parametrize("workers", [2, 7])
def test_how_many_work_on_it_changes_nothing(
    tmp_path: Path, undisturbed: list[bytes], workers: int
) -> None:
    folder = fresh(tmp_path / "side-by-side")
    with FakeServer(good, answers_probes=True) as server:
        config = saved(folder, server)
        assert timeful("annotate", config, "--max-workers", workers).exit_code == 0
    assert but_the_address(files(folder)) == but_the_address(undisturbed)


def test_as_many_dialogues_are_annotated_side_by_side_as_there_are_workers(tmp_path: Path) -> None:
    folder = fresh(tmp_path / "together")
    together, arrived = Event(), []

    def script(body: Body) -> Iterator[Step]:
        arrived.append(body)
        if len(arrived) == 3:
            together.set()
        # None of the three is answered before all have come.
        assert together.wait(60)
        yield from good(body)

    with FakeServer(script, answers_probes=True) as server:
        assert timeful("annotate", saved(folder, server), "--max-workers", 3).exit_code == 0


def test_a_part_is_annotated_and_the_rest_added_later(
    tmp_path: Path, undisturbed: list[bytes]
) -> None:
    folder = fresh(tmp_path / "in-parts")
    with FakeServer(good, answers_probes=True) as server:
        config = saved(folder, server)
        some = ("--start-index", 2, "--annotated-max-dialogues-num", 2)
        assert timeful("annotate", config, *some).exit_code == 0
        names = [one.id for one in annotated(folder / NAMES[0])]
        assert names == ["shop-1-00002", "shop-1-00003"]
        assert timeful("annotate", config, *some).exit_code == 0
        assert len(server.requests) == 2, "a run that is over has nothing to do"
        assert timeful("annotate", config).exit_code == 0
        assert len(server.requests) == N
    assert but_the_address(files(folder)) == but_the_address(undisturbed)


def test_an_output_may_be_plain_and_elsewhere(tmp_path: Path, undisturbed: list[bytes]) -> None:
    import gzip

    folder = fresh(tmp_path / "plain")
    out = tmp_path / "new" / "plain.jsonl"
    with FakeServer(good, answers_probes=True) as server:
        assert timeful("annotate", saved(folder, server), "--out", out).exit_code == 0
    assert out.read_bytes() == gzip.decompress(undisturbed[0])


def test_another_annotation_does_not_go_on_in_the_place_of_one(tmp_path: Path) -> None:
    folder = fresh(tmp_path / "other")
    with FakeServer(good, answers_probes=True) as server:
        timeful("annotate", saved(folder, server))
        asked = len(server.requests)
        config = saved(folder, server, llm={"temperature": 0.9})
        found = timeful("annotate", config)
        assert isinstance(found.exception, SettingsError)
        assert "differs in: llm" in str(found.exception)
        assert len(server.requests) == asked
        talks(folder / "talks.jsonl", n=N, seed=2)
        found = timeful("annotate", saved(folder, server))
        assert "differs in: dialogues" in str(found.exception)
        assert timeful("annotate", config, "--replace").exit_code == 0
    assert annotated(folder / NAMES[0])[0].id == "shop-2-00000"


@pytest.mark.parametrize("out", ["talks.jsonl", "there.jsonl.gz", "talks.txt"])
def test_a_file_that_is_no_annotation_is_not_written_over(tmp_path: Path, out: str) -> None:
    folder = fresh(tmp_path / "taken")
    (folder / "there.jsonl.gz").write_bytes(b"precious")
    before = {one.name: one.read_bytes() for one in folder.iterdir()}
    with FakeServer(good, answers_probes=True) as server:
        found = timeful("annotate", saved(folder, server), "--out", folder / out)
        assert isinstance(found.exception, SettingsError)
        assert not server.requests
    after = {one.name: one.read_bytes() for one in folder.iterdir() if one.is_file()}
    assert before.items() <= after.items()


def test_not_even_replacing_writes_over_what_is_annotated(tmp_path: Path) -> None:
    folder = fresh(tmp_path / "source")
    before = (folder / "talks.jsonl").read_bytes()
    with FakeServer(good, answers_probes=True) as server:
        options = ("--out", folder / "talks.jsonl", "--replace")
        assert isinstance(
            timeful("annotate", saved(folder, server), *options).exception, SettingsError
        )
    assert (folder / "talks.jsonl").read_bytes() == before


def test_two_processes_do_not_annotate_one_file(tmp_path: Path) -> None:
    folder = fresh(tmp_path / "locked")
    with (
        FakeServer(good, answers_probes=True) as server,
        locked(folder / "talks_annotated.jsonl.gz.work"),
    ):
        found = timeful("annotate", saved(folder, server))
        assert isinstance(found.exception, SettingsError)
        assert "another process is at work" in str(found.exception)
        assert not server.requests


def test_two_dialogues_of_one_id_are_refused_and_nobody_is_asked(tmp_path: Path) -> None:
    folder = fresh(tmp_path / "twice")
    data = (folder / "talks.jsonl").read_bytes()
    (folder / "talks.jsonl").write_bytes(data + data[: data.index(b"\n") + 1])
    with FakeServer(good, answers_probes=True) as server:
        found = timeful("annotate", saved(folder, server))
        assert "shop-1-00000, number 0 and 6" in str(found.exception)
        assert not server.requests


@pytest.mark.slow
def test_the_whole_command_runs_as_a_process_with_the_key_of_its_environment(
    tmp_path: Path,
) -> None:
    folder = fresh(tmp_path / "process")
    with FakeServer(good, answers_probes=True) as server:
        config = saved(folder, server, llm={"api_key_name": "MY_KEY"})
        run = subprocess.run(
            [sys.executable, "-m", "timeful", "annotate", str(config)],
            env={**os.environ, "MY_KEY": KEY, "OPENAI_API_KEY": "another"},
            capture_output=True,
            text=True,
            check=False,
        )
    assert run.returncode == 0, run.stderr
    assert {one.headers["authorization"] for one in server.requests} == {f"Bearer {KEY}"}
    assert all(len(line) <= 80 for line in run.stderr.splitlines())


def test_observed_actions_that_the_catalog_has_not_are_said(tmp_path: Path) -> None:
    talks(tmp_path / "talks.jsonl")
    rules = saved(tmp_path, annotation={"oracle": "rules"})
    out = ["--out", tmp_path / "out.jsonl"]
    known = timeful("annotate", rules, *out)
    assert "unknown" not in known.output
    path = tmp_path / "talks.jsonl"
    path.write_text(path.read_text().replace('"name":"find-account"', '"name":"find-acount"'))
    found = timeful("annotate", rules, *out, "--replace")
    assert "'find-acount' (did you mean 'find-account'?); EC cannot" in found.output


def test_where_nothing_was_annotated_no_output_is_named(tmp_path: Path) -> None:
    talks(tmp_path / "talks.jsonl", n=1)
    with FakeServer([Say("no")]) as server:
        settings = saved(tmp_path, server, annotation={"max_retries": 1})
        found = timeful("annotate", settings)
    assert found.exit_code == 1
    assert "0 dialogues annotated, 1 failed" in found.output
    assert "annotated  " not in found.output


def test_an_estimate_counts_the_requests_and_sends_none(tmp_path: Path) -> None:
    folder = fresh(tmp_path / "dry")
    with FakeServer(good, answers_probes=True) as server:
        config = saved(folder, server)
        said = timeful("annotate", config, "--dry-run", "--no-key")
        assert said.exit_code == 0, said.output
        assert not server.requests
        assert {path.name for path in folder.iterdir()} == {"talks.jsonl", config.name}
        assert timeful("annotate", config).exit_code == 0
        sent = sum("CONVERSATION" in question(request.body) for request in server.requests)
    (row,) = (line.split() for line in said.output.splitlines() if " annotate " in line)
    assert int(row[2]) == sent
