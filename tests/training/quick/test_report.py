"""The report of rows that no model answered."""

import json
from pathlib import Path

import pytest

from tests.training.quick.material import asked, begin, pretend, write_report
from timeful.cli.suite_command import load_suite
from timeful.errors import RecordError, SettingsError
from timeful.experiments.sweep import Choice, plan_episodes
from timeful.training.quick.plan import QuickRun, read_run
from timeful.training.quick.recipe import find_recipe
from timeful.training.quick.steps import Step
from timeful.training.quick.suite import suite

SEEDS = (1, 2, 3)


def collapsed(step: Step, budget: int) -> tuple[int, bool]:
    """The aware arm follows the budget, but not on seed 2; all others say 14 tokens."""
    if step.arm is None or step.arm.reward != "ep_aware":
        return 14, True
    return (3, budget == 4) if step.seed == 2 else (3 if budget == 4 else 5, True)


@pytest.mark.parametrize("recipe", ["smoke", "quick"])
@pytest.mark.parametrize("fractions", [(), (0.0, 0.25)])
def test_tables_have_80_columns_and_every_seed(
    tmp_path: Path, recipe: str, fractions: tuple[float, ...]
) -> None:
    arms = {"arms": ("EP-aware",)} if fractions else {}
    what = asked(recipe, seeds=(11, 12), fractions=fractions, **arms)
    lacking = [s.name for s in what.steps(tmp_path) if s.kind == "grade" and s.seed == 12]
    pretend(tmp_path, what, collapsed, skip=lacking[-1:])
    text = write_report(tmp_path).text
    assert max(map(len, text.splitlines())) <= 80
    assert text.count("seed 12, grading") == 1


def test_a_report_is_written_again_byte_for_byte(tmp_path: Path) -> None:
    what = asked(seeds=SEEDS)
    pretend(tmp_path, what, collapsed)
    assert "2 of 3" in write_report(tmp_path).text
    files = ("report.html", "results.json", "table.csv", "episodes.csv", "curves.csv", "tables.txt")
    before = {name: (tmp_path / name).read_bytes() for name in files}
    assert b"collapsed to one length: 3.0 tokens" in before["report.html"]
    write_report(tmp_path)
    assert {name: (tmp_path / name).read_bytes() for name in files} == before
    rows = json.loads(before["results.json"])
    assert all((row["value"] is None) != (row["published"] is None) for row in rows)
    published = {(r["method"], r["setting"], r["metric"]): r["published"] for r in rows}
    assert published["EP-aware", "budget 1000 tokens", "success"] == 0.733
    assert published["EP-aware", "budget 8000 tokens", "tokens"] == 1124.06
    assert published["Qwen3-8B + Timely-RL", "budget 0.75x, AIME", "on time, %"] == 53.3


def test_a_run_without_results_has_a_report(tmp_path: Path) -> None:
    begin(tmp_path, asked())
    assert write_report(tmp_path).report().exists()


def test_a_run_is_read_with_the_recipe_that_it_had(tmp_path: Path) -> None:
    what = asked(seeds=SEEDS, fractions=(0.0, 0.5), arms=("EP-aware",))
    begin(tmp_path, what)
    assert read_run(tmp_path) == what
    (tmp_path / "settings.json").write_text('{"suite": "timely/reasoning"}')
    with pytest.raises(RecordError, match="timely/reasoning"):
        read_run(tmp_path)


def test_invalid_settings_are_refused() -> None:
    for values in ({"arms": ("EP-awar",)}, {"seeds": (1, 1)}, {"seeds": (1, 2**32)}, {"seeds": 1}):
        with pytest.raises(SettingsError):
            asked(**values)
    with pytest.raises(SettingsError):
        plan_episodes(suite, Choice(values={"seeds": [(1,), (2,)]}))


def test_a_preset_of_the_suite_is_a_recipe_with_all_its_arms_and_seeds() -> None:
    (planned,) = plan_episodes(load_suite("train/quick"), Choice(preset="timer-smoke"))
    recipe = find_recipe("smoke", timer=True)
    assert planned.episode == QuickRun(
        recipe=recipe, arms=tuple(arm.name for arm in recipe.arms), seeds=recipe.seeds
    )
