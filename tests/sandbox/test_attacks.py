"""One attack a test, in each sandbox that works here.

Where it can be done without harm, the same attack is made without walls too, and must succeed:
a test that could not fail would prove nothing. Limits hold without walls as well, so there the
same program must end well when the limit is far away.
"""

import fcntl
import json
import os
import resource
import select
import socket
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from tests.sandbox.backends import BACKENDS, WITH_UNSAFE, backend_or_skip
from timeful.sandbox import processes
from timeful.sandbox.usage_monitor import UsageMonitor
from timeful.sandbox.workspace import Backend, RunResult, WorkLimits, Workspace

MIB = 1 << 20
SECRET = "sk-0123456789abcdef"
ROOMY = WorkLimits(wall_s=30, memory_bytes=1 << 30, processes=256, disk_bytes=1 << 30)


@pytest.fixture(params=BACKENDS)
def sandbox(request: pytest.FixtureRequest) -> Backend:
    return backend_or_skip(request.param)


@pytest.fixture(params=WITH_UNSAFE)
def any_sandbox(request: pytest.FixtureRequest) -> Backend:
    return backend_or_skip(request.param)


@pytest.fixture(params=[name for name in WITH_UNSAFE if name != "landlock-3"])
def limited(request: pytest.FixtureRequest) -> Backend:
    """Each way to keep limits: they do not depend on the version of Landlock."""
    return backend_or_skip(request.param)


@pytest.fixture
def victim() -> Iterator[subprocess.Popen[bytes]]:
    """Another process of the same user, with a secret in its environment."""
    process = subprocess.Popen(
        ["cat"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, env={"API_KEY": SECRET}
    )
    with process:
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(b"begun\n")
        process.stdin.flush()
        process.stdout.readline()  # before, it may show neither arguments nor environment
        yield process
        process.kill()


ROOMS: dict[Backend, Workspace] = {}


@pytest.fixture(scope="module", autouse=True)
def rooms() -> Iterator[None]:
    yield
    for room in ROOMS.values():
        room.close()
    ROOMS.clear()


def attack(backend: Backend, code: str) -> RunResult:
    """Run a program with room enough; attacks share a workspace, which makes them quick."""
    if backend not in ROOMS:
        ROOMS[backend] = Workspace(files={}, outputs=[], limits=ROOMY, warm=["os"], backend=backend)
    return ROOMS[backend].run(code)


def attack_alone(
    backend: Backend, code: str, *, outputs: Sequence[str] = (), limits: WorkLimits = ROOMY
) -> RunResult:
    with Workspace(files={}, outputs=outputs, limits=limits, backend=backend) as workspace:
        return workspace.run(code)


def succeeds(backend: Backend) -> bool:
    return backend.name == "unsafe"


# Files


def test_reading_a_file_outside(any_sandbox: Backend, tmp_path: Path) -> None:
    (tmp_path / "answers.csv").write_text(SECRET)
    ran = attack(any_sandbox, f"print(open({str(tmp_path / 'answers.csv')!r}).read())")
    assert (SECRET in ran.stdout) == succeeds(any_sandbox)
    assert (ran.error == "exit code 1") != succeeds(any_sandbox)


def test_reading_a_file_outside_through_a_symlink_of_ones_own(
    any_sandbox: Backend, tmp_path: Path
) -> None:
    (tmp_path / "answers.csv").write_text(SECRET)
    code = (
        f"import os\nos.symlink({str(tmp_path)!r}, 'link')\nprint(open('link/answers.csv').read())"
    )
    assert (SECRET in attack(any_sandbox, code).stdout) == succeeds(any_sandbox)


def test_listing_a_folder_outside(any_sandbox: Backend, tmp_path: Path) -> None:
    (tmp_path / SECRET).touch()
    ran = attack(any_sandbox, f"import os\nprint(os.listdir({str(tmp_path)!r}))")
    assert (SECRET in ran.stdout) == succeeds(any_sandbox)


def test_writing_a_file_outside(any_sandbox: Backend, tmp_path: Path) -> None:
    target = tmp_path / "written"
    attack(any_sandbox, f"open({str(target)!r}, 'w').write('x')")
    assert target.exists() == succeeds(any_sandbox)


@pytest.mark.parametrize("how", ["os.chmod(path, 0o666)", "os.utime(path, (0, 0))"])
def test_changing_what_is_said_of_a_file_outside(
    any_sandbox: Backend, tmp_path: Path, how: str
) -> None:
    target = tmp_path / "mine"
    target.touch(mode=0o600)
    before = target.stat()
    attack(any_sandbox, f"import os\npath = {str(target)!r}\n{how}")
    after = target.stat()
    changed = (before.st_mode, before.st_mtime_ns) != (after.st_mode, after.st_mtime_ns)
    assert changed == succeeds(any_sandbox)


def test_emptying_a_file_outside(any_sandbox: Backend, tmp_path: Path) -> None:
    target = tmp_path / "mine"
    target.write_text("precious")
    attack(any_sandbox, f"import os\nos.truncate({str(target)!r}, 0)")
    assert (target.read_text() == "") == succeeds(any_sandbox)


@pytest.mark.parametrize("name", ["out.csv", "below/out.csv"])
def test_a_symlink_as_output(any_sandbox: Backend, tmp_path: Path, name: str) -> None:
    (tmp_path / "out.csv").write_text(SECRET)
    link, to = ("out.csv", tmp_path / "out.csv") if name == "out.csv" else ("below", tmp_path)
    code = f"import os\nos.symlink({str(to)!r}, {link!r})"
    with Workspace(files={}, outputs=[name], limits=ROOMY, backend=any_sandbox) as workspace:
        ran = workspace.run(code)
        naive = (workspace._folder.work / name).read_text()
    assert naive == SECRET
    assert ran.files == {}
    assert ran.error == ""


def test_a_symlink_that_the_next_run_is_to_remove(any_sandbox: Backend, tmp_path: Path) -> None:
    (tmp_path / "out.csv").write_text("precious")
    code = f"import os\nos.symlink({str(tmp_path)!r}, 'below')"
    names = ["below/out.csv"]
    with Workspace(files={}, outputs=names, limits=ROOMY, backend=any_sandbox) as workspace:
        workspace.run(code)
        workspace.run("pass")
    assert (tmp_path / "out.csv").read_text() == "precious"


@pytest.mark.parametrize("how", ["os.mkfifo('out.csv')", "os.mkdir('out.csv')"])
def test_something_else_than_a_file_as_output(any_sandbox: Backend, how: str) -> None:
    ran = attack_alone(any_sandbox, f"import os\n{how}", outputs=["out.csv"])
    assert (ran.error, ran.files) == ("", {})


@pytest.mark.parametrize("folder", ["/", "/dev", "/usr", "/proc", sys.prefix])
def test_writing_where_the_disk_is_not_counted(sandbox: Backend, folder: str) -> None:
    ran = attack(sandbox, f"open({folder!r} + '/timeful-test', 'w')")
    assert ran.error == "exit code 1"
    assert ran.stdout.splitlines()[-1].split(":")[0] in (
        *("OSError", "PermissionError", "FileNotFoundError"),
    )


def test_changing_the_settings_of_the_machine(any_sandbox: Backend) -> None:
    # Files that belong to root, who may write them without any powers; opened, and left alone.
    setting = "/proc/sys/kernel/core_pattern"
    ran = attack(any_sandbox, f"import os\nos.open({setting!r}, os.O_WRONLY)")
    assert (ran.error == "") == (succeeds(any_sandbox) and os.access(setting, os.W_OK))


def test_filling_shared_memory(sandbox: Backend) -> None:
    name = f"/dev/shm/timeful-test-{os.getpid()}"
    tight = WorkLimits(wall_s=20, disk_bytes=50 * MIB)
    code = f"open({name!r}, 'wb').write(bytes(80 << 20))"
    ran = attack_alone(sandbox, code + WAIT, limits=tight)
    assert ran.error in ("over its disk of 50 MiB", "exit code 1")
    assert not Path(name).exists()


# The network and other processes


def test_tcp(any_sandbox: Backend) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.setblocking(False)
        address = server.getsockname()
        attack(any_sandbox, f"import socket\nsocket.create_connection({address}, 5)")
        assert _came(server.accept) == succeeds(any_sandbox)


def test_udp(any_sandbox: Backend) -> None:
    code = "import socket\nsocket.socket(type=socket.SOCK_DGRAM).sendto(b'x', {address})"
    assert _datagram_came(any_sandbox, code) == succeeds(any_sandbox)


def test_dns(any_sandbox: Backend) -> None:
    # A key leaves as the name that is asked for.
    code = f"""
import socket, struct
question = struct.pack("!6H", 1, 256, 1, 0, 0, 0) + b"\\x13{SECRET}\\x03com\\0\\0\\1\\0\\1"
socket.socket(type=socket.SOCK_DGRAM).sendto(question, {{address}})
"""
    assert _datagram_came(any_sandbox, code) == succeeds(any_sandbox)


def test_dns_by_the_systems_own_resolver(sandbox: Backend) -> None:
    ran = attack(sandbox, "import socket\nprint(socket.getaddrinfo('example.com', 80))")
    assert "gaierror" in ran.stdout or "PermissionError" in ran.stdout


@pytest.mark.parametrize("is_abstract", [True, False])
def test_unix_sockets_of_others(any_sandbox: Backend, tmp_path: Path, is_abstract: bool) -> None:
    address = f"\0timeful-test-{os.getpid()}" if is_abstract else str(tmp_path / "socket")
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(address)
        server.listen()
        server.setblocking(False)
        attack(any_sandbox, f"import socket\nsocket.socket(socket.AF_UNIX).connect({address!r})")
        assert _came(server.accept) == succeeds(any_sandbox)


def test_a_datagram_from_a_pair_of_sockets(any_sandbox: Backend, tmp_path: Path) -> None:
    address = str(tmp_path / "log")
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as server:
        server.bind(address)
        server.setblocking(False)
        attack(
            any_sandbox,
            "import socket\n"
            f"socket.socketpair(type=socket.SOCK_DGRAM)[0].sendto(b'x', {address!r})",
        )
        assert _came(lambda: server.recv(9)) == succeeds(any_sandbox)


def _datagram_came(backend: Backend, code: str) -> bool:
    with socket.socket(type=socket.SOCK_DGRAM) as server:
        server.bind(("127.0.0.1", 0))
        server.setblocking(False)
        attack(backend, code.format(address=server.getsockname()))
        return _came(lambda: server.recv(512))


def _came(receive: Any) -> bool:
    try:
        found = receive()
    except BlockingIOError:
        return False
    if isinstance(found, tuple):
        found[0].close()
    return True


def test_a_signal_to_a_process_outside(
    any_sandbox: Backend, victim: subprocess.Popen[bytes]
) -> None:
    attack(any_sandbox, f"import os\nos.kill({victim.pid}, 9)")
    if succeeds(any_sandbox):
        assert victim.wait(10) == -9
    else:
        assert victim.poll() is None


def test_limits_laid_upon_a_process_outside(
    any_sandbox: Backend, victim: subprocess.Popen[bytes]
) -> None:
    kind = resource.RLIMIT_NOFILE
    before = resource.prlimit(victim.pid, kind)
    attack(any_sandbox, f"import resource\nresource.prlimit({victim.pid}, {kind}, (9, 9))")
    assert (resource.prlimit(victim.pid, kind) != before) == succeeds(any_sandbox)


def test_a_key_in_the_environment(any_sandbox: Backend, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", SECRET)
    code = "import os\nprint(dict(os.environ), open('/proc/self/environ').read())"
    assert SECRET not in attack_alone(any_sandbox, code).stdout  # even without walls
    plain = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert SECRET in plain.stdout


def test_a_key_in_proc_of_another_process(
    any_sandbox: Backend, victim: subprocess.Popen[bytes]
) -> None:
    ran = attack(any_sandbox, f"print(open('/proc/{victim.pid}/environ').read())")
    assert (SECRET in ran.stdout) == succeeds(any_sandbox)


def test_a_key_on_the_command_line_of_another_process(
    any_sandbox: Backend, victim: subprocess.Popen[bytes]
) -> None:
    ran = attack(any_sandbox, f"print(open('/proc/{victim.pid}/cmdline').read())")
    assert ("cat" in ran.stdout.split("\0")) == succeeds(any_sandbox)


CLONE = "{'x86_64': 56, 'aarch64': 220}[os.uname().machine]"
NEW_NAMESPACE = {
    "unshare": "libc.unshare(0x10000000)",
    "clone": f"libc.syscall({CLONE}, 0x10000011, *[0] * 4)",
    "clone3": "libc.syscall(435, struct.pack('11Q', 0x10000000, 0, 0, 0, 17, *[0] * 6), 88)",
}


@pytest.mark.parametrize("how", NEW_NAMESPACE)
def test_a_user_namespace_of_ones_own(sandbox: Backend, how: str) -> None:
    code = f"import ctypes, os, struct\nlibc = ctypes.CDLL(None)\nprint({NEW_NAMESPACE[how]})"
    assert attack(sandbox, code).stdout == "-1\n"


TRACE = """
import ctypes, os, signal
if not {pid}:
    pid = os.fork()
    if pid == 0:
        signal.pause()
else:
    pid = {pid}
print("traced" if ctypes.CDLL(None).ptrace(0x4206, pid, None, None) == 0 else "refused")
"""


def test_ptrace_of_a_process_outside(sandbox: Backend, victim: subprocess.Popen[bytes]) -> None:
    assert attack(sandbox, TRACE.format(pid=victim.pid)).stdout == "refused\n"


def test_ptrace_at_all(any_sandbox: Backend) -> None:
    said = attack(any_sandbox, TRACE.format(pid=0)).stdout
    assert said == ("traced\n" if succeeds(any_sandbox) else "refused\n")


# Limits

WAIT = "\nimport signal\nsignal.pause()"


def stays_usable(workspace: Workspace) -> bool:
    worker = workspace._worker
    assert worker is not None
    left = set(processes.descendants(worker._process.pid)) - set(worker._looks.trusted)
    return workspace.run("print('well')").stdout == "well\n" and not left


def test_a_fork_bomb(any_sandbox: Backend) -> None:
    bomb = "import os\nwhile True:\n    os.fork()"
    limits = WorkLimits(wall_s=5, processes=16)
    with Workspace(
        files={}, outputs=[], limits=limits, warm=["os"], backend=any_sandbox
    ) as workspace:
        assert workspace.run(bomb).error
        assert stays_usable(workspace)


MANY = """
import os, signal
for _ in range(150):
    if os.fork() == 0:
        signal.pause()
"""


def test_more_processes_than_allowed(limited: Backend) -> None:
    few = WorkLimits(wall_s=20, processes=16)
    error = attack_alone(limited, MANY + WAIT, limits=few).error
    assert error in ("exit code 1", "over its 16 processes")
    assert attack(limited, MANY).error == ""


def test_powers_of_root_such_as_raising_limits(any_sandbox: Backend) -> None:
    code = "print([line for line in open('/proc/self/status') if line.startswith('CapEff')][0])"
    has_none = int(attack(any_sandbox, code).stdout.split()[1], 16) == 0
    assert has_none or (succeeds(any_sandbox) and os.geteuid() == 0)


# Each touches 150 MiB: alone, shared and so not counted by the kernel's own limit, and spread.
MEMORY = {
    "one process": "x = bytearray(150 << 20)",
    "shared memory": """
import mmap
shared = mmap.mmap(-1, 150 << 20)
for _ in range(150):
    shared.write(b'x' * (1 << 20))
""",
    "shared memory that is resident nowhere": """
import mmap
shared = mmap.mmap(-1, 150 << 20)
for _ in range(150):
    shared.write(b'x' * (1 << 20))
    shared.madvise(mmap.MADV_DONTNEED)
""",
    "several processes": """
import os
ready, go = os.pipe(), os.pipe()
for _ in range(3):
    if os.fork() == 0:
        x = b'x' * (50 << 20)
        os.write(ready[1], b'.')
        os.read(go[0], 1)
        os._exit(0)
for _ in range(3):
    os.read(ready[0], 1)
""",
}


@pytest.mark.parametrize("how", MEMORY)
def test_more_memory_than_allowed(limited: Backend, how: str) -> None:
    tight = WorkLimits(wall_s=20, memory_bytes=100 * MIB)
    ran = attack_alone(limited, MEMORY[how] + WAIT, limits=tight)
    if how == "one process":
        assert "MemoryError" in ran.stdout
    else:
        assert ran.error == "over its memory of 100 MiB"
    assert attack(limited, MEMORY[how]).error == ""


def test_memory_in_a_file_that_was_never_in_a_folder(any_sandbox: Backend) -> None:
    ran = attack(any_sandbox, "import os\nos.memfd_create('x')")
    assert (ran.error == "") == succeeds(any_sandbox)


def test_memory_that_forks_share_is_counted_once(limited: Backend) -> None:
    tight = WorkLimits(wall_s=20, memory_bytes=100 * MIB)
    code = """
import os, signal
x = bytearray(60 << 20)
x[::4096] = b'x' * len(x[::4096])
for _ in range(4):
    if os.fork() == 0:
        signal.pause()
print(sum(range(3_000_000)))  # long enough to be looked at
"""
    assert attack_alone(limited, code, limits=tight).error == ""


# Each writes 80 MiB: in one file, in many, and in files that are in no folder any more.
DISK = {
    "one file": "open('a', 'wb').write(bytes(80 << 20))",
    "many files": """
for i in range(20):
    open(str(i), 'wb').write(bytes(4 << 20))
""",
    "unlinked files": """
import os
held = []
for i in range(20):
    held.append(open('a', 'wb'))
    held[-1].write(bytes(4 << 20))
    os.unlink('a')
""",
    "unlinked files of one that cannot be looked into": """
import ctypes, os
ctypes.CDLL(None).prctl(4, 0, 0, 0, 0)
held = []
for i in range(20):
    held.append(open('a', 'wb'))
    held[-1].write(bytes(4 << 20))
    os.unlink('a')
""",
    "folders nested deep": """
import os
for i in range(25):
    os.mkdir('x' * 200)
    os.chdir('x' * 200)
open('a', 'wb').write(b'hidden where no path reaches')
""",
}


@pytest.mark.parametrize("how", DISK)
def test_more_disk_than_allowed(limited: Backend, how: str) -> None:
    tight = WorkLimits(wall_s=20, file_bytes=40 * MIB, disk_bytes=50 * MIB)
    said = attack_alone(limited, DISK[how] + WAIT, limits=tight)
    if how == "one file":
        assert "File too large" in said.stdout
    else:
        assert said.error == "over its disk of 50 MiB"
    if how not in ("folders nested deep", "unlinked files of one that cannot be looked into"):
        assert attack_alone(limited, DISK[how]).error == ""


def test_files_without_anything_in_them_fill_a_disk_as_well(limited: Backend) -> None:
    tight = WorkLimits(wall_s=20, disk_bytes=4 * MIB)
    code = "import os\nfor i in range(2000):\n    os.mknod(str(i))"
    assert attack_alone(limited, code, limits=tight).error == "over its disk of 4 MiB"
    assert attack_alone(limited, code).error == ""


def test_more_disk_than_allowed_before_anybody_looks(limited: Backend) -> None:
    tight = WorkLimits(wall_s=20, disk_bytes=50 * MIB)
    code = "import os\nfor i in range(40):\n    os.posix_fallocate(os.open(str(i), 66), 0, 2 << 20)"
    assert attack_alone(limited, code, limits=tight).error == "over its disk of 50 MiB"


NEVER_THERE = """
import os
for _ in range(5):
    os.mkdir("here")
    if os.fork() == 0:
        while True:
            os.rename("here", "there")
            os.rename("there", "here")
    while True:
        try:
            os.chdir("here")
            break
        except FileNotFoundError:
            pass
open("a", "wb").write(bytes(80 << 20))
"""


def test_disk_in_a_folder_that_is_moved_all_the_time(limited: Backend) -> None:
    tight = WorkLimits(wall_s=20, disk_bytes=50 * MIB)
    ran = attack_alone(limited, NEVER_THERE + WAIT, limits=tight)
    assert ran.error == "over its disk of 50 MiB"
    assert ran.seconds < 5


def test_endless_output(limited: Backend) -> None:
    limits = WorkLimits(wall_s=20, output_bytes=1000, file_bytes=MIB)
    ran = attack_alone(limited, "print('begin')\nwhile True: print('x' * 10_000)", limits=limits)
    assert ran.error == "over its output: it printed without end"
    assert ran.stdout.startswith("begin\nxxx")
    assert len(ran.stdout) < 1100
    ran = attack_alone(limited, "print('begin', 'x' * 10_000, 'end')", limits=limits)
    assert ran.error == ""
    assert ran.stdout.endswith("xxx end\n")
    assert "[... 9011 bytes left out ...]" in ran.stdout


STUBBORN = """
import signal
for number in range(1, signal.NSIG):
    if number not in (signal.SIGKILL, signal.SIGSTOP, 32, 33):
        signal.signal(number, signal.SIG_IGN)
print("ready", flush=True)
try:
    input()
except EOFError:
    while True: pass
print("still here")
"""


def test_ignoring_every_signal(any_sandbox: Backend) -> None:
    limits = WorkLimits(wall_s=0.3)
    with Workspace(
        files={}, outputs=[], limits=limits, warm=["os"], backend=any_sandbox
    ) as workspace:
        ran = workspace.run(STUBBORN)
        assert ran.error == "over its time of 0.3 s"
        assert 0.3 <= ran.seconds < 2
        assert stays_usable(workspace)


def test_ignoring_every_signal_outlives_asking_it_to_end() -> None:
    command = [sys.executable, "-c", STUBBORN]
    with subprocess.Popen(command, stdin=-1, stdout=-1, text=True) as plain:
        assert plain.stdout is not None
        assert plain.stdout.readline() == "ready\n"
        plain.terminate()
        assert plain.communicate("go on\n")[0] == "still here\n"


# Its lock tells, without a wait, whether the daemon lives; it holds its output open too.
DAEMON = """
import fcntl, os, signal
print("gone", flush=True)
ready, locked = os.pipe()
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        lock = open("lock", "w")
        fcntl.flock(lock, fcntl.LOCK_EX)
        print(os.getpid(), file=lock, flush=True)
        os.write(locked, b".")
        signal.pause()
    os._exit(0)
os.wait()
os.read(ready, 1)
"""


def is_locked(path: Path) -> bool:
    with path.open() as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
    return False


def test_a_daemon_dies_with_the_run(any_sandbox: Backend) -> None:
    with Workspace(
        files={}, outputs=[], limits=ROOMY, warm=["os"], backend=any_sandbox
    ) as workspace:
        ran = workspace.run(DAEMON)
        assert not is_locked(workspace._folder.work / "lock")
        assert stays_usable(workspace)
    # That its output is read to an end shows that nobody holds the pipe.
    assert ran.error == ""
    assert ran.seconds < 10


def test_a_daemon_outlives_a_plain_process_and_holds_its_pipe(tmp_path: Path) -> None:
    with subprocess.Popen([sys.executable, "-c", DAEMON], cwd=tmp_path, stdout=-1) as plain:
        assert plain.wait(10) == 0
        assert is_locked(tmp_path / "lock")
        with pytest.raises(subprocess.TimeoutExpired):
            plain.communicate(timeout=0.05)
        os.kill(int((tmp_path / "lock").read_text()), 9)


# Deceiving whoever watches


FORGE = """
import ctypes, os, signal
libc = ctypes.CDLL(None)
answer = b'{answer}\\n'
for fd in range(3, 256):
    try: os.write(fd, answer)
    except OSError: pass
watcher = libc.syscall(434, os.getppid(), 0)
for number in range(64):
    fd = libc.syscall(438, watcher, number, 0)
    try: os.write(fd, answer)
    except OSError: pass
    try: os.write(os.open(f"/proc/{os.getppid()}/fd/{number}", os.O_WRONLY), answer)
    except OSError: pass
signal.pause()
"""


def test_forging_the_answer_of_the_worker(any_sandbox: Backend) -> None:
    answer = {"number": 1, "took_ns": 0, "why": "ended", "status": 0, "clean": True}
    code = FORGE.replace("{answer}", json.dumps(answer))
    ran = attack_alone(any_sandbox, code, limits=WorkLimits(wall_s=0.3))
    if succeeds(any_sandbox) and os.geteuid() == 0:
        assert (ran.error, ran.seconds) == ("", 0)
    else:
        assert ran.error == "over its time of 0.3 s"
        assert ran.seconds >= 0.3


@pytest.mark.parametrize("number", ["SIGKILL", "SIGSTOP", "SIGINT", "SIGSEGV"])
def test_a_signal_to_the_worker(sandbox: Backend, number: str) -> None:
    code = f"import os, signal\nos.kill(os.getppid(), signal.{number})"
    with Workspace(files={}, outputs=[], limits=ROOMY, warm=["os"], backend=sandbox) as workspace:
        assert "sandbox" not in workspace.run(code).error
        worker = workspace._worker
        assert stays_usable(workspace)
        assert workspace._worker is worker


@pytest.mark.parametrize("number", [34, 40])
def test_a_signal_without_a_name(any_sandbox: Backend, number: int) -> None:
    error = attack(any_sandbox, f"import os\nos.kill(os.getpid(), {number})").error
    assert error in ("killed by SIGRTMIN", "killed by signal 40", "exit code 1")


def test_an_output_that_no_longer_waits_for_its_reader(any_sandbox: Backend) -> None:
    attack(any_sandbox, "import os\nos.set_blocking(1, False)")
    ran = attack(any_sandbox, "for _ in range(100):\n    print('x' * 100_000)\nprint('end')")
    assert ran.error == ""
    assert ran.stdout.endswith("xxx\nend\n")


def test_folders_closed_for_everybody(any_sandbox: Backend) -> None:
    code = "import os\nos.makedirs('out/a/b/c')\nfor path in ('out/a/b', 'out/a', '.'):\n"
    names = ["out", "below/out"]
    with Workspace(files={}, outputs=names, limits=ROOMY, backend=any_sandbox) as workspace:
        assert workspace.run(f"{code}    os.chmod(path, 0)").files == {}
        assert workspace.run("import os\nprint(os.listdir())").stdout == "[]\n"


def test_printing_without_end_after_killing_the_worker() -> None:
    backend = backend_or_skip("unsafe")
    code = "import os\nos.kill(os.getppid(), 9)\nwhile True: os.write(1, bytes(1 << 16))"
    with Workspace(files={}, outputs=[], limits=ROOMY, warm=["os"], backend=backend) as workspace:
        assert workspace.run(code).error.startswith("the sandbox ended")
        assert workspace.run("print('well')").stdout == "well\n"


def test_a_program_does_not_outlive_the_worker_that_it_killed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(UsageMonitor, "_look", lambda _: ())  # it is over before anybody looks
    backend = backend_or_skip("unsafe")
    code = "import os, signal\nheld = open('pipe', 'w')\nos.kill(os.getppid(), 9)\nsignal.pause()"
    with Workspace(files={}, outputs=[], limits=ROOMY, warm=["os"], backend=backend) as workspace:
        os.mkfifo(workspace._folder.work / "pipe")
        pipe = os.open(workspace._folder.work / "pipe", os.O_RDONLY | os.O_NONBLOCK)
        workspace.run(code)
        assert select.select([pipe], [], [], 20)[0]  # nobody has it open for writing any more
        os.close(pipe)


def test_a_worker_that_was_killed_is_replaced() -> None:
    backend = backend_or_skip("unsafe")
    with Workspace(files={}, outputs=[], limits=ROOMY, warm=["os"], backend=backend) as workspace:
        ran = workspace.run("import os\nos.kill(os.getppid(), 9)\nprint('never', os.read(0, 1))")
        assert ran.error == "the sandbox ended (killed by SIGKILL)"
        assert workspace.run("print('well')").stdout == "well\n"
