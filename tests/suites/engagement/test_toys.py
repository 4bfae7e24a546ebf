"""The toys as one call, on few episodes: files, claims, bands and resuming."""

import sys
from pathlib import Path
from zlib import compress

import msgspec
import numpy as np
import pytest
from click.testing import CliRunner, Result

from timeful.cli.suite_command import load_command
from timeful.errors import RecordError, SettingsError, SlowPathWarning
from timeful.experiments.run import Results, run_suite
from timeful.experiments.sweep import Choice
from timeful.records.recorder import Recorder
from timeful.reports.results import ResultRow
from timeful.suites.engagement.toys.cells import check_orders, make_cells
from timeful.suites.engagement.toys.episode import ToyEpisode
from timeful.suites.engagement.toys.play import POLICIES, evaluate, play
from timeful.suites.engagement.toys.rows import ToyRow, resample, summarize
from timeful.suites.engagement.toys.suite import suite

SMALL = Choice(values={"run": range(2)}, fixed={"training": 6, "evaluation": 4})


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> Results:
    out = tmp_path_factory.mktemp("toys") / "run"
    return run_suite(suite, SMALL, out, workers=1)


def test_a_run_has_each_policy_with_each_seed(results: Results) -> None:
    assert not results.failed
    policies = [(name, *policy) for name, known in POLICIES.items() for policy in known]
    played = [(row.experiment, row.method, row.learner) for row in results.episodes]
    assert sorted(played) == sorted(2 * policies)
    assert {row.seed for row in results.episodes} == {42, 43}


def test_results_hold_the_optima_and_all_published_numbers(results: Results) -> None:
    optima = [cell for cell in results.cells if cell.setting == "optimum"]
    assert [cell.n for cell in optima] == [0] * 4
    compared = {
        (cell.experiment, cell.method, cell.metric)
        for cell in results.cells
        if cell.published is not None
    }
    assert len(compared) == len(suite.reference.numbers) == 4 * (4 + 4 + 2 + 4 + 4)


def test_the_report_has_the_figures(results: Results) -> None:
    page = results.page.read_text(encoding="utf-8")
    assert [f"As Figure {number}: " in page for number in (3, 4, 5, 6)] == [True] * 4
    assert max(map(len, results.text.splitlines())) <= 80


def test_a_number_that_no_episode_has_leads_to_none(results: Results) -> None:
    page = results.page.read_text(encoding="utf-8")
    assert "learner=" in page
    assert "learner=optimum" not in page


def test_a_record_of_something_else_or_without_an_end_is_refused() -> None:
    recorder = Recorder()
    play(ToyEpisode(training=6, evaluation=4), recorder)
    assert summarize(recorder.events).status == "ok"
    for events in (recorder.events[:-1], recorder.events[1:]):
        with pytest.raises(RecordError):
            summarize(events)


# --- cells and claims -------------------------------------------------------------------------

RETURNS = {"EP": 150.0, "PatchPro": 60.0, "Patch": -100.0, "Loop": -300.0}


def row_of(
    method: str, learner: str, seed: int, *, level: str = "depth-3", shift: float = 0.0
) -> ToyRow:
    """A row of four evaluation episodes with a known return."""
    mean = RETURNS[method] + shift
    counts = {
        "return": [mean - 1, mean, mean, mean + 1],
        "alarms": [46, 46, 45, 47],
        "resolved": [20, 30, 25, 25],
        "expired": [26, 16, 20, 22],
        "active_ticks": [300, 310, 305, 305],
        "interrupt_cost": [0, 0, 0, 0],
    }
    return ToyRow(
        experiment=f"patrol/{level}",
        method=method,
        learner=learner,
        seed=seed,
        training=6,
        evaluation=4,
        status="ok",
        score=mean,
        modes=(),
        counts=compress(msgspec.json.encode(counts)),
        error=None,
        sha256="",
    )


def level(*, worst: float = 0.0) -> list[ToyRow]:
    """All methods with two seeds; `worst` moves the return of the learned one on the second."""
    return [
        row_of("EP", "paper-like", 42),
        row_of("EP", "paper-like", 43, shift=worst),
        *(
            row_of(method, "fixed", seed)
            for method in ("PatchPro", "Patch", "Loop")
            for seed in (42, 43)
        ),
    ]


def return_of(rows: list[ToyRow], **where: object) -> ResultRow:
    where = {"seed": None, "method": "EP", **where}
    cells = [cell for cell in make_cells(rows) if cell.metric == "return"]
    return next(cell for cell in cells if cell.matches(where))  # type: ignore[arg-type]


def test_a_cell_has_its_mean_spread_interval_and_band() -> None:
    cell = return_of(level(worst=-20))
    assert (cell.value, cell.n, cell.published, cell.source) == (140, 8, 143.31, "Table 16")
    assert cell.spread == pytest.approx(np.sqrt(200))
    assert (cell.low or 0) < 140 < (cell.high or 0)
    band = suite.reference.band(cell)
    assert band is not None
    assert (band.low, band.high) == (110, 290)


def test_a_cell_of_one_seed_has_no_spread_and_no_band() -> None:
    cell = return_of(level(worst=-20), seed=43)
    assert (cell.value, cell.n, cell.spread, cell.published) == (130, 4, None, None)
    assert suite.reference.band(cell) is None


def test_a_policy_that_always_responds_is_not_measured_against_bands() -> None:
    cell = return_of([row_of("EP", "always respond", 42)])
    assert cell.published is not None
    assert suite.reference.band(cell) is None


def test_a_share_is_that_of_sums_and_not_the_mean_of_shares() -> None:
    cells = make_cells([row_of("EP", "paper-like", 42)])
    values = {cell.metric: cell.value for cell in cells if "seed" not in cell.where}
    assert values["resolve %"] == pytest.approx(100 * 100 / 184)
    assert set(values) == {"return", "resolve %", "expire %", "cost", "alarms"}


def test_all_policies_are_resampled_alike() -> None:
    first, second = (resample(row.counts) for row in level()[:2])
    assert first.episodes == 4
    assert np.array_equal(first.resampled["alarms"], second.resampled["alarms"])


def test_claims_count_the_seeds_on_which_they_hold() -> None:
    on_means, per_seed = check_orders(make_cells(level(worst=-100)))
    assert on_means.holds
    assert (per_seed.held, per_seed.cases, per_seed.is_promised) == (1, 2, False)
    on_means, _ = check_orders(make_cells(level(worst=-1_000)))
    assert not on_means.holds
    assert on_means.is_promised


def test_bands_of_written_policies_are_narrow_and_loop_costs_nothing() -> None:
    width = {
        (band.where["experiment"], band.where["method"], band.metric): band.high - band.low
        for band in suite.reference.bands
    }
    assert width["patrol/depth-2", "Patch", "return"] == pytest.approx(30)
    assert width["patrol/depth-3", "Loop", "return"] == pytest.approx(50)
    assert width["patrol/depth-3", "PatchPro", "cost"] == pytest.approx(4)
    assert width["patrol/depth-2", "Loop", "cost"] == 0


# --- the command ------------------------------------------------------------------------------

OPTIONS = ["--seeds", "1", "--training", "6", "--evaluation", "4", "--workers", "1"]


def run(*options: str) -> Result:
    return CliRunner().invoke(load_command("engagement/toys"), [*OPTIONS, *options])


@pytest.mark.parametrize(
    "options",
    [
        ["--seeds", "0"],
        ["--training", "0"],
        ["--evaluation", "-1"],
        ["--workers", "0"],
        ["--preset", "quik"],
        ["--experiment", "patrol/depth-2", "--learner", "unknown"],
    ],
)
def test_wrong_options_are_refused_before_anything_is_written(
    options: list[str], tmp_path: Path
) -> None:
    result = run(*options, "--out", str(tmp_path))
    assert isinstance(result.exception, SettingsError), result.output
    assert not any(tmp_path.iterdir())


def test_without_numba_there_is_one_warning_and_the_same_outcome(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    episode = ToyEpisode(training=6, evaluation=4)
    expected = evaluate(episode).encode()
    monkeypatch.setitem(sys.modules, "numba", None)
    assert suite.check is not None
    with pytest.warns(SlowPathWarning):
        suite.check([episode])
    assert evaluate(episode).encode() == expected
