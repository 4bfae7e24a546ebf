"""How deep the search reasoner thinks, and how much it says.

Two settings are named. They hold for all games, levels and seeds alike: how hard a task is for
them follows from how far they look, and how long they take from how much there is to say.
"""

from dataclasses import dataclass
from typing import Literal

from timeful.errors import SettingsError

Style = Literal["brief", "thorough"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Setting:
    """How a search thinks.

    Args:
        name: A short name for records and tables.
        horizon: Turns to look ahead; None for as many as the problem's plans may reach.
        beam: How many states are looked at for each turn ahead, the best ones.
        nodes: How many states are looked at in all.
        style: `brief` gives a verdict on each option, `thorough` its reasons too.
        check: How many steps of a given plan are checked before it is followed.

    Raises:
        SettingsError: If a number is not positive.
    """

    name: str
    horizon: int | None
    beam: int
    nodes: int
    style: Style
    check: int

    def __post_init__(self) -> None:
        numbers = (self.horizon or 1, self.beam, self.nodes, self.check)
        if min(numbers) < 1 or self.horizon == 0:
            raise SettingsError(f"a search needs positive bounds, got {self}")


SHALLOW = Setting(name="search-shallow", horizon=3, beam=3, nodes=12, style="brief", check=6)
"""Looks a few turns ahead and says little: for those who must answer soon."""

DEEP = Setting(name="search-deep", horizon=None, beam=10, nodes=200, style="thorough", check=12)
"""Looks as far ahead as plans reach and weighs every option in words."""
