"""Custom rewards: a function in a file, by the name FILE.py:FUNCTION.

    def quick(events, *, price=0.1):
        outcome = read_outcome(events)
        return outcome.correct - price * outcome.counted / 1e9

The function gets the record of a finished episode and its parameters by name. It returns a number,
or None for no reward. A parameter `progress` receives the progress of training, from 0 to 1.
"""

import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from inspect import Parameter, Signature, iscoroutinefunction, isgeneratorfunction, signature
from math import isfinite, nan
from numbers import Real
from pathlib import Path
from traceback import extract_tb
from types import ModuleType

from timeful.errors import RewardError, SettingsError, unknown
from timeful.records.events import Entry

PROGRESS = "progress"


def is_custom(name: str) -> bool:
    """Whether a name refers to a function in a file."""
    return ":" in name or name.endswith(".py")


def split(name: str) -> tuple[str, str]:
    """Split a name into file and function; either may be empty."""
    file, colon, function = name.rpartition(":")
    return (file, function) if colon else (function, "")


@dataclass(frozen=True, slots=True, kw_only=True)
class CustomReward:
    """A reward function of a file; its name is FILE.py:FUNCTION."""

    name: str
    function: Callable[..., object]
    signature: Signature

    @property
    def needs_progress(self) -> bool:
        """Whether the function takes the progress of training."""
        return PROGRESS in self.signature.parameters

    @property
    def defaults(self) -> dict[str, object]:
        """The default values of its parameters."""
        parameters = self.signature.parameters.values()
        return {
            p.name: p.default
            for p in parameters
            if p.default is not Parameter.empty and p.name != PROGRESS
        }

    def check(self, parameters: Mapping[str, object]) -> None:
        """Refuse parameters that the function does not take.

        Raises:
            SettingsError: If a parameter is unknown or missing.
        """
        if PROGRESS in parameters:
            raise SettingsError(f"{self.name}: {PROGRESS} comes from the training, do not set it")
        _, *names = self.signature.parameters
        try:
            self.signature.bind((), **parameters, **self._progress(0.0))
        except TypeError as error:
            wrong = next((name for name in parameters if name not in names), "")
            hint = unknown("parameter", wrong, names) if wrong else "set it or give it a default"
            raise SettingsError(
                f"{self.name}{self.signature}: {error} in [reward.parameters] or --set; {hint}"
            ) from None

    def of(
        self, events: Sequence[Entry], parameters: Mapping[str, object], progress: float | None
    ) -> float | None:
        """Compute the reward of a record.

        Raises:
            RewardError: If the function fails or returns neither a finite number nor None.
        """
        try:
            reward = self.function(events, **parameters, **self._progress(progress))
            number = float(reward) if isinstance(reward, Real) else nan
        except Exception as error:
            line = _line(error, Path(split(self.name)[0]))
            raise RewardError(f"{self.name}{line}: {_describe(error)}") from error
        if reward is None:
            return None
        if not isfinite(number):
            raise RewardError(f"{self.name} must return a finite number or None, got {reward!r}")
        return number

    def _progress(self, progress: float | None) -> dict[str, float | None]:
        return {PROGRESS: progress} if self.needs_progress else {}


def load_custom(name: str) -> CustomReward:
    """Run the file of a reward and find its function.

    Raises:
        SettingsError: If the file or the function is unknown, the file fails, or the function
            does not take a record.
    """
    file, function_name = split(name)
    if not (file.endswith(".py") and function_name):
        raise SettingsError(f"a custom reward is FILE.py:FUNCTION, got {name!r}")
    path = Path(file)
    try:
        namespace = vars(_run(path, path.read_bytes()))
    except OSError as error:
        raise SettingsError(f"cannot read the reward's file {path}: {error.strerror}") from None
    if function_name not in namespace:
        names = [key for key in namespace if getattr(namespace[key], "__module__", "") == file]
        raise SettingsError(unknown(f"function of {file}", function_name, names))
    return check_function(name, namespace[function_name])


def check_function(name: str, function: object) -> CustomReward:
    """Make a reward of a function.

    Raises:
        SettingsError: If it is not a function that takes a record.
    """
    if not callable(function) or isinstance(function, type):
        raise SettingsError(f"{name} is not a function, but {function!r}")
    if iscoroutinefunction(function) or isgeneratorfunction(function):
        raise SettingsError(f"{name} is a coroutine or a generator; it must return a number")
    takes = signature(function)
    kinds = [parameter.kind for parameter in takes.parameters.values()]
    if kinds[:1] not in ([Parameter.POSITIONAL_ONLY], [Parameter.POSITIONAL_OR_KEYWORD]) or (
        Parameter.POSITIONAL_ONLY in kinds[1:]
    ):
        raise SettingsError(
            f"{name} must take the events of a record, and its parameters by name, as in "
            f"def reward(events, *, price=0.1); it takes {takes}"
        )
    return CustomReward(name=name, function=function, signature=takes)


@lru_cache(maxsize=8)
def _run(path: Path, source: bytes) -> ModuleType:
    """Run a file once; an import could find bytecode of an earlier version."""
    module = ModuleType(str(path))
    module.__file__ = str(path)
    sys.modules[module.__name__] = module  # dataclasses look up their module
    try:
        exec(compile(source, str(path), "exec"), module.__dict__)
    except SyntaxError as error:
        raise SettingsError(f"{error.filename}, line {error.lineno}: {error.msg}") from None
    except Exception as error:
        raise SettingsError(f"{path} failed{_line(error, path)}: {_describe(error)}") from error
    return module


def _line(error: Exception, path: Path) -> str:
    """The line of the file at which an error occurred; "" if it occurred before."""
    frames = extract_tb(error.__traceback__)
    lines = [frame.lineno for frame in frames if frame.filename == str(path)]
    return f", line {lines[-1]}" if lines else ""


def _describe(error: Exception) -> str:
    return f"{type(error).__name__}: {error}".removesuffix(": ")
