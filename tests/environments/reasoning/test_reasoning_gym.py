"""Promises of reasoning-gym's problems: made and scored in a sandbox, by full marks only."""

import json
import re
from dataclasses import dataclass, field
from importlib.util import find_spec

import pytest

from timeful.environments.reasoning import reasoning_gym
from timeful.environments.reasoning.checking import Checker
from timeful.environments.reasoning.problems import Problem
from timeful.environments.reasoning.reasoning_gym import NOT_SOLVED, GymChecker, make_problems
from timeful.errors import SandboxError, SettingsError
from timeful.sandbox.workspace import Workspace

has_gym = pytest.mark.skipif(
    find_spec("reasoning_gym") is None, reason="reasoning-gym is not installed"
)


@dataclass
class Said:
    """What a pretended sandbox says."""

    stdout: str = ""
    error: str = ""


@dataclass
class Pretended:
    """A sandbox that runs nothing, and says `verdict` or whatever `says` makes of a job."""

    says: object = lambda job: f"\n{job['token']}true\n"
    error: str = ""
    jobs: list = field(default_factory=list)

    def run(self, code, *, limit_s=None):
        job = json.loads(eval(re.search(r"json.loads\((.*)\)\n", code).group(1)))
        self.jobs.append(job)
        return Said(self.says(job), self.error)


def problem(task="chain_sum", answer="12"):
    source = json.dumps({"task": task, "size": 3, "seed": 1, "config": {}, "index": 2})
    return Problem(id="g", family="gym", question="q", answer=answer, kind="gym", source=source)


@pytest.fixture
def installed(monkeypatch):
    monkeypatch.setattr(reasoning_gym, "find_spec", lambda name: object())


@pytest.mark.usefixtures("installed")
def test_an_answer_reaches_the_sandbox_as_it_is_and_nothing_else_does():
    sandbox = Pretended()
    answer = "'); import os #\\\n{job!r} \u2028 \ud800"
    assert GymChecker(sandbox).ask(problem(), answer) == "right"
    assert sandbox.jobs[0]["answer"] == answer
    assert (sandbox.jobs[0]["task"], sandbox.jobs[0]["index"]) == ("chain_sum", 2)


@pytest.mark.usefixtures("installed")
@pytest.mark.parametrize(
    ("says", "error", "verdict"),
    [
        (lambda job: f"\n{job['token']}true", "", "right"),
        (lambda job: f"noise\n{job['token']}false", "", "wrong"),
        (lambda job: f"{job['token']}true\n{job['token']}false", "", "wrong"),
        (lambda job: f"{job['token']}true\nbye", "", "right"),
        (lambda job: "true", "", "wrong"),
        (lambda job: f"{'0' * 32}true", "", "wrong"),
        (lambda job: "", "exit code 1", "wrong"),
        (lambda job: "", "over its time of 30 s", "timeout"),
    ],
)
def test_only_what_bears_the_token_of_its_own_run_is_a_score(says, error, verdict):
    assert GymChecker(Pretended(says, error)).ask(problem(), "3") == verdict


CODE = {
    "spiral_matrix": "[print(1)]",
    "binary_matrix": "exit()",
    "n_queens": "entry['answer']",
    "string_insertion": "[c for c in entry]",
    "puzzle24": "__import__('os').system('true')",
    "countdown": "S('print(1)')",
    "polynomial_multiplication": "x.__class__",
    "simple_integration": "lambda: 0",
    "intermediate_integration": "x._eval",
}


@pytest.mark.usefixtures("installed")
@pytest.mark.parametrize("task", CODE)
def test_where_answers_would_run_those_that_can_only_be_code_are_not_tried(task):
    sandbox = Pretended()
    assert GymChecker(sandbox).ask(problem(task), CODE[task]) == "wrong"
    assert not sandbox.jobs


@pytest.mark.usefixtures("installed")
@pytest.mark.parametrize(
    ("task", "answer"),
    [
        ("spiral_matrix", "1 2 3"),
        ("binary_matrix", "0 1\n1 0"),
        ("n_queens", "_ Q _ _\nQ _ _ _"),
        ("puzzle24", "4*(8 - 6)/2 + 1.5"),
        ("polynomial_multiplication", "3*x**2 - x_1"),
        ("simple_integration", "log(x, 2) + C"),
    ],
)
def test_and_those_that_can_be_answers_are(task, answer):
    assert GymChecker(Pretended()).ask(problem(task), answer) == "right"


@pytest.mark.usefixtures("installed")
def test_a_sandbox_that_cannot_score_the_right_answer_is_an_error():
    with pytest.raises(SandboxError, match="its own answer: no such module"):
        GymChecker(Pretended(lambda job: "", "no such module")).ask(problem(), "12")


@pytest.mark.usefixtures("installed")
def test_sets_are_made_in_as_many_runs_as_their_length_needs():
    def two(job):
        rows = [
            [i, f"q{i}", f"{i}"] for i in range(job["start"], min(job["size"], job["start"] + 2))
        ]
        return "".join(f"\n{job['token']}{json.dumps(row)}" for row in rows)

    sandbox = Pretended(two)
    problems = make_problems("chain_sum", size=5, seed=7, sandbox=sandbox, config={"a": 1})
    assert [one.answer for one in problems] == ["0", "1", "2", "3", "4"]
    assert [job["start"] for job in sandbox.jobs] == [0, 2, 4]
    source = {"task": "chain_sum", "size": 5, "seed": 7, "config": {"a": 1}, "index": 3}
    assert json.loads(problems[3].source) == source


@pytest.mark.usefixtures("installed")
@pytest.mark.parametrize("task", NOT_SOLVED)
def test_tasks_that_do_not_know_their_answers_are_refused_by_name(task):
    with pytest.raises(SettingsError, match=f"{task!r} gives no full marks"):
        make_problems(task, size=1, seed=0, sandbox=Pretended())


@pytest.mark.usefixtures("installed")
def test_a_set_that_cannot_be_made_is_refused_with_the_reason():
    with pytest.raises(SettingsError, match=r"'nothing': exit code 1.*not registered"):
        make_problems(
            "nothing",
            size=1,
            seed=0,
            sandbox=Pretended(lambda job: "ValueError: not registered\n", "exit code 1"),
        )
    with pytest.raises(SettingsError, match="no item 0"):
        make_problems("chain_sum", size=1, seed=0, sandbox=Pretended(lambda job: ""))
    with pytest.raises(SettingsError, match="at least one"):
        make_problems("chain_sum", size=0, seed=0, sandbox=Pretended())


def test_without_a_sandbox_or_the_extra_it_is_said_before_anything_runs(monkeypatch):
    with pytest.raises(SettingsError, match="in a sandbox only"):
        Checker().prepare([problem()])
    monkeypatch.setattr(reasoning_gym, "find_spec", lambda name: None)
    with pytest.raises(SettingsError, match=r"pip install 'timeful\[reasoning-gym\]'"):
        Checker(sandbox=Pretended()).prepare([problem()])


# --- with reasoning-gym itself -------------------------------------------------------------------


@pytest.fixture(scope="module")
def sandbox():
    try:
        workspace = Workspace(files={}, outputs=(), warm=(reasoning_gym.PACKAGE,))
    except SandboxError as error:
        pytest.skip(str(error))
    with workspace:
        yield workspace


@has_gym
@pytest.mark.parametrize(
    "task", ["chain_sum", "n_queens", "bf", "knights_knaves", "family_relationships", *CODE]
)
def test_own_answers_are_right_and_others_wrong(sandbox, task):
    with Checker(sandbox=sandbox) as check:
        for one in make_problems(task, size=3, seed=5, sandbox=sandbox):
            assert check(one, f"<answer>{one.answer}</answer>").correct
            assert not check(one, "<answer>7 of them</answer>").correct


@has_gym
def test_the_same_seed_makes_the_same_set(sandbox):
    a, b = (make_problems("zebra_puzzles", size=3, seed=5, sandbox=sandbox) for _ in range(2))
    assert a == b


@has_gym
@pytest.mark.parametrize("task", CODE)
def test_an_answer_that_is_code_does_nothing_outside(sandbox, task, tmp_path, monkeypatch):
    """Not even where it is let through to the scorer that runs it."""
    monkeypatch.setattr(reasoning_gym, "_TAKEN", {})
    trace = tmp_path / "trace"
    (one,) = make_problems(task, size=1, seed=5, sandbox=sandbox)
    for code in (
        f"open({str(trace)!r}, 'w').write('x')",
        f"__import__('pathlib').Path({str(trace)!r}).touch()",
        f"[open({str(trace)!r}, 'w')]",
    ):
        assert GymChecker(sandbox).ask(one, code) == "wrong"
    assert not trace.exists()


@has_gym
def test_the_tasks_that_are_refused_do_not_know_their_answers(sandbox, monkeypatch):
    tasks = reasoning_gym.NOT_SOLVED
    monkeypatch.setattr(reasoning_gym, "NOT_SOLVED", ())
    check = GymChecker(sandbox)
    for task in tasks:
        (one,) = make_problems(task, size=1, seed=5, sandbox=sandbox)
        assert one.answer == "None"
        assert check.ask(one, "None") == "wrong"
