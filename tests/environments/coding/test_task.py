"""The task of writing programs: what a call is charged, what it says, and what counts."""

from pathlib import Path

import pytest

from tests.environments.coding.runners import HALF, RIGHT, FakeRan, FakeRunner, small_case, wrote
from timeful.core.units import START, Duration, Instant, seconds
from timeful.environments.coding.task import CodingTask, truncate
from timeful.environments.timed.latency import Measured
from timeful.environments.timed.world import TimedTask, TimeSettings
from timeful.tools import ToolCall

PROGRAMS = {
    "right": wrote(RIGHT, 2.0, stdout="done\n"),
    "half": wrote(HALF, 0.25),
    "bad": wrote(b"id,label\na,1\n", 1.0),
    "none": FakeRan("", "", 1.0),
    "raises": FakeRan("Traceback ...\nValueError: no", "exit code 1", 0.5),
    "late": wrote(RIGHT, 3.0, error="over its time of 3 s"),
}


LONG = seconds(9)


def call(code: str) -> ToolCall:
    return ToolCall(name="execute_code_and_get_duration", arguments={"code": code})


@pytest.fixture
def runner() -> FakeRunner:
    return FakeRunner(PROGRAMS.__getitem__)


@pytest.fixture
def task(runner: FakeRunner, tmp_path: Path) -> CodingTask:
    return CodingTask(small_case(tmp_path), runner)


def run(task: CodingTask, code: str, limit: Duration = LONG) -> str:
    return task.finish(call(code), task.begin(call(code), limit).run().result)


def test_the_last_valid_submission_counts(task):
    assert task.score == 0
    run(task, "right")
    assert task.score == 1
    run(task, "bad")
    assert task.score == 1
    run(task, "half")
    assert task.score == 0.5
    assert task.facts() == {
        "metric_name": "auc",
        "metric": 0.5,
        "reward_accuracy": 0.5,
        "runs": 3,
        "valid_runs": 2,
        "history": [
            {"seconds": 2.0, "ended_well": True, "metric": 1.0},
            {"seconds": 1.0, "ended_well": True, "metric": None},
            {"seconds": 0.25, "ended_well": True, "metric": 0.5},
        ],
    }


def test_nothing_submitted_is_no_metric_and_no_reward(task):
    run(task, "none")
    facts = task.facts()
    assert (facts["metric"], facts["reward_accuracy"], facts["runs"], facts["valid_runs"]) == (
        None,
        0.0,
        1,
        0,
    )


def test_what_a_failed_program_wrote_counts_but_is_no_valid_run(task):
    run(task, "late")
    assert (task.score, task.facts()["valid_runs"]) == (1, 0)


@pytest.mark.parametrize(
    ("code", "says"),
    [
        (
            "right",
            "The program ran to its end.\nIt printed:\ndone\nEvaluation accuracy: 1.00000.",
        ),
        ("half", "The program ran to its end.\nEvaluation accuracy: 0.50000."),
        (
            "bad",
            "The program ran to its end.\nThere is no valid submission.csv: it has 1 rows; the "
            "test split has 4.",
        ),
        (
            "raises",
            "The program failed.\nIt printed:\nTraceback ...\nValueError: no\nError: exit code 1\n"
            "There is no valid submission.csv: there is none.",
        ),
    ],
)
def test_a_reply_says_what_was_printed_what_failed_and_how_good_it_is(task, code, says):
    assert run(task, code) == says


def test_long_output_keeps_its_start_and_twice_as_much_of_its_end():
    text = "".join(chr(97 + i % 26) for i in range(1000))
    said = truncate(text, 300)
    assert said == f"{text[:100]}\n... (700 characters left out) ...\n{text[-200:]}"
    assert truncate(text, 1000) == text


def test_a_program_may_run_as_long_as_there_is_time_and_no_longer_than_the_longest(
    runner, tmp_path
):
    task = CodingTask(small_case(tmp_path), runner, longest=seconds(60))
    run(task, "half", seconds(3))
    run(task, "half", seconds(86_400))
    # a little more than is left: what is stopped at the deadline has then passed it
    assert [limit for _, limit in runner.ran] == [3.05, 60.05]


def test_a_reset_forgets_all_runs(task):
    run(task, "right")
    task.answer("done")
    assert task.over
    task.reset()
    assert (task.score, task.over, task.facts()["runs"]) == (0, False, 0)


def test_work_is_stopped_and_the_runner_closed_through_the_task(task, runner):
    task.begin(call("right"), seconds(1)).stop()
    assert runner.stopped == 1
    task.close()
    assert runner.closed == 1


# --- in a world with a budget -------------------------------------------------------------------


def world(task: CodingTask, budget: Duration) -> TimedTask:
    return TimedTask(task, TimeSettings(budget=budget, latency=Measured()), seed=0)


def test_a_call_is_charged_what_the_program_ran_and_nothing_else(task):
    env = world(task, seconds(10))
    env.intervene([str(call("right"))], at=Instant(seconds(1)))
    assert env.next_change() == START + seconds(3)
    (seen,) = env.advance(Instant(seconds(3)))
    assert seen.data["took"] == seconds(2)
    assert seen.data["text"].endswith("accuracy: 1.00000.\nYou have spent 3.00 seconds.")
    assert (seen.reward, env.score) == (1, 1)
