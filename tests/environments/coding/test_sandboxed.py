"""The coding task in the real sandbox: what a program finds there, and what it does not."""

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from tests.environments.coding.archives import archive
from timeful.agents.scripted_policies.scripts import ladder
from timeful.core.units import START, Instant, in_seconds, milliseconds, seconds
from timeful.environments.coding.cases import Case, open_case
from timeful.environments.coding.prepare import prepare
from timeful.environments.coding.task import WARM, CodingTask
from timeful.environments.timed.latency import Measured
from timeful.environments.timed.world import TimedTask, TimeSettings
from timeful.errors import SandboxError
from timeful.sandbox.backend import Backend, python_folders
from timeful.sandbox.workspace import Workspace, choose_backend
from timeful.tools import ToolCall

# Python's own folders, which a program must be able to read, are left out: they have ten thousands
# of files where the environment lies below /tmp.
LOOK = """
import os, sys
python = {{os.path.realpath(path) for path in {python!r}}}
for top in (".", "/tmp", "/dev/shm"):
    for folder, folders, names in os.walk(top, followlinks=True):
        folders[:] = [
            name for name in folders if os.path.realpath(os.path.join(folder, name)) not in python
        ]
        for name in names:
            path = os.path.join(folder, name)
            print(path)
            try:
                text = open(path, errors="replace").read()
            except OSError:
                continue
            for word in {secrets!r}:
                if word in text:
                    print("FOUND", word)
print("looked")
"""

OPEN = """
try:
    print(len(open({path!r}, "rb").read()))
except OSError as error:
    print("closed")
"""


# The first row of iris, wherever a data file of these packages has it.
HUNT = """
import gzip, os, scipy, sklearn
for package in (scipy, sklearn):
    for folder, _, names in os.walk(package.__path__[0]):
        for name in names:
            if name.endswith((".gz", ".csv", ".arff", ".data", ".txt")):
                try:
                    data = open(os.path.join(folder, name), "rb").read()
                    data = gzip.decompress(data) if name.endswith(".gz") else data
                except OSError:
                    continue
                if b"5.1,3.5,1.4,0.2" in data:
                    print("FOUND", folder, name)
print("looked")
"""


@pytest.fixture(scope="module")
def backend() -> Backend:
    try:
        return choose_backend()
    except SandboxError as error:
        pytest.skip(f"no sandbox here: {error}")


def workspace(case: Case, backend: Backend, warm: tuple[str, ...] = ()) -> Workspace:
    return Workspace(
        files=case.files, outputs=case.outputs, hidden=case.hidden, warm=warm, backend=backend
    )


@pytest.fixture(scope="module")
def iris(backend: Backend) -> Iterator[tuple[Case, Workspace]]:
    case = open_case("iris")
    with workspace(case, backend, WARM) as runner:
        yield case, runner


def execute(code: str) -> ToolCall:
    return ToolCall(name="execute_code_and_get_duration", arguments={"code": code})


@pytest.mark.parametrize("name", ["spaceship-titanic", "detecting-insults-in-social-commentary"])
def test_private_labels_never_reach_the_folder(tmp_path, backend, name):
    folder = tmp_path / "case"
    prepare(name, archive(tmp_path, name), folder)
    (folder / "private" / "mark.txt").write_text("labels of the test split")
    case = open_case(name, data=folder)
    labels = (folder / "private" / "test.csv").read_text().splitlines()
    row = next(line for line in labels if line.startswith("1,") or line.endswith(",True"))
    python = [str(path) for path in python_folders()]
    assert not any(folder.resolve().is_relative_to(path) for path in python)
    with workspace(case, backend) as runner:
        ran = runner.run(LOOK.format(secrets=["labels of the test split", row], python=python))
        assert ran.stdout.endswith("looked\n")
        assert "./data/public/train.csv" in ran.stdout
        assert "FOUND" not in ran.stdout
        assert "private" not in ran.stdout
        path = folder / "private" / "test.csv"
        assert runner.run(OPEN.format(path=str(path))).stdout == "closed\n"


def test_what_a_default_case_was_made_of_is_closed(iris):
    case, runner = iris
    files = [file for folder in case.hidden for file in folder.glob("iris*")]
    assert "iris.csv" in {file.name for file in files}
    for file in files:
        assert runner.run(OPEN.format(path=str(file))).stdout == "closed\n"
    ran = runner.run("from sklearn.datasets import load_iris\nload_iris()")
    assert ran.error
    maker = Path(open_case.__code__.co_filename).with_name("bundled.py")
    assert runner.run(OPEN.format(path=str(maker))).stdout == "closed\n"


def test_no_data_file_of_the_packages_has_its_rows(iris):
    assert iris[1].run(HUNT).stdout == "looked\n"


def test_ready_scripts_run_there_and_are_graded(iris):
    case, runner = iris
    task = CodingTask(case, runner)
    scores = []
    for rung in ladder(case)[:2]:
        done = task.begin(execute(rung.code), seconds(30)).run()
        reply = task.finish(execute(rung.code), done.result)
        assert reply.startswith("The program ran to its end.\nIt printed:\ntook 0.")
        assert 0 < in_seconds(done.took) < 30
        scores.append(task.score)
    assert scores[0] < 0.5 < scores[1]


def test_a_program_sees_the_public_files_and_cannot_change_them(iris):
    case, runner = iris
    task = CodingTask(case, runner)
    before = (case.public / "train.csv").read_bytes()
    code = "open('data/public/train.csv', 'a').write('1')"
    reply = task.finish(execute(code), task.begin(execute(code), seconds(9)).run().result)
    assert "Error: exit code 1" in reply
    assert (case.public / "train.csv").read_bytes() == before


def test_an_old_submission_is_no_submission(iris):
    case, runner = iris
    task = CodingTask(case, runner)
    for code, says in [
        (ladder(case)[0].code, "Evaluation accuracy"),
        ("print(1)", "There is no valid submission.csv: there is none."),
    ]:
        reply = task.finish(execute(code), task.begin(execute(code), seconds(30)).run().result)
        assert says in reply
    assert task.facts()["valid_runs"] == 1


def test_an_endless_program_is_cut_at_the_deadline(iris):
    case, runner = iris
    env = TimedTask(
        CodingTask(case, runner),
        TimeSettings(budget=milliseconds(200), latency=Measured()),
        seed=0,
    )
    env.intervene([execute("while True: pass")], at=START)
    (seen,) = env.advance(Instant(seconds(9)))
    assert (seen.event, seen.at) == ("over", milliseconds(200))
    assert seen.data["cut"] == "execute_code_and_get_duration"


def test_the_task_closes_the_sandbox(backend):
    case = open_case("iris")
    runner = workspace(case, backend)
    with closing(CodingTask(case, runner)):
        pass
    with pytest.raises(SandboxError, match="closed"):
        runner.run("print(1)")
