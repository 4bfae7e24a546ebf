"""One definition, two speeds: a module of plain functions, and the same module compiled.

Dynamics and learners that run for millions of ticks are written as plain functions of numbers,
arrays and a generator. A world steps through them in Python, at once; a training loop takes the
same functions compiled by numba, an extra. Both come from one source and draw the same numbers.
"""

import sys
import warnings
from collections.abc import Callable, Iterator
from functools import cache
from hashlib import sha256
from importlib.util import module_from_spec
from pathlib import Path
from threading import Lock
from types import FunctionType, ModuleType
from typing import Any

from timeful.errors import SlowPathWarning

_LOCK = Lock()  # numba is told where to keep code by a setting that threads share


def compiled(module: ModuleType) -> ModuleType:
    """A copy of a module whose functions are compiled by numba, each on its first call.

    Functions that it imports from other modules of timeful are compiled as well. The machine
    code is kept beside the source for the next process, and runs side by side in threads.

    Args:
        module: A module of functions that numba can compile.

    Returns:
        The copy; without numba the module itself, after a `SlowPathWarning` that says what to
        install.
    """
    slow = why_slow()
    if slow is not None:
        warnings.warn(f"{module.__name__}: {slow}", SlowPathWarning, stacklevel=2)
        return module
    with _LOCK:
        return _copy(module)


@cache
def _copy(module: ModuleType) -> ModuleType:
    import numba  # noqa: PLC0415 - an extra, and slow to load

    assert module.__spec__ is not None
    assert module.__spec__.loader is not None
    copy = module_from_spec(module.__spec__)
    module.__spec__.loader.exec_module(copy)
    for name, value in list(vars(copy).items()):
        if isinstance(value, FunctionType) and value.__module__ == module.__name__:
            setattr(copy, name, _compile(numba, value, _folder(module)))
        elif isinstance(value, FunctionType) and value.__module__.startswith("timeful."):
            setattr(copy, name, getattr(_copy(sys.modules[value.__module__]), name))
    return copy


def why_slow() -> str | None:
    """Why nothing can be compiled here, and what to do about it; None where it can."""
    try:
        import numba  # noqa: F401, PLC0415 - as above
    except ImportError:
        return (
            "the loops run uncompiled, about 40 times slower; "
            "for speed: pip install 'timeful[numba]'"
        )
    return None


def _compile(numba: Any, function: Callable[..., object], folder: Path) -> object:
    """Compile with a cache in a folder; without one, where none can be made."""
    before, numba.config.CACHE_DIR = numba.config.CACHE_DIR, str(folder)
    try:
        return numba.njit(cache=True, nogil=True)(function)
    except RuntimeError:  # no place to write to
        return numba.njit(nogil=True)(function)
    finally:
        numba.config.CACHE_DIR = before


def _folder(module: ModuleType) -> Path:
    """A folder for these very sources: numba itself looks at one file and not at what it uses."""
    files = sorted({str(used.__file__) for used in _uses(module)})
    digest = sha256(b"".join(Path(file).read_bytes() for file in files)).hexdigest()[:16]
    return Path(str(module.__file__)).parent / "__pycache__" / f"numba-{digest}"


def _uses(module: ModuleType) -> Iterator[ModuleType]:
    """The module, and all of timeful that it takes functions or types from."""
    yield module
    for value in vars(module).values():
        # Machine code reads the fields of a type by their places.
        name = value.__module__ if isinstance(value, FunctionType | type) else module.__name__
        if name != module.__name__ and name.startswith("timeful."):
            yield from _uses(sys.modules[name])
