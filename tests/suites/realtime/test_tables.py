"""From episodes to cells, grids, text and result rows."""

from typing import Any

import pytest

from tests.suites.realtime.synthetic_rows import condition, episode, failed, whole_suite
from timeful.records.rows import EpisodeRow
from timeful.suites.realtime.cells import Cell, clusters_of, make_cells, run_experiments
from timeful.suites.realtime.comparisons import compare
from timeful.suites.realtime.conditions import MEAN, Experiment
from timeful.suites.realtime.tables import make_grids, result_rows, text_table


def find(cells: list[Cell], experiment: Experiment, method: str, text: str) -> Cell:
    found = [
        cell
        for cell in cells
        if (cell.experiment, cell.method, cell.condition.text) == (experiment, method, text)
    ]
    assert len(found) == 1
    return found[0]


def test_an_episode_serves_every_experiment_it_belongs_to() -> None:
    cells = make_cells(whole_suite())
    assert run_experiments(cells) == ("load", "pressure", "reserve")
    text = "snake, medium, 8192 tokens/step"
    load, pressure = (find(cells, name, "reactive", text) for name in ("load", "pressure"))
    assert load.rows == pressure.rows
    assert load.score == pressure.score
    assert load.published is not None
    assert pressure.published is not None
    assert (load.published.value, pressure.published.value) == (0.4900, 0.4844)


def test_the_base_setting_alone_is_about_load() -> None:
    assert run_experiments(make_cells(condition())) == ("load",)


def test_hard_load_under_other_pressures_stands_beside_table_8() -> None:
    cells = make_cells(condition(difficulty="hard", tokens_per_step=4096))
    assert run_experiments(cells) == ("pressure-hard",)
    cell = find(cells, "pressure-hard", "reactive", "freeway, hard, 4096 tokens/step")
    assert cell.published is not None
    assert cell.published.source.startswith("Table 8")


def test_what_the_paper_does_not_have_is_custom() -> None:
    assert run_experiments(make_cells(condition(tokens_per_step=1000))) == ("custom",)
    easy = make_cells(condition(difficulty="easy", tokens_per_step=4096))
    assert run_experiments(easy) == ("custom",)


def test_special_agents_bring_their_own_tables() -> None:
    cells = make_cells(condition(agent="agile-concurrent"))
    assert run_experiments(cells) == ("load", "throughput")
    cells = make_cells(condition(agent="agile-reduced", tokens_per_step=4096))
    assert run_experiments(cells) == ("pressure", "reduced")


def test_paced_time_never_mixes_with_wall_time() -> None:
    seconds = {"tokens_per_step": None, "seconds_per_step": 360.0}
    rows = condition(seeds=2, clock="paced", **seconds) + condition(
        seeds=3, clock="wall", **seconds
    )
    cells = make_cells(rows)
    assert run_experiments(cells) == ("wall", "paced")
    paced = find(cells, "paced", "reactive", "freeway, medium, 360 paced s/step")
    assert (paced.ok, paced.published) == (4, None)


def test_wall_time_never_mixes_with_token_time() -> None:
    wall = {"clock": "wall", "tokens_per_step": None, "seconds_per_step": 360.0}
    cells = make_cells(condition(seeds=2) + condition(seeds=3, **wall))
    assert run_experiments(cells) == ("load", "wall")
    cell = find(cells, "wall", "reactive", "freeway, medium, 360 s/step")
    assert cell.ok == 6
    assert cell.published is not None
    assert cell.published.value == 0.24


def test_reserves_are_never_averaged() -> None:
    rows = [
        episode(agent="agile", difficulty=load, reserve=reserve, game_seed=seed)
        for load, reserve in (("medium", 512), ("medium", 2048), ("hard", 2048))
        for seed in (0, 1)
    ]
    cells = make_cells(rows)
    main = find(cells, "load", "agile", "freeway, medium, 8192 tokens/step")
    assert {row.reserve for row in main.rows} == {2048}
    for reserve in (512, 2048):
        text = f"freeway, medium, 8192 tokens/step, reserve {reserve}"
        assert {row.reserve for row in find(cells, "reserve", "agile", text).rows} == {reserve}


def test_the_reserve_tried_at_most_loads_stands_for_the_agent() -> None:
    rows = [
        episode(agent="agile", difficulty=load, reserve=reserve, sample=sample)
        for load, reserve, samples in (("medium", 512, 1), ("medium", 2048, 3), ("hard", 512, 1))
        for sample in range(samples)
    ]
    cells = make_cells(rows)
    main = find(cells, "load", "agile", "freeway, medium, 8192 tokens/step")
    assert {row.reserve for row in main.rows} == {512}


def test_the_usual_reserve_stands_for_the_agent_where_only_a_sweep_was_run() -> None:
    rows = [episode(agent="agile", reserve=reserve) for reserve in (512, 2048, 8192)]
    main = find(make_cells(rows), "load", "agile", "freeway, medium, 8192 tokens/step")
    assert {row.reserve for row in main.rows} == {2048}


def test_a_second_reserve_outside_the_sweep_is_custom() -> None:
    at = {"agent": "agile", "difficulty": "easy"}
    rows = [episode(reserve=512, sample=sample, **at) for sample in (0, 1)]
    rows.append(episode(reserve=2048, **at))
    assert run_experiments(make_cells(rows)) == ("load", "custom")


def test_models_and_modes_are_never_averaged() -> None:
    rows = [episode(), episode(model="llama", stand_in=False), episode(mode="paper")]
    methods = {cell.method for cell in make_cells(rows) if cell.is_run}
    assert methods == {
        "reactive (search, compat)",
        "reactive (llama, compat)",
        "reactive (search, paper)",
    }


def test_an_episode_listed_twice_counts_once() -> None:
    rows = condition(seeds=3)
    assert make_cells(rows + rows) == make_cells(rows)


def test_the_order_of_episodes_changes_nothing() -> None:
    rows = whole_suite(["reactive", "agile"])
    assert text_table(rows) == text_table(rows[::-1])


def test_other_episodes_do_not_shift_an_interval() -> None:
    among = whole_suite(["reactive"])
    alone = [row for row in among if row.game == "snake" and row.difficulty == "hard"]
    at = ("load", "reactive", "snake, hard, 8192 tokens/step")
    first, second = (find(make_cells(rows), *at).score for rows in (alone, among))
    assert first is not None
    assert first == second


def test_failed_episodes_are_counted_but_in_no_mean() -> None:
    rows = [episode(game_seed=0), episode(game_seed=1, score=0.0), failed(game_seed=2)]
    cell = find(make_cells(rows), "load", "reactive", "freeway, medium, 8192 tokens/step")
    assert (cell.ok, cell.failed) == (2, 1)
    assert cell.score is not None
    assert cell.score.mean == 0.25
    assert clusters_of(rows) == {0: [0.5], 1: [0.0]}


def test_the_average_over_games_needs_all_three() -> None:
    two = condition(game="freeway") + condition(game="snake")
    assert not any(cell.is_run and cell.condition.game == MEAN for cell in make_cells(two))
    cells = make_cells(two + condition(game="overcooked"))
    mean = find(cells, "load", "reactive", f"{MEAN}, medium, 8192 tokens/step")
    parts = [cell.score.mean for cell in cells if cell.score and cell.condition.game != MEAN]
    assert mean.score is not None
    assert mean.score.mean == pytest.approx(sum(parts) / 3)
    assert mean.ok == 48
    assert mean.published is not None
    assert mean.published.value == pytest.approx((0.3258 + 0.4900 + 0.3664) / 3)


def test_the_text_fits_eighty_columns() -> None:
    rows = whole_suite() + condition(agent="agile-concurrent", model="a-model-with-a-long-name")
    rows += [*condition(agent="agile-concurrent"), failed(agent="agile", tokens_per_step=777)]
    lines = text_table(rows).splitlines()
    assert max(map(len, lines)) <= 80


def test_the_text_puts_theirs_in_brackets_and_leaves_out_who_was_not_run() -> None:
    text = text_table([episode(game_seed=0), episode(game_seed=1, score=89.0)])
    assert "0.75±.25 [0.33]" in text
    assert "agile" not in text
    assert "[theirs]: published for other models" in text
    assert "(n=2)" in text


def test_the_text_flags_what_a_reader_must_know() -> None:
    rows = [episode(game="snake", score=24.0), failed(difficulty="hard")]
    text = text_table(rows)
    assert "1.56±?*[0.49]" in text
    assert "failed [0.06]" in text
    assert "n=0, 1 bad" in text
    assert "one game seed only" in text
    assert "above 1" in text
    assert "Stand-in: search reasoner, no language model was run." in text


def test_a_real_model_is_no_stand_in() -> None:
    assert "Stand-in" not in text_table([episode(model="llama", stand_in=False)])


def test_no_episodes_make_a_sentence() -> None:
    assert text_table([]) == "No episodes: there is nothing to show.\n"


def test_grids_show_only_games_that_were_run() -> None:
    grids = make_grids(make_cells(condition(game="snake")))
    assert [(grid.experiment, grid.game) for grid in grids] == [("load", "snake")]
    assert grids[0].methods[:3] == ("code-policy", "reactive-budget", "reactive")
    assert [column.difficulty for column in grids[0].columns] == ["easy", "medium", "hard"]


def test_agile_is_compared_with_each_paradigm_over_shared_seeds() -> None:
    rows = condition(agent="agile", seeds=8) + condition(agent="reactive", seeds=6)
    (one,) = compare(make_cells(rows))
    assert (one.method, one.pairs) == ("agile vs reactive", 6)
    assert one.p_t is not None
    assert one.p_permutation is not None
    assert one.p_t < 0.05
    assert one.p_permutation < 0.05
    assert one.difference > 0.2
    assert not one.is_copies


def constant_advantage(**at: Any) -> list[EpisodeRow]:
    """Eight game seeds on which agile is better by the same amount."""
    scores = (("agile", 50.0), ("planning", 20.0))
    return [episode(agent=a, score=v, game_seed=s, **at) for a, v in scores for s in range(8)]


def test_equal_differences_leave_t_undefined() -> None:
    (one,) = compare(make_cells(constant_advantage()))
    assert one.p_t is None
    assert one.p_permutation == 1 / 256


def test_copies_of_one_overcooked_game_are_no_evidence_without_noise() -> None:
    (one,) = compare(make_cells(constant_advantage(game="overcooked")))
    assert one.is_copies
    assert (one.p_t, one.p_permutation) == (None, None)
    (paper,) = compare(make_cells(constant_advantage(game="overcooked", mode="paper")))
    assert not paper.is_copies
    assert paper.p_permutation == 1 / 256


def test_disjoint_seeds_are_not_compared() -> None:
    assert compare(make_cells([episode(agent="agile", game_seed=0), episode(game_seed=1)])) == []


def test_result_rows_hold_ours_theirs_and_what_was_not_run() -> None:
    cells = make_cells(condition(agent="agile") + condition())
    rows = result_rows(cells, compare(cells))
    by_key = {(r.experiment, r.setting, r.method, r.metric): r for r in rows}
    assert len(by_key) == len(rows)
    at = "freeway, medium, 8192 tokens/step"
    ours = by_key["load", at, "agile", "score"]
    assert ours.value is not None
    assert ours.low is not None
    assert ours.high is not None
    assert ours.low < ours.value < ours.high
    assert (ours.published, ours.n, ours.stand_in) == (0.8427, 16, True)
    raw = by_key["load", at, "agile", "raw"]
    assert raw.value == pytest.approx(ours.value * 89)
    assert raw.published is None
    absent = by_key["pressure", "snake, medium, 4096 tokens/step", "planning", "score"]
    assert (absent.value, absent.n, absent.published, absent.stand_in) == (None, 0, 0.0176, None)
    assert absent.source == "Table 7, DeepSeek-V3 and R1"
    for metric in ("p_t", "p_permutation"):
        assert by_key["load", at, "agile vs reactive", metric].n == 8


def test_every_published_number_is_in_the_results_even_without_a_run() -> None:
    rows = result_rows(make_cells([]), [])
    printed, averaged = 187, 57
    assert len(rows) == printed + averaged
    assert all(row.value is None and row.published is not None for row in rows)
