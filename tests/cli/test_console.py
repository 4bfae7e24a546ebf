"""Standard streams: closed, full, of another encoding, and texts that a terminal would obey."""

import csv
import json
import os
import subprocess
import sys
from pathlib import Path

import msgspec
import pytest

from timeful.reports.results import write_csv

SMALL = ["run", "realtime", "--game", "snake", "--difficulty", "easy", "--agent", "reactive"]
SMALL += ["--seeds", "1", "--samples", "1"]
EVIL = "a\x1b]0;owned\x07b\x9bc\u202ed\re"


def shell(line: str, *arguments: object, **env: str) -> subprocess.CompletedProcess[bytes]:
    command = ["sh", "-c", f'exec "$@" {line}', "sh", sys.executable, "-m", "timeful"]
    return subprocess.run(
        [*command, *map(str, arguments)],
        capture_output=True,
        env={**os.environ, **env},
        check=False,
    )


@pytest.mark.parametrize(
    "line",
    [
        "2>&-",
        *(
            pytest.param(line, marks=pytest.mark.slow)
            for line in ("2>/dev/full", "<&-", "2>&- <&-")
        ),
    ],
)
def test_a_run_needs_no_standard_error(tmp_path: Path, line: str) -> None:
    done = shell(line, *SMALL, "--out", tmp_path / "o")
    assert done.returncode == 0
    assert b"report" in done.stdout
    assert (tmp_path / "o" / "report.html").exists()


def test_a_console_of_another_encoding_prints_what_it_can(tmp_path: Path) -> None:
    done = shell("", *SMALL, "--out", tmp_path / "o", PYTHONIOENCODING="ascii")
    assert done.returncode == 0, done.stderr
    assert done.stdout.isascii()


def test_terminal_codes_of_files_are_not_printed(tmp_path: Path) -> None:
    catalog = tmp_path / "c.json"
    made = shell("", "catalog", "make", _sources(tmp_path), "--out", catalog)
    assert made.returncode == 0, made.stderr
    records = tmp_path / EVIL / "episodes"
    records.mkdir(parents=True)
    (records / f"{EVIL}.jsonl").write_text("{}\n")
    page = tmp_path / EVIL / "page.html"
    for arguments in (
        ["catalog", "show", catalog],
        ["show", f"{EVIL}.jsonl"],
        [EVIL],
        ["view", tmp_path / EVIL, "--export", page],
    ):
        done = shell("", *arguments)
        text = (done.stdout + done.stderr).decode()
        assert "owned" in text
        assert all(c in {"\n", "\t"} or c.isprintable() for c in text)


def _sources(folder: Path) -> Path:
    api = {
        "openapi": "3.0.0",
        "paths": {"/a": {"get": {"operationId": "a", "summary": EVIL}}},
    }
    (folder / "api.json").write_text(json.dumps(api))
    sources = folder / "s.yaml"
    sources.write_text("{catalog_metadata: {name: x}, sources: [{openapi: {file: api.json}}]}")
    return sources


class Row(msgspec.Struct):
    """A row of texts and numbers."""

    text: str | None
    number: float


@pytest.mark.parametrize("text", ["=cmd|' /C calc'!A0", "+1", "-1", "@x", "\t=1", "\r=1", "\n=1"])
def test_no_text_of_a_table_is_a_formula(tmp_path: Path, text: str) -> None:
    path = write_csv([Row(text, -1.5), Row(None, 2)], Row, tmp_path / "t.csv")
    with path.open(encoding="utf-8", newline="") as file:
        _, first, second = csv.reader(file)
    assert first == ["'" + text.replace("\r", "\n"), "-1.5"]
    assert second == ["", "2"]
