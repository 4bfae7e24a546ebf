"""Rewards of one's own: a function in a file, by the name FILE.py:FUNCTION.

    def quick(events, *, price=0.1):
        outcome = read_outcome(events)
        return outcome.correct - price * outcome.counted / 1e9

It is given the record of an episode that came to its end, and its parameters by their names. It
gives a number, or None for no reward. One that names `progress` is told how far training is, from
0 to 1.
"""

import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from inspect import Parameter, iscoroutinefunction, isgeneratorfunction, signature
from math import isfinite, nan
from numbers import Real
from pathlib import Path
from traceback import extract_tb
from types import ModuleType

from timeful.errors import RewardError, SettingsError, unknown
from timeful.records.events import Event

PROGRESS = "progress"


def is_custom(name: str) -> bool:
    """Whether a name is that of a function in a file, and not of a reward in the package."""
    return ":" in name or name.endswith(".py")


def split(name: str) -> tuple[str, str]:
    """The file and the function that a name is made of; either may be empty."""
    file, colon, function = name.rpartition(":")
    return (file, function) if colon else (function, "")


@dataclass(frozen=True, slots=True, kw_only=True)
class CustomReward:
    """A reward in a file, checked once it exists.

    Attributes:
        name: FILE.py:FUNCTION.
        function: It.
        defaults: The values of its parameters that need not be given.
        required: The parameters that must be given.
        takes_any: Whether it takes parameters of any name.
        needs_progress: Whether it is to be told how far training is.
    """

    name: str
    function: Callable[..., object]
    defaults: Mapping[str, object]
    required: frozenset[str]
    takes_any: bool
    needs_progress: bool

    def check(self, parameters: Mapping[str, object]) -> None:
        """Find out whether it takes these parameters, and no other must be given.

        Raises:
            SettingsError: If not.
        """
        known = {*self.required, *self.defaults}
        for name in parameters:
            if name == PROGRESS and self.needs_progress:
                raise SettingsError(f"{self.name} is told its progress; it is no parameter to set")
            if name not in known and not self.takes_any:
                if not known:
                    raise SettingsError(f"the reward {self.name} has no parameters, got {name!r}")
                raise SettingsError(unknown(f"parameter of {self.name}", name, known))
        if lacking := sorted(self.required - parameters.keys()):
            raise SettingsError(
                f"{self.name} must be given {', '.join(lacking)}: in [reward.parameters] of a "
                f"training, or here with --set {lacking[0]}=VALUE; or give it a default"
            )

    def of(
        self, events: Sequence[Event], parameters: Mapping[str, object], progress: float | None
    ) -> float | None:
        """The reward of a record.

        Raises:
            RewardError: If the function breaks, or gives neither a finite number nor None.
        """
        told = {PROGRESS: progress} if self.needs_progress else {}
        try:
            found = self.function(events, **parameters, **told)
            number = float(found) if isinstance(found, Real) else nan
        except Exception as error:
            line = _line(error, Path(split(self.name)[0]))
            raise RewardError(f"{self.name}{line}: {_said(error)}") from error
        if found is None:
            return None
        if not isfinite(number):
            raise RewardError(f"{self.name} must give a finite number, or None; it gave {found!r}")
        return number


def load_custom(name: str) -> CustomReward:
    """Read the file of a reward, and find its function; the file is run for that.

    Raises:
        SettingsError: If there is no such file or function, the file cannot be run, or the
            function does not take a record.
    """
    file, function = split(name)
    if not (file.endswith(".py") and function):
        raise SettingsError(f"a reward of your own is FILE.py:FUNCTION, got {name!r}")
    path = Path(file)
    there = vars(_module(path))
    if function not in there:
        mine = [key for key, one in there.items() if getattr(one, "__module__", "") == str(path)]
        raise SettingsError(unknown(f"function of {file}", function, mine))
    return _checked(name, there[function])


def _module(path: Path) -> ModuleType:
    """Run a file, once as it stands; to import it could find what was compiled of it before."""
    try:
        source = path.read_bytes()
    except OSError as error:
        raise SettingsError(f"the reward's file {path} cannot be read: {error.strerror}") from None
    return _run(path, source)


@lru_cache(maxsize=8)
def _run(path: Path, source: bytes) -> ModuleType:
    module = ModuleType(str(path))
    module.__file__ = str(path)
    sys.modules[module.__name__] = module  # dataclasses look up the module that they are in
    try:
        exec(compile(source, str(path), "exec"), module.__dict__)
    except SyntaxError as error:
        raise SettingsError(f"{error.filename}, line {error.lineno}: {error.msg}") from None
    except Exception as error:
        raise SettingsError(f"{path} cannot be run{_line(error, path)}: {_said(error)}") from error
    return module


def _checked(name: str, function: object) -> CustomReward:
    if not callable(function) or isinstance(function, type):
        raise SettingsError(f"{name} is no function, but {function!r}")
    if iscoroutinefunction(function) or isgeneratorfunction(function):
        raise SettingsError(f"{name} must return its number: it is a coroutine or a generator")
    every = list(signature(function).parameters.values())
    by_place = (Parameter.POSITIONAL_ONLY, Parameter.POSITIONAL_OR_KEYWORD)
    events, rest = every[:1], every[1:]
    stray = [
        one.name for one in rest if one.kind is Parameter.POSITIONAL_ONLY and _is_required(one)
    ]
    if not events or events[0].kind not in by_place or stray:
        raise SettingsError(
            f"{name} must take the events of a record, and all else by name, as in "
            f"def {split(name)[1]}(events, *, price=0.1); it takes {signature(function)}"
        )
    named = [
        one for one in rest if one.kind in (Parameter.POSITIONAL_OR_KEYWORD, Parameter.KEYWORD_ONLY)
    ]
    mine = [one for one in named if one.name != PROGRESS]
    return CustomReward(
        name=name,
        function=function,
        defaults={one.name: one.default for one in mine if not _is_required(one)},
        required=frozenset(one.name for one in mine if _is_required(one)),
        takes_any=any(one.kind is Parameter.VAR_KEYWORD for one in rest),
        needs_progress=len(mine) < len(named),
    )


def _is_required(parameter: Parameter) -> bool:
    return parameter.default is Parameter.empty


def _line(error: Exception, path: Path) -> str:
    """Where in the file it broke; nothing if it broke before."""
    frames = extract_tb(error.__traceback__)
    lines = [frame.lineno for frame in frames if frame.filename == str(path)]
    return f", line {lines[-1]}" if lines else ""


def _said(error: Exception) -> str:
    return f"{type(error).__name__}: {error}".removesuffix(": ")
