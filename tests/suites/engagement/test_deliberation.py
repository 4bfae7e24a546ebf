"""The deliberation experiments at full size: ten training seeds, 8,000 and 3,000 episodes."""

import numpy as np
import pytest

from timeful.suites.engagement.intervals import value
from timeful.suites.engagement.toys import deliberation
from timeful.suites.engagement.toys.evaluated import Plan
from timeful.suites.engagement.toys.published import BANDS

CONSTANT_RATE = ("sequential", "paper-like")


@pytest.fixture(scope="module")
def rows():
    """Every policy of both experiments."""
    return [row for job in deliberation.jobs(Plan()) for row in job()]


def find(rows, kind, method, learner):
    about = (f"deliberation/{kind}", method, learner)
    found = {row.seed: row for row in rows if (row.experiment, row.method, row.learner) == about}
    assert sorted(found) == list(range(42, 52))
    return found


def mean_return(row):
    return row.counts["return"].mean()


EACH = [(kind, learner) for kind, learners in deliberation.LEARNERS.items() for learner in learners]


def test_nothing_is_cut_short(rows):
    assert len(rows) == 3 * 10 * 4
    assert {len(column) for row in rows for column in row.counts.values()} == {3_000}


def test_returns_are_six_times_successes_less_two_a_task_exactly(rows):
    for row in rows:
        counts = row.counts
        expected = 6 * counts["succeeded"] - 2 * counts["tasks"]
        assert np.array_equal(counts["return"], expected), row


def test_nothing_times_out_in_step(rows):
    steps = [row for row in rows if row.method.endswith("-> Step")]
    assert len(steps) == 60
    assert not any(row.counts["timed out"].any() for row in steps)


@pytest.mark.parametrize(("kind", "learner"), EACH)
def test_on_every_seed_who_learned_in_ep_is_better_in_ep(rows, kind, learner):
    ep, step = (find(rows, kind, f"{t} -> EP", learner) for t in ("EP", "Step"))
    assert all(mean_return(ep[seed]) > mean_return(step[seed]) for seed in ep)


@pytest.mark.parametrize(("kind", "learner"), EACH)
def test_who_learned_in_step_is_better_in_step(rows, kind, learner):
    step, ep = (find(rows, kind, f"{t} -> Step", learner) for t in ("Step", "EP"))
    gaps = [mean_return(step[seed]) - mean_return(ep[seed]) for seed in ep]
    # With a constant rate one seed in ten is not.
    assert np.mean(gaps) > 0
    assert (kind, learner) == CONSTANT_RATE or min(gaps) > 0


@pytest.mark.parametrize("seed", Plan().seeds)
def test_a_single_task_never_times_out_for_who_learned_in_ep_with_rate_1_over_n(rows, seed):
    row = find(rows, "single", "EP -> EP", "paper-like")[seed]
    assert row.counts["timed out"].sum() == 0


@pytest.mark.parametrize(("kind", "learner"), EACH)
@pytest.mark.parametrize("seeds", [5, 10])
def test_means_over_seeds_are_in_their_bands(rows, kind, learner, seeds):
    checked = 0
    for method in deliberation.CELLS:
        found = dict(list(find(rows, kind, method, learner).items())[:seeds])
        for metric in deliberation.METRICS:
            band = BANDS.get((f"deliberation/{kind}", method, metric.name))
            if band is not None:
                mean = np.mean([value(metric, row.counts) for row in found.values()])
                assert band.holds(mean), (method, metric.name, mean, band)
                checked += 1
    assert checked == {"single": 8, "sequential": 10}[kind]


def test_nobody_beats_the_optimum_but_by_chance(rows):
    for (experiment, method), best in deliberation.optima().items():
        for row in rows:
            if (row.experiment, row.method) == (experiment, method):
                error = row.counts["return"].std() / np.sqrt(3_000)
                assert mean_return(row) < best + 4 * error


def test_the_converged_learner_beats_the_published_return(rows):
    found = find(rows, "sequential", "EP -> EP", "converged")
    assert all(mean_return(row) > 10.07 for row in found.values())


def test_who_learned_in_ep_thinks_longer_the_more_slack_there_is(rows):
    """Figures 3 and 4: the mean mode rises with slack, and is flat for who learned in Step."""
    for kind in deliberation.WORLDS:
        ep, step = (
            sum(r.totals["modes"] for r in find(rows, kind, f"{t} -> EP", "paper-like").values())
            for t in ("EP", "Step")
        )
        means = ep @ np.arange(1, 6) / ep.sum(axis=1)
        assert np.all(np.diff(means) > 0), means
        assert (step @ np.arange(1, 6))[1:].sum() / step[1:].sum() > 4.5


def test_totals_and_counts_agree(rows):
    for row in rows:
        assert row.totals["modes"].sum() == row.counts["chosen"].sum()
        assert row.totals["modes"][:, 4].sum() == row.counts["deepest"].sum()
