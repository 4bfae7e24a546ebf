"""Means, collapses and fixed lengths against numbers computed by hand."""

from collections.abc import Sequence
from pathlib import Path

import msgspec
import pytest

from tests.training.quick.material import (
    asked,
    begin,
    cells_of,
    claims_of,
    pretend,
    row,
    write_report,
)
from timeful.errors import RecordError
from timeful.training.curves import mean_curve
from timeful.training.quick.answers import find_collapses, mean_success, read_answers
from timeful.training.quick.claims import OneLength, list_missing, one_lengths
from timeful.training.quick.plan import QuickRun
from timeful.training.quick.rows import ClockRow
from timeful.training.quick.steps import Step

LONG = "correct, long cap"


def leave(out: Path, what: QuickRun, model: str, rows: Sequence[ClockRow]) -> None:
    """Write the rows of a grading under the steps of the budget."""
    for step in what.steps(out):
        if step.kind == "grade" and model == ("base" if step.arm is None else step.arm.name):
            step.result.parent.mkdir(parents=True, exist_ok=True)
            step.result.write_bytes(b"".join(msgspec.json.encode(one) + b"\n" for one in rows))


def failed(answer: ClockRow) -> ClockRow:
    return msgspec.structs.replace(answer, status="failed", reason="", value=0.0, error="world: x")


def both(tokens: int, is_right: bool, count: int = 1) -> list[ClockRow]:
    """The same answer under both steps of the smoke recipe."""
    return [row(f"{n / 10:g}s", n, tokens, is_right) for n in (4, 8) for _ in range(count)]


def lengths_of(out: Path, what: QuickRun) -> list[OneLength]:
    return one_lengths(what, read_answers(what, out))


def test_a_score_is_the_mean_of_its_rows(tmp_path: Path) -> None:
    what = asked()
    right, late, wrong = row("0.4s", 4, 3, True), row("0.4s", 4, 6, True), row("0.4s", 4, 2, False)
    silent = msgspec.structs.replace(row("0.4s", 4, 1, True), reason="deadline")
    lost = failed(row("0.4s", 4, 99, True))
    leave(tmp_path, what, "base", [right, right, late, wrong, silent, lost])
    assert mean_success(read_answers(what, tmp_path)) == {(None, 1, "base"): 0.4}
    cells = cells_of(tmp_path, what)
    means = {"success": 0.4, "accuracy": 0.8, "on_time": 0.6, "tokens": 3.0}
    values = {m: cells["graded", "budget 0.4s, seed 1", "base", m] for m in means}
    assert {m: (c.value, c.n, c.failed) for m, c in values.items()} == {
        m: (mean, 5, 1) for m, mean in means.items()
    }


def test_the_best_length_fits_the_budget_and_is_frequent_enough(tmp_path: Path) -> None:
    what = asked(seeds=(1, 2))  # lengths of 3, 5 and 14 tokens under budgets of 4 and 8
    rows = [
        *both(3, True, 3),
        *both(3, False, 7),
        *both(5, True, 8),
        *both(5, False, 1),
        *map(failed, both(5, True, 1)),
        *both(14, True, 20),
    ]
    leave(tmp_path, asked(), "base", rows)
    # 3 tokens are right in 2 of 40 answers, which is just frequent enough; 2 of 42 is not.
    rare = [*both(3, True), *both(5, False, 19)]
    leave(tmp_path, asked(seeds=(2,)), "base", rare)
    leave(tmp_path, asked(seeds=(2,)), LONG, [*both(3, True), *both(14, False, 20)])
    first, second = lengths_of(tmp_path, what)
    assert first == OneLength(seed=1, tokens=5, accuracy=8 / 9, success=4 / 9)
    assert second == OneLength(seed=2, tokens=3, accuracy=1.0, success=1.0)
    leave(tmp_path, asked(seeds=(2,)), "base", [*both(3, True), *both(5, False, 20)])
    assert lengths_of(tmp_path, asked(seeds=(2,)))[0].success == 0.0


def test_a_length_that_takes_all_of_a_budget_fits(tmp_path: Path) -> None:
    what = asked("quick")
    leave(tmp_path, what, "base", both(8, True))
    (best,) = lengths_of(tmp_path, what)
    assert (best.tokens, best.success) == (8, 0.75)  # of 4, 8, 16 and 32


def test_the_accuracy_of_a_length_is_that_of_the_best_model(tmp_path: Path) -> None:
    def says(step: Step, budget: int) -> tuple[int, bool]:
        # The base's 3 tokens are right in half of its answers, an arm's always; 14 fit in neither.
        if step.arm is None:
            return 3, budget == 4
        return (3 if budget == 4 else 14), step.arm.reward == "ep_aware"

    pretend(tmp_path, asked(), says)
    (best,) = lengths_of(tmp_path, asked())
    assert (best.tokens, best.accuracy, best.success) == (3, 1.0, 1.0)
    (alone,) = lengths_of(tmp_path, asked(arms=(LONG,)))
    assert (alone.tokens, alone.accuracy, alone.success) == (3, 0.5, 0.5)


def test_a_claim_is_counted_over_the_seeds_that_are_complete(tmp_path: Path) -> None:
    what = asked(seeds=(1, 2, 3), arms=(LONG, "EP-aware"))
    begin(tmp_path, what)
    for seed in what.seeds:
        alone = asked(seeds=(seed,), arms=what.arms)
        leave(tmp_path, alone, "base", [*both(3, False), *both(3, True)])
        # On seed 2 the arm that is rewarded for correctness is best; seed 3 lacks a model.
        leave(tmp_path, alone, LONG, both(4 if seed == 2 else 14, True))
        short, longer = row("0.4s", 4, 3, seed != 2), row("0.8s", 8, 5, True)
        if seed != 3:
            leave(tmp_path, alone, "EP-aware", [short, longer])
    claims = claims_of(tmp_path, what)
    assert {claim.seeds for claim in claims.values()} == {(1, 2)}
    assert {key: claim.confirmed for key, claim in claims.items()} == {
        ("best", "EP-aware"): (1,),
        ("length follows the budget", "EP-aware"): (1, 2),
        ("beats the best single way", "EP-aware"): (),
        ("length follows the budget", "base"): (),
        ("length follows the budget", LONG): (),
    }
    assert "0.750 against 0.750" in claims["beats the best single way", "EP-aware"].text
    assert list_missing(what, tmp_path) == ["not done: seed 3, grading EP-aware"]
    cells = cells_of(tmp_path, what)
    assert cells["claim", "all budgets", "EP-aware", "seeds: best"].value == 0.5
    assert cells["graded", "all budgets, seed 2", "always 3 tokens", "success"].value == 0.5


def test_an_ablation_has_no_claims_and_keeps_its_fractions_apart(tmp_path: Path) -> None:
    def says(step: Step, budget: int) -> tuple[int, bool]:
        follows = step.recipe.phases[0].follow == 0.5 and step.arm is not None
        return (5 if follows and budget == 8 else 3), follows

    what = asked(seeds=(1, 2), arms=("EP-aware",), fractions=(0.0, 0.5))
    pretend(tmp_path, what, says)
    assert claims_of(tmp_path, what) == {}
    cells = cells_of(tmp_path, what)
    assert cells["graded/fraction 0", "all budgets, seed 2", "EP-aware", "collapsed"].value == 1
    assert cells["graded/fraction 0.5", "all budgets, seed 2", "EP-aware", "collapsed"].value == 0
    assert cells["graded/fraction 0.5", "budget 0.8s", "EP-aware", "tokens"].value == 5


def test_means_are_over_seeds_and_one_seed_has_no_interval(tmp_path: Path) -> None:
    def says(step: Step, budget: int) -> tuple[int, bool]:
        return 3, step.seed != 2

    what = asked(seeds=(1, 2, 3))
    pretend(tmp_path, what, says)
    name = ("graded", "budget 0.8s", "EP-aware", "success")
    cell = cells_of(tmp_path, what)[name]
    assert (cell.value, cell.low, cell.high, cell.n) == (pytest.approx(2 / 3), 0.0, 1.0, 3)
    assert cells_of(tmp_path, asked(seeds=(1,)))[name].low is None


def test_only_a_model_that_is_rewarded_for_time_is_reported_as_collapsed(tmp_path: Path) -> None:
    what = asked(arms=(LONG, "EP-aware"))
    begin(tmp_path, what)
    for model in ("base", LONG, "EP-aware"):
        leave(tmp_path, what, model, both(3, True))
    assert all(find_collapses(read_answers(what, tmp_path)).values())
    write_report(tmp_path)
    assert (tmp_path / "report.html").read_text().count("collapsed to one length") == 1


def test_a_curve_over_seeds_keeps_its_last_value() -> None:
    assert mean_curve([{1: 0.0, 2: 1.0, 4: 0.0}, {2: 1.0, 3: 0.0, 5: 1.0}, {}]) == {
        2: 1.0,
        3: 0.5,
        4: 0.0,
    }
    assert mean_curve([{}]) == {}


def test_a_torn_file_of_rows_is_named(tmp_path: Path) -> None:
    what = asked()
    leave(tmp_path, what, "base", both(3, True))
    (torn,) = tmp_path.rglob("base.jsonl")
    torn.write_bytes(torn.read_bytes()[:-9])
    with pytest.raises(RecordError, match=r"base\.jsonl"):
        read_answers(what, tmp_path)
