"""Programs run with files, output and limits, and one run does not disturb the next."""

import os
import pwd
import sys
import threading
import tomllib
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.sandbox.backends import BACKENDS, WITH_UNSAFE, backend_or_skip
from timeful.errors import SandboxError, SettingsError
from timeful.sandbox import landlock, workspace
from timeful.sandbox.bubblewrap import Bubblewrap
from timeful.sandbox.folder import Folder
from timeful.sandbox.landlock import Landlock
from timeful.sandbox.unsafe import Unsafe
from timeful.sandbox.worker import Worker
from timeful.sandbox.workspace import Backend, WorkLimits, Workspace, choose_backend, works

Make = Callable[..., Workspace]


@pytest.fixture(params=WITH_UNSAFE)
def backend(request: pytest.FixtureRequest) -> Backend:
    return backend_or_skip(request.param)


@pytest.fixture(params=["cold", "warm"])
def make(request: pytest.FixtureRequest, backend: Backend) -> Iterator[Make]:
    made: list[Workspace] = []

    def start(**settings: object) -> Workspace:
        given = {"files": {}, "outputs": [], "backend": backend, **settings}
        if request.param == "warm":
            given.setdefault("warm", ["json"])
        made.append(Workspace(**given))  # type: ignore[arg-type]
        return made[-1]

    yield start
    for each in made:
        each.close()


# What a program has, and what comes back


def test_a_program_reads_its_files_and_leaves_its_outputs(make: Make, tmp_path: Path) -> None:
    (tmp_path / "train.csv").write_text("1,2\n")
    (tmp_path / "pictures").mkdir()
    (tmp_path / "pictures" / "one.png").write_bytes(b"png")
    files = {"train.csv": tmp_path / "train.csv", "data/pictures": tmp_path / "pictures"}
    ran = make(files=files, outputs=["out/sub.csv", "never.csv"]).run(
        "import os\nos.mkdir('out')\nopen('out/sub.csv', 'w').write(open('train.csv').read() * 2)\n"
        "print(os.listdir('data/pictures'), 'grüße')"
    )
    assert ran.error == ""
    assert ran.stdout == "['one.png'] grüße\n"
    assert ran.files == {"out/sub.csv": b"1,2\n1,2\n"}


def test_the_files_themselves_cannot_be_changed(make: Make, tmp_path: Path) -> None:
    (tmp_path / "train.csv").write_text("precious")
    ran = make(files={"train.csv": tmp_path / "train.csv"}).run("open('train.csv', 'w')")
    assert (tmp_path / "train.csv").read_text() == "precious"
    assert ran.error in ("exit code 1", "")  # without walls it has a copy


def test_files_that_were_given_are_not_counted_as_the_programs_disk(
    backend: Backend, tmp_path: Path
) -> None:
    (tmp_path / "train.bin").write_bytes(bytes(8 << 20))
    files, limits = {"train.bin": tmp_path / "train.bin"}, WorkLimits(disk_bytes=4 << 20)
    code = "print(sum(range(3_000_000)) > 0)  # long enough to be looked at"
    with Workspace(files=files, outputs=[], limits=limits, backend=backend) as one:
        assert one.run(code).error == ""


@pytest.mark.parametrize(
    ("code", "said", "error"),
    [
        ("print(1)", "1\n", ""),
        ("import sys\nsys.exit()", "", ""),
        ("import sys\nsys.exit(3)", "", "exit code 3"),
        ("import sys\nsys.exit('bad data')", "bad data\n", "exit code 1"),
        ("import os\nos._exit(4)", "", "exit code 4"),
        ("import ctypes\nctypes.string_at(0)", "", "killed by SIGSEGV"),
        ("import sys\nprint('e', file=sys.stderr)", "e\n", ""),
        ("print(input())", "EOFError: EOF when reading a line\n", "exit code 1"),
        ("def (", "SyntaxError: invalid syntax\n", "exit code 1"),
        ("x = '\0'", "Error: source code string cannot contain null bytes\n", "exit code 1"),
        ("x = 1\nx / 0", "ZeroDivisionError: division by zero\n", "exit code 1"),
        ("import atexit\natexit.register(print, 'end')", "end\n", ""),
        ("import threading\nthreading.Timer(0, print, ['thread']).start()", "thread\n", ""),
        ("print(__name__)", "__main__\n", ""),
    ],
)
def test_a_program_ends_as_python_would_end_it(code: str, said: str, error: str) -> None:
    ran = SHARED.run(code)
    assert ran.stdout.endswith(said)
    assert ran.error == error


def test_a_traceback_shows_the_program_and_nothing_of_ours() -> None:
    said = SHARED.run("x = 1\nx / 0").stdout
    assert said.startswith(
        'Traceback (most recent call last):\n  File "<program>", line 2, in <module>\n    x / 0\n'
    )
    assert said.endswith("ZeroDivisionError: division by zero\n")
    assert said.count("File ") == 1


def test_what_was_printed_before_the_time_was_over_is_kept(make: Make) -> None:
    ran = make().run("print('epoch 1')\nwhile True: pass", limit_s=0.2)
    assert (ran.stdout, ran.error) == ("epoch 1\n", "over its time of 0.2 s")
    assert ran.seconds == pytest.approx(0.2, abs=0.15)


def test_modules_of_a_warm_workspace_are_there_and_take_no_time(backend: Backend) -> None:
    slow = "import sys\nprint('decimal' in sys.modules)"
    with Workspace(files={}, outputs=[], warm=["decimal"], backend=backend) as warm:
        assert warm.run(slow).stdout == "True\n"
    with Workspace(files={}, outputs=[], backend=backend) as cold:
        assert cold.run(slow).stdout == "False\n"


# One run and the next


def test_files_stay_but_nothing_else_does(make: Make) -> None:
    one = make()
    one.run(
        "import builtins, json, os, sys\nopen('notes', 'w').write('kept')\n"
        "builtins.left = json.left = 1\nos.environ['LEFT'] = '1'\nsys.path.append('left')"
    )
    ran = one.run(
        "import builtins, json, os, sys\nprint(open('notes').read())\n"
        "print(hasattr(builtins, 'left'), hasattr(json, 'left'), os.environ.get('LEFT'))\n"
        "print('left' in sys.path)"
    )
    assert ran.stdout == "kept\nFalse False None\nFalse\n"


@pytest.mark.parametrize("left", ["open('sub.csv', 'w')", "os.makedirs('sub.csv/below')"])
def test_an_output_of_an_earlier_run_is_not_taken_for_a_new_one(make: Make, left: str) -> None:
    one = make(outputs=["sub.csv"])
    one.run(f"import os\n{left}")
    ran = one.run("import os\nprint(os.path.lexists('sub.csv'))")
    assert (ran.stdout, ran.files) == ("False\n", {})


def test_programs_import_what_they_wrote_themselves(make: Make) -> None:
    one = make()
    one.run("open('features.py', 'w').write('count = 3')")
    assert one.run("import features\nprint(features.count)").stdout == "3\n"


def test_a_file_named_like_a_module_harms_nobody(make: Make) -> None:
    one = make()
    one.run("open('traceback.py', 'w').write('print(1 / 0)')")
    assert one.run("1 / 0").stdout.endswith("division by zero\n")
    assert one.run("print('well')").stdout == "well\n"


def test_a_worker_finds_nothing_of_an_earlier_run_where_modules_have_their_settings(
    backend: Backend,
) -> None:
    with Workspace(files={}, outputs=[], warm=["json"], backend=backend) as one:
        # Not always empty: a Python below the folder for temporary files is to be seen there, too.
        look = "import os\nprint(os.listdir(os.environ['HOME']))"
        before = one.run(look).stdout
        one.run("import os\nopen(os.environ['HOME'] + '/.settings', 'w')")
        one._end()
        assert one.run(look).stdout == before
        assert before.startswith("[")


# Stopping


def test_stop_ends_the_run_under_way_and_not_the_next(make: Make) -> None:
    one = make()
    os.mkfifo(one._folder.work / "begun")
    said = []
    code = "open('begun', 'w').close()\nwhile True: pass"
    thread = threading.Thread(target=lambda: said.append(one.run(code)))
    thread.start()
    (one._folder.work / "begun").read_bytes()  # until the program opens it
    one.stop()
    thread.join(20)
    assert said[0].error == "stopped"
    one.stop()
    # Long enough to be stopped by what came too late.
    assert one.run("sum(range(3_000_000))\nprint('well')").stdout == "well\n"


def test_close_ends_the_run_under_way_and_deletes_the_folder(make: Make) -> None:
    one = make()
    os.mkfifo(one._folder.work / "begun")
    code = "open('begun', 'w').close()\nwhile True: pass"
    thread = threading.Thread(target=one.run, args=(code,))
    thread.start()
    (one._folder.work / "begun").read_bytes()
    one.close()
    one.close()
    thread.join(20)
    assert not thread.is_alive()
    assert not one._folder.root.exists()
    with pytest.raises(SandboxError, match="the workspace is closed"):
        one.run("pass")


def test_a_run_whose_thread_is_over_leaves_the_worker_alive(backend: Backend) -> None:
    with Workspace(files={}, outputs=[], warm=["json"], backend=backend) as one:
        pids: list[str] = []

        def run() -> None:
            pids.append(one.run("import os\nprint(os.getppid())").stdout)

        for _ in range(2):
            thread = threading.Thread(target=run)
            thread.start()
            thread.join(20)
    assert pids[0] == pids[1]


def test_a_run_that_was_cut_gives_no_answer_to_the_next(
    make: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupt(*_: object, **__: object) -> str:
        raise KeyboardInterrupt

    one = make()
    one.run("pass")
    with monkeypatch.context() as patch:
        patch.setattr(Worker, "_watch", interrupt)
        with pytest.raises(KeyboardInterrupt):
            one.run("print('first')")
    assert one.run("print('second')").stdout == "second\n"


def test_a_workspace_that_is_closed_as_a_run_begins_does_not_wait_for_its_end(
    make: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    one = make()

    def close_meanwhile() -> None:
        one._closed = True  # as `close` does first; then it stops what it finds, and waits
        one.stop()

    monkeypatch.setattr(one._folder, "open_up", close_meanwhile)
    assert one.run("while True: pass").error == "stopped"


# Settings and errors


@pytest.mark.parametrize("name", ["../out.csv", "/out.csv", "a/../../b", "", "."])
def test_paths_out_of_the_folder_are_refused(name: str) -> None:
    with pytest.raises(SettingsError, match="does not name a file of the workspace"):
        Workspace(files={}, outputs=[name], backend=Unsafe())


def test_a_file_that_is_not_there_is_refused(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match=r"there is no file .* to show to programs as a\.csv"):
        Workspace(files={"a.csv": tmp_path / "a.csv"}, outputs=[], backend=Unsafe())


@pytest.mark.parametrize("value", [0, -1, float("inf"), float("nan")])
def test_limits_without_sense_are_refused(value: float) -> None:
    with pytest.raises(SettingsError, match="limit wall_s must be above 0 and finite"):
        WorkLimits(wall_s=value)


def test_a_warm_module_that_is_not_there_is_named(backend: Backend) -> None:
    with (
        Workspace(files={}, outputs=[], warm=["no_such_module"], backend=backend) as one,
        pytest.raises(SandboxError, match=r"did not start: .*No module named 'no_such_module'"),
    ):
        one.run("pass")


@pytest.mark.parametrize("name", BACKENDS)
def test_hidden_files_of_the_python_prefix_cannot_be_read(name: str) -> None:
    import numpy
    import numpy.linalg

    [folder] = numpy.linalg.__path__
    backend = backend_or_skip(name)
    code = f"import numpy.version\nprint('seen')\nopen({numpy.linalg.__file__!r})"
    for hidden, error in (([], ""), ([Path(folder)], "exit code 1")):
        if hidden:
            code = f"print('seen')\nopen({numpy.linalg.__file__!r})"
        with Workspace(files={}, outputs=[], hidden=hidden, backend=backend) as one:
            ran = one.run(code)
        assert ran.stdout.startswith("seen")
        assert ran.error == error


@pytest.mark.parametrize("name", BACKENDS)
def test_what_is_hidden_is_hidden_by_all_names_of_the_prefix(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    package = Path(tomllib.__file__).parent
    link = tmp_path / "link"
    link.symlink_to(sys.base_prefix)
    monkeypatch.setattr(sys, "exec_prefix", str(link))
    by_link = link / package.relative_to(sys.base_prefix)
    code = f"""
for path in {[f"{package}/_types.py", f"{by_link}/_types.py"]}:
    try:
        print("seen" if open(path).read() else "empty")
    except OSError:
        print("hidden")
"""
    backend = backend_or_skip(name)
    for hidden in ([], [package], [by_link]):
        with Workspace(files={}, outputs=[], hidden=hidden, backend=backend) as one:
            assert one.run(code).stdout == ("hidden\n" if hidden else "seen\n") * 2


@pytest.mark.parametrize("name", BACKENDS)
def test_a_python_that_is_installed_in_a_home_does_not_open_it(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "lib").mkdir()
    (tmp_path / "lib" / "module.py").write_text("one's own")
    (tmp_path / "pyvenv.cfg").touch()
    (tmp_path / "key").write_text("secret")
    monkeypatch.setattr(sys, "exec_prefix", str(tmp_path))
    read = f"print(open('{tmp_path}/lib/module.py').read())\nprint(open('{tmp_path}/key').read())"
    backend = backend_or_skip(name)
    with Workspace(files={}, outputs=[], backend=backend) as one:
        assert one.run(read).stdout == "one's own\nsecret\n"
    user = pwd.struct_passwd(("me", "x", os.geteuid(), 0, "", str(tmp_path / "me"), ""))
    monkeypatch.setattr(pwd, "getpwuid", lambda _: user)
    with Workspace(files={}, outputs=[], backend=backend) as one:
        ran = one.run(read)
    assert ran.stdout.startswith("one's own\nTraceback")
    assert "secret" not in ran.stdout


# Choosing


def test_the_first_way_that_works_is_chosen_and_said() -> None:
    backend_or_skip("bubblewrap")
    assert choose_backend().description == (
        "Programs run in bubblewrap: no files but their own and Python's, no network, no other "
        "processes."
    )


def test_a_bubblewrap_that_does_not_work_is_found_by_trying(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    backend_or_skip("landlock")
    fake = tmp_path / "bwrap"
    fake.write_text("#!/bin/sh\necho 'bwrap: setting up uid map: Permission denied' >&2\nexit 1\n")
    fake.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    chosen = choose_backend()
    assert chosen.name == "landlock"
    assert chosen.description.endswith(
        "Better ways failed: bubblewrap does not work here (the sandbox did not start: bwrap: "
        "setting up uid map: Permission denied)."
    )


def test_when_nothing_confines_programs_they_run_on_request_only(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("PATH", "")
    monkeypatch.setattr(landlock, "landlock_version", lambda: 2)
    with pytest.raises(SandboxError) as caught:
        choose_backend()
    for part in ("bwrap is not installed", "this kernel has version 2", "--unsafe"):
        assert part in str(caught.value)
    chosen = choose_backend(unsafe=True)
    assert chosen.name == "unsafe"
    assert chosen.description.startswith("UNSAFE: programs that a model wrote run as you")
    assert "bwrap is not installed" in chosen.description


def test_a_way_that_confines_nothing_is_not_taken() -> None:
    backend_or_skip("unsafe")
    assert works(Unsafe()) == "a program could read a file that it must not see"


@pytest.mark.parametrize("backend", [Bubblewrap(), Landlock()])
def test_a_way_that_does_not_work_says_why(
    backend: Backend, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", "")
    monkeypatch.setattr(landlock, "landlock_version", lambda: 0)
    assert works(backend) in (
        "the program bwrap is not installed",
        "Landlock needs version 3 (Linux 6.2); this kernel has none, or forbids it",
    )


# The folder, on our side


def test_a_folder_that_a_program_made_unreadable_is_deleted_all_the_same() -> None:
    folder = Folder()
    inner = folder.work / "closed" / "inner"
    inner.mkdir(parents=True)
    (inner / "file").touch()
    for path in (inner, inner.parent):
        path.chmod(0)
    folder.delete()
    folder.delete()
    assert not folder.root.exists()


def test_deleting_a_folder_leaves_what_its_links_lead_to(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    folder = Folder()
    (folder.work / "link").symlink_to(tmp_path)
    folder.delete()
    assert (tmp_path / "file").exists()


def test_an_output_that_is_too_large_is_not_read() -> None:
    folder = Folder()
    (folder.work / "a").write_bytes(b"12345")
    assert folder.read("a", most=5) == b"12345"
    assert folder.read("a", most=4) is None
    folder.delete()


SHARED: Workspace


@pytest.fixture(scope="module", autouse=True)
def shared() -> Iterator[None]:
    global SHARED
    backend = workspace.choose_backend(unsafe=True)
    with Workspace(files={}, outputs=[], warm=["json"], backend=backend) as SHARED:
        yield
