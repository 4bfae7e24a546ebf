"""The suites of Timely-Eval as values: cells, published numbers, remarks, and whole runs."""

from itertools import product
from pathlib import Path
from statistics import fmean
from typing import Any

import msgspec
import pytest

from tests.suites.timely.synthetic import row
from timeful.errors import SettingsError
from timeful.experiments.report import write_report
from timeful.experiments.suite import Suite
from timeful.experiments.sweep import Choice, plan_episodes
from timeful.metrics.budgets import by_budget, right_in_time
from timeful.models.role import ModelRole
from timeful.reports.results import ResultRow
from timeful.suites.timely.suite import coding, fiction, reasoning
from timeful.tasks.budgets import NO_LIMIT, read_budget
from timeful.tasks.rows import TaskRow

BUDGETS = ("0.75x", "1x", "2x", "3x")


def solved(who: str = "paced", **changes: Any) -> list[TaskRow]:
    """Two sets of three problems: the first of each is wrong, and 0.75x is too late for sums."""
    return [
        row(
            who=who,
            case=f"{group}/{group}-{index}",
            budget=budget,
            value=float(index > 0),
            reason="deadline" if (budget, group) == ("0.75x", "sums") else "answered",
            tokens=100 * (1 + BUDGETS.index(budget)),
            **changes,
        )
        for group, index, budget in product(("paths", "sums"), range(3), BUDGETS)
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


def find(cells: list[ResultRow], metric: str, **where: str) -> ResultRow:
    [cell] = [
        cell
        for cell in cells
        if cell.metric == metric and cell.where == {"latency": "none", "who": "paced", **where}
    ]
    return cell


def test_numbers_are_averaged_over_budgets_and_sets() -> None:
    rows = solved()
    cells = reasoning.make_cells(rows)
    for group in ({}, {"group": "paths"}, {"group": "sums"}):
        members = [r for r in rows if group.get("group") in (None, r.group)]
        means = [fmean(map(right_in_time, some)) for some in by_budget(members).values()]
        for name, value in (
            ("accuracy", fmean(means)),
            ("on time", fmean(member.is_on_time for member in members)),
        ):
            cell = find(cells, name, **group)
            assert cell.value == pytest.approx(100 * value)
            assert (cell.low or 0) <= (cell.value or 0) <= (cell.high or 0)
    tokens = find(cells, "tokens", budget="2x")
    assert (tokens.value, tokens.n, tokens.experiment) == (300, 6, "reasoning/all")


def test_the_interval_of_a_single_case_is_over_its_runs() -> None:
    cells = fiction.make_cells(played("paced"))
    score = find(cells, "score", group="skerry")
    assert score.n == 3
    assert score.low is not None
    assert score.low < (score.value or 0) == 16


def test_budgets_and_latencies_are_shown_by_size(tmp_path: Path) -> None:
    latencies = ("50s", "none", "2s")
    text = write_report(
        fiction, [r for latency in latencies for r in played("hasty", latency)], tmp_path, {}
    ).text
    positions = [text.index(f"hasty, {name}") for name in ("no latency", "2s", "50s")]
    assert positions == sorted(positions)
    assert text.index("30steps") < text.index("50steps")


def test_players_out_of_rounds_and_bad_calls_are_remarked(tmp_path: Path) -> None:
    gave_up = ("gave-up: after 2000 rounds, 0 of them silent",)
    rows = played("openai:m", stand_in=False, timer_calls=3, bad_calls=1) + played("careful")
    stuck = [msgspec.structs.replace(r, rounds=2000, notes=gave_up) for r in rows[:2]]
    silent = msgspec.structs.replace(rows[2], rounds=3, notes=gave_up)
    text = write_report(fiction, [*stuck, silent, *rows[3:]], tmp_path, {}).text
    assert "2000 rounds: openai:m in 2 of 6" in text
    assert "3 rounds" not in text
    assert "25 % (6 of 24)" in text
    assert "careful" in text.partition("Stand-ins, no language models")[2]


# --- published numbers ----------------------------------------------------------------------------


def test_a_model_of_the_paper_is_compared_on_its_benchmark() -> None:
    rows = [
        msgspec.structs.replace(r, case=r.case.replace("sums", "math-500"))
        for r in solved("openai:Qwen/Qwen3-8B", stand_in=False)
    ]
    published = {
        (cell.experiment, cell.setting.rpartition(" ")[2], cell.metric): cell.published
        for cell in reasoning.make_cells(rows)
        if cell.method.startswith("openai") and cell.published is not None
    }
    assert published == {
        ("reasoning/math-500", "all", "accuracy"): 71.2,
        ("reasoning/math-500", "0.75x", "accuracy"): 42.0,
        ("reasoning/math-500", "0.75x", "on time"): 48.0,
        ("reasoning/math-500", "0.75x", "tool use"): 66.0,
    }
    assert not any(cell.published for cell in reasoning.make_cells(solved()) if cell.n)


def test_published_numbers_are_listed_as_not_run() -> None:
    cells = [cell for cell in reasoning.make_cells(solved()) if cell.stand_in is None]
    assert len(cells) == 7 * 3 + 6 * 9 + 4 * 3
    assert all(cell.value is None and cell.n == 0 and cell.source for cell in cells)


def test_no_published_number_is_another_one() -> None:
    """The sums of all rows, added up from the paper's own tables."""
    sums: dict[tuple[str, str], float] = {}
    for suite in (reasoning, fiction, coding):
        for number in suite.reference.numbers:
            key = (number.source.rpartition(" ")[2], str(number.where["model"]))
            sums[key] = sums.get(key, 0) + number.value
    expected = {
        "1": [678.3, 624.3, 637.6, 376.6, 471.8, 508.6, 692.0],
        "2": [592.3, 279.3, 416.0, 174.0, 314.7, 582.6],
        "3": [114.0, 150.7, 127.3, 161.3],
    }
    for table, values in expected.items():
        assert [v for (name, _), v in sums.items() if name == table] == pytest.approx(values)
    pizza = {n.where["benchmark"]: n.value for n in coding.reference.numbers}
    assert fmean(pizza.values()) == pytest.approx((93.9 + 74.4 + 76.1 + 84.0) / 4)


@pytest.mark.parametrize(
    ("suite", "group", "player", "is_published"),
    [
        (reasoning, "math-500", "openai:Qwen/Qwen3-8B", True),
        (reasoning, "gpqa", "replay:runs/tape.jsonl#gpt-5.1", True),
        (reasoning, "gpqa", "openai:gpt-5.1", True),
        (reasoning, "gpqa", "replay:runs/qwen3-8b.jsonl", False),
        (reasoning, "gpqa", "openai:qwen3-80b", False),
        (reasoning, "gpqa", "paced", False),
        (reasoning, "sums", "openai:qwen3-8b", False),
        (fiction, "cave", "openai:qwen3-8b", True),
        (fiction, "cavern", "openai:qwen3-8b", False),
        (coding, "leaf-classification", "openai:qwen3-8b", True),
        (coding, "digits", "openai:qwen3-8b", False),
    ],
)
def test_a_cell_is_compared_with_the_published_number_of_its_model_and_benchmark(
    suite: Suite, group: str, player: str, is_published: bool
) -> None:
    number = suite.reference.number({"group": group, "who": player}, suite.metrics[0].name)
    assert (number is not None) == is_published


# --- runs -----------------------------------------------------------------------------------------


def test_budgets_in_steps_of_an_absent_player_are_own_steps_in_presets_only() -> None:
    hasty = {"player": (ModelRole(stand_in="hasty"),)}
    planned = plan_episodes(fiction, Choice(preset="quick", values=hasty))
    assert {str(p.episode.budget) for p in planned} == {"30steps", "100steps"}
    chosen = {**hasty, "budget": (read_budget("30@careful"),)}
    with pytest.raises(SettingsError, match="careful"):
        plan_episodes(fiction, Choice(values=chosen))


def test_a_latency_needs_a_known_tool() -> None:
    def check(tool: str) -> None:
        fixed = {"tool_latencies": ((tool, "1s"),), "budget": NO_LIMIT}
        planned = plan_episodes(fiction, Choice(fixed=fixed))
        assert fiction.check is not None
        fiction.check([each.episode for each in planned])

    check("get_duration")
    with pytest.raises(SettingsError, match="Did you mean 'step'"):
        check("stepp")
