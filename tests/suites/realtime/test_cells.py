"""From episodes to cells: which experiments they serve, and what is never averaged."""

from collections.abc import Sequence
from pathlib import Path

import pytest

from tests.suites.realtime.synthetic_rows import condition, episode, failed, whole_suite
from timeful.experiments.report import write_report
from timeful.records.rows import EpisodeRow
from timeful.reports.results import ResultRow
from timeful.suites.realtime.cells import clusters, make_cells
from timeful.suites.realtime.conditions import MEAN
from timeful.suites.realtime.suite import suite

MEDIUM = "freeway, medium, 8192 tokens/step"


def find(
    cells: Sequence[ResultRow],
    experiment: str,
    method: str,
    setting: str = MEDIUM,
    metric: str = "score",
) -> ResultRow:
    [cell] = [
        cell
        for cell in cells
        if (cell.experiment, cell.method, cell.setting, cell.metric)
        == (experiment, method, setting, metric)
    ]
    return cell


def experiments(rows: Sequence[EpisodeRow]) -> set[str]:
    return {cell.experiment for cell in make_cells(rows) if cell.stand_in is not None}


def test_an_episode_serves_every_experiment_it_belongs_to() -> None:
    cells = make_cells(whole_suite(("reactive", "agile")))
    ours = {cell.experiment for cell in cells if cell.stand_in is not None}
    assert ours == {"load", "pressure", "reserve"}
    setting = "snake, medium, 8192 tokens/step"
    load, pressure = (find(cells, name, "reactive", setting) for name in ("load", "pressure"))
    assert (load.value, load.low) == (pressure.value, pressure.low)
    assert (load.published, pressure.published) == (0.4900, 0.4844)


@pytest.mark.parametrize(
    ("at", "served"),
    [
        ({}, {"load"}),
        ({"difficulty": "hard", "tokens_per_step": 4096}, {"pressure-hard"}),
        ({"tokens_per_step": 1000}, {"custom"}),
        ({"difficulty": "easy", "tokens_per_step": 4096}, {"custom"}),
        ({"agent": "agile-concurrent"}, {"load", "throughput"}),
        ({"agent": "agile-reduced", "tokens_per_step": 4096}, {"pressure", "reduced"}),
        ({"agent": "tortoise", "tokens_per_step": 1234}, {"custom"}),
    ],
)
def test_an_experiment_is_present_when_an_episode_speaks_for_it(
    at: dict[str, object], served: set[str]
) -> None:
    assert experiments(condition(**at)) == served  # type: ignore[arg-type]


def test_clocks_never_mix() -> None:
    seconds = {"tokens_per_step": None, "seconds_per_step": 360.0}
    rows = condition(seeds=2, clock="paced", **seconds)
    rows += condition(seeds=3, clock="wall", **seconds) + condition(seeds=2)
    cells = make_cells(rows)
    assert experiments(rows) == {"load", "wall", "paced"}
    paced = find(cells, "paced", "reactive", "freeway, medium, 360 paced s/step")
    wall = find(cells, "wall", "reactive", "freeway, medium, 360 s/step")
    assert (paced.n, paced.published) == (4, None)
    assert (wall.n, wall.published) == (6, 0.24)


def test_reserves_are_never_averaged() -> None:
    rows = [
        episode(agent="agile", difficulty=load, reserve=reserve, game_seed=seed)
        for load, reserve in (("medium", 512), ("medium", 2048), ("hard", 2048))
        for seed in (0, 1)
    ]
    cells = make_cells(rows)
    assert find(cells, "load", "agile").n == 2
    for reserve in (512, 2048):
        assert find(cells, "reserve", "agile", f"{MEDIUM}, reserve {reserve}").n == 2


@pytest.mark.parametrize(
    ("tried", "main"),
    [
        ([("medium", 512, 1), ("medium", 2048, 3), ("hard", 512, 1)], 512),  # at most loads
        ([("medium", 512, 1), ("medium", 2048, 1), ("medium", 8192, 1)], 2048),  # the usual one
    ],
)
def test_one_reserve_is_shown_outside_the_sweep(
    tried: list[tuple[str, int, int]], main: int
) -> None:
    rows = [
        episode(
            agent="agile", difficulty=load, reserve=reserve, sample=sample, score=float(reserve)
        )
        for load, reserve, samples in tried
        for sample in range(samples)
    ]
    assert find(make_cells(rows), "load", "agile").value == pytest.approx(main / 89)


def test_models_and_modes_are_never_averaged() -> None:
    rows = [episode(), episode(model="llama", stand_in=False), episode(mode="paper")]
    assert {cell.method for cell in make_cells(rows) if cell.stand_in is not None} == {
        "reactive (search, compat)",
        "reactive (llama, compat)",
        "reactive (search, paper)",
    }


def test_other_episodes_do_not_shift_an_interval() -> None:
    among = whole_suite(["reactive"])
    alone = [row for row in among if row.game == "snake" and row.difficulty == "hard"]
    at = ("load", "reactive", "snake, hard, 8192 tokens/step")
    first, second = (find(make_cells(rows), *at) for rows in (alone, among))
    assert (first.value, first.low, first.high) == (second.value, second.low, second.high)


def test_failed_episodes_are_counted_but_in_no_mean() -> None:
    rows = [episode(game_seed=0), episode(game_seed=1, score=0.0), failed(game_seed=2)]
    cell = find(make_cells(rows), "load", "reactive")
    assert (cell.n, cell.failed, cell.value) == (2, 1, 0.25)
    assert clusters(rows) == {0: [0.5], 1: [0.0]}


def test_the_average_over_games_needs_all_three() -> None:
    two = condition(game="freeway") + condition(game="snake")
    ours = [cell for cell in make_cells(two) if cell.value is not None]
    assert not any(cell.where["game"] == MEAN for cell in ours)
    cells = make_cells(two + condition(game="overcooked"))
    mean = find(cells, "load", "reactive", f"{MEAN}, medium, 8192 tokens/step")
    parts = [
        c.value
        for c in cells
        if c.value is not None and c.metric == "score" and c.where["game"] != MEAN
    ]
    assert mean.value == pytest.approx(sum(parts) / 3)
    assert mean.n == 48
    assert mean.published == pytest.approx((0.3258 + 0.4900 + 0.3664) / 3)


def test_agile_is_compared_with_each_paradigm_over_shared_seeds() -> None:
    rows = [
        row
        for agent in ("reactive", "planning", "agile")
        for row in condition(agent=agent, seeds=8)
    ]
    cells = make_cells(rows)
    for baseline in ("reactive", "planning"):
        p = find(cells, "load", f"agile vs {baseline}", metric="p_t")
        assert p.value is not None
        assert p.value < 0.05
        assert p.n == 8
    alone = make_cells(condition(agent="agile", seeds=2) + condition(agent="planning", seeds=1))
    assert find(alone, "load", "agile vs planning", metric="p_t").value is None


SUBSETS = {
    "nothing": [],
    "one episode": [episode()],
    "only failures": [failed(game_seed=seed) for seed in range(60)],
    "an unknown agent": condition(agent="tortoise", tokens_per_step=1234),
    "only a sweep": [
        episode(agent="agile", reserve=r, reactor_tokens=(90, r)) for r in (512, 4096)
    ],
    "failures in a sweep": [
        failed(agent="agile", reserve=512),
        episode(agent="agile", reserve=1024),
    ],
    "scores above one": condition(game="snake", skill=1.5),
    "no turns": [episode(turns=0, late_turns=0)],
    "the whole suite": whole_suite(seeds=3, samples=1),
}


@pytest.mark.parametrize("name", SUBSETS)
def test_any_episodes_make_a_report_and_their_order_changes_nothing(
    name: str, tmp_path: Path
) -> None:
    rows = SUBSETS[name]
    report = write_report(suite, rows, tmp_path / "a", {"suite": "realtime"})
    again = write_report(suite, rows[::-1], tmp_path / "b", {"suite": "realtime"})
    assert max(map(len, report.text.splitlines()), default=0) <= 80
    for path in (tmp_path / "a").iterdir():
        assert path.read_bytes() == (tmp_path / "b" / path.name).read_bytes()
    assert again.text == report.text
    figures = {"the whole suite": 6, "only a sweep": 2}.get(name, 0)
    assert report.path.read_text().count("<figure>") == figures
