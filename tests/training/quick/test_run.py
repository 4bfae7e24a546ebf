"""Steps in several processes: failures, dead processes and resuming."""

import os
import signal
from pathlib import Path

from tests.training.quick.material import asked
from timeful.training.quick.run import run_steps
from timeful.training.quick.steps import Step


def make(step: Step) -> None:
    """Write the result alone."""
    step.result.parent.mkdir(parents=True, exist_ok=True)
    step.result.write_text(str(os.getpid()))


def fail(step: Step) -> None:
    """Fail at the cold start of seed 1."""
    if step.kind == "teach" and step.seed == 1:
        raise ValueError("no")
    make(step)


def die_once(step: Step) -> None:
    """Die in the first training."""
    mark = step.out / "died"
    if step.kind == "learn" and not mark.exists():
        mark.touch()
        os.kill(os.getpid(), signal.SIGKILL)
    make(step)


def die(step: Step) -> None:
    """Die in the training of one arm, always."""
    if step.kind == "learn" and step.model_name == "EP-aware":
        os.kill(os.getpid(), signal.SIGKILL)
    make(step)


def steps_of(out: Path, *seeds: int) -> list[Step]:
    return asked(seeds=seeds or (1, 2)).steps(out)


def test_all_steps_are_done_and_watched(tmp_path: Path) -> None:
    steps, watched = steps_of(tmp_path), list[Step]()
    assert run_steps(steps, workers=2, watch=watched.append, do=make) == []
    assert all(step.is_done for step in steps)
    assert sorted(map(str, watched)) == sorted(map(str, steps))


def test_a_step_whose_input_failed_is_skipped_and_the_same_command_does_it(
    tmp_path: Path,
) -> None:
    steps, watched = steps_of(tmp_path), list[Step]()
    failures = run_steps(steps, workers=2, watch=watched.append, do=fail)
    assert failures[0] == "seed 1, cold start: ValueError: no"
    assert len(failures) == sum(step.seed == 1 for step in steps)
    assert len(watched) == len(steps)
    assert {step.seed for step in steps if step.is_done} == {2}
    assert all(step.is_done for step in steps if step.seed == 2)
    before = {s.result: s.result.read_text() for s in steps if s.is_done}
    assert run_steps(steps, workers=2, watch=watched.append, do=make) == []
    assert {path: path.read_text() for path in before} == before


def test_a_process_that_is_killed_costs_only_time(tmp_path: Path) -> None:
    steps, watched = steps_of(tmp_path, 1), list[Step]()
    failures = run_steps(steps, workers=2, watch=watched.append, do=die_once)
    assert failures == []
    assert (tmp_path / "died").exists()
    assert all(step.is_done for step in steps)
    assert len(watched) == len(steps)


def test_a_step_that_kills_its_process_every_time_fails_alone(tmp_path: Path) -> None:
    steps = steps_of(tmp_path, 1)
    failures = run_steps(steps, workers=2, watch=lambda _: None, do=die)
    assert [line.partition(":")[0] for line in failures] == [
        "seed 1, EP-aware",
        "seed 1, grading EP-aware",
    ]
    assert all(step.is_done for step in steps if step.model_name != "EP-aware")


def test_a_step_needs_results_of_earlier_ones(tmp_path: Path) -> None:
    steps = steps_of(tmp_path, 1)
    results = {step.result for step in steps}
    for i, step in enumerate(steps):
        assert set(step.needs) <= {other.result for other in steps[:i]} <= results
    assert len(results) == len(steps)
