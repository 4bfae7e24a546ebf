"""Budgets: how much time a case gets.

| written | the time |
| --- | --- |
| `none` | no limit is named: an unhurried run |
| `0.75x` | so many times what the same player took for the same case, unhurried |
| `30steps` | so many of its mean steps; a step is a thought with the calls that it makes |
| `30@careful` | so many mean steps of somebody else who works in the run: the same time for all |
| `20s` | so many seconds |

Timely Machine, section 5.2.2: multiples of a case's own time for reasoning, of one's own step for
games and ML tasks; section 5.1 compares models under the same time.
"""

import re
from dataclasses import dataclass
from typing import Literal

from timeful.core.units import Duration, seconds
from timeful.errors import SettingsError

Kind = Literal["none", "times", "steps", "seconds"]

_UNITS: dict[str, Kind] = {"x": "times", "steps": "steps", "s": "seconds"}
_MOST = 1e6
_WRITTEN = re.compile(r"([0-9.]+(?:e-?[0-9]+)?)(?:(x|steps|s)|@(.+))")


@dataclass(frozen=True, slots=True, kw_only=True)
class Baseline:
    """What an unhurried run took.

    Attributes:
        counted: The time that counted, above 0; a mean over runs if there were several.
        steps: The thoughts, above 0, also a mean.
    """

    counted: float
    steps: float


@dataclass(frozen=True, slots=True)
class Budget:
    """A budget as the table above writes it.

    Attributes:
        kind: What it is a multiple of.
        amount: How many, above 0 but for `none`, and below a million.
        whose: Who takes those steps; empty for whoever has the budget.
    """

    kind: Kind = "none"
    amount: float = 0.0
    whose: str = ""

    @property
    def is_relative(self) -> bool:
        """Whether it takes a baseline to know how long it is."""
        return self.kind in ("times", "steps")

    def span(self, baseline: Baseline | None) -> Duration | None:
        """How long it is; None if no limit is named.

        Args:
            baseline: That of the case, of whoever takes the steps; for relative budgets only.
        """
        if self.kind == "none":
            return None
        if self.kind == "seconds":
            return seconds(self.amount)
        assert baseline is not None, "a relative budget is resolved with its baseline"
        of = baseline.counted if self.kind == "times" else baseline.counted / baseline.steps
        return Duration(max(1, round(self.amount * of)))

    def __str__(self) -> str:
        amount = repr(float(self.amount)).removesuffix(".0")  # reads back as the same number
        if self.whose:
            return f"{amount}@{self.whose}"
        unit = {kind: unit for unit, kind in _UNITS.items()}.get(self.kind)
        return "none" if unit is None else f"{amount}{unit}"


NO_LIMIT = Budget()


def read_budget(text: str) -> Budget:
    """Read a budget as the table above writes it.

    Raises:
        SettingsError: If it is none, or nothing.
    """
    if text == "none":
        return NO_LIMIT
    found = _WRITTEN.fullmatch(text.strip())
    try:
        amount = float(found[1]) if found else 0.0
    except ValueError:
        amount = 0.0
    if found is None or not 0 < amount < _MOST:
        raise SettingsError(
            "a budget is none, 0.75x, 30steps, 30@WHO or 20s, above 0 and below a million; "
            f"got {text!r}"
        )
    return Budget("steps", amount, found[3]) if found[3] else Budget(_UNITS[found[2]], amount)
