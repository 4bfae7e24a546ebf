"""What is counted of the clock, of rows that nobody played."""

import json
from collections.abc import Callable
from dataclasses import replace
from itertools import product
from pathlib import Path

import msgspec
import pytest
from msgspec import structs

from tests.training.quick.material import asked, begin, row
from timeful.training.quick.asked import Asked
from timeful.training.quick.clock import (
    ClockVerdict,
    _heard,
    blind,
    clock_sentences,
    clock_verdict,
    grids,
    read_cells,
)
from timeful.training.quick.recipe import BASE, find_recipe
from timeful.training.quick.report import write_report
from timeful.training.quick.rows import ClockRow
from timeful.training.quick.scores import read_scores
from timeful.training.quick.stages import Stage

SEEDS = (1, 2)
TIMER = find_recipe("quick", timer=True)
LANGUAGE = TIMER.language
Says = Callable[[Stage, int | None], int | None]
"""How many tokens all of an answer has after a reading in eighths; None leaves the timer alone."""


def run(**others: object) -> Asked:
    arms = tuple(arm.name for arm in TIMER.arms)
    return Asked(**{"recipe": TIMER, "arms": arms, "seeds": SEEDS, **others})  # type: ignore[arg-type]


def answered(told: float, alpha: float, scale: float, budget: str, tokens: int | None) -> ClockRow:
    """An answer after a reading, or at length without one; it is right if it says 18 or more."""
    length = 47 if tokens is None else tokens
    plain = row(budget, 1, length, length >= 18)
    plain = structs.replace(
        plain, budget_ns=round(told * 1e8), counted_ns=round(length * alpha * 1e8)
    )
    heard = None if tokens is None else round(LANGUAGE.before * alpha * scale * 0.1, 2)
    before = length if tokens is None else LANGUAGE.before
    return ClockRow(
        **structs.asdict(plain),
        alpha=alpha,
        scale=scale,
        heard=heard,
        before=before,
        after=length - before,
    )


def pretend(out: Path, what: Asked, says: Says) -> None:
    """Write the rows of all gradings, as if models had answered so."""
    begin(out, what)
    pairs = list(product(LANGUAGE.devices, LANGUAGE.allowed))
    for stage in what.stages(out):
        rows = []
        if stage.kind == "hurry":
            for factor, alpha in product(TIMER.factors, LANGUAGE.devices):
                room = factor * 48
                said = says(stage, LANGUAGE.clock(room))
                rows.append(answered(room * alpha, alpha, 1.0, f"{factor:g}x", said))
        elif stage.kind in ("grade", "mislead"):
            for scale in (1.0,) if stage.kind == "grade" else TIMER.lies:
                for alpha, room in pairs:
                    said = says(stage, LANGUAGE.clock(room / scale))
                    rows.append(answered(room * alpha, alpha, scale, "1s", said))
        if rows:
            stage.result.parent.mkdir(parents=True, exist_ok=True)
            stage.result.write_bytes(b"".join(msgspec.json.encode(r) + b"\n" for r in rows))


def heeding(stage: Stage, clock: int | None) -> int | None:
    """Timely-RL says what there is room for by the clock; the others are long, and do not ask."""
    if stage.arm is None or stage.arm.reward != "timely":
        return None
    return {0: 48, 1: 28, 2: 18, 3: 13}.get(clock or 0, 9)


def told_of(out: Path, says: Says) -> ClockVerdict:
    what = run()
    pretend(out, what, says)
    found = clock_verdict(what, out, read_scores(what, out), read_cells(what, out))
    assert found is not None
    return found


def test_who_acts_on_the_clock_is_told_from_who_does_not(tmp_path: Path) -> None:
    told = told_of(tmp_path, heeding)
    assert (told.punctual, told.heeds, told.misled) == (SEEDS, SEEDS, SEEDS)
    assert told.others == {BASE: 0, "GRPO": 0}
    # Right are 20, 28 and 56 tokens' room, of 5, on each device.
    assert told.success == pytest.approx(3 / 5)


def test_who_answers_at_one_length_is_on_time_and_heeds_nothing(tmp_path: Path) -> None:
    def says(stage: Stage, clock: int | None) -> int | None:
        return 9 if heeding(stage, clock) else None

    told = told_of(tmp_path, says)
    assert (told.punctual, told.heeds, told.misled) == (SEEDS, (), ())
    # It is always wrong; the base's 47 tokens fit where 56 do.
    assert (told.beats, told.success, told.blind) == ((), 0.0, pytest.approx(3 / 15))
    assert not told.holds
    assert "acts on the clock in 0 of 2 (base: 0, GRPO: 0)" in clock_sentences(told)[1]


def test_who_is_long_after_one_reading_in_the_middle_does_not_heed_the_clock(
    tmp_path: Path,
) -> None:
    def says(stage: Stage, clock: int | None) -> int | None:
        return 28 if clock == 3 else heeding(stage, clock)

    assert told_of(tmp_path, says).heeds == ()


def test_a_seed_in_which_the_clock_is_not_believed_is_counted_against_the_claim(
    tmp_path: Path,
) -> None:
    def says(stage: Stage, clock: int | None) -> int | None:
        is_deaf = stage.seed == 2 and stage.kind == "mislead"
        return heeding(stage, 2 if is_deaf else clock)

    told = told_of(tmp_path, says)
    assert (told.heeds, told.misled) == (SEEDS, (1,))
    assert not told.holds


def test_what_the_budget_alone_tells_by_hand(tmp_path: Path) -> None:
    """The base knows the way of 48 tokens alone, and always is right; Timely-RL that of 28 too."""

    def says(stage: Stage, clock: int | None) -> int | None:
        return 28 if heeding(stage, clock) and stage.seed == 2 else None

    what = run()
    pretend(tmp_path, what, says)
    found = blind(what, tmp_path)
    # 48 tokens, the call saved, fit a room of 56 alone, which is told as 28, 56 or 112.
    assert found[1] == pytest.approx(3 / 15)
    # 28 fit rooms of 28, told as 14, 28 and 56, and of 56: with 28 and 56 tokens told, both do.
    assert found[2] == pytest.approx(6 / 15)


def test_tables_of_the_clock(tmp_path: Path) -> None:
    what = run()
    pretend(tmp_path, what, heeding)
    cells = read_cells(what, tmp_path)
    found = {grid.key: grid for grid in grids(what, cells)}
    values = {
        key: [one.mean if one else None for one in grid.rows["Timely-RL"]]
        for key, grid in found.items()
    }
    assert found["clock"].head == ("0/8", "1/8", "2/8", "3/8", "4/8")
    assert values["clock"] == [42, 22, 12, 7, 3]
    assert values["same budget"] == [48, 28, 13]  # 28 tokens told: room for 56, 28 and 14
    assert values["device"] == [1, 1, 1]
    assert values["asked"] == [1] * 5
    slow, true, fast = values["misled, after"]
    assert slow is not None
    assert true is not None
    assert fast is not None
    assert slow > true > fast
    assert values["misled, on time"] == pytest.approx([1 / 3, 1, 1])  # rooms of 20, 28 and 56
    assert found["asked"].rows[BASE][0].mean == 0  # type: ignore[union-attr]


@pytest.mark.parametrize(
    ("lie", "rooms"), [(2.0, {"2s", "2.8s", "5.6s"}), (0.5, {"1s", "1.4s", "2s", "2.8s", "5.6s"})]
)
def test_clocks_that_lie_are_compared_where_lessons_had_their_words(
    tmp_path: Path, lie: float, rooms: set[str]
) -> None:
    what = run()
    pretend(tmp_path, what, heeding)
    alone = run(recipe=replace(TIMER, lies=(lie,)))
    found = _heard(alone, read_cells(what, tmp_path))
    assert {one.budget for one in found} == rooms


def test_the_report_has_80_columns_every_seed_and_the_same_bytes_again(tmp_path: Path) -> None:
    what = run()
    pretend(tmp_path, what, heeding)
    text = write_report(tmp_path).text
    assert max(map(len, text.splitlines())) <= 80
    seeds = [line.split()[:2] for line in text.splitlines()]
    assert all([str(seed), "Timely-RL"] in seeds for seed in SEEDS)
    files = ("report.html", "results.json", "clock.csv", "scores.csv", "clock.svg", "tables.txt")
    before = {name: (tmp_path / name).read_bytes() for name in files}
    write_report(tmp_path)
    assert {name: (tmp_path / name).read_bytes() for name in files} == before
    rows = json.loads(before["results.json"])
    claim = {r["metric"]: r["value"] for r in rows if r["experiment"] == "claim"}
    assert claim["seeds: acts on the clock"] == 1.0
    assert not any(r["experiment"] == "Table 25" for r in rows)


def test_a_seed_that_lacks_a_model_is_left_out_and_named(tmp_path: Path) -> None:
    what = run()
    pretend(tmp_path, what, heeding)
    gone = next(s for s in what.stages(tmp_path) if s.kind == "mislead" and s.seed == 2)
    gone.result.unlink()
    told = clock_verdict(what, tmp_path, read_scores(what, tmp_path), read_cells(what, tmp_path))
    assert told is not None
    assert told.seeds == (1,)
    assert "seed 2, base" in clock_sentences(told)[-1]


def test_without_a_timer_nothing_of_it_is_told(tmp_path: Path) -> None:
    what = asked()
    begin(tmp_path, what)
    text = write_report(tmp_path).text
    assert "clock" not in text
    assert not (tmp_path / "clock.csv").exists()
