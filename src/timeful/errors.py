"""Every error that timeful raises on purpose.

    TimefulError
    ├── SettingsError          a setting that cannot work, found before anything runs
    ├── KernelError            the timeline was misused, or is broken
    │   └── AgentError         an agent misused its session, such as by a missing `await`
    ├── WorldError
    │   └── IllegalActionError an action that this world does not have
    ├── ModelError
    │   ├── ModelTimeoutError  nothing came for too long
    │   ├── ModelRefusedError  the endpoint said no: key, quota, unknown model
    │   ├── BudgetError        the budget of a run is used up
    │   └── CassetteMissError  a replay was asked for a request it never recorded
    ├── ProgramError           a program that is an agent failed
    ├── SandboxError           model-written code failed, or could not be run safely
    ├── RecordError            a record or run folder that cannot be read or continued
    ├── EpisodeError           an episode failed; its cause is the error that ended it
    └── RewardError            a user's reward that broke, or gave no number

An error survives `copy` and `pickle`, since episodes run in other processes: all that it says
is in `args`. Interruptions are signals, not errors; they live in `timeful.core.activity`.
`SlowPathWarning` is the one warning: the result is the same, but something faster is missing.
"""

from collections.abc import Collection, Iterable
from difflib import get_close_matches
from math import isfinite


class TimefulError(Exception):
    """The root of all errors raised on purpose."""


class SettingsError(TimefulError):
    """A setting that cannot work, found before anything runs."""


class KernelError(TimefulError):
    """The timeline was misused, or is broken."""


class AgentError(KernelError):
    """An agent misused its session: a missing `await`, a loop without time, or asyncio."""


NO_ASYNCIO = (
    "an agent waits with `session.sleep` in place of `asyncio.sleep`, and runs other code in "
    "`session.call`"
)


class WorldError(TimefulError):
    """A world could not be made or moved."""


class IllegalActionError(WorldError):
    """An action that this world does not have."""

    @classmethod
    def named(cls, action: object, legal: Iterable[str]) -> "IllegalActionError":
        """Name the action that was given, and those that are legal."""
        return cls(f"illegal action {action!r}; legal actions are {', '.join(legal)}")


class ModelError(TimefulError):
    """A model could not answer."""


class ModelTimeoutError(ModelError):
    """Nothing came from the model for longer than allowed."""


class ModelRefusedError(ModelError):
    """The endpoint said no, and would again: wrong key, no quota, unknown model."""


class BudgetError(ModelError):
    """The budget of a run is used up; the run can be resumed with a larger one."""


class CassetteMissError(ModelError):
    """A replay was asked for a request that was never recorded."""


class ProgramError(TimefulError):
    """A program that is an agent failed."""


class SandboxError(TimefulError):
    """Model-written code failed, or could not be run safely."""


class RecordError(TimefulError):
    """A record or run folder that cannot be read or continued."""


class EpisodeError(TimefulError):
    """An episode failed; `__cause__` is the error that ended it."""


class RewardError(TimefulError):
    """A user's reward broke, or gave no number."""


class SlowPathWarning(UserWarning):
    """A slower path was taken because an extra is not installed."""


def unknown(kind: str, given: str, known: Iterable[str]) -> str:
    """Say that a name is unknown, which names there are, and the nearest one."""
    return f"unknown {kind} {given!r}; {nearest(given, known)}"


def nearest(given: str, known: Iterable[object]) -> str:
    """The end of a message about an unknown name: the known names and the nearest of them."""
    names = sorted(map(str, known))
    near = get_close_matches(given, names, n=1)
    there = f"there are: {', '.join(names)}." if names else "there are none"
    return there + (f" Did you mean {near[0]!r}?" if near else "")


def check_known(kind: str, given: str, known: Collection[str]) -> None:
    """Refuse a name that is none of those there are.

    Raises:
        SettingsError: If it is unknown; the message is that of `unknown`.
    """
    if given not in known:
        raise SettingsError(unknown(kind, str(given), known))


def check_range(
    name: str,
    value: float,
    *,
    least: float | None = None,
    above: float | None = None,
    most: float | None = None,
    is_whole: bool = False,
) -> None:
    """Refuse a number that is not finite, outside its bounds, or not whole where it must be.

    Raises:
        SettingsError: If the number is refused; the message has the bounds and the value.
    """
    is_number = type(value) is int if is_whole else isfinite(value)
    if (
        not is_number
        or (least is not None and value < least)
        or (above is not None and value <= above)
        or (most is not None and value > most)
    ):
        bounds = {"at least": least, "above": above, "at most": most}
        words = [f"{word} {bound:g}" for word, bound in bounds.items() if bound is not None]
        kind = "a whole number" if is_whole else "a finite number"
        raise SettingsError(f"{name} must be {', '.join([kind, *words])}; got {value!r}")
