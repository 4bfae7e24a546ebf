"""`timeful calibrate`, and virtual time at the pace that it measured."""

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tests.servers.fake import FakeServer, Finish, Say, Status, Wait
from timeful.models.calibrate import load_calibration
from timeful.records.recorder import read_record
from timeful.records.summary import summarize


def timeful(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "timeful", *arguments]
    env = {**os.environ, "OPENAI_BASE_URL": "", "OPENAI_API_KEY": "sk-secret"}
    return subprocess.run(command, capture_output=True, text=True, check=False, env=env)


def steady(body: dict[str, Any]) -> Iterator[Any]:
    """Half a millisecond a token, or one move if a game asks."""
    if "max_tokens" not in body:
        yield Say("\\boxed{U}")
        return
    for _ in range(body["max_tokens"]):
        yield Wait(0.5)
        yield Say("word ")
    yield Finish("length")


def test_a_pace_is_measured_saved_drawn_and_used(tmp_path: Path) -> None:
    pace = tmp_path / "pace.json"
    with FakeServer(steady) as server:
        lengths = [word for n in (8, 32, 128) for word in ("--length", str(n))]
        measured = timeful(
            "calibrate", "fake", "--base-url", server.base_url, "--out", str(pace), *lengths
        )
        assert measured.returncode == 0, measured.stderr
        assert "R^2 = " in measured.stdout
        found = load_calibration(pace)
        assert 0.0005 <= found.alpha_s_per_token < 0.05
        assert len(found.timings) == 9
        assert (tmp_path / "pace.svg").read_text().lstrip().startswith("<?xml")
        assert "sk-secret" not in pace.read_text()
        out = tmp_path / "run"
        run = timeful(
            *("run", "realtime", "--clock", "paced", "--pace", str(pace), "--step", "1000"),
            *("--model", "openai:fake", "--base-url", server.base_url, "--agent", "reactive"),
            *("--game", "freeway", "--difficulty", "easy", "--seeds", "1", "--samples", "1"),
            *("--out", str(out)),
        )
    assert run.returncode == 0, run.stderr
    [record] = (out / "episodes").iterdir()
    row = summarize(read_record(record))
    assert (row.clock, row.seconds_per_step, row.late_turns) == ("paced", 1.0, 0)
    assert not row.stand_in


def test_what_cannot_be_measured_is_one_clear_line(tmp_path: Path) -> None:
    with FakeServer([Status(401, "no")]) as server:
        refused = timeful("calibrate", "fake", "--base-url", server.base_url)
    nowhere = timeful("calibrate", "fake")
    for run, message in ((refused, "check the API key"), (nowhere, "give --base-url")):
        assert run.returncode == 2
        assert message in run.stderr
        assert len(run.stderr.splitlines()) == 1
        assert "sk-secret" not in run.stderr
