"""`timeful run engagement/inbox`, as a person uses it."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner

from tests.servers.fake import Body, FakeServer, Say, Step
from timeful.cli.engagement_inbox import inbox
from timeful.environments.inbox.settings import InboxSettings
from timeful.errors import SettingsError, TimefulError
from timeful.suites.engagement.inbox.settings import NAMES, changed, shown

ONE = ["--seeds", "2", "--episodes", "1", "--workers", "1"]


def invoke(*arguments: str) -> str:
    result = CliRunner().invoke(inbox, arguments, catch_exceptions=False)
    assert result.exit_code == 0, result.output
    return result.stdout


def test_a_run_ends_with_the_tables_beside_the_published_ones(tmp_path: Path) -> None:
    said = invoke(*ONE, "--out", str(tmp_path / "run"))
    lines = said.splitlines()
    assert said.count("Tables 3 and 18:") == 4
    assert max(len(line) for line in lines if not line.startswith(("report", "records"))) <= 80
    assert [line.split()[0] for line in lines[-2:]] == ["report", "records"]
    assert "no language model was run" in said
    assert invoke(*ONE, "--out", str(tmp_path / "run")) == said, "and again at once"


def test_another_world_is_set_by_name(tmp_path: Path) -> None:
    options = ["--set", "arrival-rate=0", "--interface", "loop", "--policy", "stand-in"]
    said = invoke(*ONE, *options, "--out", str(tmp_path / "run"))
    assert "2.395" in said, "the whole task, one switch, no email"


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
    assert "openai:m sorts the emails" in live
    assert "no language model was run" not in live

    assert numbers_of(live) == numbers_of(replayed)
    assert len(numbers_of(live)) == 8


def test_what_a_model_says_in_vain_is_counted_on_the_console_and_in_the_report(
    tmp_path: Path,
) -> None:
    asked: list[str] = []

    def script(body: Body) -> Iterator[Step]:
        asked.append(body["messages"][-1]["content"])
        return iter([Say("I cannot help with that."), *[Say(" Sorry.")] * 9])

    few = ["--seeds", "1", "--episodes", "1", "--workers", "1", "--interface", "event-driven"]
    few += ["--decomposition", "single", "--model", "openai:m"]
    with FakeServer(script) as server:
        few += ["--base-url", server.base_url]
        usual = invoke(*few, "--out", str(tmp_path / "usual"))
        page = (tmp_path / "usual" / "report.html").read_text()
        with_hints, first = len(asked), asked[0]
        options = ["--no-hints", "--triage-pace", "tokens"]
        other = invoke(*few, *options, "--out", str(tmp_path / "other"))
        settings = (tmp_path / "other" / "settings.json").read_text()
    assert "could not be used: no-answer: I cannot help" in " ".join(asked)
    assert f"answers that could not be used: 100 % ({with_hints} of {with_hints})" in usual
    assert f"Answers that could not be used: 100 % ({with_hints} of {with_hints})" in page
    assert "free of time" in usual
    assert "free of time" in page
    assert "usually recommended" in first
    assert not any("usually recommended" in text for text in asked[with_hints:])
    assert "free of time" not in other
    assert '"hints": false' in settings
    assert '"priced_by": "tokens"' in settings
    assert numbers_of(usual) != numbers_of(other), "ten tokens take longer than a decision"


def numbers_of(said: str) -> list[str]:
    return [line for line in said.splitlines() if " ours " in line]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--preset", "fast"], "unknown preset 'fast'"),
        (["--interface", "frozen"], "cannot have the interface 'frozen'"),
        (["--interface", "lop"], "Did you mean 'loop'"),
        (["--decomposition", "singel"], "Did you mean 'single'"),
        (["--policy", "urgent"], "unknown policy 'urgent'"),
        (["--policy", "model"], "is not for the model 'rules'"),
        (["--seeds", "0"], "at least one seed"),
        (["--workers", "0"], "at least one worker"),
        (["--poll-interval", "0"], "above 0 and below 1e9 s"),
        (["--poll-interval", "nan"], "above 0 and below 1e9 s"),
        (["--poll-interval", "1e300"], "above 0 and below 1e9 s"),
        (["--set", "handle=1e300"], "less than 146 years"),
        (["--set", "late-reward=1e308"], "from 0 to 1e"),
        (["--interface", "loop", "--poll-interval", "5"], "--poll-interval would change nothing"),
        (["--set", "handle=-1"], "handle cannot be '-1'"),
        (["--set", "urgency=0.4,0.4,1.2"], "from 0 to 1, got 1.2"),
        (["--set", "arival-rate=0.3"], "Did you mean 'arrival-rate'"),
        (["--set", "arrival-rate"], "given as NAME=VALUE"),
        (["--set", "arrival-rate=often"], "arrival-rate cannot be 'often'"),
        (["--set", "high-slack=5"], "it takes two numbers"),
        (["--set", "target=4.5"], "target cannot be '4.5'"),
        (["--set", "check=1", "--set", "check=2"], "given twice"),
        (["--transcripts", "ful"], "Did you mean 'full'"),
        (["--model", "rule"], "Did you mean 'rules'"),
        (["--triage-pace", "token"], "Did you mean 'tokens'"),
        (["--no-hints"], "--hints would change nothing"),
        (["--model", "openai:m", "--policy", "stand-in"], "--policy would change nothing"),
        (["--temperature", "1"], "--temperature would change nothing"),
        (["--record", "x"], "--record would change nothing"),
        (["--base-url", "http://h/v1"], "--base-url would change nothing"),
    ],
)
def test_what_cannot_be_is_said_before_anything_runs(
    arguments: list[str], message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if "openai:m" in arguments:
        monkeypatch.setenv("OPENAI_BASE_URL", "http://host/v1")
    out = tmp_path / "run"
    with pytest.raises(TimefulError, match=message.replace("(", r"\(")):
        CliRunner().invoke(inbox, [*arguments, "--out", str(out)], catch_exceptions=False)
    assert not out.exists()


def test_every_setting_can_be_set_to_what_it_is() -> None:
    usual = InboxSettings()
    values = {name.replace(" ", "-"): text for name, text in shown(usual)}
    assert tuple(sorted(values)) == tuple(sorted(NAMES))
    changes = [
        f"{name}={text.removesuffix(' s').replace(' to ', ',').replace(' ', '')}"
        for name, text in values.items()
    ]
    assert changed(usual, changes) == usual


def test_settings_that_only_fit_together_are_changed_together() -> None:
    world = changed(InboxSettings(), ["urgency=1,0,0", "high-slack=1,2", "timeout-penalty=2"])
    assert (world.urgency, world.scoring.timeout_penalty) == ((1, 0, 0), 2)
    with pytest.raises(SettingsError, match="add up to 1"):
        changed(InboxSettings(), ["urgency=1,0,0.5"])
