"""Problems of reasoning-gym, an extra: a hundred families, made and scored inside a sandbox.

Nine of its scorers run the answer as code, and one of its families runs code to make its items;
so it is never imported here. The sandbox is given: it needs reasoning-gym in its Python, and
should have imported it before the first run, which takes seconds. (Version 0.1.25.)
"""

import json
import re
import secrets
from collections.abc import Iterator, Mapping
from importlib.util import find_spec
from typing import Any, Literal

from timeful.environments.reasoning.problems import Problem, fingerprint
from timeful.environments.reasoning.runner import Runner
from timeful.errors import SandboxError, SettingsError

Verdict = Literal["right", "wrong", "timeout"]

PACKAGE = "reasoning_gym"
"""What a sandbox should import beforehand."""

NOT_SOLVED = ("boxnet", "graph_color", "propositional_logic", "rubiks_cube", "rush_hour")
"""Tasks whose own answers do not get full marks, so that nobody can be measured by them."""

_WORDS = re.compile(r"[\w\s]*")
_FORMULA = re.compile(r"(?:[A-Za-z0-9\s+\-*/^(),]|_(?!_)|\.(?![A-Za-z_]))*")
_TAKEN: Mapping[str, re.Pattern[str]] = {
    **dict.fromkeys(("binary_matrix", "n_queens", "spiral_matrix", "string_insertion"), _WORDS),
    **dict.fromkeys(
        (
            "countdown",
            "intermediate_integration",
            "polynomial_multiplication",
            "puzzle24",
            "simple_integration",
        ),
        _FORMULA,
    ),
}
"""What answers may consist of where the scorer runs them: what else could they be but code, which
might claim to be right? Inside the sandbox it can do no harm, but the score comes from there."""

_ROOM = 32_768
"""Bytes that one run prints at most; a sandbox cuts long outputs."""

_MAKE = """
import json
import reasoning_gym
job = json.loads({job!r})
items = reasoning_gym.create_dataset(
    job["task"], size=job["size"], seed=job["seed"], **job["config"]
)
room = job["room"]
for index in range(job["start"], job["size"]):
    item = items[index]
    line = json.dumps([index, str(item["question"]), str(item["answer"])])
    room -= len(line)
    if room < 0 and index > job["start"]:
        break
    print("\\n" + job["token"] + line)  # after what it may have printed itself
"""

_SCORE = """
import json
import reasoning_gym
job = json.loads({job!r})
items = reasoning_gym.create_dataset(
    job["task"], size=job["size"], seed=job["seed"], **job["config"]
)
score = float(items.score_answer(job["answer"], items[job["index"]]))
print("\\n" + job["token"] + json.dumps(score >= 1.0))
"""


def check_installed() -> None:
    """Refuse to go on without reasoning-gym.

    Raises:
        SettingsError: If it is not installed.
    """
    if find_spec(PACKAGE) is None:
        raise SettingsError(
            "these problems come from reasoning-gym; pip install 'timeful[reasoning-gym]'"
        )


def make_problems(
    task: str,
    *,
    size: int,
    seed: int,
    sandbox: Runner,
    config: Mapping[str, Any] | None = None,
    limit_s: float = 120.0,
) -> tuple[Problem, ...]:
    """Let reasoning-gym make a set of problems, the same for the same seed.

    Args:
        task: One of its tasks, by its name there.
        size: How many, 1 or more.
        seed: Of its chance.
        sandbox: Where it runs.
        config: Settings of the task, as plain JSON values.
        limit_s: The seconds that a run in the sandbox may take.

    Raises:
        SettingsError: If it is not installed, the task is one of `NOT_SOLVED`, or it cannot make
            the set.
    """
    check_installed()
    if task in NOT_SOLVED:
        raise SettingsError(
            f"{task!r} gives no full marks to its own answers; the same holds for "
            f"{', '.join(name for name in NOT_SOLVED if name != task)}"
        )
    if size < 1:
        raise SettingsError(f"a set needs at least one problem, got {size}")
    recipe = {"task": task, "size": size, "seed": seed, "config": dict(config or {})}
    problems = list[Problem]()
    while len(problems) < size:
        before = len(problems)
        for index, question, answer in _make(recipe, before, sandbox, limit_s):
            problems.append(
                Problem(
                    id=f"gym-{task}-{fingerprint(question)}-{index}",
                    family=f"gym:{task}",
                    question=question,
                    answer=answer,
                    kind="gym",
                    source=json.dumps({**recipe, "index": index}),
                )
            )
        if len(problems) == before:
            raise SettingsError(f"reasoning-gym made no item {before} of {task!r}")
    return tuple(problems)


def _make(
    recipe: Mapping[str, Any], start: int, sandbox: Runner, limit_s: float
) -> Iterator[tuple[int, str, str]]:
    token = secrets.token_hex(16)
    job = json.dumps({**recipe, "start": start, "room": _ROOM, "token": token})
    report = sandbox.run(_MAKE.format(job=job), limit_s=limit_s)
    if report.error:
        last_line = report.stdout.strip().rsplit("\n", 1)[-1]
        reason = f"{report.error}. {last_line}".strip()
        raise SettingsError(f"reasoning-gym cannot make problems of {recipe['task']!r}: {reason}")
    for line in report.stdout.splitlines():
        if line.startswith(token):
            index, question, answer = json.loads(line.removeprefix(token))
            yield index, question, answer


class GymChecker:
    """Scores answers with reasoning-gym in a sandbox; only full marks are right.

    Args:
        sandbox: Where it runs.
        limit_s: The seconds that one score may take.

    Raises:
        SettingsError: If reasoning-gym is not installed.
    """

    def __init__(self, sandbox: Runner, *, limit_s: float = 30.0) -> None:
        check_installed()
        self._sandbox = sandbox
        self._limit_s = limit_s

    def ask(self, problem: Problem, answer: str) -> Verdict:
        """Score an answer to one of the problems that `make_problems` made.

        Raises:
            SandboxError: If the right answer could not have been scored either.
        """
        recipe = json.loads(problem.source)
        field = _TAKEN.get(recipe["task"])
        if field is not None and field.fullmatch(answer) is None:
            return "wrong"
        token = secrets.token_hex(16)
        job = json.dumps({**recipe, "answer": answer, "token": token})
        report = self._sandbox.run(_SCORE.format(job=job), limit_s=self._limit_s)
        if report.error.startswith("over its time"):
            return "timeout"
        lines = [line for line in report.stdout.splitlines() if line.startswith(token)]
        if not lines and answer == problem.answer:
            raise SandboxError(f"reasoning-gym could not score its own answer: {report.error}")
        return "right" if lines[-1:] == [f"{token}true"] else "wrong"
