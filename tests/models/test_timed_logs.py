"""The times of answers in logs of other tools."""

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from timeful.cli.main import app
from timeful.errors import RecordError, SettingsError
from timeful.models.calibrate import load_calibration
from timeful.models.timed_logs import read_timings


def span(tokens: int, seconds: float, **changes: Any) -> dict[str, Any]:
    fields = {"gen_ai.request.model": {"stringValue": "m"}}
    return {
        "startTimeUnixNano": "1000",
        "endTimeUnixNano": str(1000 + round(seconds * 1e9)),
        "attributes": [
            *({"key": key, "value": value} for key, value in fields.items()),
            {"key": "gen_ai.usage.output_tokens", "value": {"intValue": str(tokens)}},
        ],
    } | changes


def otlp(*spans: dict[str, Any]) -> dict[str, Any]:
    return {"resourceSpans": [{"scopeSpans": [{"spans": list(spans)}]}]}


def episode(*calls: dict[str, Any]) -> str:
    return json.dumps({"traces": [{"calls": [item]} for item in calls]})


def call(tokens: int, seconds: float, **changes: Any) -> dict[str, Any]:
    usage = {"prompt_tokens": 5, "completion_tokens": tokens}
    return {"usage": usage, "model": "m", "time": {"start": 7.0, "end": 7.0 + seconds}} | changes


@pytest.mark.parametrize(
    "content",
    [
        json.dumps(otlp(span(10, 0.7), span(20, 0.9), span(5, 9.0, status={"code": 2}))),
        episode(call(10, 0.7), call(1, 9.0, error="x"))
        + "\n"
        + episode(call(20, 0.9), call(1, 1.0, usage=None)),
    ],
    ids=["otlp", "verifiers"],
)
def test_a_pace_is_fitted_from_a_log(content: str, tmp_path: Path) -> None:
    log, out = tmp_path / "log.jsonl", tmp_path / "pace.json"
    log.write_text(content)
    result = CliRunner().invoke(app, ["calibrate", "--from", str(log), "--out", str(out)])
    assert result.exit_code == 0, result.output
    calibration = load_calibration(out)
    assert calibration.model == "m"
    assert calibration.alpha_s_per_token == pytest.approx(0.02)
    assert calibration.beta_s == pytest.approx(0.5)
    assert calibration.first_token_s is None


@pytest.mark.parametrize("content", ["no", "{}", '{"traces": 3}', '{"resourceSpans": [1]}', "[1]"])
def test_a_foreign_file_is_refused(content: str, tmp_path: Path) -> None:
    path = tmp_path / "log.jsonl"
    path.write_text(content)
    with pytest.raises(RecordError):
        read_timings(path)


@pytest.mark.parametrize(
    "arguments", [["--from", "log.jsonl"], ["other", "--from", "log.jsonl"]], ids=["none", "other"]
)
def test_one_model_of_several_is_chosen(
    arguments: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    calls = [call(10, 0.7), call(20, 0.9, model="n")]
    Path("log.jsonl").write_text(episode(*calls))
    result = CliRunner().invoke(app, ["calibrate", *arguments])
    assert isinstance(result.exception, SettingsError)


def test_an_option_of_an_endpoint_is_refused_with_a_log(tmp_path: Path) -> None:
    log = tmp_path / "log.jsonl"
    log.write_text(episode(call(10, 0.7), call(20, 0.9)))
    result = CliRunner().invoke(app, ["calibrate", "--from", str(log), "--repeats", "3"])
    assert isinstance(result.exception, SettingsError)
