"""A crossing as a player can foresee it, from what is shown alone."""

from timeful.environments.freeway.view import FreewayView, road_of
from timeful.environments.freeway.world import Crossing


def imagine(view: FreewayView) -> Crossing:
    """Rebuild the game from a view; its future is what the shown facts imply.

    In compat mode it is exact, re-entering cars included, until a hit: where the cars would
    start again is not shown, so imagined cars drive on. In paper mode cars that leave are gone
    and new ones are not foreseen.
    """
    return Crossing(
        road_of(view), mode=view.mode, restarts=False, turn=view.turn, y=view.y, last=view.default
    )
