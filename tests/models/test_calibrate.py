"""Measuring the pace of an endpoint."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import scipy

from tests.servers.fake import FakeServer, Finish, Say, Usage
from timeful.core.source import Chunk, End
from timeful.core.units import milliseconds, seconds
from timeful.errors import ModelError, RecordError, SettingsError
from timeful.models.calibrate import Calibration, calibrate, figure, load_calibration
from timeful.models.chat import OpenAIModel
from timeful.models.least_squares import line_through
from timeful.models.model import Prompt
from timeful.models.pace import Pace
from timeful.models.scripted import ListSource, ScriptedModel


class Timed(ScriptedModel):
    """A model with a clock of its own, which runs only while it speaks."""

    def __init__(self, pace: Pace, *, most: int = 10_000) -> None:
        super().__init__(lambda _: [], name="timed")
        self.clock = 5_000
        self.speed = pace
        self.most = most
        self.limits: list[int] = []

    def read(self) -> int:
        return self.clock

    def open(self, prompt: Prompt, *, max_tokens: int | None, seed: int) -> ListSource:
        count = min(max_tokens or 0, self.most)
        self.limits.append(count)
        return ListSource(self._speak(count))

    def _speak(self, count: int):  # type: ignore[no-untyped-def]
        self.clock += self.speed.first
        for _ in range(count):
            self.clock += self.speed.per_token
            yield Chunk("x", 1)
        yield End("length", tokens=count)


PACE = Pace(first=milliseconds(250), per_token=milliseconds(20))


def test_the_pace_of_a_steady_endpoint_is_found() -> None:
    model = Timed(PACE)
    found = calibrate(model, lengths=(4, 16, 64), repeats=2, read=model.read, endpoint="here")
    assert found.pace.per_token == pytest.approx(PACE.per_token)
    assert found.pace.first == pytest.approx(PACE.first)
    assert found.r_squared == pytest.approx(1)
    assert found.first_token_s == pytest.approx(0.27)
    assert (found.model, found.endpoint, found.doubts) == ("timed", "here", ())


def test_lengths_take_turns_after_one_answer_that_does_not_count() -> None:
    model = Timed(PACE)
    found = calibrate(model, lengths=(4, 16), repeats=2, read=model.read)
    assert model.limits == [4, 4, 16, 4, 16]
    assert [timing.tokens for timing in found.timings] == [4, 16, 4, 16]


def test_a_server_is_calibrated_by_the_tokens_that_it_counts(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")

    def script(body: dict[str, int]) -> list[object]:
        return [*(Say("one ") for _ in range(body["max_tokens"])), Finish("length")]

    with FakeServer(script) as server:
        # A clock that shows a millisecond for each delta that the server has sent.
        def deltas() -> int:
            return sum(request.sent for request in server.requests) * 1_000_000

        model = OpenAIModel(model="fake", base_url=server.base_url)
        found = calibrate(model, lengths=(2, 9), repeats=1, read=deltas, endpoint=model.endpoint)
        model.close()
    assert found.pace == Pace(first=milliseconds(0), per_token=milliseconds(1))
    assert all(timing.is_counted for timing in found.timings)
    assert found.endpoint == server.base_url


def test_hidden_reasoning_is_counted_and_doubts_the_delay_of_the_first_token(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")

    def script(body: dict[str, int]) -> list[object]:
        limit = body["max_tokens"]
        return [Say("one "), Finish("length"), Usage(limit, reasoning=limit - 1)]

    ticks = iter(range(0, 10**9, 1000))
    with FakeServer(script) as server:  # type: ignore[arg-type]
        model = OpenAIModel(model="m", base_url=server.base_url)
        found = calibrate(model, lengths=(4, 64), repeats=1, read=lambda: next(ticks))
        model.close()
    assert [(timing.tokens, timing.hidden) for timing in found.timings] == [(4, 3), (64, 63)]
    assert any("63" in doubt for doubt in found.doubts)


def test_the_line_is_that_of_a_reference() -> None:
    rng = np.random.RandomState(3)
    tokens = rng.randint(1, 600, size=40)
    times = 0.3 + 0.02 * tokens + rng.normal(0, 0.4, size=40)
    line = line_through(list(zip(tokens.tolist(), times.tolist(), strict=True)))
    reference = scipy.stats.linregress(tokens, times)
    assert line.alpha == pytest.approx(reference.slope)
    assert line.beta == pytest.approx(reference.intercept)
    assert line.r_squared == pytest.approx(reference.rvalue**2)


@pytest.mark.parametrize("points", [[], [(4, 1.0)], [(4, 1.0), (4, 2.0)]])
def test_one_length_tells_no_pace(points: list[tuple[int, float]]) -> None:
    with pytest.raises(ModelError, match="at least two lengths"):
        line_through(points)


def test_answers_that_get_faster_with_length_tell_no_pace() -> None:
    with pytest.raises(ModelError, match="less time"):
        line_through([(1, 2.0), (2, 1.0)])


def test_a_negative_delay_becomes_none_and_is_doubted() -> None:
    line = line_through([(10, 0.5), (20, 1.5)])
    assert line.pace == Pace(first=seconds(0), per_token=seconds(0.1))
    doubts = replace(sample(), beta_s=-0.5).doubts
    assert len(doubts) == 1
    assert "negative" in doubts[0]


@pytest.mark.parametrize(
    ("lengths", "repeats"), [((), 3), ((16,), 3), ((16, 16), 3), ((0, 16), 3), ((16, 32), 0)]
)
def test_a_plan_that_gives_no_line_is_refused_before_anything_is_asked(
    lengths: tuple[int, ...], repeats: int
) -> None:
    model = Timed(PACE)
    with pytest.raises(SettingsError):
        calibrate(model, lengths=lengths, repeats=repeats, read=model.read)
    assert not model.limits


def sample() -> Calibration:
    model = Timed(PACE)
    return calibrate(model, lengths=(4, 16, 64), repeats=2, read=model.read, endpoint="here")


def test_what_is_to_be_doubted_is_said() -> None:
    scattered = replace(sample(), r_squared=0.5)
    assert "50%" in scattered.doubts[0]
    timings = tuple(replace(timing, is_counted=False) for timing in sample().timings)
    assert "estimates" in replace(sample(), timings=timings).doubts[0]


def test_a_calibration_is_saved_for_people_and_read_back(tmp_path: Path) -> None:
    path = tmp_path / "pace.json"
    sample().save(path)
    assert '\n  "alpha_s_per_token": 0.0' in path.read_text()
    assert load_calibration(path) == sample()


@pytest.mark.parametrize("content", [None, "{}", "not json"])
def test_a_file_that_is_no_calibration_is_an_error(tmp_path: Path, content: str | None) -> None:
    path = tmp_path / "pace.json"
    if content is not None:
        path.write_text(content)
    with pytest.raises(RecordError, match="cannot be read"):
        load_calibration(path)


def test_a_calibration_that_gives_no_pace_is_an_error(tmp_path: Path) -> None:
    path = tmp_path / "pace.json"
    replace(sample(), alpha_s_per_token=-0.1).save(path)
    with pytest.raises(RecordError, match="not negative"):
        load_calibration(path)


def test_a_models_name_in_the_figure_is_no_formula(tmp_path: Path) -> None:
    figure(replace(sample(), model="a$\\b$"), tmp_path / "pace.svg")
    assert (tmp_path / "pace.svg").stat().st_size > 0
