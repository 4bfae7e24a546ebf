"""Batches: nothing lost, nothing played twice, whatever dies."""

import os
import signal
import subprocess
import sys
import tempfile
import threading
from concurrent.futures.process import BrokenProcessPool
from dataclasses import replace
from pathlib import Path

import pytest

from tests.runs.jobs import JOB, Count, play
from timeful.errors import KernelError, ModelError, RecordError, SettingsError
from timeful.models.spending import Spending
from timeful.models.traffic import Limits
from timeful.records.folder import open_folder
from timeful.records.recorder import Recorder
from timeful.records.rows import EpisodeRow
from timeful.runs.batch import RUN, run_batch
from timeful.runs.workers import WorkerPool

ROOT = Path(__file__).parents[2]


def batch(out: Path, specs: list[Count], **options: object) -> list[EpisodeRow]:
    with open_folder(out, {}, RUN):
        return run_batch(specs, JOB, out, **{"workers": 1, **options})  # type: ignore[arg-type]


def counted(log: Path) -> list[int]:
    return [int(line) for line in log.read_text().split()]


def run_process(out: Path, log: Path, *arguments: object) -> int:
    command = [sys.executable, "-m", "tests.runs.jobs", str(out), *map(str, arguments)]
    env = {**os.environ, "COUNT_LOG": str(log)}
    return subprocess.run(command, cwd=ROOT, env=env, check=False).returncode


FLIGHT = Limits(connections=5)
WAYS = [(1, None), (2, None), (1, FLIGHT), (2, FLIGHT)]


@pytest.mark.parametrize("workers", ["1", "2", "1x5", "2x5"])
def test_a_run_killed_with_kill_9_goes_on_and_plays_nothing_twice(
    tmp_path: Path, workers: str
) -> None:
    out, log = tmp_path / "run", tmp_path / "log"
    assert run_process(out, log, 12, workers, 5) == -signal.SIGKILL
    finished = {path.stem for path in (out / "episodes").glob("*.jsonl")}
    assert len(finished) >= 5
    before = counted(log)
    assert run_process(out, log, 12, workers) == 0
    again = counted(log)[len(before) :]
    assert not finished & {f"count-{number}" for number in again}
    assert {p.stem for p in (out / "episodes").glob("*.jsonl")} == {f"count-{n}" for n in range(12)}


def test_workers_kills_and_processes_leave_the_same_hashes(tmp_path: Path) -> None:
    specs = [Count(n) for n in range(8)]
    one = batch(tmp_path / "one", specs)
    two = batch(tmp_path / "two", specs, workers=2)
    run_process(tmp_path / "killed", tmp_path / "log", 8, "2x5", 3)
    killed = batch(tmp_path / "killed", specs)
    in_flight = [batch(tmp_path / f"flight-{n}", specs, workers=n, limits=FLIGHT) for n in (1, 2)]
    assert one == two == killed == in_flight[0] == in_flight[1]
    assert len({row.sha256 for row in one}) == 8


@pytest.mark.parametrize("limits", [None, FLIGHT])
def test_an_episode_that_kills_its_process_is_a_failure_and_the_rest_go_on(
    tmp_path: Path, limits: Limits | None
) -> None:
    specs = [Count(n, "die" if n == 3 else "") for n in range(8)]
    rows = batch(tmp_path, specs, workers=2, limits=limits)
    assert [row.status for row in rows] == ["ok"] * 3 + ["failed"] + ["ok"] * 4
    assert rows[3].error == "process: the process that played it died"


@pytest.mark.parametrize(("workers", "limits"), WAYS)
def test_a_broken_timeline_ends_the_run_and_names_the_episode(
    tmp_path: Path, workers: int, limits: Limits | None
) -> None:
    specs = [Count(n, "break" if n == 1 else "") for n in range(3)]
    with pytest.raises(KernelError, match=r"came to rest \(in episode count-1\)"):
        batch(tmp_path, specs, workers=workers, limits=limits)
    assert not (tmp_path / "episodes" / "count-1.jsonl").exists()


def test_a_failed_episode_is_kept_and_played_again_only_when_asked(tmp_path: Path) -> None:
    failed = [Count(0), Count(1, "fail")]
    assert [row.status for row in batch(tmp_path, failed)] == ["ok", "failed"]
    mended = [Count(0), Count(1)]
    assert [row.status for row in batch(tmp_path, mended)] == ["ok", "failed"]
    assert [row.status for row in batch(tmp_path, mended, retry_failed=True)] == ["ok", "ok"]


@pytest.mark.parametrize("content", [b"", b"\xff", None])
@pytest.mark.parametrize("has_index", [True, False])
def test_a_record_that_a_power_cut_shortened_is_named_and_played_again(
    tmp_path: Path, content: bytes | None, has_index: bool
) -> None:
    specs = [Count(n) for n in range(3)]
    expected = batch(tmp_path, specs)
    record = tmp_path / "episodes" / "count-1.jsonl"
    record.write_bytes(record.read_bytes()[:60] if content is None else content)
    if not has_index:
        (tmp_path / "rows.jsonl").unlink()
    with pytest.raises(RecordError, match=r"count-1\.jsonl"):
        batch(tmp_path, specs)
    assert batch(tmp_path, specs, retry_failed=True) == expected
    assert batch(tmp_path, specs) == expected


def test_a_run_without_a_model_ends_after_ten_episodes_and_resumes(tmp_path: Path) -> None:
    dead = [Count(n, "fail") for n in range(30)]
    with pytest.raises(ModelError):
        batch(tmp_path, dead)
    assert len(list((tmp_path / "episodes").iterdir())) == 10
    mended = [Count(n) for n in range(30)]
    rows = batch(tmp_path, mended, retry_failed=True)
    assert [row.status for row in rows] == ["ok"] * 30


@pytest.mark.parametrize("damage", ["missing", "cut", "garbage"])
def test_the_index_can_be_rebuilt_from_the_records(tmp_path: Path, damage: str) -> None:
    specs = [Count(n) for n in range(4)]
    expected = batch(tmp_path, specs)
    index = tmp_path / "rows.jsonl"
    if damage == "missing":
        index.unlink()
    elif damage == "cut":
        index.write_bytes(index.read_bytes()[:-20])
    else:
        index.write_bytes(b"\x00\xff not json\n")
    assert batch(tmp_path, specs) == expected
    assert len(index.read_bytes().splitlines()) >= 4


@pytest.mark.parametrize(("workers", "limits"), WAYS)
def test_rows_come_in_the_order_of_the_specs_however_they_finish(
    tmp_path: Path, workers: int, limits: Limits | None
) -> None:
    specs = [Count(n) for n in (400, 3, 200, 1)]
    seen: list[int] = []
    rows = batch(
        tmp_path,
        specs,
        workers=workers,
        limits=limits,
        on_row=lambda row: seen.append(row.game_seed),
    )
    assert [row.game_seed for row in rows] == [400, 3, 200, 1]
    assert sorted(seen) == [1, 3, 200, 400]


def test_replacing_a_run_forgets_its_episodes(tmp_path: Path) -> None:
    batch(tmp_path, [Count(1)])
    with open_folder(tmp_path, {"other": 1}, RUN, replace=True):
        assert [path.name for path in tmp_path.iterdir()] == ["settings.json"]


def test_two_episodes_of_one_name_are_refused(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match="one name"):
        batch(tmp_path, [Count(1), Count(1)])


def test_no_workers_is_refused(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match="at least one worker"):
        batch(tmp_path, [Count(1)], workers=0)


def test_what_a_dead_process_was_writing_is_deleted(tmp_path: Path) -> None:
    batch(tmp_path, [Count(1)])
    (tmp_path / "episodes" / "count-2.4711.part").write_bytes(b"half a rec")
    batch(tmp_path, [Count(1)])
    assert [path.name for path in (tmp_path / "episodes").iterdir()] == ["count-1.jsonl"]


def test_a_retry_that_dies_leaves_no_old_row_beside_a_new_record(tmp_path: Path) -> None:
    batch(tmp_path, [Count(1, "fail")])

    def die(_: Path) -> EpisodeRow:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run_batch([Count(1)], replace(JOB, sum_up=die), tmp_path, workers=1, retry_failed=True)
    assert [row.status for row in batch(tmp_path, [Count(1)])] == ["ok"]


def test_stopped_threads_leave_no_record(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """After an interruption, an episode that is in the middle is no result."""
    begun, go_on = threading.Event(), threading.Event()

    def play_slowly(spec: Count, recorder: Recorder) -> None:
        if spec.number:
            begun.set()
            go_on.wait(5)
        play(spec, recorder)

    def interrupt(_: EpisodeRow) -> None:
        begun.wait(5)
        raise KeyboardInterrupt

    end_run = Spending.end_run

    def end_and_release(spending: Spending) -> None:
        end_run(spending)
        go_on.set()

    monkeypatch.setattr(Spending, "end_run", end_and_release)
    job = replace(JOB, play=play_slowly)
    with open_folder(tmp_path, {}, RUN), pytest.raises(KeyboardInterrupt):
        run_batch([Count(0), Count(9)], job, tmp_path, workers=1, limits=FLIGHT, on_row=interrupt)
    assert [path.name for path in (tmp_path / "episodes").iterdir()] == ["count-0.jsonl"]


def test_a_worker_that_dies_fails_its_task_alone_and_is_replaced(tmp_path: Path) -> None:
    pool = WorkerPool(2, is_single=True)
    try:
        kept = pool.submit(_keep_a_file, tmp_path / "name")
        dying = pool.submit(_die)
        after = [pool.submit(pow, 2, n) for n in range(4)]
        assert isinstance(dying.exception(), BrokenProcessPool)
        assert [future.result() for future in after] == [1, 2, 4, 8]
        assert kept.exception() is None
    finally:
        pool.stop()


def _die() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def test_an_error_that_cannot_be_sent_is_told_in_words() -> None:
    pool = WorkerPool(1)
    try:
        error = pool.submit(_fail_strangely).exception()
    finally:
        pool.stop()
    assert isinstance(error, RuntimeError)
    assert "strange" in str(error)


def _fail_strangely() -> None:
    class StrangeError(Exception):
        """Of a class that no other process can find."""

    raise StrangeError("strange")


def _keep_a_file(path: Path) -> None:
    path.write_text(tempfile.mkdtemp())


def test_temporary_files_of_stopped_workers_are_deleted(tmp_path: Path) -> None:
    pool = WorkerPool(1)
    pool.submit(_keep_a_file, tmp_path / "name").result()
    folder = Path((tmp_path / "name").read_text())
    assert folder.is_dir()
    pool.stop()
    assert not folder.parent.exists()
