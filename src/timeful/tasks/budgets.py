"""Budgets: the time that a task gets.

| text | time |
| --- | --- |
| `none` | no limit: an unhurried run |
| `0.75x` | a multiple of the time that the same player took for the same case, unhurried |
| `30steps` | a number of the player's own mean steps; a step is a thought with its tool calls |
| `30@careful` | a number of mean steps of another player of the run: the same time for all |
| `20s` | a number of seconds |

Timely Machine, section 5.2.2: multiples of a case's own time for reasoning, of a player's own step
for games and ML tasks; section 5.1 compares models under the same time.
"""

import re
from dataclasses import dataclass
from typing import Literal

from timeful.core.units import Duration, seconds
from timeful.errors import SettingsError

Kind = Literal["none", "times", "steps", "seconds"]

_UNITS: dict[str, Kind] = {"x": "times", "steps": "steps", "s": "seconds"}
_MOST = 1e6
_FORMAT = re.compile(r"([0-9.]+(?:e-?[0-9]+)?)(?:(x|steps|s)|@(.+))")


@dataclass(frozen=True, slots=True, kw_only=True)
class Baseline:
    """The time of an unhurried run.

    Attributes:
        counted: The nanoseconds that counted, above 0; a mean if there were several runs.
        steps: The number of thoughts, above 0, also a mean.
    """

    counted: float
    steps: float


@dataclass(frozen=True, slots=True)
class Budget:
    """A budget as the table above writes it.

    Attributes:
        kind: The unit of the amount.
        amount: Above 0 except for `none`, and below a million.
        player: The player whose steps count; empty for the player that has the budget.
    """

    kind: Kind = "none"
    amount: float = 0.0
    player: str = ""

    @property
    def is_relative(self) -> bool:
        """Whether its length depends on a baseline."""
        return self.kind in ("times", "steps")

    def span(self, baseline: Baseline | None) -> Duration | None:
        """The length of the budget; None if there is no limit.

        Args:
            baseline: That of the case by the player whose steps count; for relative budgets only.
        """
        if self.kind == "none":
            return None
        if self.kind == "seconds":
            return seconds(self.amount)
        assert baseline is not None, "a relative budget is resolved with its baseline"
        unit = baseline.counted if self.kind == "times" else baseline.counted / baseline.steps
        return Duration(max(1, round(self.amount * unit)))

    def __str__(self) -> str:
        amount = repr(float(self.amount)).removesuffix(".0")  # reads back as the same number
        if self.player:
            return f"{amount}@{self.player}"
        unit = {kind: unit for unit, kind in _UNITS.items()}.get(self.kind)
        return "none" if unit is None else f"{amount}{unit}"


NO_LIMIT = Budget()


def read_budget(text: str) -> Budget:
    """Read a budget as the table above writes it.

    Raises:
        SettingsError: If the text is no budget, or its amount is out of range.
    """
    if text == "none":
        return NO_LIMIT
    match = _FORMAT.fullmatch(text.strip())
    try:
        amount = float(match[1]) if match else 0.0
    except ValueError:
        amount = 0.0
    if match is None or not 0 < amount < _MOST:
        raise SettingsError(
            "a budget is none, 0.75x, 30steps, 30@PLAYER or 20s, above 0 and below a million; "
            f"got {text!r}"
        )
    return Budget("steps", amount, match[3]) if match[3] else Budget(_UNITS[match[2]], amount)
