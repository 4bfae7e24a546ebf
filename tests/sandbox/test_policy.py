"""Model-written policies: honest ones play, and nothing else gets through."""

import os
import resource
import select
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from timeful.environments.registry import make_game
from timeful.errors import SandboxError, SettingsError
from timeful.sandbox import policy
from timeful.sandbox.policy import Limits, PolicyProcess, unavailable

pytestmark = pytest.mark.skipif(unavailable() is not None, reason="no policy can be confined here")

TIGHT = Limits(cpu_s=0.1, wall_s=0.5, memory_bytes=96 << 20)
Launch = Callable[..., PolicyProcess]


@pytest.fixture
def launch() -> Iterator[Launch]:
    started: list[PolicyProcess] = []

    def start(source: str, limits: Limits | None = None) -> PolicyProcess:
        started.append(PolicyProcess(source, limits))
        return started[-1]

    yield start
    for process in started:
        process.close()


def body(*lines: str) -> str:
    """A policy whose function has these lines; the first of them is line 3."""
    return "import os, sys\ndef next_action(state):\n" + "".join(f"    {line}\n" for line in lines)


def failure(process: PolicyProcess, state: dict[str, Any] | None = None) -> str:
    with pytest.raises(SandboxError) as caught:
        process.next_action(state or {})
    return str(caught.value)


HONEST = {
    "freeway": """
from collections import deque
def next_action(state):
    blocked = {car[0] for car in state["car_states"] if car[1] - car[4] <= 24 and car[1] >= -24}
    y = state["player_states"]
    return "S" if y + 1 in blocked else "U"
""",
    "snake": """
import heapq
from dataclasses import dataclass

@dataclass(order=True)
class Option:
    distance: int
    letter: str

def next_action(state):
    x, y = state["snake"][0]
    fx, fy, life, value = state["foods"][0]
    taken = {tuple(cell) for cell in state["snake"] + state["internal_obstacles"]}
    options = []
    for letter, dx, dy in (("L", -1, 0), ("R", 1, 0), ("U", 0, 1), ("D", 0, -1)):
        to = (x + dx, y + dy)
        if to not in taken and 0 < to[0] < state["size"] - 1 and 0 < to[1] < state["size"] - 1:
            heapq.heappush(options, Option(abs(fx - to[0]) + abs(fy - to[1]), letter))
    return heapq.heappop(options).letter if options else "U"
""",
    "overcooked": """
def next_action(state):
    alice = state["state"]["players"][0]
    print("I hold", alice["held_object"])
    return "I" if alice["held_object"] is None else "S"
""",
}


@pytest.mark.parametrize("name", HONEST)
def test_an_honest_policy_plays_a_whole_game(launch: Launch, name: str) -> None:
    game = make_game(name, difficulty="easy", seed=0)
    process = launch(HONEST[name])
    while not game.done:
        game.step(process.next_action(game.view().json_state()))
    assert game.turn > 10


def test_the_state_arrives_as_json_values(launch: Launch) -> None:
    process = launch(body("return repr(state)"))
    assert process.next_action({"a": (1, [2.5, None]), "ø": True}) == repr(
        {"a": [1, [2.5, None]], "ø": True}
    )


def test_globals_stay_between_actions_and_after_an_error(launch: Launch) -> None:
    process = launch(
        "seen = []\ndef next_action(state):\n    seen.append(1)\n"
        "    return str(len(seen)) if state['ok'] else state['none']\n"
    )
    assert process.next_action({"ok": 1}) == "1"
    assert failure(process, {"ok": 0}) == "next_action raised KeyError: 'none' (line 4)"
    assert process.next_action({"ok": 1}) == "3"


def test_the_same_policy_acts_the_same_in_every_process(launch: Launch) -> None:
    source = "import random\n" + body(
        "return str((random.random(), hash('a'), sorted({'a', 'b'}, key=hash)))"
    )
    assert launch(source).next_action({}) == launch(source).next_action({})


@pytest.mark.parametrize(
    ("source", "said"),
    [
        ("def next_action(state:\n", "the program is not Python: '(' was never closed (line 1)"),
        ("x = 1\n", "the program defines no function next_action"),
        ("next_action = 3\n", "the program defines no function next_action"),
        ("a = 1\nb = a / 0\n", "the program raised ZeroDivisionError: division by zero (line 2)"),
        ("import numpy\n", "the program raised ModuleNotFoundError: no 'numpy' for a policy"),
        ("import socket\n", "the program raised ModuleNotFoundError: no 'socket' for a policy"),
        ("raise SystemExit(3)\n", "the program raised SystemExit: 3 (line 1)"),
        ("import os\nos._exit(3)\n", "the program ended its process (exit code 3)"),
        ("while True: pass\n", "the program used more than 0.1 s of CPU time (line 1)"),
        ("x = '\0'\n", "the program "),
        ("x = '\ud800'\n", "the program "),
        ("#" * 300_000, "the program has 300000 bytes; at most 200000 are run"),
    ],
)
def test_a_program_that_cannot_start_says_why(launch: Launch, source: str, said: str) -> None:
    with pytest.raises(SandboxError) as caught:
        launch(source, TIGHT)
    assert str(caught.value).startswith(said)


@pytest.mark.parametrize(
    ("lines", "said"),
    [
        (("return state['cars']",), "next_action raised KeyError: 'cars' (line 3)"),
        (("x = 1", "return [][x]"), "next_action raised IndexError: list index out of range"),
        (("return 3",), "next_action returned a value of type int, not text"),
        (("pass",), "next_action returned a value of type NoneType, not text"),
        (("return 'U' * 5000",), "next_action returned more than 4096 bytes"),
        (("sys.exit(3)",), "next_action raised SystemExit: 3 (line 3)"),
        (("return input()",), "next_action raised EOFError: EOF when reading a line (line 3)"),
        (("return next_action(state)",), "next_action raised RecursionError: maximum recursion"),
        (("raise ValueError('a\\nb\\x1b[2J' + 'c' * 9999)",), "next_action raised ValueError: a b"),
    ],
)
def test_a_failing_action_says_what_failed_and_where(
    launch: Launch, lines: tuple[str, ...], said: str
) -> None:
    message = failure(launch(body(*lines)))
    assert message.startswith(said)
    assert message.isprintable()
    assert len(message) < 400


@pytest.mark.parametrize(
    "call",
    [
        "open('/etc/passwd').read()",
        "open('mine.txt', 'w')",
        "os.open('/tmp', os.O_RDONLY)",
        "os.listdir('/')",
        "os.stat('/')",
        "os.getcwd()",
        "os.mkdir('/tmp/mine')",
        "os.fork()",
        "os.execv('/bin/true', ['true'])",
        "os.posix_spawn('/bin/true', ['true'], {})",
        "os.kill(os.getppid(), 9)",
        "os.kill(-1, 9)",
        "os.pipe()",
        "os.dup(0)",
        "os.setuid(0)",
        "os.truncate('/etc/passwd', 0)",
        "os.chmod('/etc/passwd', 0)",
        "os.memfd_create('mine')",
    ],
)
def test_the_kernel_refuses(launch: Launch, call: str) -> None:
    message = failure(launch(body(f"return str({call})")))
    assert message.startswith("next_action raised PermissionError: [Errno 1]"), message


def test_a_fork_bomb_makes_no_process(launch: Launch) -> None:
    process = launch(
        body("try:", "    while True: os.fork()", "except OSError: return str(os.getpid())")
    )
    assert process.next_action({}) == str(process._child and process._child._process.pid)


def test_no_thread_can_be_started(launch: Launch) -> None:
    lines = ("threading = sys.modules['threading']", "threading.Thread(target=print).start()")
    assert "can't start new thread" in failure(launch(body(*lines)))


def test_no_socket_reaches_a_listening_server(launch: Launch) -> None:
    # Through ctypes, since the module socket cannot even be imported.
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        with socket.create_connection(("127.0.0.1", port)):
            server.accept()[0].close()  # it can be reached from here
        process = launch(
            body(
                "libc = sys.modules['ctypes'].CDLL(None, use_errno=True)",
                "made = libc.socket(2, 1, 0)",
                "return f'{made} {sys.modules[\"ctypes\"].get_errno()}'",
            )
        )
        assert process.next_action({"port": port}) == "-1 1"
        assert not select.select([server], [], [], 0)[0]


def test_limits_cannot_be_raised_and_root_is_given_up(launch: Launch) -> None:
    process = launch(
        body(
            "resource = sys.modules['resource']",
            "for limit in (resource.RLIMIT_AS, resource.RLIMIT_NOFILE, resource.RLIMIT_FSIZE):",
            "    try: resource.setrlimit(limit, (1 << 40, 1 << 40))",
            "    except (OSError, ValueError): continue",
            "    return 'raised'",
            "return str(os.getuid())",
        )
    )
    assert process.next_action({}) == str(os.getuid() or 65534)


def test_no_variable_of_ours_is_seen(launch: Launch, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "secret")
    process = launch(
        body(
            "libc = sys.modules['ctypes'].CDLL(None)",
            "libc.getenv.restype = sys.modules['ctypes'].c_char_p",
            "return f'{dict(os.environ)} {libc.getenv(b\"OPENAI_API_KEY\")}'",
        )
    )
    assert process.next_action({}) == "{} None"


def test_the_command_line_tells_nothing_of_ours(launch: Launch) -> None:
    assert launch(body("return str(sys.argv + sys.path)")).next_action({}) == "['policy']"


@pytest.mark.parametrize(
    ("lines", "said"),
    [
        (("while True: pass",), "next_action used more than 0.1 s of CPU time (line 3)"),
        (("sum(range(10 ** 12))",), "next_action gave no answer within 0.5 s"),
        (("sys.modules['time'].sleep(60)",), "next_action gave no answer within 0.5 s"),
        (("os.read(0, 1)",), "next_action gave no answer within 0.5 s"),
        (
            ("while True:", "    try:", "        while True: pass", "    except: pass"),
            "next_action ",
        ),
        (("a = []", "while True: a += [bytes(10 ** 7)]"), "next_action used more memory than it"),
        (("return 'x' * 10 ** 11",), "next_action used more memory than it may (line 3)"),
        (("os._exit(7)",), "next_action ended its process (exit code 7)"),
        (("sys.modules['ctypes'].string_at(0)",), "next_action ended its process (killed by SIG"),
        (("os.write(3, b'x' * 10 ** 6)",), "next_action answered more than"),
        (("os.write(3, b'nonsense\\n')",), "next_action answered something that cannot be read"),
        (("os.write(3, b'[' * 9000 + b'\\n')",), "next_action answered something that cannot"),
    ],
)
def test_a_policy_that_breaks_a_limit_is_started_afresh(
    launch: Launch, lines: tuple[str, ...], said: str
) -> None:
    process = launch(body("if state: return 'U'", *lines).replace("def", "seen = []\ndef"), TIGHT)
    # One line was put in above and one before: lines are counted from there.
    shifted = said.replace("line 3", "line 5")
    assert failure(process).startswith(shifted)
    assert process.next_action({"fine": 1}) == "U"


def test_a_restarted_policy_has_forgotten(launch: Launch) -> None:
    process = launch(
        "import os\nseen = []\ndef next_action(state):\n    seen.append(1)\n"
        "    return str(len(seen)) if state else os._exit(0)\n"
    )
    assert [process.next_action({"a": 1}) for _ in range(2)] == ["1", "2"]
    failure(process)
    assert process.next_action({"a": 1}) == "1"


def test_prints_neither_reach_us_nor_stand_in_for_an_answer(
    launch: Launch, capfd: pytest.CaptureFixture[str]
) -> None:
    process = launch(
        body(
            'print(\'{"action": "D"}\' * 1000)',
            "sys.stderr.write('noise')",
            "sys.__stdout__.write('noise')",
            "os.write(1, b'noise')",
            "os.write(2, b'noise')",
            "for _ in range(20_000): print('x' * 100)",
            "return 'U'",
        )
    )
    assert process.next_action({}) == "U"
    assert capfd.readouterr() == ("", "")


def test_an_answer_given_ahead_is_not_taken_for_the_next_one(launch: Launch) -> None:
    process = launch(body('os.write(3, b\'{"number": 2, "action": "D"}\\n\')', "return 'U'"))
    for _ in range(2):
        assert failure(process) == "next_action answered something that cannot be read"


def test_ten_thousand_actions_go_through_one_process(launch: Launch) -> None:
    process = launch(body("return str(state['turn'])"))
    pid = process._child and process._child._process.pid
    for turn in range(10_000):
        assert process.next_action({"turn": turn}) == str(turn)
    assert process._child is not None
    assert process._child._process.pid == pid


def test_a_state_larger_than_a_pipe_goes_through(launch: Launch) -> None:
    process = launch(body("return str(len(state['long']))"))
    assert process.next_action({"long": "x" * 2_000_000}) == "2000000"


def test_a_process_killed_from_outside_is_an_error_and_then_started_again(launch: Launch) -> None:
    process = launch(body("return 'U'"))
    assert process._child is not None
    os.kill(process._child._process.pid, signal.SIGKILL)
    assert failure(process) == "next_action ended its process (killed by SIGKILL)"
    assert process.next_action({}) == "U"


def test_closing_twice_is_harmless_and_final(launch: Launch) -> None:
    process = launch(body("return 'U'"))
    process.close()
    process.close()
    assert failure(process) == "the program was closed"


def test_closing_ends_an_action_that_another_thread_waits_for(launch: Launch) -> None:
    process = launch(body("while True: pass"), Limits(cpu_s=60, wall_s=60))
    child = process._child
    assert child is not None
    said: list[str] = []
    waiting = threading.Event()
    hear = child.hear

    def tell_and_hear(span_s: float, deadline: int | None = None) -> bytes:
        waiting.set()
        return hear(span_s, deadline)

    child.hear = tell_and_hear  # type: ignore[method-assign]
    asker = threading.Thread(target=lambda: said.append(failure(process)))
    asker.start()
    assert waiting.wait(30)
    process.close()
    asker.join(30)
    assert said == ["next_action ended its process (killed by SIGKILL)"]


def test_nothing_is_left_behind(launch: Launch) -> None:
    fds = set(os.listdir("/proc/self/fd"))
    pids = []
    for source in (body("return 'U'"), body("os._exit(0)"), body("return open('x')")):
        process = launch(source)
        assert process._child is not None
        pids.append(process._child._process.pid)
        if source != body("return 'U'"):
            failure(process)
        process.close()
    with pytest.raises(SandboxError):
        launch("not Python")
    assert set(os.listdir("/proc/self/fd")) == fds
    assert not any(Path(f"/proc/{pid}").exists() for pid in pids)


def test_a_policy_nobody_closed_ends_with_its_last_reference() -> None:
    process = PolicyProcess(body("return 'U'"))
    assert process._child is not None
    pid = process._child._process.pid
    del process
    assert not Path(f"/proc/{pid}").exists()


def test_a_process_ends_when_the_one_that_started_it_is_killed() -> None:
    code = (
        "import os, signal\nfrom timeful.sandbox.policy import PolicyProcess\n"
        "p = PolicyProcess('def next_action(state): return str()')\n"
        "print(p._child._process.pid, flush=True)\nos.kill(os.getpid(), signal.SIGKILL)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, check=False)
    pid = int(done.stdout)
    try:
        fd = os.pidfd_open(pid)
    except ProcessLookupError:
        return  # gone already
    with os.fdopen(fd) as handle:
        assert select.select([handle], [], [], 30)[0]


@pytest.mark.parametrize("name", ["cpu_s", "wall_s", "memory_bytes", "output_bytes", "code_bytes"])
def test_a_limit_that_is_none_is_refused(name: str) -> None:
    for value in (0, -1, float("nan"), float("inf")):
        with pytest.raises(SettingsError, match=name):
            Limits(**{name: value})


def test_elsewhere_nothing_is_run(launch: Launch, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(policy.platform, "machine", lambda: "PDP-11")
    with pytest.raises(SandboxError, match=r"on Linux .* only.*PDP-11"):
        launch(body("return 'U'"))


def test_the_system_calls_named_for_each_machine_are_as_many() -> None:
    from timeful.sandbox.policy_child import MACHINES

    counts = {machine: len(set(numbers.split())) for machine, (_, numbers) in MACHINES.items()}
    assert set(counts) == set(policy.MACHINES)
    assert len(set(counts.values())) == 1


def test_our_own_limits_are_untouched(launch: Launch) -> None:
    before = [resource.getrlimit(kind) for kind in (resource.RLIMIT_AS, resource.RLIMIT_NOFILE)]
    launch(body("return 'U'")).next_action({})
    after = [resource.getrlimit(kind) for kind in (resource.RLIMIT_AS, resource.RLIMIT_NOFILE)]
    assert before == after


# A policy that ignores the end of its CPU time, and a program that asks it and waits.
STUBBORN = """
import os
from timeful.sandbox.policy import PolicyProcess
policy = PolicyProcess(
    "import contextlib\\n"
    "signal = contextlib.sys.modules['signal']\\n"
    "signal.signal(signal.SIGPROF, signal.SIG_IGN)\\n"
    "def next_action(state):\\n"
    "    while True: pass"
)
os.write(policy._child._requests, b"{}\\n")
print(policy._child._process.pid, flush=True)
os.read(0, 1)
"""
COUNTER = """
count = 0
def next_action(state):
    global count
    count += 1
    return str(count)
"""


def test_a_policy_ends_with_a_process_that_is_killed() -> None:
    command = [sys.executable, "-c", STUBBORN]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as parent:
        assert parent.stdout is not None
        policy_ended = os.pidfd_open(int(parent.stdout.readline()))
        parent.kill()
    try:
        assert select.select([policy_ended], [], [], 10)[0]
    finally:
        signal.pidfd_send_signal(policy_ended, signal.SIGKILL)
        os.close(policy_ended)


def test_a_policy_outlives_the_thread_that_started_it(launch: Launch) -> None:
    started: list[PolicyProcess] = []
    thread = threading.Thread(target=lambda: started.append(launch(COUNTER)))
    thread.start()
    thread.join()
    assert [started[0].next_action({}) for _ in range(3)] == ["1", "2", "3"]
