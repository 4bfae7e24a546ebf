"""Tables, figures and results: what stands where, and what is never mixed."""

from dataclasses import replace
from itertools import product
from pathlib import Path
from statistics import fmean
from typing import Any

import msgspec
import pytest
from matplotlib.figure import Figure

from tests.suites.timely.synthetic import row
from timeful.metrics.budgets import accuracy, averaged, on_time_rate
from timeful.reports.results import read_results
from timeful.suites.timely import figures
from timeful.suites.timely.baselines import Kept, Took
from timeful.suites.timely.figures import length_by_budget, score_by_time, value_by_budget
from timeful.suites.timely.numbers import ALL, IN_TIME, RIGHT, SCORE, TOKENS, make_cells
from timeful.suites.timely.published import (
    ABLATION,
    COLUMNS,
    HURRIED,
    SCORES,
    column_of,
    published_model,
)
from timeful.suites.timely.report import write_report
from timeful.suites.timely.results import result_rows
from timeful.suites.timely.tables import text_tables, unhurried_table
from timeful.tasks.rows import TaskRow

BUDGETS = ("0.75x", "1x", "2x", "3x")


def solved(who: str = "paced", **changes: Any) -> list[TaskRow]:
    """Two sets of three problems: the first of each is wrong, and 0.75x is too late for sums."""
    return [
        row(
            who=who,
            case=f"{group}/{group}-{place}",
            budget=budget,
            value=float(place > 0),
            reason="deadline" if (budget, group) == ("0.75x", "sums") else "answered",
            tokens=100 * (1 + BUDGETS.index(budget)),
            **changes,
        )
        for group, place, budget in product(("paths", "sums"), range(3), BUDGETS)
    ]


def played(who: str, latency: str = "none", **changes: Any) -> list[TaskRow]:
    return [
        row(
            family="fiction",
            case="skerry",
            who=who,
            latency=latency,
            budget=budget,
            budget_ns=seconds * 1_000_000_000,
            run=run,
            value=float(seconds + run),
            gain=float(seconds + run),
            correct=None,
            **changes,
        )
        for (budget, seconds), run in product((("30steps", 10), ("50steps", 20)), range(3))
    ]


def test_a_number_is_the_metric_averaged_over_budgets() -> None:
    rows = solved()
    cells = {cell.group: cell for cell in make_cells(rows)}
    assert list(cells) == [ALL, "paths", "sums"]
    for group, cell in cells.items():
        mine = [r for r in rows if group in (ALL, r.group)]
        for measure, metric in ((RIGHT, accuracy), (IN_TIME, on_time_rate)):
            found = cell.number(measure)
            assert found is not None
            assert found.mean == pytest.approx(100 * averaged(mine, metric))
            assert found.low is not None
            assert found.high is not None
            assert found.low <= found.mean <= found.high
    tokens = cells[ALL].number(TOKENS, budget="2x")
    assert tokens is not None
    assert (tokens.mean, tokens.n, tokens.clusters) == (300, 6, 6)


def test_an_interval_is_over_cases_and_of_a_single_case_over_its_runs() -> None:
    [game] = make_cells(played("hasty"))
    alone = game.number(SCORE)
    assert alone is not None
    assert (alone.n, alone.clusters) == (3, 3)
    assert alone.low is not None
    assert alone.low < alone.mean == 16
    twice = solved() + [msgspec.structs.replace(r, run=1) for r in solved()]
    [whole, *_] = make_cells(twice)
    several = whole.number(RIGHT)
    assert several is not None
    assert (several.n, several.clusters) == (12, 6)


def test_the_order_of_rows_changes_nothing(tmp_path: Path) -> None:
    rows = solved() + solved("curt") + played("hasty") + played("careful", "10s")
    write_report(rows, tmp_path / "one", {})
    write_report(rows[::-1], tmp_path / "two", {})
    for path in (tmp_path / "one").iterdir():
        assert path.read_bytes() == (tmp_path / "two" / path.name).read_bytes()
    assert text_tables(rows) == text_tables(rows[::-1])


def test_failed_episodes_are_counted_and_not_averaged() -> None:
    failed = [
        msgspec.structs.replace(r, status="failed", value=0.0, error="model: gone")
        for r in played("hasty")[:2]
    ]
    good = played("hasty")[2:]
    [cell] = make_cells(failed + good)
    assert (cell.failed, len(cell.rows)) == (2, 4)
    [nobody] = make_cells(failed)
    assert nobody.number(RIGHT) is None
    assert "failed" in text_tables(failed)


def test_latencies_stand_apart_and_in_their_order() -> None:
    text = text_tables(played("hasty", "50s") + played("hasty", "none") + played("hasty", "2s"))
    places = [text.index(f"hasty, {latency}") for latency in ("none", "2s", "50s")]
    assert places == sorted(places)


def test_a_story_file_is_called_by_its_name_and_long_names_keep_their_columns() -> None:
    names = ("../stories/tiny.z3", "textworld:simple:3", "skerry")
    rows = [msgspec.structs.replace(r, case=name) for name in names for r in played("hasty")]
    lines = text_tables(
        rows + [msgspec.structs.replace(r, who="w" * 30) for r in rows]
    ).splitlines()
    (head,) = [line for line in lines if line.startswith("ours")]
    assert head.split() == ["ours", "tiny.z3", "skerry", "text…ple:3"]
    for name in ("hasty", "w" * 30):
        at = next(i for i, line in enumerate(lines) if line.startswith(name))
        assert len(head) == len(lines[at] if name == "hasty" else lines[at + 1])


def test_unhurried_runs_are_printed_as_what_budgets_are_multiples_of() -> None:
    def kept(case: str, who: str, *took: tuple[int, int], latency: str = "none") -> Kept:
        conditions = {"family": "reasoning", "who": {"spec": who}, "latency": latency}
        runs = {str(i): Took(counted=s * 10**9, steps=n) for i, (s, n) in enumerate(took)}
        return Kept(case=case, conditions=conditions, runs=runs)

    mine = [
        kept("sums/1", "paced", (4, 2), (6, 4)),
        kept("sums/2", "paced", (7, 1)),
        kept("paths/1", "openai:" + "m" * 80, (1, 4)),
    ]
    lines = [line.split() for line in unhurried_table(mine).splitlines()]
    assert lines[1] == ["of", "seconds", "steps", "s", "a", "step"]
    assert lines[2] == ["paced", "sums", "6.00", "2.0", "3.000"]
    assert lines[-1] == ["paths", "1.00", "4.0", "0.250"]
    text = unhurried_table([*mine, kept("sums/1", "paced", (9, 3), latency="2s")])
    assert max(len(line) for line in text.splitlines() if "m" * 80 not in line) <= 80
    assert "paced, 2s" in text


def test_whoever_runs_out_of_rounds_is_named_under_the_tables_and_on_the_page(
    tmp_path: Path,
) -> None:
    said = ("gave-up: after 2000 rounds, 0 of them silent",)
    rows = played("hasty") + played("careful")
    stuck = [msgspec.structs.replace(r, rounds=2000, notes=said) for r in rows[:2]]
    unhurried = msgspec.structs.replace(rows[-1], budget="none", rounds=60, notes=said)
    ended = msgspec.structs.replace(rows[-2], rounds=2000)  # by its last thought
    silent = msgspec.structs.replace(rows[-3], rounds=3, notes=said)
    rows = [*stuck, *rows[2:-3], silent, ended, unhurried]
    want = [
        "Stopped at 60 rounds: careful in 1 of 6 episodes.",
        "Stopped at 2000 rounds: hasty in 2 of 6 episodes.",
    ]
    lines, page = text_tables(rows).splitlines(), write_report(rows, tmp_path, {}).read_text()
    assert [line for line in lines if line.startswith("Stopped")] == want
    assert all(line in page for line in want)
    assert "Stopped" not in text_tables(played("hasty"))
    many = [msgspec.structs.replace(stuck[0], who=f"player-{i}") for i in range(9)]
    assert max(map(len, text_tables(many).splitlines())) <= 80


def test_stand_ins_are_named_and_have_no_published_number_beside_them() -> None:
    text = text_tables(solved())
    assert "Stand-in: rules work on the cases; no language model was run." in text
    assert max(map(len, text.splitlines())) <= 80
    mixed = text_tables(solved() + solved("openai:gpt-5.1", stand_in=False))
    assert "Stand-ins, and no language models: paced." in mixed
    like = played("openai:qwen3-8b")  # a stand-in that is called like a model is none
    like = [msgspec.structs.replace(r, case="zork1") for r in like]
    ours = [r for r in result_rows(make_cells(like)) if r.method == "openai:qwen3-8b"]
    assert ours
    assert all(r.published is None and r.stand_in for r in ours)


def test_a_model_of_the_paper_on_its_benchmark_stands_beside_its_number() -> None:
    rows = [
        msgspec.structs.replace(r, case=r.case.replace("sums", "math-500"))
        for r in solved("openai:Qwen/Qwen3-8B", stand_in=False)
    ]
    found = {
        (r.experiment, r.setting.rpartition(" ")[2], r.metric): r.published
        for r in result_rows(make_cells(rows))
        if r.method.startswith("openai") and r.published is not None
    }
    assert found == {
        ("reasoning/math-500", "all", "accuracy"): 71.2,
        ("reasoning/math-500", "0.75x", "accuracy"): 42.0,
        ("reasoning/math-500", "0.75x", "on time"): 48.0,
        ("reasoning/math-500", "0.75x", "tool use"): 66.0,
    }


def test_what_was_not_run_has_no_value(tmp_path: Path) -> None:
    write_report(solved(), tmp_path, {})
    published = [r for r in read_results(tmp_path / "results.json") if r.stand_in is None]
    assert len(published) == 7 * 3 + 6 * 9 + 4 * 3
    assert all(r.value is None and r.n == 0 and r.source for r in published)


def test_the_published_tables_are_whole() -> None:
    assert len(SCORES) == 7
    assert all(len(scores) == len(COLUMNS) == 11 for scores in SCORES.values())
    assert (len(HURRIED), len(ABLATION)) == (6, 4)
    assert SCORES["Gemini2.5-pro"]["Enchanter"] == 34.1
    assert SCORES["TimelyLM-8B"]["Insults"] == 84.0
    # Table 3 begins and ends where Table 2 has the same two.
    for method, model in (("Qwen3-8B", "Qwen3-8B"), ("Qwen3-8B + Timely-RL", "TimelyLM-8B")):
        for column, value in ABLATION[method].items():
            assert HURRIED[model][column, "on time"] == value
    # Whoever is right in time is in time.
    assert all(
        row[column, "accuracy"] <= row[column, "on time"]
        for row in HURRIED.values()
        for column in ("AIME", "MATH", "GPQA Diam.")
    )
    assert fmean(SCORES["Qwen3-8B"][c.name] for c in COLUMNS[-4:]) == pytest.approx(32.575)


def test_no_published_number_is_another_one() -> None:
    """The sums of all rows and columns, added up from the paper's own tables."""
    rows = {
        "Table 1": (SCORES, [678.3, 624.3, 637.6, 376.6, 471.8, 508.6, 692.0]),
        "Table 2": (HURRIED, [592.3, 279.3, 416.0, 174.0, 314.7, 582.6]),
        "Table 3": (ABLATION, [114.0, 150.7, 127.3, 161.3]),
    }
    columns = {
        "Table 1": [512.4, 297.4, 332.2, 147.9, 314.6, 130.3, 502.8, 435.0, 395.2, 425.6, 495.8],
        "Table 2": [213.2, 170.0, 330.0, 231.4, 173.3, 362.0, 297.0, 276.0, 306.0],
        "Table 3": [163.3, 182.0, 208.0],
    }
    sums: list[float]
    for name, (table, sums) in rows.items():
        numbers = [list(row.values()) for row in table.values()]
        assert list(map(sum, numbers)) == pytest.approx(sums), name
        assert list(map(sum, zip(*numbers, strict=True))) == pytest.approx(columns[name]), name


@pytest.mark.parametrize(
    ("family", "group", "column"),
    [
        ("reasoning", "math-500", "MATH"),
        ("reasoning", "gpqa", "GPQA Diam."),
        ("reasoning", "sums", None),
        ("fiction", "cave", "Advent"),
        ("fiction", "skerry", None),
        ("fiction", "math", None),
        ("coding", "leaf-classification", "Leaf"),
        ("coding", "digits", None),
    ],
)
def test_our_groups_belong_into_the_papers_columns(
    family: Any, group: str, column: str | None
) -> None:
    found = column_of(family, group)
    assert (None if found is None else found.name) == column


def test_models_are_known_by_their_own_names() -> None:
    assert published_model("openai:Qwen/Qwen3-8B") == "Qwen3-8B"
    assert published_model("replay:runs/tape.jsonl#gpt-5.1") == "GPT-5.1 (medium)"
    assert published_model("replay:runs/qwen3-8b.jsonl") is None
    assert published_model("openai:gpt-5.1") == "GPT-5.1 (medium)"
    assert published_model("openai:qwen3-80b") is None


def test_figures_are_drawn_where_there_is_something_to_draw(tmp_path: Path) -> None:
    reasoning, games = make_cells(solved()), make_cells(played("hasty") + played("careful", "2s"))
    assert score_by_time(reasoning) is None
    assert length_by_budget(games) is None
    assert value_by_budget(reasoning) is None
    for draw, cells in ((score_by_time, games), (length_by_budget, reasoning)):
        drawn = draw(cells)
        assert drawn is not None
        assert drawn == draw(cells)
    free = [replace(cell, rows=()) for cell in games]
    assert score_by_time(free) is None
    unhurried = [msgspec.structs.replace(r, budget="none", budget_ns=None) for r in solved()]
    assert length_by_budget(make_cells(unhurried)) is None
    write_report(solved(), tmp_path, {})
    assert sorted(path.name for path in tmp_path.glob("*.svg")) == ["figure3.svg"]
    write_report(played("hasty"), tmp_path, {})
    assert sorted(path.name for path in tmp_path.glob("*.svg")) == ["figure2.svg", "figure4.svg"]


def test_no_marker_is_cut_at_the_top_of_a_figure(monkeypatch: pytest.MonkeyPatch) -> None:
    shown: list[Figure] = []
    monkeypatch.setattr(figures, "to_svg", lambda figure: shown.append(figure) or "")
    level = [msgspec.structs.replace(one, value=36.0) for one in played("hasty")]  # all alike
    assert score_by_time(make_cells(level)) is not None
    assert value_by_budget(make_cells(played("hasty"))) is not None
    for axes in (axes for figure in shown for axes in figure.axes):
        low, high = axes.get_ylim()
        assert axes.dataLim.y1 <= high - 0.04 * (high - low)


def test_a_page_leaves_out_settings_that_say_nothing(tmp_path: Path) -> None:
    source = {"sets": [], "benchmark": "aime", "problems": None}
    plain = write_report(solved(), tmp_path, {"tool_latencies": [], "source": source}).read_text()
    assert "tool latencies" not in plain
    assert "0.75x, 1x, 2x, 3x" in plain
    assert "benchmark" not in plain
    read = write_report(solved(), tmp_path, {"source": {**source, "problems": "mine.jsonl"}})
    assert "benchmark aime" in read.read_text()
