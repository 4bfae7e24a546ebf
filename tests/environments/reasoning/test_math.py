"""Promises of checking mathematics: what is equal, and that no answer outlives its time."""

import os
import select
import subprocess
import sys
import textwrap
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from multiprocessing import get_context

import pytest

from timeful.environments.reasoning import math_checker
from timeful.environments.reasoning.checking import Checker
from timeful.environments.reasoning.math_checker import MathChecker
from timeful.environments.reasoning.problems import Problem
from timeful.errors import SettingsError

TOWER = "9^{9^{9^{9}}}"
"""Python would multiply it out for hours, in one call."""

pytestmark = pytest.mark.skipif(
    not math_checker.find_spec("math_verify"), reason="math-verify is not installed"
)


def problem(answer):
    return Problem(id="p", family="math", question="q", answer=answer, kind="math")


@pytest.fixture(scope="module")
def check():
    with Checker() as checker:
        yield checker


@pytest.mark.parametrize(
    ("gold", "said"),
    [
        (r"\frac{1}{2}", "<answer>0.5</answer>"),
        (r"\frac{1}{2}", "<answer>1/2</answer>"),
        (r"2\sqrt{2}", r"\boxed{\sqrt{8}}"),
        ("(x+1)^2", r"\boxed{x^2 + 2x + 1}"),
        (r"\{1, 2\}", r"\boxed{\{2, 1\}}"),
        ("1000", "<answer>1,000</answer>"),
        ("0.1", r"\boxed{10\%}"),
        ("5", r"\boxed{\boxed{5}}"),
        ("5", "<answer> x=5 </answer>"),
        ("5", r"I first had \boxed{3}; it is \boxed{5}"),
        (r"\frac{\pi}{2}", "<answer>pi/2</answer>"),
        (r"\text{Evelyn}", r"\boxed{\text{Evelyn}}"),
        (r"90^\circ", r"\boxed{90}"),
        (r"p - q", r"\boxed{p-q}"),
        (r"\left( 3, \frac{\pi}{2} \right)", r"\boxed{\left(3, \frac{\pi}{2}\right)}"),
    ],
)
def test_what_means_the_same_is_right(check, gold, said):
    graded = check(problem(gold), said)
    assert (graded.correct, graded.checked) == (True, "math")


@pytest.mark.parametrize(
    ("gold", "said"),
    [
        ("4", r"\boxed{3} or \boxed{4, 3}"),
        ("(3, 4)", r"\boxed{(4, 3)}"),
        (r"\frac{1}{3}", "<answer>0.33</answer>"),
        ("5", "<answer>fifty</answer>"),
        ("5", r"\boxed{" + r"\frac{" * 20 + "}"),
        ("5", f"<answer>{'(' * 300}</answer>"),
        ("5", "<answer>$$$</answer>"),
        ("5", f"<answer>{'5+' * 100_000}5</answer>"),
        ("5", "<answer>\x00\ud800</answer>"),
    ],
)
def test_what_means_something_else_is_wrong(check, gold, said):
    assert not check(problem(gold), said).correct


def test_code_given_as_an_answer_is_not_run(check, tmp_path):
    trace = tmp_path / "trace"
    for code in (
        f"__import__('pathlib').Path({str(trace)!r}).touch()",
        f"exec(\"open({str(trace)!r}, 'w')\")",
        rf"\text{{}}\input{{|touch {trace}}}",
    ):
        assert not check(problem("5"), f"<answer>{code}</answer>").correct
    assert not trace.exists()


def test_a_tower_is_not_verified_in_its_time_and_the_next_answer_is():
    with Checker(limit_s=0.3) as check:
        graded = check(problem("3"), rf"\boxed{{{TOWER}}}")
        assert (graded.correct, graded.checked) == (False, "timeout")
        assert check(problem("3"), r"\boxed{6/2}").correct


def test_a_worker_that_dies_for_another_reason_has_verified_nothing():
    with MathChecker(limit_s=20.0) as checker:
        checker.ask("1", "1")
        os.kill(worker_of(checker), 15)  # as if the system had ended it
        assert checker.ask("3", "6/2") == "wrong"
        assert checker.ask("3", "6/2") == "right"


def worker_of(checker):
    return checker._worker._process.pid


def test_any_thread_may_ask_and_many_at_once(check):
    numbers = range(60)

    def ask(n):
        return check(problem(str(n)), rf"\boxed{{{2 * n + n % 2}/2}}").correct

    with ThreadPoolExecutor(8) as threads:
        assert list(threads.map(ask, numbers)) == [n % 2 == 0 for n in numbers]


def test_a_process_of_a_batch_may_ask():
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
        assert pool.submit(asked_elsewhere).result() == [True, False]


def asked_elsewhere():
    with Checker() as check:
        return [check(problem("2"), f"<answer>{n}/2</answer>").correct for n in (4, 5)]


def test_a_process_that_may_have_no_children_may_ask():
    with get_context("spawn").Pool(1) as pool:  # its processes are daemons
        assert pool.apply(asked_elsewhere) == [True, False]


PARENT = textwrap.dedent(
    """
    import sys, threading
    from timeful.environments.reasoning.math_checker import MathChecker
    checker = MathChecker(limit_s=float(sys.argv[2]))
    checker.ask("1", "1.0")
    print(checker._worker._process.pid, flush=True)
    if sys.argv[1] == "hangs":
        checker.ask("1", sys.argv[3])
    elif sys.argv[1] == "waits":
        sys.stdin.read()
    """
)


@pytest.mark.parametrize(("does", "killed"), [("waits", True), ("hangs", True), ("leaves", False)])
def test_a_worker_does_not_outlive_its_parent(does, killed):
    """Not one that is killed either, in the middle of a tower: the worker's own alarm rings."""
    with subprocess.Popen(
        [sys.executable, "-c", PARENT, does, "1.0", TOWER],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as parent:
        worker = os.pidfd_open(int(parent.stdout.readline()))
        if killed:
            parent.kill()
        assert parent.wait(30) == (-9 if killed else 0)
        assert select.select([worker], [], [], 30)[0], "the worker lives on"
        assert parent.stderr.read() == ""
        os.close(worker)


def test_a_closed_checker_has_no_process_left_and_works_again():
    checker = MathChecker()
    checker.ask("1", "1.0")
    worker = worker_of(checker)
    checker.close()
    checker.close()
    with pytest.raises(ProcessLookupError):
        os.kill(worker, 0)
    assert checker.ask("2", "4/2") == "right"
    checker.close()


def test_without_math_verify_it_is_said_before_anything_runs(monkeypatch):
    monkeypatch.setattr(math_checker, "find_spec", lambda name: None)
    with pytest.raises(SettingsError, match=r"pip install 'timeful\[timely\]'"):
        Checker().prepare([problem("1")])
    Checker().prepare([Problem(id="p", family="f", question="q", answer="1", kind="exact")])


def test_a_check_needs_time():
    with pytest.raises(SettingsError, match="more than 0 s"):
        MathChecker(limit_s=0)
