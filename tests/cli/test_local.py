"""`--model local:PATH`, as a person uses it: the ordinary run, by a model in this process."""

from pathlib import Path

import pytest
from click.testing import CliRunner, Result

pytest.importorskip("torch", reason="local models need timeful[local]")
pytest.importorskip("transformers", reason="local models need timeful[local]")

from timeful.cli.main import app
from timeful.core.units import seconds
from timeful.errors import SettingsError
from timeful.models.calibrate import Calibration
from timeful.models.pace import TOKEN_TIME
from timeful.records.events import Sampled, ThoughtChunk, ThoughtEnded
from timeful.records.recorder import read_record
from timeful.training.tiny.language import Language
from timeful.training.tiny.pretrain import make_decoder
from timeful.training.tiny.settings import Shape


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A decoder that knows nothing, and its language."""
    language = Language(
        levels=10, events=24, strides=(24, 6, 1), budgets=(4, 16, 32), pace=TOKEN_TIME
    )
    tokenizer = language.tokenizer()
    make_decoder(Shape(), tokenizer, seed=0).save_pretrained(tmp_path / "tiny")
    tokenizer.save_pretrained(tmp_path / "tiny")
    return tmp_path / "tiny"


def run(folder: Path, out: Path, *more: str) -> Result:
    what = ["run", "timely/reasoning", "--case", "levels:24", "--size", "2", "--runs", "1"]
    who = ["--model", f"local:{folder}", "--workers", "1", "--out", str(out)]
    return CliRunner().invoke(app, [*what, *who, *more])


def records(out: Path) -> dict[str, bytes]:
    return {
        path.name: b"".join(
            line for line in path.read_bytes().splitlines(True) if b'"wall"' not in line
        )
        for path in (out / "episodes").glob("*.jsonl")
    }


def test_a_run_is_the_same_twice_and_its_records_have_the_tokens(
    folder: Path, tmp_path: Path
) -> None:
    how = ["--temperature", "0.7", "--budget", "0.032s", "--budget", "0.75x"]
    for name in ("one", "other"):
        result = run(folder, tmp_path / name, *how)
        assert result.exit_code == 0, f"{result.output}\n{result.exception!r}"
    made = records(tmp_path / "one")
    assert len(made) == 4
    assert made == records(tmp_path / "other")
    for name in made:
        events = list(read_record(tmp_path / "one" / "episodes" / name))
        sampled = {event.thought: event for event in events if isinstance(event, Sampled)}
        shown = {event.thought: event.tokens for event in events if isinstance(event, ThoughtEnded)}
        assert shown[1] > 0
        assert {number: len(one.ids) for number, one in sampled.items()} == shown
        assert all(len(one.ids) == len(one.logprobs) for one in sampled.values())


def test_another_temperature_gives_other_answers(folder: Path, tmp_path: Path) -> None:
    for heat in ("0", "1.5"):
        assert run(folder, tmp_path / heat, "--budget", "1s", "--temperature", heat).exit_code == 0
    cold, hot = (records(tmp_path / heat).values() for heat in ("0", "1.5"))
    assert not set(cold) & set(hot)


def test_a_pace_is_what_its_tokens_cost(folder: Path, tmp_path: Path) -> None:
    pace = tmp_path / "pace.json"
    Calibration(
        model="tiny",
        endpoint="",
        alpha_s_per_token=0.25,
        beta_s=0.5,
        r_squared=1.0,
        first_token_s=0.5,
        timings=(),
    ).save(pace)
    out = tmp_path / "out"
    assert run(folder, out, "--budget", "3s", "--pace", str(pace)).exit_code == 0
    for record in (out / "episodes").glob("*.jsonl"):
        chunks = [event for event in read_record(record) if isinstance(event, ThoughtChunk)]
        first = [chunk.at for chunk in chunks if chunk.thought == 1]
        assert first == [seconds(0.5 + 0.25 * n) for n in range(1, len(first) + 1)]
        assert first


@pytest.mark.parametrize(
    ("more", "says"),
    [
        (["--base-url", "http://localhost:1/v1"], "--base-url has no effect"),
        (["--record", "tape"], "--record has no effect"),
        (["--counting", "settled"], "--counting has no effect"),
        (["--temperature", "-1"], "a temperature is 0 or above"),
    ],
)
def test_what_is_for_endpoints_is_refused(
    folder: Path, tmp_path: Path, more: list[str], says: str
) -> None:
    result = run(folder, tmp_path / "out", *more)
    assert isinstance(result.exception, SettingsError)
    assert says in str(result.exception)


def test_a_damaged_checkpoint_is_refused_before_anything_runs(folder: Path, tmp_path: Path) -> None:
    (folder / "chat_template.jinja").unlink()
    result = run(folder, tmp_path / "out")
    assert "no chat template" in str(result.exception)
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    "command",
    [
        ["run", "realtime", "--model", "local:nowhere"],
        ["run", "engagement/inbox", "--model", "local:nowhere"],
        ["run", "engagement/kitchen", "--tutor", "local:nowhere"],
        ["run", "proactor", "--model", "local:nowhere"],
        ["run", "timely/fiction", "--model", "local:nowhere"],
    ],
)
def test_every_command_that_takes_a_model_takes_a_local_one(command: list[str]) -> None:
    result = CliRunner().invoke(app, command)
    assert "there is no checkpoint 'nowhere'" in str(result.exception)
