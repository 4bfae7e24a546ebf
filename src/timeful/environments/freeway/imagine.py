"""A crossing as a player can foresee it, from what is shown alone."""

from timeful.environments.freeway.cars import Road, leaving, wrapping
from timeful.environments.freeway.view import FreewayView, car_of
from timeful.environments.freeway.world import Crossing


def imagine(view: FreewayView) -> Crossing:
    """Rebuild the game from a view; its future is what the shown facts imply.

    In compat mode it is exact, re-entering cars included, until a hit: where the cars would
    start again is not shown, so imagined cars drive on. In paper mode cars that leave are gone
    and new ones are not foreseen.
    """
    law = wrapping if view.mode == "compat" else leaving
    road = Road(tuple(car_of(car) for car in view.cars), law)
    return Crossing(
        road, mode=view.mode, restarts=False, turn=view.turn, y=view.y, last=view.default
    )
