"""`timeful run engagement/inbox`, as a person uses it."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner

from tests.servers.fake import Body, FakeServer, Say, Step
from timeful.cli.suite_command import load_command
from timeful.errors import TimefulError

inbox = load_command("engagement/inbox")


def invoke(*arguments: str) -> str:
    result = CliRunner().invoke(inbox, arguments, catch_exceptions=False)
    assert result.exit_code == 0, result.output
    return result.stdout


def test_the_same_runs_through_an_endpoint_and_from_what_was_recorded_of_it(
    tmp_path: Path,
) -> None:
    def script(body: Body) -> Iterator[Step]:
        asked = body["messages"][-1]["content"]
        if asked.startswith("The document"):
            return iter([Say("word ", tokens=n) for n in range(1, 201)])
        number = asked.split("Email ")[1].split(",")[0]
        return iter([Say(f'<handle id="{number}"/>')])

    few = ["--seeds", "1", "--episodes", "1", "--workers", "1", "--set", "horizon=20"]
    cassette = str(tmp_path / "said.jsonl")
    with FakeServer(script) as server:
        voices = ["--model", "openai:m", "--writer", "openai:m", "--record", cassette]
        live = invoke(*few, *voices, "--base-url", server.base_url, "--out", str(tmp_path / "live"))
        assert server.requests
    voices = ["--model", f"replay:{cassette}", "--writer", f"replay:{cassette}"]
    replayed = invoke(*few, *voices, "--out", str(tmp_path / "replayed"))
    assert "openai:m" in live
    assert "no language model was run" not in live

    assert numbers_of(live) == numbers_of(replayed)
    assert len(numbers_of(live)) == 8


def numbers_of(said: str) -> list[str]:
    return [
        line
        for line in said.splitlines()
        if line.startswith(("EP ", "Periodic", "AgentLoop", "Reflex"))
    ]


@pytest.mark.parametrize(
    "arguments",
    [
        ["--preset", "fast"],
        ["--interface", "frozen"],
        ["--interface", "lop"],
        ["--decomposition", "singel"],
        ["--policy", "urgent"],
        ["--policy", "model"],
        ["--seeds", "0"],
        ["--workers", "0"],
        ["--poll-interval", "0"],
        ["--poll-interval", "nan"],
        ["--poll-interval", "1e300"],
        ["--set", "handle=1e300"],
        ["--set", "late-reward=1e308"],
        ["--interface", "loop", "--poll-interval", "5"],
        ["--set", "handle=-1"],
        ["--set", "urgency=0.4,0.4,1.2"],
        ["--set", "arival-rate=0.3"],
        ["--set", "arrival-rate"],
        ["--set", "arrival-rate=often"],
        ["--set", "high-slack=5"],
        ["--set", "target=4.5"],
        ["--set", "check=1", "--set", "check=2"],
        ["--transcripts", "ful"],
        ["--model", "rule"],
        ["--triage-pace", "token"],
        ["--no-hints"],
        ["--model", "openai:m", "--policy", "stand-in"],
        ["--temperature", "1"],
        ["--record", "x"],
        ["--base-url", "http://h/v1"],
    ],
)
def test_an_invalid_option_is_refused_before_anything_runs(
    arguments: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if "openai:m" in arguments:
        monkeypatch.setenv("OPENAI_BASE_URL", "http://host/v1")
    out = tmp_path / "run"
    small = ["--episodes", "1", "--out", str(out)]
    if "--seeds" not in arguments:
        small += ["--seeds", "1"]
    with pytest.raises(TimefulError):
        CliRunner().invoke(inbox, [*arguments, *small], catch_exceptions=False)
    assert not out.exists()
