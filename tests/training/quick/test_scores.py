"""Scores, the alarm and the claim against numbers worked by hand."""

from collections.abc import Sequence
from pathlib import Path

import msgspec
import pytest

from tests.training.quick.material import asked, begin, pretend, row
from timeful.errors import RecordError
from timeful.tasks.rows import TaskRow
from timeful.training.collapse_detection import find_collapse
from timeful.training.curves import mean_curve
from timeful.training.quick.asked import Asked
from timeful.training.quick.claim import Verdict, one_ways, sentences, verdict
from timeful.training.quick.report import write_report
from timeful.training.quick.results import result_rows
from timeful.training.quick.scores import read_scores, standings
from timeful.training.quick.stages import Stage
from timeful.training.quick.tables import over_budgets, text_tables

LONG = "correct, long cap"


def leave(out: Path, what: Asked, model: str, rows: Sequence[TaskRow]) -> None:
    """Leave the rows of a grading under the steps of the budget."""
    for stage in what.stages(out):
        if stage.kind == "grade" and model == ("base" if stage.arm is None else stage.arm.name):
            stage.result.parent.mkdir(parents=True, exist_ok=True)
            stage.result.write_bytes(b"".join(msgspec.json.encode(one) + b"\n" for one in rows))


def failed(one: TaskRow) -> TaskRow:
    return msgspec.structs.replace(one, status="failed", reason="", value=0.0, error="world: x")


def both(tokens: int, is_right: bool, count: int = 1) -> list[TaskRow]:
    """The same answer under both steps of the smoke recipe."""
    return [row(f"{n / 10:g}s", n, tokens, is_right) for n in (4, 8) for _ in range(count)]


def test_a_score_is_what_its_rows_say(tmp_path: Path) -> None:
    what = asked()
    right, late, wrong = row("0.4s", 4, 3, True), row("0.4s", 4, 6, True), row("0.4s", 4, 2, False)
    silent = msgspec.structs.replace(row("0.4s", 4, 1, True), reason="deadline")
    lost = failed(row("0.4s", 4, 99, True))
    leave(tmp_path, what, "base", [right, right, late, wrong, silent, lost])
    (one,) = read_scores(what, tmp_path)
    assert (one.seconds, one.count, one.failed) == (0.4, 5, 1)
    assert (one.success, one.accuracy, one.on_time, one.tokens) == (2 / 5, 4 / 5, 3 / 5, 15 / 5)
    every = {r.metric: (r.value, r.n) for r in result_rows(what, tmp_path, [one]) if r.n > 1}
    assert every == {
        "success": (0.4, 5),
        "accuracy": (0.8, 5),
        "on_time": (0.6, 5),
        "tokens": (3.0, 5),
    }


@pytest.mark.parametrize(
    ("tokens", "is_collapsed"),
    [
        ({}, False),
        ({0.4: 10, 0.8: 15}, False),
        ({0.4: 10, 0.8: 14.9}, True),
        ({0.4: 10, 0.79: 10}, False),  # budgets that hardly differ ask for nothing
        ({0.4: 30, 3.2: 10}, True),
        ({0.4: 10, 0.8: 40, 3.2: 10}, True),  # longest in the middle is not by budget
        ({0.4: 0, 3.2: 10}, False),
    ],
)
def test_the_alarm_rings_below_one_and_a_half_times_from_the_shortest_to_the_longest(
    tokens: dict[float, float], is_collapsed: bool
) -> None:
    assert bool(find_collapse(tokens)) is is_collapsed


def test_the_best_single_way_counts_what_fits_and_what_is_said_often_enough(tmp_path: Path) -> None:
    what = asked(seeds=(1, 2))  # ways of 3, 5 and 14 tokens under budgets of 4 and 8
    rows = [
        *both(3, True, 3),
        *both(3, False, 7),
        *both(5, True, 8),
        *both(5, False, 1),
        *map(failed, both(5, True, 1)),
        *both(14, True, 20),
    ]
    leave(tmp_path, asked(), "base", rows)
    # 3 tokens are right in 2 of 40 answers: as rare as may be; one in 42 is rarer.
    rare = [*both(3, True), *both(5, False, 19)]
    leave(tmp_path, asked(seeds=(2,)), "base", rare)
    leave(tmp_path, asked(seeds=(2,)), LONG, [*both(3, True), *both(14, False, 20)])
    first, second = one_ways(what, tmp_path)
    assert (first.seed, first.tokens, first.accuracy, first.success) == (1, 5, 8 / 9, 4 / 9)
    assert (second.seed, second.tokens, second.success) == (2, 3, 1.0)
    leave(tmp_path, asked(seeds=(2,)), "base", [*both(3, True), *both(5, False, 20)])
    assert one_ways(asked(seeds=(2,)), tmp_path)[0].success == 0.0


def test_a_way_that_takes_all_of_a_budget_fits(tmp_path: Path) -> None:
    what = asked("quick")
    leave(tmp_path, what, "base", both(8, True))
    (one,) = one_ways(what, tmp_path)
    assert (one.tokens, one.success) == (8, 0.75)  # of 4, 8, 16 and 32


def test_a_claim_is_counted_over_the_seeds_that_are_whole(tmp_path: Path) -> None:
    what = asked(seeds=(1, 2, 3), arms=(LONG, "EP-aware"))
    begin(tmp_path, what)
    for seed in what.seeds:
        alone = asked(seeds=(seed,), arms=what.arms)
        leave(tmp_path, alone, "base", [*both(3, False), *both(3, True)])
        # On seed 2 being right alone is best; seed 3 has not all models.
        leave(tmp_path, alone, LONG, both(4 if seed == 2 else 14, True))
        short, longer = row("0.4s", 4, 3, seed != 2), row("0.8s", 8, 5, True)
        if seed != 3:
            leave(tmp_path, alone, "EP-aware", [short, longer])
    scores = read_scores(what, tmp_path)
    told = verdict(what, tmp_path, scores)
    assert told is not None
    assert (told.seeds, told.best, told.follows, told.beats) == ((1, 2), (1,), (1, 2), ())
    assert told.others == {"base": 0, LONG: 0}
    assert (told.success, told.one_way) == (0.75, 0.75)
    assert told.missing == ("seed 3, EP-aware",)
    assert sentences(told)[1:] == [
        "EP-aware has the best mean budgeted success in 1 of 2 seeds, and its length follows the "
        f"budget in 2 of 2 (base: 0, {LONG}: 0).",
        "It beats always answering in the best single way in 0 of 2 seeds: 0.750 against 0.750, "
        "each a mean over budgets and seeds.",
        "Left out are seeds that lack a model: seed 3, EP-aware.",
    ]
    shares = {
        r.metric: r.value for r in result_rows(what, tmp_path, scores) if r.method == told.aware
    }
    assert shares["seeds: best"] == shares["seeds: length follows the budget"] / 2 == 0.5
    alone = {r.setting: r for r in result_rows(what, tmp_path, scores) if "always" in r.method}
    second = alone["all budgets, seed 2"]
    assert (second.method, second.metric, second.value) == ("always 3 tokens", "success", 0.5)
    assert over_budgets(scores, "EP-aware", "success").startswith("0.750±")


def test_a_claim_holds_if_all_of_it_holds_in_every_seed(tmp_path: Path) -> None:
    whole = Verdict(
        aware="EP-aware",
        seeds=(1, 2),
        best=(1, 2),
        follows=(1, 2),
        beats=(1, 2),
        others={},
        success=1.0,
        one_way=0.5,
        missing=(),
    )
    assert whole.holds
    for part in ("best", "follows", "beats"):
        assert not msgspec.structs.replace(whole, **{part: (2,)}).holds
    ablation = asked(arms=("EP-aware",), fractions=(0.0, 0.5))
    for model in ("base", "EP-aware"):
        leave(tmp_path, ablation, model, both(3, True))
    assert verdict(ablation, tmp_path, read_scores(ablation, tmp_path)) is None


def test_who_is_not_rewarded_for_time_has_not_collapsed(tmp_path: Path) -> None:
    what = asked(arms=(LONG, "EP-aware"))
    begin(tmp_path, what)
    for model in ("base", LONG, "EP-aware"):
        leave(tmp_path, what, model, both(3, True))
    assert all(one.alarm for one in standings(read_scores(what, tmp_path)))
    assert text_tables(what, tmp_path, read_scores(what, tmp_path)).count("one length") == 3
    write_report(tmp_path)
    assert (tmp_path / "report.html").read_text().count("collapsed to one length") == 1


def test_a_table_has_what_its_line_and_its_column_say(tmp_path: Path) -> None:
    def says(stage: Stage, budget: int) -> tuple[int, bool]:
        if stage.arm is None:
            return 14, True
        if stage.arm.is_relative:
            return 3, stage.seed == 1
        aware = (3 if budget == 4 else 5), budget == 4 or stage.seed == 1
        return aware if stage.arm.reward == "ep_aware" else (4, False)

    what = asked(seeds=(1, 2))
    pretend(tmp_path, what, says)
    lines = [line.split() for line in write_report(tmp_path).text.splitlines()]
    for told in (
        "base 0.000±.000 0.000±.000 0.000±.000",
        "EP-aware 1.000±.000 0.500±.500 0.750±.250",
        "base 1.000±.000 1.000±.000 1.000±.000",
        "base 14.0±.0 14.0±.0 14.0±.0",
        "EP-aware 3.0±.0 5.0±.0 4.0±.0",
        "1 EP-aware 1.0 1.0 3.0 5.0 follows",
        "2 EP-aware 1.0 .00 3.0 5.0 follows",
        "2 base .00 .00 14.0 14.0 one length",
        "cold start 0.000±.000 0.000±.000",
        "+ GRPO 1.000±.000 1.000±.000",
        "Timely-RL 1.000±.000 1.000±.000",  # on time, and right on the first seed:
        "Timely-RL 0.500±.500 0.500±.500",
        "2 0.000 1.000 1.000",
    ):
        assert told.split() in lines, told
    (mean,) = (
        r
        for r in result_rows(what, tmp_path, read_scores(what, tmp_path))
        if (r.setting, r.method, r.metric) == ("budget 0.8s", "EP-aware", "success")
    )
    assert (mean.value, mean.low, mean.high, mean.n) == (0.5, 0.0, 1.0, 2)


def test_what_stands_for_one_seed_is_of_the_first_multiple_and_rounded_last(tmp_path: Path) -> None:
    what = asked()
    begin(tmp_path, what)
    leave(tmp_path, what, "base", [*both(3, True, 19), *both(3, False)])
    for stage in what.stages(tmp_path):
        if stage.kind == "hurry":
            stage.result.parent.mkdir(parents=True, exist_ok=True)
            rows = [row("0.75x", 4, 3, True), row("0.75x", 4, 5, True), row("2x", 8, 3, True)]
            stage.result.write_bytes(b"".join(msgspec.json.encode(one) + b"\n" for one in rows))
    lines = [line.split() for line in write_report(tmp_path).text.splitlines()]
    assert ["1", "base", ".95", ".95", "3.0", "3.0", "one", "length"] in lines
    assert ["1", "0.500", "0.500", "0.500"] in lines


def test_an_ablation_keeps_its_fractions_apart(tmp_path: Path) -> None:
    def says(stage: Stage, budget: int) -> tuple[int, bool]:
        follows = stage.recipe.phases[0].follow == 0.5 and stage.arm is not None
        return (5 if follows and budget == 8 else 3), follows

    what = asked(seeds=(1, 2), arms=("EP-aware",), fractions=(0.0, 0.5))
    pretend(tmp_path, what, says)
    lines = [line.split() for line in write_report(tmp_path).text.splitlines()]
    assert ["0", "0.000±.000", "0.000±.000", "2", "of", "2"] in lines
    assert ["0.5", "1.000±.000", "1.000±.000", "0", "of", "2"] in lines
    assert ["0.5", "3.0±.0", "5.0±.0", "0", "of", "2"] in lines
    assert ["0.5", "2", "EP-aware", "1.0", "1.0", "3.0", "5.0", "follows"] in lines
    assert ["0", "2", "EP-aware", ".00", ".00", "3.0", "3.0", "one", "length"] in lines
    found = {
        (r.experiment, r.setting, r.method, r.metric): r.value
        for r in result_rows(what, tmp_path, read_scores(what, tmp_path))
    }
    assert found["graded/fraction 0", "all budgets, seed 2", "EP-aware", "collapsed"] == 1
    assert found["graded/fraction 0.5", "all budgets, seed 2", "EP-aware", "collapsed"] == 0
    assert found["graded/fraction 0.5", "budget 0.8s", "EP-aware", "tokens"] == 5


def test_a_curve_over_seeds_waits_for_who_has_no_news() -> None:
    assert mean_curve([{1: 0.0, 2: 1.0, 4: 0.0}, {2: 1.0, 3: 0.0, 5: 1.0}, {}]) == {
        2: 1.0,
        3: 0.5,
        4: 0.0,
    }
    assert mean_curve([{}]) == {}


def test_rows_that_are_none_are_named(tmp_path: Path) -> None:
    what = asked()
    leave(tmp_path, what, "base", both(3, True))
    (torn,) = tmp_path.rglob("base.jsonl")
    torn.write_bytes(torn.read_bytes()[:-9])
    with pytest.raises(RecordError, match=r"base\.jsonl cannot be read: .*; remove it, and"):
        read_scores(what, tmp_path)
