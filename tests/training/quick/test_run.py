"""Stages side by side: what fails, what dies, and what waits."""

import os
import signal
from pathlib import Path

import pytest

from tests.training.quick.material import asked
from timeful.training.folder import CHECKPOINTS
from timeful.training.quick.run import plan, run
from timeful.training.quick.stages import Stage, Tell


def make(stage: Stage, tell: Tell) -> None:
    """Do nothing but leave the result."""
    tell(0.5)
    stage.result.parent.mkdir(parents=True, exist_ok=True)
    stage.result.write_text(str(os.getpid()))
    tell(1.0)


def fail(stage: Stage, tell: Tell) -> None:
    """Fail at the cold start of seed 1."""
    if stage.kind == "teach" and stage.seed == 1:
        raise ValueError("no")
    make(stage, tell)


def die_once(stage: Stage, tell: Tell) -> None:
    """Die of the first arm, once."""
    mark = stage.out / "died"
    if stage.kind == "learn" and not mark.exists():
        mark.touch()
        os.kill(os.getpid(), signal.SIGKILL)
    make(stage, tell)


def die(stage: Stage, tell: Tell) -> None:
    """Die of one arm, always."""
    if stage.kind == "learn" and stage.arm is not None and stage.arm.name == "EP-aware":
        os.kill(os.getpid(), signal.SIGKILL)
    make(stage, tell)


def stages(out: Path, *seeds: int) -> list[Stage]:
    what = asked(seeds=seeds or (1, 2))
    return what.stages(out)


def test_all_stages_are_done_and_the_watcher_hears_of_it(tmp_path: Path) -> None:
    heard: list[tuple[float, float | None, str]] = []
    some = stages(tmp_path)
    assert run(some, workers=2, watch=lambda *one: heard.append(one), do=make) == []
    assert all(stage.is_done for stage in some)
    shares = [share for share, _, _ in heard]
    assert shares == sorted(shares)
    assert shares[-1] == pytest.approx(1)
    assert any("grading EP-aware" in what for _, _, what in heard)


def test_who_needs_what_failed_is_left_out_and_the_rest_goes_on(tmp_path: Path) -> None:
    some = stages(tmp_path)
    failed = run(some, workers=2, watch=lambda *_: None, do=fail)
    assert failed[0] == "seed 1, cold start: ValueError: no"
    assert all(one.startswith("seed 1, ") for one in failed)
    assert {stage.seed for stage in some if stage.is_done} == {2}
    assert all(stage.is_done for stage in some if stage.seed == 2)
    assert "seed 1, grading EP-aware: left out, since what it needs is not there" in failed
    # The same command again does what is missing, and no more.
    before = {s.result: s.result.read_text() for s in some if s.is_done}
    assert run(some, workers=2, watch=lambda *_: None, do=make) == []
    assert {path: path.read_text() for path in before} == before


def test_a_worker_that_is_killed_costs_nothing_but_time(tmp_path: Path) -> None:
    some = stages(tmp_path)
    assert run(some, workers=2, watch=lambda *_: None, do=die_once) == []
    assert (tmp_path / "died").exists()
    assert all(stage.is_done for stage in some)


def test_a_stage_that_kills_its_process_every_time_fails_alone(tmp_path: Path) -> None:
    some = stages(tmp_path, 1)
    failed = run(some, workers=2, watch=lambda *_: None, do=die)
    assert failed == [
        "seed 1, EP-aware: the process that did it died",
        "seed 1, grading EP-aware: left out, since what it needs is not there",
    ]
    assert all(s.is_done for s in some if s.arm is None or s.arm.name != "EP-aware")


def test_a_stage_needs_what_earlier_ones_leave(tmp_path: Path) -> None:
    what = asked()
    every = plan(what.recipe, what.learnt, (1,), tmp_path)
    left = {stage.result for stage in every}
    for i, stage in enumerate(every):
        assert set(stage.needs) <= {other.result for other in every[:i]} <= left
    assert len(left) == len(every)


def test_what_was_learnt_before_a_kill_is_not_taken_for_quick_work(tmp_path: Path) -> None:
    heard: list[float] = []
    some = stages(tmp_path, 1)
    (arm,) = (s for s in some if s.kind == "learn" and s.name.endswith("EP-aware"))
    for update in (1, 2):
        (arm.model.parent / CHECKPOINTS / f"checkpoint-{update}").mkdir(parents=True)
    run(some, workers=1, watch=lambda share, *_: heard.append(share), do=fail)
    of = sum(stage.work for stage in some)
    assert heard == pytest.approx([2 / 3 * arm.work / of] * len(heard))
