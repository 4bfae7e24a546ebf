"""`timeful run engagement/kitchen` and `timeful draw`, as a person uses them."""

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from tests.servers.fake import FakeServer, Say
from timeful.cli.engagement_kitchen import draw, kitchen
from timeful.errors import RecordError, SettingsError

QUICK = ["--seeds", "1", "--cases", "2", "--workers", "1"]


def run(*arguments: str, command: Any = kitchen, **environment: str) -> Result:
    return CliRunner(env=environment).invoke(command, list(arguments))


def refused(*arguments: str, out: Path) -> str:
    result = run(*arguments, "--out", str(out))
    assert isinstance(result.exception, SettingsError), result.output
    assert not out.exists() or not any(out.iterdir())
    return str(result.exception)


def test_a_run_prints_the_tables_within_80_columns_and_where_to_look(tmp_path: Path) -> None:
    result = run(*QUICK, "--out", str(tmp_path / "run"))
    assert result.exit_code == 0, result.output
    lines = result.stdout.splitlines()
    assert max(map(len, lines[:-2])) <= 80
    assert "Tables 4 and 20: one dish, one problem" in lines
    assert [line.split()[0] for line in lines[-2:]] == ["report", "records"]
    for name in ("report.html", "results.json", "table.csv", "episodes.csv", "settings.json"):
        assert (tmp_path / "run" / name).stat().st_size > 0


def test_parts_can_be_asked_for(tmp_path: Path) -> None:
    result = run(
        *QUICK,
        *("--setting", "one-dish", "--interface", "polling", "--poll-interval", "20"),
        *("--set", "judged=start", "--set", "switch=1", "--out", str(tmp_path)),
    )
    assert result.exit_code == 0, result.output
    names = {path.stem for path in (tmp_path / "episodes").glob("*")}
    assert len(names) == 2
    assert all(name.startswith("one-dish-periodic-poll-") for name in names)
    assert "Table 22" not in result.stdout


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        (["--preset", "fast"], "unknown preset 'fast'"),
        (["--setting", "two-dish"], "unknown setting 'two-dish'"),
        (["--interface", "poling"], "Did you mean 'polling'"),
        (["--interface", "fixed-rate"], "unknown interface"),
        (["--seeds", "0"], "at least 1 set"),
        (["--cases", "0"], "at least 1 case"),
        (["--workers", "0"], "at least one worker"),
        (["--poll-interval", "0"], "above 0"),
        (["--poll-interval", "-5"], "must not be negative"),
        (["--reflex-delay", "-1"], "must not be negative"),
        (["--answer-tokens", "-1"], "less than 0 tokens"),
        (["--calls", "0"], "at least 1 call"),
        (["--resumption", "guess"], "unknown resumption"),
        (["--transcripts", "some"], "unknown transcripts"),
        (["--set", "jitter=-1"], "jitter"),
        (["--set", "budget=0"], "above 0"),
        (["--set", "staging=-3"], "must not be negative"),
        (["--set", "judged=middle"], "unknown judgement"),
        (["--set", "swich=1"], "Did you mean 'switch'"),
        (["--set", "switch"], "NAME=VALUE"),
        (["--set", "switch=much"], "cannot be 'much'"),
        (["--set", "switch=1", "--set", "switch=2"], "given twice"),
        (["--model", "gpt"], "unknown model"),
        (["--model", "prose"], "unknown model"),
        (["--model", "openai:x"], "--base-url"),
        (["--tutor", "replay:/nowhere"], "no cassette"),
        (["--prompt", "neutral"], "would change nothing"),
        (["--model", "openai:x", "--base-url", "http://h/v1", "--prompt", "no"], "unknown prompt"),
        (["--base-url", "http://localhost:1/v1"], "would change nothing"),
        (["--temperature", "0.5"], "would change nothing"),
        (["--interface", "loop", "--poll-interval", "20"], "would change nothing"),
        (["--interface", "loop", "--reflex-delay", "20"], "would change nothing"),
        (
            ["--model", "openai:x", "--base-url", "http://localhost:1/v1", "--answer-tokens", "9"],
            "would change nothing",
        ),
    ],
)
def test_bad_settings_are_named_before_anything_runs(
    arguments: list[str], reason: str, tmp_path: Path
) -> None:
    assert reason in refused(*arguments, out=tmp_path / "run")


def test_a_live_model_runs_by_the_same_command_and_fails_by_name(tmp_path: Path) -> None:
    live = ["--model", "openai:cook", "--setting", "one-dish", "--interface", "event-driven"]
    with FakeServer([Say("Done. "), Say("<end/>")]) as server:
        result = run(*QUICK, *live, "--base-url", server.base_url, "--out", str(tmp_path / "run"))
        assert result.exit_code == 0, result.output
        assert len(server.requests) == 2
        assert server.requests[0].body["model"] == "cook"
    assert "Stand-in" not in result.stdout
    assert "Bands:" not in result.stdout
    with FakeServer([Say("Hm.")]) as server:
        calls = ["--calls", "3", "--replace", "--out", str(tmp_path / "run")]
        result = run(*QUICK, *live, *calls, "--base-url", server.base_url)
        assert result.exit_code == 0, result.output
        assert len(server.requests) == 2 * 3
    assert "answers that could not be used: 100 % (6 of 6)" in result.stdout
    assert "episodes ended by --calls: 2 of 2" in result.stdout
    page = (tmp_path / "run" / "report.html").read_text()
    assert "Answers that could not be used: 100 % (6 of 6)." in page


def test_a_neutral_prompt_says_the_same_under_every_interface(tmp_path: Path) -> None:
    few = ["--cases", "1", "--seeds", "1", "--setting", "one-dish", "--workers", "1"]
    told = {}
    for prompt in ("published", "neutral"):
        with FakeServer([Say("<end/>")]) as server:
            model = ["--model", "openai:cook", "--base-url", server.base_url, "--prompt", prompt]
            result = run(*few, *model, "--out", str(tmp_path / prompt))
            assert result.exit_code == 0, result.output
            told[prompt] = {asked.body["messages"][0]["content"] for asked in server.requests}
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


def test_episodes_that_fail_are_counted_and_end_with_exit_code_1(tmp_path: Path) -> None:
    from tests.servers.fake import Status

    live = ["--model", "openai:cook", "--setting", "one-dish", "--interface", "loop"]
    with FakeServer([Status(401, "no such key")]) as server:
        result = run(*QUICK, *live, "--base-url", server.base_url, "--out", str(tmp_path))
    assert result.exit_code == 1
    assert "failed   2 of 2 episodes, the first with: model: ModelRefusedError" in result.stdout


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
