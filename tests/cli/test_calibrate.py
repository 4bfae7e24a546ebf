"""`timeful calibrate`: nothing that was paid for is lost."""

from pathlib import Path

import pytest
from click.testing import CliRunner

from tests.servers.fake import FakeServer, Say
from timeful.cli.calibrate import calibrate
from timeful.errors import SettingsError
from timeful.models.calibrate import load_calibration


@pytest.mark.parametrize("name", ["fake", "openai:fake", "vllm:fake"])
def test_the_pace_and_its_figure_are_saved_in_a_folder_that_was_not_there(
    name: str, tmp_path: Path
) -> None:
    out = tmp_path / "new" / "pace.json"
    with FakeServer(lambda body: [Say("word ")] * body["max_tokens"]) as server:
        short = ["--length", "4", "--length", "2000", "--repeats", "1"]
        run = CliRunner().invoke(
            calibrate, [name, "--base-url", server.base_url, "--out", str(out), *short]
        )
        assert {request.body["model"] for request in server.requests} == {"fake"}
    assert run.exception is None, run.output
    assert [timing.tokens for timing in load_calibration(out).timings] == [4, 2000]
    assert out.with_suffix(".svg").exists()
    assert f"--clock paced --pace {out}" in run.output


def test_a_figure_is_never_written_over_the_pace(tmp_path: Path) -> None:
    with FakeServer([Say("word ")]) as server:
        run = CliRunner().invoke(
            calibrate, ["fake", "--base-url", server.base_url, "--out", str(tmp_path / "pace.svg")]
        )
        assert isinstance(run.exception, SettingsError)
        assert not server.requests, "it is found before anything is asked"
