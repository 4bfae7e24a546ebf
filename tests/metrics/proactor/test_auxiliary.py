"""The other metrics: spread of the Difference, AD, IC, PR and two runs of one training."""

import sys
from math import hypot

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from timeful.dialogues.dialogue import Dialogue, Turn
from timeful.errors import SettingsError
from timeful.metrics.proactor.judge_score import MeanRating, mean_rating, read_rating
from timeful.metrics.proactor.questions import (
    Tfidf,
    asked_in,
    information_consistency,
    mean_information_consistency,
    reference_questions,
)
from timeful.metrics.proactor.repeatability import (
    Repeatability,
    final_consistency,
    repeatability,
    trajectory_correlation,
)
from timeful.metrics.proactor.spread import Spread, difference, over_runs
from timeful.metrics.proactor.workflow import EPSILON, DependencyAlignment, transitions


def test_the_spread_of_a_difference_is_propagated_as_published() -> None:
    """Table 1, Gemini-2.5-flash Non-Reasoning on ABCD+: 1.000 ± 0.019; GPT-5.1: 0.595 ± 0.033."""
    found = difference(Spread(mean=0.417, std=0.004, n=3), Spread(mean=0.834, std=0.001, n=3))
    assert found is not None
    assert (found.mean, found.std) == (pytest.approx(1.0), pytest.approx(0.019, abs=5e-4))
    found = difference(Spread(mean=0.363, std=0.007, n=3), Spread(mean=0.579, std=0.004, n=3))
    assert found is not None
    assert (found.mean, found.std) == pytest.approx((0.595, 0.033), abs=5e-4)


def test_a_spread_needs_two_runs_and_a_difference_an_ac() -> None:
    assert over_runs([0.2, 0.4]) == Spread(
        mean=pytest.approx(0.3), std=pytest.approx(hypot(0.1, 0.1)), n=2
    )
    alone = over_runs([0.5])
    assert alone == Spread(mean=0.5, std=None, n=1)
    assert difference(alone, over_runs([0.6, 0.7])) == Spread(
        mean=pytest.approx(0.3), std=None, n=1
    )
    some = difference(over_runs([0.4, 0.6]), alone)
    assert some is not None
    assert some.std is None
    assert difference(over_runs([0.0, 0.0]), over_runs([0.0, 0.0])) is None
    with pytest.raises(ValueError, match="at least one run"):
        over_runs([])


KB = transitions([["a", "b", "c"], ["a", "b"], ["a", "c"]], ["a", "b", "c", "d"])


def test_transitions_are_counted_over_workflows_and_smoothed() -> None:
    total = 3 + 4 * EPSILON
    assert KB.probability("b", "a") == (2 + EPSILON) / total
    assert KB.probability("c", "a") == (1 + EPSILON) / total
    assert KB.probability("d", "a") == EPSILON / total
    assert KB.probability("a", "d") == pytest.approx(1 / 4), "nothing follows d in any workflow"


@settings(max_examples=60, deadline=None)
@given(st.lists(st.lists(st.sampled_from("abcde"), max_size=5), max_size=5))
def test_what_follows_an_action_has_probabilities_that_sum_to_1(flows: list[list[str]]) -> None:
    found = transitions(flows, "ab")
    names = set("ab").union(*flows)
    for before in names:
        assert sum(found.probability(after, before) for after in names) == pytest.approx(1)


def test_ad_is_the_mean_over_predictions_of_the_sum_over_the_turn_before() -> None:
    p = KB.probability
    expected = (p("b", "a") + p("b", "b") + p("c", "a") + p("c", "b")) / 2
    assert KB.alignment(["b", "c"], ["a", "b"]) == pytest.approx(expected)
    assert KB.alignment([], ["a"]) is None
    assert KB.alignment(["a"], []) == 0
    both = KB.alignment(["c"], ["b", "b"])
    assert both is not None
    assert both > 1, "two ways to one action"


def test_ad_over_dialogues_starts_afresh_in_each_and_leaves_silent_turns_out() -> None:
    found = KB.mean([[["a"], ["b", "c"], [], ["b"]], [["b"]], []])
    ad = KB.alignment(["b", "c"], ["a"])
    # The others with predictions follow nothing: the first turns, and the one after a silent one.
    assert ad is not None
    assert found == DependencyAlignment(mean=pytest.approx(ad / 4), n_turns=5, n_skipped=1)
    assert KB.mean([[[]]]).mean is None


def test_questions_are_the_sentences_that_ask() -> None:
    assert asked_in("Thanks! May I have your name. I will wait.") == ("May I have your name.",)
    assert asked_in("Sure. Is that all? Great!") == ("Is that all?",)
    assert asked_in("Whatever you canter.") == ()
    assert asked_in("") == ()


def test_reference_questions_are_what_the_agent_asked_or_what_was_noted() -> None:
    turns = (
        Turn(number=1, speaker="customer", text="Can you help?"),
        Turn(number=2, speaker="agent", text="Sure. What is your name?"),
        Turn(number=3, speaker="agent", text="Thanks."),
    )
    assert reference_questions(Dialogue(id="d", turns=turns)) == {2: ("What is your name?",)}
    noted = Dialogue(id="d", turns=turns, questions={3: ("Anything else?",)})
    assert reference_questions(noted) == {3: ("Anything else?",)}


class Equal:
    """Questions are alike if they are equal."""

    name = "equal"

    def __call__(self, ones, others):  # type: ignore[no-untyped-def]
        return np.array([[float(one == other) for other in others] for one in ones])


def test_ic_is_a_mean_over_pairs_and_undefined_without_questions() -> None:
    assert information_consistency(["a"], ["a"], Equal()) == 1
    assert information_consistency(["a", "b"], ["a", "b"], Equal()) == 0.5
    assert information_consistency([], ["a"], Equal()) is None
    found = mean_information_consistency([(["a"], ["a", "b"]), ([], ["a"]), (["a"], [])], Equal())
    assert (found.mean, found.n_turns, found.n_skipped, found.similarity) == (0.5, 3, 2, "equal")
    assert mean_information_consistency([], Equal()).mean is None


def test_tfidf_sees_a_question_in_other_words_and_a_value_depends_on_the_corpus_alone() -> None:
    pytest.importorskip("sklearn", reason="scikit-learn is an extra")
    name, other, farewell = (
        "May I have your full name or account ID?",
        "Could you tell me your name please?",
        "Have a great day!",
    )
    similarity = Tfidf([name, other, farewell])
    same, asked, bye = similarity([name], [name, other, farewell])[0]
    assert same == pytest.approx(1)
    assert 0.3 < asked < 0.5
    assert bye == 0
    assert similarity([name], [other])[0, 0] == asked
    assert similarity(["?!"], [name]).tolist() == [[0.0]]
    with pytest.raises(SettingsError, match="no text"):
        Tfidf(["?", "the"])


def test_tfidf_without_its_extra_says_what_to_type(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "sklearn.feature_extraction.text", None)
    with pytest.raises(SettingsError, match=r"pip install 'timeful\[timely\]'"):
        Tfidf(["a question"])


@pytest.mark.parametrize("rating", [-1, 1, 2, 3, 4, 5])
def test_a_rating_on_the_scale_is_read(rating: int) -> None:
    assert read_rating(f'{{"reasoning": "so", "rating": {rating}}}') == rating


@pytest.mark.parametrize(
    "answer",
    [
        *("", "4", "[]", "{}", "[" * 5000),
        *('{"rating": 0}', '{"rating": 6}', '{"rating": "4"}', '{"rating": true}'),
        *('{"rating": 3.5}', '{"rating": NaN}', '{"rating": [4]}'),
    ],
)
def test_what_is_no_rating_is_refused(answer: str) -> None:
    with pytest.raises(ValueError, match="a rating is"):
        read_rating(answer)


def test_what_could_not_be_judged_is_in_no_mean() -> None:
    assert mean_rating([5, -1, 2, 2]) == MeanRating(
        mean=3.0, n_rated=3, n_unjudged=1, counts={-1: 1, 1: 0, 2: 2, 3: 0, 4: 0, 5: 1}
    )
    assert mean_rating([-1]).mean is None


def test_final_values_are_compared_by_their_size() -> None:
    assert final_consistency(0.3, 0.5) == pytest.approx(1 - 0.2 / 0.8)
    assert final_consistency(-0.5, -0.5) == 1
    assert final_consistency(0.0, 0.0) == 1
    assert final_consistency(-1e-9, 1e-9) == 0


def test_trajectories_are_compared_over_the_steps_that_both_have() -> None:
    up = {1: 1.0, 2: 2.0, 3: 3.0}
    assert trajectory_correlation(up, {step: 7 * up[step] - 5 for step in up}) == pytest.approx(1)
    assert trajectory_correlation(up, {1: 5.0, 2: 4.0, 9: 100.0}) == pytest.approx(-1)
    assert trajectory_correlation(up, {1: 2.0, 2: 2.0}) is None
    assert trajectory_correlation(up, {1: 2.0, 7: 2.5}) is None
    assert trajectory_correlation(up, {1: 1.0, 2: 1.0, 3: 1.0 + 1e-9}) is not None
    third = 0.1 + 0.1 + 0.1
    assert trajectory_correlation(up, {1: 0.3, 2: 0.3, 3: third}) is None, "0.3 to a float"


series = st.dictionaries(st.integers(0, 5), st.floats(-1e6, 1e6), min_size=1)


@settings(max_examples=60, deadline=None)
@given(series, series)
def test_two_runs_are_as_alike_as_the_two_the_other_way_round(
    one: dict[int, float], other: dict[int, float]
) -> None:
    found = trajectory_correlation(one, other)
    assert found == trajectory_correlation(other, one)
    assert found is None or -1 <= found <= 1
    if found is not None:
        steps = sorted(one.keys() & other.keys())
        assert found == pytest.approx(
            np.corrcoef([one[s] for s in steps], [other[s] for s in steps])[0, 1], abs=1e-6
        )
    result = repeatability({"m": one}, {"m": other})
    assert 0 <= result.final <= 1
    assert repeatability({"m": one}, {"m": one}).final == 1


def test_the_combined_score_is_the_published_one_from_the_published_averages() -> None:
    """Table 15: 0.907 from 0.975 and 0.840, 0.778 from 0.886 and 0.669."""
    for final, trajectory, combined in [(0.975, 0.840, 0.907), (0.886, 0.669, 0.778)]:
        one = Repeatability(final=final, trajectory=trajectory, n_undefined=0)
        assert one.combined == pytest.approx(combined, abs=6e-4)


def test_a_metric_that_does_not_move_has_no_correlation_and_is_counted() -> None:
    first = {"loss": {1: 1.0, 2: 0.5}, "flat": {1: 0.0, 2: 0.0}, "alone": {1: 1.0}}
    second = {"loss": {2: 1.5, 1: 2.0}, "flat": {1: 0.0, 2: 0.0}}
    found = repeatability(first, second)
    assert found.n_undefined == 1
    assert found.final == pytest.approx((1 - 1.0 / 2.0 + 1) / 2)
    assert found.trajectory == pytest.approx(1)
    flat = repeatability({"flat": first["flat"]}, second)
    assert flat.combined is None
    with pytest.raises(ValueError, match="both have"):
        repeatability({"loss": {}}, second)
    with pytest.raises(ValueError, match="both have"):
        repeatability({"x": {1: 1.0}}, second)
