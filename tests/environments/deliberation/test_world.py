"""Deliberation as a world on the timeline."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from timeful.core.units import Instant
from timeful.environments.deliberation.settings import SEQUENTIAL, SINGLE
from timeful.environments.deliberation.world import Deliberation, answer
from timeful.errors import IllegalActionError
from timeful.seeding import child


def make(settings=SEQUENTIAL, seed=0):
    return Deliberation(settings, child(seed, "world"))


def after(world, at, *actions):
    world.intervene(actions, at=Instant(at))
    return world.advance(Instant(at))


def test_nobody_answers_and_everything_expires_at_its_deadline():
    world = make()
    deadlines = [task.deadline for task in world.view().tasks]
    seen = []
    while (change := world.next_change()) is not None:
        seen += world.advance(change)
    assert [(one.at, one.event, one.reward) for one in seen] == [
        (deadline, "expired", -2.0) for deadline in deadlines
    ]
    assert world.score == -20


def test_an_answer_is_seen_at_once_and_its_task_does_not_expire():
    world = make()
    first = world.view().tasks[0]
    (seen,) = after(world, 10, answer(1, 1))
    assert (seen.at, seen.event, dict(seen.data)) == (10, "answered", {"task": 1, "mode": 1})
    assert seen.reward in (4.0, -2.0)
    assert seen.view.tasks[0].outcome in ("succeeded", "failed")
    assert world.score == seen.reward
    assert world.next_change() == seen.view.tasks[1].deadline > first.deadline


def test_an_answer_at_the_deadline_comes_before_the_expiry():
    world = make()
    deadline = world.view().tasks[0].deadline
    (seen,) = after(world, deadline, answer(1, 1))
    assert seen.event == "answered"
    assert seen.view.tasks[0].outcome != "timed out"


def test_an_answer_that_comes_too_late_changes_nothing_but_is_seen():
    world = make()
    deadline = world.view().tasks[0].deadline
    world.advance(deadline)
    before = world.view()
    (seen,) = after(world, deadline + 1, answer(1, 5))
    assert (seen.event, seen.reward, seen.at) == ("late", 0.0, deadline + 1)
    assert seen.view.tasks == before.tasks
    assert world.score == -2


def test_tasks_may_be_answered_in_any_order_and_in_sets():
    world = make()
    seen = after(world, 5, answer(7, 2), answer(3, 2))
    assert [one.data["task"] for one in seen] == [7, 3]
    assert world.view().next_open.number == 1


def test_a_task_is_answered_once():
    world = make()
    after(world, 1, answer(1, 1))
    with pytest.raises(IllegalActionError, match="task 1 has an answer"):
        world.intervene((answer(1, 2),), at=Instant(2))
    with pytest.raises(IllegalActionError, match="task 2 has an answer"):
        world.intervene((answer(2, 2), answer(2, 2)), at=Instant(2))


@given(
    st.lists(st.tuples(st.integers(1, 10), st.integers(1, 5), st.integers(0, 3_000)), max_size=20)
)
def test_every_task_comes_to_one_end_and_the_score_counts_them(answers):
    world = make()
    now = 0
    for task, mode, wait in answers:
        now += wait * 1_000_000
        while (change := world.next_change()) is not None and change < now:
            world.advance(change)
        if world.next_change() is None:
            break
        if world.view().tasks[task - 1].outcome in ("open", "timed out"):
            after(world, now, answer(task, mode))
    while (change := world.next_change()) is not None:
        world.advance(change)
    ends = [task.outcome for task in world.view().tasks]
    assert "open" not in ends
    assert world.score == 6 * ends.count("succeeded") - 2 * len(ends)


def test_a_better_mode_never_turns_success_into_failure():
    # Luck belongs to the task, so that policies can be compared on the same chances.
    for seed in range(40):
        ends = []
        for mode in range(1, 6):
            world = make(SINGLE, seed)
            (seen,) = after(world, 0, answer(1, mode))
            ends.append(seen.reward)
        assert ends == sorted(ends)
