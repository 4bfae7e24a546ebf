"""Numbers of the toy experiments: intervals, published values, bands, claims, text."""

from dataclasses import replace

import numpy as np
import pytest

from timeful.errors import SettingsError
from timeful.seeding import child
from timeful.suites.engagement.comparison import Metric
from timeful.suites.engagement.intervals import draw_weights, interval, resample, value
from timeful.suites.engagement.toys import tables as toys_tables
from timeful.suites.engagement.toys.claims import claims, findings
from timeful.suites.engagement.toys.evaluated import Evaluated, Plan
from timeful.suites.engagement.toys.numbers import (
    METRICS,
    YARDSTICK,
    make_numbers,
    result_rows,
    seed_rows,
)
from timeful.suites.engagement.toys.published import BANDS, PUBLISHED, PUBLISHED_MAIN
from timeful.suites.engagement.toys.tables import APPENDIX, MAIN, brief, text_entry, text_tables

RATE = Metric(name="rate", count="hits", of="tries", scale=100)
MEAN = Metric(name="mean", count="hits")


def counts(**columns):
    return {name: np.array(column, dtype=float) for name, column in columns.items()}


# --- intervals -------------------------------------------------------------------------------


def test_a_ratio_is_that_of_sums_and_not_the_mean_of_ratios():
    episodes = counts(hits=[1, 0], tries=[1, 9])
    assert value(RATE, episodes) == 10.0
    assert value(MEAN, episodes) == 0.5


def test_nothing_to_divide_by_is_no_number():
    assert np.isnan(value(RATE, counts(hits=[0, 0], tries=[0, 0])))


def test_weights_count_what_was_drawn():
    weights = draw_weights(child(0, "weights"), 50, resamples=4_000)
    assert weights.shape == (4_000, 50)
    assert np.all(weights.sum(axis=1) == 50)
    assert np.allclose(weights.mean(axis=0), 1, atol=0.1)
    assert weights.var() == pytest.approx(1 - 1 / 50, rel=0.02)


def test_an_interval_is_that_of_a_plain_bootstrap():
    rng = child(0, "data")
    episodes = counts(tries=rng.integers(1, 20, 400), hits=np.zeros(400))
    episodes["hits"] = rng.binomial(episodes["tries"].astype(int), 0.3).astype(float)
    weights = draw_weights(child(1, "fast"), 400, resamples=4_000)
    found = interval(RATE, [resample(episodes, weights)], 400)
    slow, plain = child(2, "slow"), []
    for _ in range(4_000):
        drawn = slow.integers(0, 400, 400)
        plain.append(100 * episodes["hits"][drawn].sum() / episodes["tries"][drawn].sum())
    assert found == pytest.approx(np.percentile(plain, [2.5, 97.5]), abs=0.15)


def test_five_seeds_are_surer_than_one_and_equal_seeds_are_not():
    rng = child(3, "seeds")
    weights = draw_weights(child(4, "weights"), 1_000)
    several = [resample(counts(hits=rng.normal(size=1_000)), weights) for _ in range(5)]

    def width(sums):
        low, high = interval(MEAN, sums, 1_000)
        return high - low

    assert width(several) == pytest.approx(width(several[:1]) / np.sqrt(5), rel=0.2)
    assert width([several[0]] * 5) == pytest.approx(width(several[:1]))


# --- what was published ----------------------------------------------------------------------


def test_every_published_number_stands_beside_a_metric_of_ours():
    assert len(PUBLISHED) == 4 * (4 + 4 + 2 + 4 + 4)
    assert len(PUBLISHED_MAIN) == 4 * (2 + 2 + 2 + 4 + 4)
    for experiment, _, metric in {**PUBLISHED, **PUBLISHED_MAIN, **BANDS}:
        assert metric in [known.name for known in METRICS[experiment]]


@pytest.mark.parametrize(
    ("key", "value", "half_width", "source"),
    [
        (("deliberation/single", "Step -> EP", "timeout %"), 79.0, 1.5, "Table 8"),
        (("deliberation/sequential", "EP -> Step", "mode 5 %"), 55.0, 0.6, "Table 9"),
        (("patrol/module", "Loop", "ticks"), 14.39, 0.02, "Table 14"),
        (("patrol/depth-2", "Patch", "cost"), 63.73, 0.49, "Table 15"),
        (("patrol/depth-3", "EP", "return"), 143.31, 5.03, "Table 16"),
    ],
)
def test_published_numbers_are_as_printed(key, value, half_width, source):
    entry = PUBLISHED[key]
    assert (entry.value, entry.half_width, entry.source) == (value, half_width, source)


def test_the_main_text_rounds_the_appendix():
    # It differs by a digit in three places (15.9 for 15.8, 84.0 for 83.9, -163.5 for -163.55).
    for key, entry in PUBLISHED_MAIN.items():
        assert entry.value == pytest.approx(PUBLISHED[key].value, abs=0.11)


def test_every_published_number_of_a_deliberation_return_is_in_its_band():
    for key, band in BANDS.items():
        if key[2] == "return":
            assert band.holds(PUBLISHED[key].value), key


def test_bands_of_written_policies_are_narrow_and_loop_costs_nothing():
    width = {key: band.high - band.low for key, band in BANDS.items()}
    assert width["patrol/depth-2", "Patch", "return"] == pytest.approx(30)
    assert width["patrol/depth-3", "Loop", "return"] == pytest.approx(50)
    assert width["patrol/depth-3", "Loop", "resolve %"] == pytest.approx(3)
    assert width["patrol/depth-3", "PatchPro", "cost"] == pytest.approx(4)
    assert BANDS["patrol/depth-2", "Loop", "cost"].holds(0)
    assert width["patrol/depth-2", "Loop", "cost"] == 0


# --- numbers, claims and text ----------------------------------------------------------------

RETURNS = {"EP": 150.0, "PatchPro": 60.0, "Patch": -100.0, "Loop": -300.0}


def patrolled(method, learner, seed, *, level="depth-3", shift=0.0):
    mean = RETURNS[method] + shift
    return Evaluated(
        experiment=f"patrol/{level}",
        method=method,
        learner=learner,
        seed=seed,
        counts=counts(
            **{"return": [mean - 1, mean, mean, mean + 1]},
            alarms=[46, 46, 45, 47],
            resolved=[20, 30, 25, 25],
            expired=[26, 16, 20, 22],
            active_ticks=[300, 310, 305, 305],
            interrupt_cost=[0, 0, 0, 0],
        ),
    )


def a_level(*, worst=0.0):
    """All methods on two seeds; `worst` moves the learned one on the second."""
    written = [
        patrolled(method, "fixed", seed)
        for method in ("PatchPro", "Patch", "Loop")
        for seed in (42, 43)
    ]
    return [
        patrolled("EP", "paper-like", 42),
        patrolled("EP", "paper-like", 43, shift=worst),
        *written,
    ]


def numbers_of(rows):
    return make_numbers(rows, rng=child(0, "test"))


def test_a_number_has_its_mean_spread_interval_and_band():
    number = numbers_of(a_level(worst=-20))[0]
    assert number.key == ("patrol/depth-3", "EP", "return")
    assert number.by_seed == {42: 150.0, 43: 130.0}
    assert number.mean == 140
    assert number.spread == pytest.approx(np.sqrt(200))
    assert number.low < 140 < number.high
    assert number.episodes == 8
    assert number.published.value == 143.31
    assert (number.band.low, number.band.high) == (110, 290)


def test_a_single_seed_has_no_spread():
    (number, *_) = numbers_of([patrolled("EP", "paper-like", 42)])
    assert number.spread is None
    assert "[" not in text_entry(number, decimals=1)


def test_a_yardstick_is_not_measured_against_bands():
    (number, *_) = numbers_of([patrolled("EP", YARDSTICK, 42)])
    assert number.band is None


def test_the_order_of_policies_changes_nothing():
    rows = a_level()
    first = {(n.key, n.learner): (n.mean, n.low, n.high) for n in numbers_of(rows)}
    second = {(n.key, n.learner): (n.mean, n.low, n.high) for n in numbers_of(rows[::-1])}
    assert first == second


def test_claims_say_on_how_many_seeds_they_hold():
    rows = a_level(worst=-100)
    by_text = {claim.text: claim for claim in claims(numbers_of(rows), rows)}
    ordered = by_text["patrol/depth-3, paper-like: EP > PatchPro > Patch > Loop, on means"]
    assert ordered.holds
    seeds = by_text["patrol/depth-3, paper-like: EP > PatchPro, per seed"]
    assert (seeds.held, seeds.cases, seeds.is_promised) == (1, 2, False)
    said = " ".join(findings(numbers_of(rows)))
    assert "not better than PatchPro on every seed; it is not on 1 of 2: 43." in said


def test_a_claim_that_does_not_hold_is_seen():
    rows = a_level(worst=-1_000)
    by_text = {claim.text: claim for claim in claims(numbers_of(rows), rows)}
    claim = by_text["patrol/depth-3, paper-like: EP > PatchPro > Patch > Loop, on means"]
    assert not claim.holds
    assert claim.is_promised


def test_what_the_first_five_seeds_alone_would_show_is_said():
    rows = [
        patrolled("EP", "paper-like", seed, shift=-60.0 if seed < 47 else 60.0)
        for seed in range(42, 52)
    ]
    (number, *_) = numbers_of(rows)
    assert number.band.holds(number.mean)
    said = [line for line in findings(numbers_of(rows)) if "first five" in line]
    assert "patrol/depth-3, EP, paper-like: return 90" in said[0]
    assert not [line for line in findings(numbers_of(rows[:5])) if "first five" in line]


def test_what_beats_the_published_ep_is_said_of_converged_learners_alone():
    rows = [
        replace(row, learner=name)
        for row in a_level()
        if row.method == "EP"
        for name in ("paper-like", "converged")
    ]
    said = [line for line in findings(numbers_of(rows)) if "not the best" in line]
    assert len(said) == 1
    assert "the published EP (143.3)" in said[0]
    assert "allows: 'converged' gets 150.0." in said[0]


def test_result_rows_carry_the_spread_the_learner_and_the_source():
    rows = result_rows(numbers_of(a_level(worst=-20)), {("deliberation/single", "EP -> EP"): 0.845})
    first, last = rows[0], rows[-1]
    assert (first.suite, first.experiment, first.setting) == (
        "engagement",
        "patrol/depth-3",
        "paper-like",
    )
    assert (first.method, first.metric, first.value) == ("EP", "return", 140)
    assert first.spread == pytest.approx(np.sqrt(200))
    assert (first.published, first.source, first.stand_in) == (143.31, "Table 16", False)
    assert (last.setting, last.value, last.published, last.n) == ("optimum", 0.845, 0.8, 0)


def test_every_seed_has_a_row():
    rows = seed_rows(numbers_of(a_level()))
    assert len(rows) == 4 * 5 * 2
    assert {row.seed for row in rows} == {42, 43}


def test_the_text_shows_theirs_ours_and_what_is_outside():
    text = text_tables(numbers_of(a_level(worst=-200)), {})
    assert "Table 16: patrol, three phases" in text
    assert "published  143.3±5.0        62.4±.2          36.8±.3          80.6±.6" in text
    assert "paper-like 50.0±" in text
    assert "Table 15" not in text
    assert "outside: patrol/depth-3, EP, paper-like:\n  return 50, band 110 to 290" in text


def test_the_text_fits_eighty_columns_whatever_the_numbers():
    rows = []
    for level in ("module", "depth-2", "depth-3"):
        for method in ("EP", "Loop"):
            for seed, shift in ((42, -1234.0), (43, 999.0)):
                rows.append(
                    patrolled(method, "converged, all seen", seed, level=level, shift=shift)
                )
                rows.append(patrolled(method, "paper-like", seed, level=level, shift=shift))
    assert max(map(len, text_tables(numbers_of(rows), {}).splitlines())) <= 80


@pytest.mark.parametrize(
    ("number", "text"),
    [
        (0.0, "0"),
        (0.004, "0"),
        (0.1, ".10"),
        (0.996, "1.0"),
        (9.94, "9.9"),
        (9.96, "10"),
        (182.4, "182"),
    ],
)
def test_a_spread_takes_few_characters(number, text):
    assert brief(number) == text


def test_tables_hold_the_published_columns():
    columns = {layout.name: layout.metrics for layout in (*MAIN, *APPENDIX)}
    assert (
        columns["Table 2a"] == columns["Table 14"] == ("return", "resolve %", "expire %", "ticks")
    )
    assert columns["Table 16"] == ("return", "resolve %", "expire %", "cost")
    assert columns["Table 1"] == ("return", "success %", "timeout %", "mode 5 %")


def test_the_optimum_stands_below_a_row_that_has_one():
    layout = replace(APPENDIX[4])
    shown = toys_tables.lines(
        layout, ("patrol/depth-3", "EP"), numbers_of(a_level()), {("patrol/depth-3", "EP"): 300.0}
    )
    assert [line.name for line in shown] == ["published", "paper-like", "optimum"]
    assert shown[-1].entries == (300.0, None, None, None)


# --- plans -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"seeds": ()}, "one at least"),
        ({"seeds": (42, 42)}, "each training seed once"),
        ({"training": 0}, "training takes 1 to 10,000,000 episodes, got 0"),
        ({"evaluation": -5}, "evaluation takes 1 to 10,000,000 episodes, got -5"),
    ],
)
def test_plans_that_cannot_be_are_refused(wrong, message):
    with pytest.raises(SettingsError, match=message):
        Plan(**wrong)


def test_the_usual_plan_is_the_papers_with_ten_seeds_in_a_row():
    assert Plan() == Plan(seeds=tuple(range(42, 52)), training=8_000, evaluation=3_000)
