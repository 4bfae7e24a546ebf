"""How far the search reasoner looks.

Two settings are named. They hold for all games, levels and seeds alike, and both say the same
about each state that they look into: how hard a task is for them follows from how far they
look, and how long they take from how much there is to say.
"""

from dataclasses import dataclass

from timeful.errors import SettingsError


@dataclass(frozen=True, slots=True, kw_only=True)
class Setting:
    """The bounds of a search.

    Args:
        name: A short name for records and tables.
        depth: Decisions to look ahead; None for no limit. A decision is one move or, where a
            game has longer errands, one errand.
        horizon: Turns to look ahead; None for as many as the problem's plans may reach.
        beam: How many states are looked at for each turn ahead, the best ones.
        nodes: How many states are looked at in all.
        check: How many steps of a given plan are checked before it is followed.

    Raises:
        SettingsError: If a number is not positive.
    """

    name: str
    depth: int | None
    horizon: int | None
    beam: int
    nodes: int
    check: int

    def __post_init__(self) -> None:
        numbers = (self.depth, self.horizon, self.beam, self.nodes, self.check)
        if any(number is not None and number < 1 for number in numbers):
            raise SettingsError(f"a search needs positive bounds, got {self}")


SHALLOW = Setting(name="search-shallow", depth=2, horizon=7, beam=4, nodes=12, check=6)
"""Looks two decisions ahead, and no further than seven turns: for those who must answer soon."""

DEEP = Setting(name="search-deep", depth=None, horizon=None, beam=10, nodes=200, check=12)
"""Looks as far ahead as plans reach and weighs all that it finds."""
