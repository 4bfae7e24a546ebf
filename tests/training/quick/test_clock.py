"""What is counted of the clock, of rows that nobody played."""

import json
from collections.abc import Callable
from dataclasses import replace
from itertools import product
from pathlib import Path

import msgspec
import pytest
from msgspec import structs

from tests.training.quick.material import begin, cells_of, claims_of, row, write_report
from timeful.training.quick.answers import read_answers
from timeful.training.quick.claims import comparable_budgets, without_clock
from timeful.training.quick.plan import QuickRun
from timeful.training.quick.recipe import BASE, find_recipe
from timeful.training.quick.rows import ClockRow
from timeful.training.quick.steps import Step

SEEDS = (1, 2)
TIMER = find_recipe("quick", timer=True)
LANGUAGE = TIMER.language
Says = Callable[[Step, int | None], int | None]
"""How many tokens all of an answer has after a reading in eighths; None leaves the timer alone."""


def run(**others: object) -> QuickRun:
    arms = tuple(arm.name for arm in TIMER.arms)
    return QuickRun(**{"recipe": TIMER, "arms": arms, "seeds": SEEDS, **others})  # type: ignore[arg-type]


def answered(told: float, alpha: float, scale: float, budget: str, tokens: int | None) -> ClockRow:
    """An answer after a reading, or at length without one; it is right if it says 18 or more."""
    length = 47 if tokens is None else tokens
    plain = row(budget, 1, length, length >= 18)
    plain = structs.replace(
        plain, budget_ns=round(told * 1e8), counted_ns=round(length * alpha * 1e8)
    )
    heard = None if tokens is None else round(LANGUAGE.before * alpha * scale * 0.1, 2)
    before = length if tokens is None else LANGUAGE.before
    return structs.replace(
        plain,
        alpha=alpha,
        scale=scale,
        heard=heard,
        before=before,
        after=length - before,
    )


def pretend(out: Path, what: QuickRun, says: Says) -> None:
    """Write the rows of all gradings, as if models had answered so."""
    begin(out, what)
    pairs = list(product(LANGUAGE.devices, LANGUAGE.allowed))
    for step in what.steps(out):
        rows = []
        if step.kind == "hurry":
            for factor, alpha in product(TIMER.factors, LANGUAGE.devices):
                room = factor * 48
                said = says(step, LANGUAGE.clock(room))
                rows.append(answered(room * alpha, alpha, 1.0, f"{factor:g}x", said))
        elif step.kind in ("grade", "mislead"):
            for scale in (1.0,) if step.kind == "grade" else TIMER.lies:
                for alpha, room in pairs:
                    said = says(step, LANGUAGE.clock(room / scale))
                    rows.append(answered(room * alpha, alpha, scale, "1s", said))
        if rows:
            step.result.parent.mkdir(parents=True, exist_ok=True)
            step.result.write_bytes(b"".join(msgspec.json.encode(r) + b"\n" for r in rows))


def heeding(step: Step, clock: int | None) -> int | None:
    """Timely-RL says what there is room for by the clock; the others are long, and do not ask."""
    if step.arm is None or step.arm.reward != "timely":
        return None
    return {0: 48, 1: 28, 2: 18, 3: 13}.get(clock or 0, 9)


def held_of(out: Path, says: Says) -> dict[str, tuple[int, ...]]:
    """The seeds in which each claim about Timely-RL holds."""
    pretend(out, run(), says)
    claims = claims_of(out, run())
    assert not any(claims["acts on the clock", model].confirmed for model in (BASE, "GRPO"))
    return {
        name: claim.confirmed for (name, model), claim in claims.items() if model == "Timely-RL"
    }


def test_a_model_that_acts_on_the_clock_satisfies_the_claims(tmp_path: Path) -> None:
    held = held_of(tmp_path, heeding)
    del held["beats the budget alone"]
    assert set(held.values()) == {SEEDS}
    # Right are 20, 28 and 56 tokens' room, of 5, on each device.
    success = cells_of(tmp_path, run())["graded", "all budgets", "Timely-RL", "success"]
    assert success.value == pytest.approx(3 / 5)


def test_a_model_of_one_length_is_on_time_and_does_not_act_on_the_clock(tmp_path: Path) -> None:
    def says(step: Step, clock: int | None) -> int | None:
        return 9 if heeding(step, clock) else None

    assert held_of(tmp_path, says) == {
        "most often on time": SEEDS,
        "acts on the clock": (),
        "believes a clock that lies": (),
        "beats the budget alone": (),  # it is always wrong
    }


def test_a_model_that_is_long_after_a_reading_in_the_middle_does_not_act_on_the_clock(
    tmp_path: Path,
) -> None:
    def says(step: Step, clock: int | None) -> int | None:
        return 28 if clock == 3 else heeding(step, clock)

    assert held_of(tmp_path, says)["acts on the clock"] == ()


def test_a_seed_that_ignores_wrong_timers_does_not_satisfy_the_claim(tmp_path: Path) -> None:
    def says(step: Step, clock: int | None) -> int | None:
        is_deaf = step.seed == 2 and step.kind == "mislead"
        return heeding(step, 2 if is_deaf else clock)

    held = held_of(tmp_path, says)
    assert held["acts on the clock"] == SEEDS
    assert held["believes a clock that lies"] == (1,)


def test_the_best_success_without_a_clock_by_hand(tmp_path: Path) -> None:
    """The base knows the way of 48 tokens alone, and always is right; Timely-RL that of 28 too."""

    def says(step: Step, clock: int | None) -> int | None:
        return 28 if heeding(step, clock) and step.seed == 2 else None

    what = run()
    pretend(tmp_path, what, says)
    best = without_clock(what, read_answers(what, tmp_path))
    # 48 tokens, the call saved, fit a room of 56 alone, which is told as 28, 56 or 112.
    assert best[1] == pytest.approx(3 / 15)
    # 28 fit rooms of 28, told as 14, 28 and 56, and of 56: with 28 and 56 tokens told, both do.
    assert best[2] == pytest.approx(6 / 15)


def test_cells_of_the_clock(tmp_path: Path) -> None:
    what = run()
    pretend(tmp_path, what, heeding)
    cells = cells_of(tmp_path, what)

    def values(exam: str, metric: str) -> dict[str, float | None]:
        return {
            setting: cell.value
            for (experiment, setting, model, name), cell in cells.items()
            if (experiment, model, name) == (exam, "Timely-RL", metric)
        }

    assert values("clock", "after") == {"0/8": 42, "1/8": 22, "2/8": 12, "3/8": 7, "4/8": 3}
    # 28 tokens told: room for 56, 28 and 14
    assert values("same budget", "tokens") == {"x0.5": 48, "x1": 28, "x2": 13}
    assert values("device", "on_time") == {"x0.5": 1, "x1": 1, "x2": 1}
    assert set(values("asked", "asked").values()) == {1}
    slow, true, fast = (values("misled, after", "after")[f"x{scale}"] for scale in ("0.5", 1, 2))
    assert slow is not None
    assert true is not None
    assert fast is not None
    assert slow > true > fast
    # rooms of 20, 28 and 56
    assert values("misled, on time", "on_time") == pytest.approx({"x0.5": 1 / 3, "x1": 1, "x2": 1})
    assert cells["asked", "in turn", BASE, "asked"].value == 0


@pytest.mark.parametrize(
    ("lie", "rooms"), [(2.0, {"2s", "2.8s", "5.6s"}), (0.5, {"1s", "1.4s", "2s", "2.8s", "5.6s"})]
)
def test_wrong_timers_are_compared_where_lessons_had_their_words(
    lie: float, rooms: set[str]
) -> None:
    assert comparable_budgets(replace(TIMER, lies=(lie,))) == rooms


def test_the_report_has_80_columns_every_seed_and_the_same_bytes_again(tmp_path: Path) -> None:
    what = run()
    pretend(tmp_path, what, heeding)
    text = write_report(tmp_path).text
    assert max(map(len, text.splitlines())) <= 80
    assert all(f"Timely-RL, seed {seed}" in text for seed in SEEDS)
    files = ("report.html", "results.json", "episodes.csv", "clock.svg", "tables.txt")
    before = {name: (tmp_path / name).read_bytes() for name in files}
    write_report(tmp_path)
    assert {name: (tmp_path / name).read_bytes() for name in files} == before
    rows = json.loads(before["results.json"])
    assert not any(r["experiment"] == "Table 25" for r in rows)


def test_a_seed_that_lacks_a_model_is_left_out(tmp_path: Path) -> None:
    what = run()
    pretend(tmp_path, what, heeding)
    gone = next(s for s in what.steps(tmp_path) if s.kind == "mislead" and s.seed == 2)
    gone.result.unlink()
    assert {claim.seeds for claim in claims_of(tmp_path, what).values()} == {(1,)}
