"""The filter of system calls, run by a small interpreter, for machines that we are not on."""

import struct

import pytest

from timeful.errors import SandboxError
from timeful.sandbox.seccomp import ALWAYS, AUDIT, CALLS, PRETEND, SIGNALS, YOUNGEST, seccomp

ALLOW, KILL, NOTHING = 0x7FFF0000, 0x80000000, 0x50000
EPERM, ENOSYS, EOPNOTSUPP = 0x50001, 0x50026, 0x5005F
READ = {"x86_64": 0, "aarch64": 63}


def decide(program: bytes, machine: str, number: int, *arguments: int, audit: int = 0) -> int:
    """What the kernel does with a system call: load, compare, jump, answer."""
    padded = (*arguments, *[0] * 6)[:6]
    data = struct.pack("<iIQ6Q", number, audit or AUDIT[machine], 0, *padded)
    lines = list(struct.iter_unpack("HBBI", program))
    at = value = 0
    while True:
        code, yes, no, operand = lines[at]
        if code == 0x06:
            return int(operand)
        if code == 0x20:
            value = struct.unpack_from("<I", data, operand)[0]
        else:
            holds = {0x15: value == operand, 0x25: value > operand, 0x45: bool(value & operand)}
            at += yes if holds[code] else no
        at += 1


def ask(machine: str, name: str, *arguments: int, namespaces: bool, signals: bool = True) -> int:
    number = CALLS[name][list(AUDIT).index(machine)]
    program = seccomp(namespaces=namespaces, signals=signals, machine=machine)
    return ALLOW if number < 0 else decide(program, machine, number, *arguments)


machines = pytest.mark.parametrize("machine", AUDIT)
kinds = pytest.mark.parametrize("namespaces", [True, False])


@machines
@kinds
def test_what_computing_needs_is_allowed_and_the_rest_of_the_world_is_not(
    machine: str, namespaces: bool
) -> None:
    program = seccomp(namespaces=namespaces, signals=False, machine=machine)
    assert decide(program, machine, READ[machine]) == ALLOW
    assert decide(program, machine, READ[machine], audit=0x40000003) == KILL
    for unknown in (YOUNGEST + 1, 0x40000000 + READ[machine], 2**31 - 1):
        assert decide(program, machine, unknown) == ENOSYS
    for name in ALWAYS:
        has_it = CALLS[name][list(AUDIT).index(machine)] >= 0
        assert ask(machine, name, namespaces=namespaces) == (EPERM if has_it else ALLOW)


@machines
@kinds
def test_processes_are_allowed_and_namespaces_are_not(machine: str, namespaces: bool) -> None:
    for flags, answer in ((17, ALLOW), (0x003D0F00, ALLOW), (0x10000011, EPERM)):
        assert ask(machine, "clone", flags, namespaces=namespaces) == answer
    assert ask(machine, "clone3", namespaces=namespaces) == ENOSYS


@machines
@kinds
def test_disk_is_not_given_at_once(machine: str, namespaces: bool) -> None:
    assert ask(machine, "fallocate", namespaces=namespaces) == EOPNOTSUPP


@machines
@kinds
def test_nobody_is_made_to_wait_for_a_file(machine: str, namespaces: bool) -> None:
    assert ask(machine, "fcntl", 3, 1024, namespaces=namespaces) == EPERM
    assert ask(machine, "fcntl", 3, 4, namespaces=namespaces) == ALLOW


@machines
def test_sockets_by_family(machine: str) -> None:
    for family in (1, 2, 10, 16, 17, 40):
        inside = ask(machine, "socket", family, namespaces=True)
        assert inside == (ALLOW if family == 1 else EPERM)
        assert ask(machine, "socket", family, namespaces=False) == EPERM
    for kind, answer in ((1, ALLOW), (1 | 0x80800, ALLOW), (2, EPERM), (5, EPERM)):
        assert ask(machine, "socketpair", 1, kind, namespaces=False) == answer


@machines
def test_without_namespaces_others_are_left_alone(machine: str) -> None:
    assert ask(machine, "prlimit64", 0, 7, namespaces=False) == ALLOW
    assert ask(machine, "prlimit64", 4321, 7, namespaces=False) == EPERM
    assert ask(machine, "prlimit64", 4321, 7, namespaces=True) == ALLOW
    for name in PRETEND:
        assert ask(machine, name, namespaces=False) in (NOTHING, ALLOW)
        assert ask(machine, name, namespaces=True) == ALLOW
    assert ask(machine, "fchmodat", namespaces=False) == NOTHING
    for name in SIGNALS:
        assert ask(machine, name, namespaces=False, signals=False) == EPERM
        assert ask(machine, name, namespaces=False, signals=True) == ALLOW
    for command, answer in ((3, ALLOW), (8, EPERM), (15, EPERM)):
        assert ask(machine, "fcntl", 0, command, namespaces=False, signals=False) == answer


def test_a_machine_without_a_table_is_named() -> None:
    with pytest.raises(SandboxError, match="no list of system calls for riscv64"):
        seccomp(namespaces=True, signals=True, machine="riscv64")
