"""`timeful run engagement/kitchen` and `timeful draw`, as a person uses them."""

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from tests.servers.fake import FakeServer, Say
from timeful.cli.draw import draw
from timeful.cli.suite_command import load_command
from timeful.errors import RecordError, SettingsError

kitchen = load_command("engagement/kitchen")
QUICK = ["--seeds", "1", "--cases", "2", "--workers", "1"]


def run(*arguments: str, command: Any = kitchen, **environment: str) -> Result:
    return CliRunner(env=environment).invoke(command, list(arguments))


@pytest.mark.parametrize(
    "arguments",
    [
        ["--setting", "two-dish"],
        ["--interface", "fixed-rate"],
        ["--poll-interval", "0"],
        ["--reflex-delay", "-1"],
        ["--answer-tokens", "-1"],
        ["--calls", "0"],
        ["--resumption", "guess"],
        ["--set", "jitter=-1"],
        ["--set", "budget=0"],
        ["--set", "staging=-3"],
        ["--set", "judged=middle"],
        ["--set", "switch=much"],
        ["--set", "switch=1", "--set", "switch=2"],
        ["--tutor", "replay:/nowhere"],
        ["--prompt", "neutral"],
        ["--interface", "loop", "--poll-interval", "20"],
        ["--interface", "loop", "--reflex-delay", "20"],
        ["--model", "openai:x", "--base-url", "http://localhost:1/v1", "--answer-tokens", "9"],
        ["--model", "openai:x", "--base-url", "http://localhost:1/v1", "--no-variants"],
    ],
)
def test_bad_settings_are_refused_before_anything_runs(
    arguments: list[str], tmp_path: Path
) -> None:
    result = run(*arguments, "--out", str(tmp_path))
    assert isinstance(result.exception, SettingsError), result.output
    assert not any(tmp_path.iterdir())


def test_a_live_model_runs_by_the_same_command_and_fails_by_name(tmp_path: Path) -> None:
    live = ["--model", "openai:cook", "--setting", "one-dish", "--interface", "event-driven"]
    with FakeServer([Say("Done. "), Say("<end/>")]) as server:
        result = run(*QUICK, *live, "--base-url", server.base_url, "--out", str(tmp_path / "run"))
        assert result.exit_code == 0, result.output
        assert len(server.requests) == 1 + 2  # a probe comes first
        assert server.requests[0].body["model"] == "cook"
    with FakeServer([Say("Hm.")]) as server:
        calls = ["--calls", "3", "--replace", "--out", str(tmp_path / "run")]
        result = run(*QUICK, *live, *calls, "--base-url", server.base_url)
        assert result.exit_code == 0, result.output
        assert len(server.requests) == 1 + 2 * 3
    assert "100 % (6 of 6)" in result.stdout
    assert "(--calls): 2 of 2" in result.stdout


def test_a_neutral_prompt_says_the_same_under_every_interface(tmp_path: Path) -> None:
    few = ["--cases", "1", "--seeds", "1", "--setting", "one-dish", "--workers", "1"]
    told = {}
    for prompt in ("published", "neutral"):
        with FakeServer([Say("<end/>")]) as server:
            model = ["--model", "openai:cook", "--base-url", server.base_url, "--prompt", prompt]
            result = run(*few, *model, "--out", str(tmp_path / prompt))
            assert result.exit_code == 0, result.output
            told[prompt] = {asked.body["messages"][0]["content"] for asked in server.requests[1:]}
        assert f'"prompt": "{prompt}"' in (tmp_path / prompt / "settings.json").read_text()
    assert len(told["published"]) == 4
    assert len(told["neutral"]) == 1
    [neutral] = told["neutral"]
    assert all(text.startswith(neutral) for text in told["published"])


def test_an_endpoint_that_answers_nothing_does_not_stop_the_clock(tmp_path: Path) -> None:
    few = ["--cases", "1", "--seeds", "1", "--setting", "one-dish", "--interface", "event-driven"]
    with FakeServer([]) as server:
        model = ["--model", "openai:cook", "--base-url", server.base_url, "--calls", "5"]
        result = run(*few, *model, "--workers", "1", "--out", str(tmp_path))
    assert result.exit_code == 0, result.output
    [line] = (tmp_path / "rows.jsonl").read_text().splitlines()
    row = json.loads(line)["row"]
    assert (row["calls"], row["refused"], row["ticks"], row["tokens"]) == (5, 5, 5.0, 0)


def test_a_record_is_drawn(tmp_path: Path) -> None:
    run(*QUICK, "--out", str(tmp_path / "run"))
    records = sorted(map(str, (tmp_path / "run" / "episodes").glob("multi-dish-ep-*")))
    figure = tmp_path / "figure.svg"
    result = run(*records, "--figure", str(figure), command=draw)
    assert result.exit_code == 0, result.output
    assert result.stdout == f"figure   {figure}\n"
    assert figure.read_text().startswith("<?xml")
    torn = tmp_path / "torn.jsonl"
    torn.write_text(Path(records[0]).read_text()[:900].rpartition("\n")[0] + "\n")
    broken = run(str(torn), command=draw)
    assert isinstance(broken.exception, RecordError)
