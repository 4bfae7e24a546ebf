"""The tables and the claim, of rows that nobody played."""

import json
from pathlib import Path

import pytest

from tests.training.quick.material import asked, pretend
from timeful.errors import RecordError, SettingsError
from timeful.training.quick.asked import read_asked
from timeful.training.quick.claim import one_ways, sentences, verdict
from timeful.training.quick.report import write_report
from timeful.training.quick.scores import over_seeds, read_scores, standings
from timeful.training.quick.stages import Stage

SEEDS = (1, 2, 3)


def usual(stage: Stage, budget: int) -> tuple[int, bool]:
    """The aware arm uses what it has and is right, all others say 14 tokens and are right."""
    is_aware = stage.arm is not None and stage.arm.reward == "ep_aware"
    return (3 if budget == 4 else 5, True) if is_aware else (14, True)


def collapsed(stage: Stage, budget: int) -> tuple[int, bool]:
    """On seed 2 the aware arm answers at once whatever it has, and is wrong in 2 of 4 budgets."""
    if stage.seed == 2 and stage.arm is not None and stage.arm.reward == "ep_aware":
        return 3, budget == 4
    return usual(stage, budget)


def test_the_claim_holds_where_the_aware_arm_is_best_and_follows_in_every_seed(
    tmp_path: Path,
) -> None:
    what = asked(seeds=SEEDS)
    pretend(tmp_path, what, usual)
    told = verdict(what, tmp_path, read_scores(what, tmp_path))
    assert told is not None
    assert told.holds is False  # 3 tokens that are always right are as good as it gets
    assert (told.best, told.follows, told.beats) == (SEEDS, SEEDS, ())
    assert told.others == {"base": 0, "correct, long cap": 0}


def test_a_collapsed_seed_is_counted_against_the_claim_and_named_in_every_table(
    tmp_path: Path,
) -> None:
    what = asked(seeds=SEEDS)
    pretend(tmp_path, what, collapsed)
    scores = read_scores(what, tmp_path)
    told = verdict(what, tmp_path, scores)
    assert told is not None
    assert told.follows == (1, 3)
    assert sentences(told)[0].endswith("of the seeds (3), against base and correct, long cap.")
    assert "2 of 3 (base: 0, correct, long cap: 0)" in sentences(told)[1]
    alarms = {(s.seed, s.model): s.alarm for s in standings(scores)}
    assert alarms[2, "EP-aware"].startswith("collapsed to one length: 3.0 tokens")
    text = write_report(tmp_path).text
    lines = [line.split() for line in text.splitlines()]
    assert ["2", "EP-aware", "1.0", ".00", "3.0", "3.0", "one", "length"] in lines
    assert "collapsed to one length: 3.0 tokens" in (tmp_path / "report.html").read_text()


def test_the_best_single_way_is_as_right_as_the_model_that_is_best_at_it(tmp_path: Path) -> None:
    def says(stage: Stage, budget: int) -> tuple[int, bool]:
        # The base's 3 tokens are right in half of its answers, an arm's always; 14 fit in neither.
        if stage.arm is None:
            return 3, budget == 4
        is_aware = stage.arm.reward == "ep_aware"
        return (3 if budget == 4 else 14), is_aware

    what = asked()
    pretend(tmp_path, what, says)
    (one,) = one_ways(what, tmp_path)
    assert (one.tokens, one.accuracy, one.success) == (3, 1.0, 1.0)
    (alone,) = one_ways(asked(arms=("correct, long cap",)), tmp_path)
    assert (alone.tokens, alone.accuracy, alone.success) == (3, 0.5, 0.5)


def test_means_are_over_seeds_and_one_seed_has_no_interval(tmp_path: Path) -> None:
    what = asked(seeds=SEEDS)
    pretend(tmp_path, what, collapsed)
    mine = [
        one
        for one in read_scores(what, tmp_path)
        if (one.model, one.exam, one.budget) == ("EP-aware", "graded", "0.8s")
    ]
    found = over_seeds(mine, "success")
    assert (found.mean, found.low, found.high) == (pytest.approx(2 / 3), 0.0, 1.0)
    assert over_seeds(mine[:1], "success").low is None


@pytest.mark.parametrize("recipe", ["smoke", "quick"])
@pytest.mark.parametrize("fractions", [(), (0.0, 0.25)])
def test_tables_have_80_columns_and_every_seed(
    tmp_path: Path, recipe: str, fractions: tuple[float, ...]
) -> None:
    arms = {"arms": ("EP-aware",)} if fractions else {}
    what = asked(recipe, seeds=(11, 12), fractions=fractions, **arms)
    lacking = [s.name for s in what.stages(tmp_path) if s.kind == "grade" and s.seed == 12]
    pretend(tmp_path, what, usual, skip=lacking[-1:])
    text = write_report(tmp_path).text
    assert max(map(len, text.splitlines())) <= 80
    assert text.count("not graded: it failed, or was not reached") == (len(fractions) or 1)


def test_a_report_is_made_again_from_what_is_there_byte_for_byte(tmp_path: Path) -> None:
    what = asked(seeds=SEEDS)
    pretend(tmp_path, what, collapsed)
    write_report(tmp_path)
    files = ("report.html", "results.json", "table.csv", "scores.csv", "curves.csv", "tables.txt")
    before = {name: (tmp_path / name).read_bytes() for name in files}
    write_report(tmp_path)
    assert {name: (tmp_path / name).read_bytes() for name in files} == before


def test_results_have_our_numbers_and_the_published_ones_apart(tmp_path: Path) -> None:
    what = asked(seeds=SEEDS)
    pretend(tmp_path, what, usual)
    write_report(tmp_path)
    rows = json.loads((tmp_path / "results.json").read_text())
    assert all((row["value"] is None) != (row["published"] is None) for row in rows)
    published = {(r["method"], r["setting"], r["metric"]): r["published"] for r in rows}
    assert published["EP-aware", "budget 1000 tokens", "success"] == 0.733
    assert published["EP-aware", "budget 8000 tokens", "tokens"] == 1124.06
    assert published["Qwen3-8B + Timely-RL", "budget 0.75x, AIME", "on time, %"] == 53.3


def test_a_run_is_read_with_the_recipe_that_it_had(tmp_path: Path) -> None:
    what = asked(seeds=SEEDS, fractions=(0.0, 0.5), arms=("EP-aware",))
    pretend(tmp_path, what, usual)
    assert read_asked(tmp_path) == what
    (tmp_path / "settings.json").write_text('{"suite": "timely/reasoning"}')
    with pytest.raises(RecordError, match="holds a run of 'timely/reasoning'"):
        read_asked(tmp_path)


def test_what_nobody_can_be_asked_for_is_refused() -> None:
    with pytest.raises(SettingsError, match="Did you mean 'EP-aware'"):
        asked(arms=("EP-awar",))
    with pytest.raises(SettingsError, match="one seed or more, each once"):
        asked(seeds=(1, 1))
    with pytest.raises(SettingsError, match="from 0 to 4294967295"):
        asked(seeds=(1, 2**32))
