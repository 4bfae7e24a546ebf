"""Which system calls a program in a sandbox cannot make, as a seccomp filter.

The first wall is made of namespaces or of Landlock. This is the second one: calls that no
program needs for computing and that have let others out before, and those that reach past the
first wall, since it does not know of them.
"""

import platform
import struct
from collections.abc import Iterator
from typing import Literal

from timeful.errors import SandboxError

AUDIT = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}
YOUNGEST = 462  # the last call that was looked at; a younger one might do anything
EPERM, ENOSYS, EOPNOTSUPP, NOTHING = 1, 38, 95, 0

# fmt: off
# Numbers from the kernel's tables: x86_64, aarch64; -1 where a machine has no such call.
CALLS = {
    "ptrace": (101, 117), "process_vm_readv": (310, 270), "process_vm_writev": (311, 271),
    "pidfd_getfd": (438, 438), "kcmp": (312, 272), "process_madvise": (440, 440),
    "mount": (165, 40), "umount2": (166, 39), "pivot_root": (155, 41), "chroot": (161, 51),
    "move_mount": (429, 429), "open_tree": (428, 428), "fsopen": (430, 430),
    "fsconfig": (431, 431), "fsmount": (432, 432), "fspick": (433, 433),
    "mount_setattr": (442, 442), "unshare": (272, 97), "setns": (308, 268),
    "bpf": (321, 280), "perf_event_open": (298, 241), "userfaultfd": (323, 282),
    "io_uring_setup": (425, 425), "io_uring_enter": (426, 426), "io_uring_register": (427, 427),
    "add_key": (248, 217), "request_key": (249, 218), "keyctl": (250, 219),
    "kexec_load": (246, 104), "kexec_file_load": (320, 294), "init_module": (175, 105),
    "finit_module": (313, 273), "delete_module": (176, 106), "reboot": (169, 142),
    "swapon": (167, 224), "swapoff": (168, 225), "acct": (163, 89), "quotactl": (179, 60),
    "quotactl_fd": (443, 443), "settimeofday": (164, 170), "clock_settime": (227, 112),
    "clock_adjtime": (305, 266), "adjtimex": (159, 171), "name_to_handle_at": (303, 264),
    "open_by_handle_at": (304, 265), "syslog": (103, 116), "personality": (135, 92),
    "iopl": (172, -1), "ioperm": (173, -1), "modify_ldt": (154, -1),
    "sethostname": (170, 161), "setdomainname": (171, 162), "vhangup": (153, 58),
    # Memory that no process shows as its own.
    "shmget": (29, 194), "semget": (64, 190), "msgget": (68, 186), "mq_open": (240, 180),
    "memfd_create": (319, 279), "memfd_secret": (447, 447),
    "fallocate": (285, 47),
    "clone": (56, 220), "clone3": (435, 435), "socket": (41, 198), "socketpair": (53, 199),
    "connect": (42, 203), "bind": (49, 200), "inotify_add_watch": (254, 27),
    "fanotify_init": (300, 262), "setpriority": (141, 140), "ioprio_set": (251, 30),
    "sched_setaffinity": (203, 122), "sched_setscheduler": (144, 119),
    "sched_setparam": (142, 118), "sched_setattr": (314, 274), "migrate_pages": (256, 238),
    "move_pages": (279, 239), "prlimit64": (302, 261),
    "chmod": (90, -1), "fchmod": (91, 52), "fchmodat": (268, 53), "fchmodat2": (452, 452),
    "chown": (92, -1), "fchown": (93, 55), "lchown": (94, -1), "fchownat": (260, 54),
    "utime": (132, -1), "utimes": (235, -1), "futimesat": (261, -1), "utimensat": (280, 88),
    "setxattr": (188, 5), "lsetxattr": (189, 6), "fsetxattr": (190, 7),
    "removexattr": (197, 14), "lremovexattr": (198, 15), "fremovexattr": (199, 16),
    "kill": (62, 129), "tkill": (200, 130), "tgkill": (234, 131),
    "rt_sigqueueinfo": (129, 138), "rt_tgsigqueueinfo": (297, 240),
    "pidfd_send_signal": (424, 424), "fcntl": (72, 25), "ioctl": (16, 29),
}
# fmt: on


def _between(first: str, last: str) -> tuple[str, ...]:
    names = list(CALLS)
    return tuple(names[names.index(first) : names.index(last) + 1])


ALWAYS = _between("ptrace", "memfd_secret")
PRETEND = _between("chmod", "fremovexattr")
SIGNALS = _between("kill", "pidfd_send_signal")
FOR_OTHERS = (
    *("connect", "bind", "inotify_add_watch", "fanotify_init", "setpriority", "ioprio_set"),
    *("sched_setaffinity", "sched_setscheduler", "sched_setparam", "sched_setattr"),
    *("migrate_pages", "move_pages"),
)

NEW_NAMESPACES = 0x7E02_0000
Test = Literal["has", "is", "is not"]
When = tuple[int, Test, int]
"""An argument's index, and what is asked of its lower 32 bits."""
Rule = tuple[str, When | None, int]
"""A call, when it is refused (None: always), and the error number it gets."""


def seccomp(*, namespaces: bool, signals: bool, machine: str | None = None) -> bytes:
    """The filter, as the kernel reads it.

    Args:
        namespaces: Whether other processes, sockets and files are out of sight anyway. If not,
            calls are refused that work on those of the same user in spite of Landlock: all
            sockets but pairs, priorities and limits of other processes. Changes of modes, owners
            and times do nothing and say they worked, since programs that copy files make them.
        signals: Whether something else keeps signals inside; if not, none can be sent.
        machine: x86_64 or aarch64; None for this one.

    Raises:
        SandboxError: If there is no table for this machine.
    """
    machine = machine or platform.machine()
    if machine not in AUDIT:
        raise SandboxError(f"there is no list of system calls for {machine}")
    column = list(AUDIT).index(machine)
    load, answer, equal, above = 0x20, 0x06, 0x15, 0x25
    lines: list[tuple[int, int, int, int]] = [
        (load, 0, 0, 4),  # the architecture
        (equal, 1, 0, AUDIT[machine]),
        (answer, 0, 0, 0x80000000),  # another one: kill
        (load, 0, 0, 0),  # the number
        (above, 0, 1, YOUNGEST),
        (answer, 0, 0, 0x00050000 | ENOSYS),
    ]
    for name, when, error in _rules(namespaces=namespaces, signals=signals):
        if (number := CALLS[name][column]) >= 0:
            lines += _refuse(number, when, error)
    lines.append((answer, 0, 0, 0x7FFF0000))
    return b"".join(struct.pack("HBBI", *line) for line in lines)


def _rules(*, namespaces: bool, signals: bool) -> Iterator[Rule]:
    for name in ALWAYS:
        yield name, None, EPERM
    yield "clone", (0, "has", NEW_NAMESPACES), EPERM
    yield "clone3", None, ENOSYS  # its flags cannot be seen; the C library then takes clone
    # It takes gigabytes of disk at once, between two looks; the C library then writes zeros.
    yield "fallocate", None, EOPNOTSUPP
    # F_SETLEASE: others would wait to open the file, even one that can only be read.
    yield "fcntl", (1, "is", 1024), EPERM
    # vsock is in no namespace, and a server of one's own can be a unix socket.
    yield "socket", (0, "is not", 1) if namespaces else None, EPERM
    if not namespaces:
        # Streams in pairs only: a datagram can be sent to any path from a pair, too.
        yield "socketpair", (0, "is not", 1), EPERM
        yield "socketpair", (1, "has", 0xE), EPERM
        yield "prlimit64", (0, "is not", 0), EPERM
        for name in FOR_OTHERS:
            yield name, None, EPERM
        for name in PRETEND:
            yield name, None, NOTHING
    if not signals:
        for name in SIGNALS:
            yield name, None, EPERM
        for command in (8, 15):  # F_SETOWN, F_SETOWN_EX: let the kernel send one
            yield "fcntl", (1, "is", command), EPERM
        for command in (0x8901, 0x8902):  # FIOSETOWN, SIOCSPGRP
            yield "ioctl", (1, "is", command), EPERM


def _refuse(number: int, when: When | None, error: int) -> list[tuple[int, int, int, int]]:
    load, answer, equal, bits = 0x20, 0x06, 0x15, 0x45
    refuse = (answer, 0, 0, 0x00050000 | error)
    if when is None:
        return [(equal, 0, 1, number), refuse]
    index, test, value = when
    code, yes, no = {"has": (bits, 0, 1), "is": (equal, 0, 1), "is not": (equal, 1, 0)}[test]
    return [
        (equal, 0, 4, number),
        (load, 0, 0, 16 + 8 * index),
        (code, yes, no, value),
        refuse,
        (load, 0, 0, 0),
    ]
