"""What became of a task, from its record alone."""

import pytest

from tests.rewards.material import CODE, GAME, RIGHT, SILENT, WRONG, failed, task, thought, within
from timeful.errors import RecordError
from timeful.rewards.outcome import Outcome, read_outcome


def outcome(*args: object, **changes: object) -> Outcome:
    found = read_outcome(task(*args, **changes))  # type: ignore[arg-type]
    assert found is not None
    return found


def test_the_facts_tell_the_kind_and_how_well_it_was_done() -> None:
    right, wrong = outcome(RIGHT), outcome(WRONG)
    assert (right.kind, right.correct, right.score, right.max_score) == ("reasoning", True, 1, 1)
    assert (wrong.correct, wrong.score) == (False, 0)
    game = outcome({**GAME, "start_score": 36, "final_score": 50})
    assert (game.kind, game.correct, game.score, game.max_score) == ("fiction", None, 14, 64)
    code = outcome(CODE)
    assert (code.kind, code.correct, code.score, code.max_score) == ("coding", None, 0.8, 1)


def test_tokens_are_those_of_all_thoughts_and_of_modules() -> None:
    events = task(RIGHT, tokens=(3, 4))
    events.insert(2, within(thought(5)))
    found = read_outcome(events)
    assert found is not None
    assert found.tokens == 12


@pytest.mark.parametrize(("counted", "is_late"), [(19, False), (20, False), (21, True)])
def test_what_ends_at_the_budget_itself_is_in_time(counted: int, is_late: bool) -> None:
    # A soft budget cuts nobody off, so that more than it may count.
    assert outcome(RIGHT, counted=counted).is_late is is_late
    assert outcome(RIGHT, counted=counted).is_within is not is_late


def test_what_the_deadline_ended_is_late_though_no_more_counts_than_the_budget() -> None:
    assert outcome(WRONG, counted=20, reason="deadline").is_late
    assert not outcome(GAME, counted=20, reason="ended").is_late


@pytest.mark.parametrize(("tokens", "is_within"), [(6, True), (7, True), (8, False)])
def test_tokens_are_a_budget_of_their_own(tokens: int, is_within: bool) -> None:
    found = outcome(RIGHT, tokens=(tokens,), budget=None, budget_tokens=7)
    assert found.is_within is is_within
    assert not found.is_late


def test_both_budgets_have_to_be_kept() -> None:
    late = outcome(RIGHT, counted=21, tokens=(1,), budget_tokens=7)
    long = outcome(RIGHT, counted=20, tokens=(8,), budget_tokens=7)
    assert not late.is_within
    assert not long.is_within


def test_without_a_budget_nobody_is_late() -> None:
    assert not outcome(RIGHT, counted=10**18, budget=None).is_late


def test_who_says_nothing_that_could_be_checked_is_not_well_formed() -> None:
    assert outcome(WRONG).is_formed
    assert not outcome(SILENT).is_formed
    assert outcome(CODE).is_formed
    assert not outcome({**CODE, "reward_accuracy": 0.0, "metric": None}).is_formed
    assert outcome(GAME).is_formed
    assert not outcome(GAME, notes=("silence", "gave-up")).is_formed
    assert outcome(GAME, notes=("silence",)).is_formed


def test_a_failed_episode_has_no_outcome() -> None:
    assert read_outcome(failed(task(RIGHT))) is None
    # Also where it failed before anything was over.
    assert read_outcome([task(RIGHT)[0], failed(task(RIGHT))[-1]]) is None


@pytest.mark.parametrize("left_out", [0, -1, -2])
def test_what_is_no_whole_record_is_refused(left_out: int) -> None:
    events = task(RIGHT)
    del events[left_out]
    with pytest.raises(RecordError):
        read_outcome(events)


@pytest.mark.parametrize(
    "facts", [{}, {"correct": "yes"}, {"correct": True, "counted": None}, {"reason": "bored"}]
)
def test_what_is_no_task_is_refused(facts: dict[str, object]) -> None:
    with pytest.raises(RecordError):
        read_outcome(task(facts))
