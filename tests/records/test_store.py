"""Logs of keyed values and files written whole: whatever is killed, nothing is lost or torn."""

import os
import signal
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from resource import RLIMIT_FSIZE, getrlimit, setrlimit

import msgspec
import pytest

from timeful.errors import RecordError
from timeful.records.store import (
    KeyedLog,
    delete,
    read_log,
    replace_atomically,
    write_atomically,
)


class Note(msgspec.Struct, frozen=True):
    key: int
    text: str


def note_log(path: Path) -> KeyedLog[int, Note]:
    return KeyedLog(path, Note, key=lambda note: note.key, sync=True)


NOTES = [Note(1, "a"), Note(2, "\u00e9\n"), Note(1, "later"), Note(3, "")]


def filled(path: Path) -> KeyedLog[int, Note]:
    log = note_log(path)
    for note in NOTES:
        log.put(note)
    return log


def test_the_last_value_of_a_key_counts_and_all_are_in_the_file(tmp_path: Path) -> None:
    assert note_log(tmp_path / "new").get(1) is None
    log = filled(tmp_path / "deep" / "log.jsonl")
    for current in (log, note_log(tmp_path / "deep" / "log.jsonl")):
        assert dict(current) == {1: NOTES[2], 2: NOTES[1], 3: NOTES[3]}
        assert (len(current), 2 in current, 4 in current) == (3, True, False)
    assert list(read_log(tmp_path / "deep" / "log.jsonl", Note)) == NOTES


def test_a_log_cut_at_any_byte_keeps_its_whole_lines_and_is_continued(tmp_path: Path) -> None:
    path = tmp_path / "log.jsonl"
    filled(path)
    whole = path.read_bytes()
    for size in range(len(whole)):
        path.write_bytes(whole[:size])
        count = whole[:size].count(b"\n")
        assert list(read_log(path, Note)) == NOTES[:count]
        assert path.stat().st_size == size, "reading changes nothing"
        log = note_log(path)
        for note in NOTES[count:]:
            log.put(note)
        assert path.read_bytes() == whole


@pytest.mark.parametrize("line", [b"{}", b"\x00\xff", b'{"key": "1", "text": ""}'])
def test_a_line_that_cannot_be_read_is_named(tmp_path: Path, line: bytes) -> None:
    path = tmp_path / "log.jsonl"
    filled(path)
    path.write_bytes(path.read_bytes() + line + b"\n")
    with pytest.raises(RecordError, match=r"log\.jsonl, line 5"):
        note_log(path)


def test_discarded_keys_are_gone_from_the_file(tmp_path: Path) -> None:
    path = tmp_path / "log.jsonl"
    log = filled(path)
    log.discard({2})
    log.put(Note(4, "new"))
    for current in (log, note_log(path)):
        assert dict(current) == {1: NOTES[2], 3: NOTES[3], 4: Note(4, "new")}


def test_a_value_that_a_full_disk_does_not_take_leaves_no_trace(tmp_path: Path) -> None:
    path = tmp_path / "log.jsonl"
    log = filled(path)
    limits = getrlimit(RLIMIT_FSIZE)
    setrlimit(RLIMIT_FSIZE, (path.stat().st_size + 10, limits[1]))
    try:
        with pytest.raises(OSError, match="too large"):
            log.put(Note(5, "half"))
    finally:
        setrlimit(RLIMIT_FSIZE, limits)
    log.put(Note(6, "next"))
    assert 5 not in log
    assert dict(note_log(path)) == dict(log)


def test_a_value_whose_last_step_is_interrupted_is_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    log = filled(tmp_path / "log.jsonl")

    def interrupt(_: int) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("timeful.records.store.os.fsync", interrupt)
    with pytest.raises(KeyboardInterrupt):
        log.put(Note(5, "paid"))
    assert dict(note_log(tmp_path / "log.jsonl")) == dict(log)
    assert 5 in log


def test_threads_tear_no_line(tmp_path: Path) -> None:
    log = note_log(tmp_path / "log.jsonl")
    notes = [Note(number, "x" * number * 50) for number in range(100)]
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(log.put, notes))
    assert dict(note_log(tmp_path / "log.jsonl")) == {note.key: note for note in notes} == dict(log)


_WRITER = """
import sys
from pathlib import Path
from tests.records.test_store import Note, note_log, write_atomically

folder = Path(sys.argv[1])
log = note_log(folder / "log.jsonl")
for number in range(len(log), 10**6):
    log.put(Note(number, "x" * 5000))
    write_atomically(folder / "whole", b"%07d" % number * 1000)
    if number % 40 == 7:
        print(number, flush=True)
"""


def test_kill_9_loses_no_value_and_tears_no_file(tmp_path: Path) -> None:
    for _ in range(3):
        command = [sys.executable, "-c", _WRITER, str(tmp_path)]
        with subprocess.Popen(
            command, stdout=subprocess.PIPE, cwd=Path(__file__).parents[2]
        ) as run:
            assert run.stdout is not None
            number = int(run.stdout.readline())
            os.kill(run.pid, signal.SIGKILL)
        log = note_log(tmp_path / "log.jsonl")
        assert list(log) == list(range(len(log)))
        assert len(log) > number
        content = (tmp_path / "whole").read_bytes()
        assert content == content[:7] * 1000
        assert len(log) - int(content[:7]) in (1, 2)


def test_a_file_is_replaced_whole_or_not_at_all(tmp_path: Path) -> None:
    path = tmp_path / "deep" / "file"
    write_atomically(path, b"old")

    def fail() -> None:
        with replace_atomically(path) as partial:
            partial.write_bytes(b"half")
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        fail()
    assert path.read_bytes() == b"old"
    write_atomically(path, b"new")
    assert [path.read_bytes() for path in path.parent.iterdir()] == [b"new"]


def test_a_file_is_on_the_disk_before_it_has_its_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "a"
    existed = []
    monkeypatch.setattr(os, "fsync", lambda descriptor: existed.append(path.exists()))
    write_atomically(path, b"whole")
    assert existed == [False]


def test_a_folder_appears_when_it_is_complete_and_goes_at_once(tmp_path: Path) -> None:
    path = tmp_path / "model"
    with replace_atomically(path) as partial:
        (partial / "deep").mkdir(parents=True)
        (partial / "deep" / "weights").write_text("w")
        assert not path.exists()
    assert (path / "deep" / "weights").read_text() == "w"
    delete([path, tmp_path / "none"])
    assert not list(tmp_path.iterdir())
