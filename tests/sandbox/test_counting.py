"""Memory and disk that a run holds where neither a folder nor resident memory shows it."""

import os

import pytest

from tests.sandbox.backends import WITH_UNSAFE, backend_or_skip
from timeful.sandbox import usage_monitor
from timeful.sandbox.workspace import Backend, RunResult, WorkLimits, Workspace

MIB = 1 << 20
WAIT = "\nimport signal\nsignal.pause()"
ROOMY = WorkLimits(wall_s=30, memory_bytes=2 << 30)
as_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root can look up such a size")


@pytest.fixture(params=[name for name in WITH_UNSAFE if name != "landlock-3"])
def limited(request: pytest.FixtureRequest) -> Backend:
    return backend_or_skip(request.param)


def run(backend: Backend, code: str, limits: WorkLimits = ROOMY) -> RunResult:
    with Workspace(files={}, outputs=[], limits=limits, backend=backend) as workspace:
        return workspace.run(code)


# Files of 20 MiB that no file descriptor holds: a map of their first page, or of all, does.
MAPPED = """
import ctypes, os
libc = ctypes.CDLL(None)
libc.mmap.restype = ctypes.c_void_p
libc.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, *[ctypes.c_int] * 3, ctypes.c_long]
for _ in range({count}):
    file = os.open("a", os.O_RDWR | os.O_CREAT)
    for _ in range(20):
        os.write(file, bytes(1 << 20))
    libc.mmap(None, {length}, 1, {flags}, file, 0)
    os.close(file)
    os.unlink("a")
"""
SHARED, PRIVATE = 1, 2


@pytest.mark.parametrize("flags", [SHARED, PRIVATE])
@pytest.mark.parametrize("length", [4096, 20 * MIB])
def test_unlinked_files_that_are_only_mapped_count_as_disk(
    limited: Backend, flags: int, length: int
) -> None:
    tight = WorkLimits(wall_s=10, file_bytes=20 * MIB, disk_bytes=90 * MIB)
    code = MAPPED.format(count=5, length=length, flags=flags)
    assert run(limited, code + WAIT, tight).error == "over its disk of 90 MiB"
    assert run(limited, MAPPED.format(count=4, length=length, flags=flags), tight).error == ""


TABLES = """
import mmap
flags = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | 0x4000  # MAP_NORESERVE
space = mmap.mmap(-1, 100 << 30, flags=flags, prot=mmap.PROT_READ)
space.madvise(mmap.MADV_NOHUGEPAGE)
for at in range(0, len(space), 2 << 20):
    space[at]
"""


def test_page_tables_count_as_memory(limited: Backend) -> None:
    tight = WorkLimits(wall_s=10, memory_bytes=100 * MIB)
    assert run(limited, TABLES + WAIT, tight).error == "over its memory of 100 MiB"
    assert run(limited, TABLES).error == ""


LEFT = """
import mmap, ctypes
libc = ctypes.CDLL(None)
libc.munmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t]
held = []
for _ in range(5):
    shared = mmap.mmap(-1, 40 << 20)
    shared.write(bytes(40 << 20))
    first = ctypes.addressof(ctypes.c_char.from_buffer(shared))
    libc.munmap(first + 4096, (40 << 20) - 4096)
    held.append(shared)
"""


@as_root
def test_shared_memory_counts_whole_when_its_first_page_is_mapped(limited: Backend) -> None:
    tight = WorkLimits(wall_s=10, memory_bytes=100 * MIB)
    assert run(limited, LEFT + WAIT, tight).error == "over its memory of 100 MiB"


# Processes that cannot be looked into; each hands its files on before it attracts attention.
CHAIN = """
import ctypes, os, time
ready, done = os.pipe()
if os.fork() == 0:
    ctypes.CDLL(None).prctl(4, 0, 0, 0, 0)
    for _ in range(10):
        time.sleep(0.3)
        if os.fork():
            os._exit(0)
    os.write(done, b".")
os.close(done)
os.read(ready, 1)
"""


def test_a_chain_of_processes_that_hide_their_files_is_ended(limited: Backend) -> None:
    ran = run(limited, CHAIN)
    assert ran.error == ("" if os.geteuid() == 0 else "over its disk of 1024 MiB")


def test_a_sudden_loss_of_free_space_is_looked_at_early(
    limited: Backend, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(usage_monitor, "DISK_MS", 60_000)  # as after a look at very many files
    tight = WorkLimits(wall_s=10, disk_bytes=100 * MIB)
    code = "for i in range(15):\n    open(str(i), 'wb').write(bytes(20 << 20))"
    assert run(limited, code + WAIT, tight).error == "over its disk of 100 MiB"
