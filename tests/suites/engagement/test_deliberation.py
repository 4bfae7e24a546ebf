"""The deliberation experiments at full size: ten training seeds, 8,000 and 3,000 episodes."""

from functools import cache
from itertools import product

import numpy as np
import pytest

from timeful.suites.engagement.toys import deliberation
from timeful.suites.engagement.toys.cells import METRICS, REFERENCE
from timeful.suites.engagement.toys.episode import ToyEpisode
from timeful.suites.engagement.toys.play import evaluate
from timeful.suites.engagement.toys.rows import Evaluation

RUNS = range(10)
CONSTANT_RATE = ("sequential", "paper-like")


@cache
def play(kind: str, method: str, learner: str, run: int) -> Evaluation:
    return evaluate(
        ToyEpisode(experiment=f"deliberation/{kind}", method=method, learner=learner, run=run)  # type: ignore[arg-type]
    )


def play_all(kind: str, method: str, learner: str) -> list[Evaluation]:
    return [play(kind, method, learner, run) for run in RUNS]


def mean_return(evaluation: Evaluation) -> float:
    return float(evaluation.counts["return"].mean())


EACH = [(kind, learner) for kind, learners in deliberation.LEARNERS.items() for learner in learners]


EVERY = [(*each, method) for each, method in product(EACH, deliberation.CELLS)]


@pytest.mark.parametrize(("kind", "learner", "method"), EVERY)
def test_counts_of_every_episode_agree(kind: str, learner: str, method: str) -> None:
    for evaluation in play_all(kind, method, learner):
        counts, modes = evaluation.counts, evaluation.modes
        assert {len(column) for column in counts.values()} == {3_000}
        assert np.array_equal(counts["return"], 6 * counts["succeeded"] - 2 * counts["tasks"])
        assert not (method.endswith("Step") and counts["timed out"].any())
        assert modes is not None
        assert modes.sum() == counts["chosen"].sum()
        assert modes[:, 4].sum() == counts["deepest"].sum()


@pytest.mark.parametrize(("kind", "learner"), EACH)
def test_on_every_seed_a_policy_learned_in_ep_is_better_in_ep(kind: str, learner: str) -> None:
    ep, step = (play_all(kind, f"{trained} -> EP", learner) for trained in ("EP", "Step"))
    assert all(mean_return(a) > mean_return(b) for a, b in zip(ep, step, strict=True))


@pytest.mark.parametrize(("kind", "learner"), EACH)
def test_a_policy_learned_in_step_is_better_in_step(kind: str, learner: str) -> None:
    step, ep = (play_all(kind, f"{trained} -> Step", learner) for trained in ("Step", "EP"))
    gaps = [mean_return(a) - mean_return(b) for a, b in zip(step, ep, strict=True)]
    # With a constant rate one seed in ten is not.
    assert np.mean(gaps) > 0
    assert (kind, learner) == CONSTANT_RATE or min(gaps) > 0


def test_a_single_task_never_times_out_for_a_policy_learned_in_ep_with_rate_1_over_n() -> None:
    for evaluation in play_all("single", "EP -> EP", "paper-like"):
        assert evaluation.counts["timed out"].sum() == 0


@pytest.mark.parametrize(("kind", "learner"), EACH)
@pytest.mark.parametrize("seeds", [5, 10])
def test_means_over_seeds_are_in_their_bands(kind: str, learner: str, seeds: int) -> None:
    checked = 0
    metrics = {metric.name: metric for metric in METRICS}
    for band in REFERENCE.bands:
        if band.where["experiment"] == f"deliberation/{kind}":
            metric = metrics[band.metric]
            evaluations = play_all(kind, str(band.where["method"]), learner)[:seeds]
            parts = [e.counts[str(metric.value)].sum() for e in evaluations]
            wholes = [e.counts[str(metric.per)].sum() if metric.per else 3_000 for e in evaluations]
            assert band.holds(float(metric.scale * np.mean(np.divide(parts, wholes)))), band
            checked += 1
    assert checked == {"single": 8, "sequential": 10}[kind]


def test_no_policy_beats_the_optimum_but_by_chance() -> None:
    for (experiment, method), best in deliberation.optima().items():
        kind = experiment.partition("/")[2]
        for learner in deliberation.LEARNERS[kind]:  # type: ignore[index]
            for evaluation in play_all(kind, method, learner):
                error = evaluation.counts["return"].std() / np.sqrt(3_000)
                assert mean_return(evaluation) < best + 4 * error


def test_the_converged_learner_beats_the_published_return() -> None:
    for evaluation in play_all("sequential", "EP -> EP", "converged"):
        assert mean_return(evaluation) > 10.07


def test_a_policy_learned_in_ep_thinks_longer_with_more_slack() -> None:
    """Figures 3 and 4: the mean mode rises with slack, and is flat if learned in Step."""
    for kind in deliberation.WORLDS:
        ep, step = (
            sum(e.modes for e in play_all(kind, f"{t} -> EP", "paper-like") if e.modes is not None)
            for t in ("EP", "Step")
        )
        means = ep @ np.arange(1, 6) / ep.sum(axis=1)
        assert np.all(np.diff(means) > 0), means
        assert (step @ np.arange(1, 6))[1:].sum() / step[1:].sum() > 4.5
