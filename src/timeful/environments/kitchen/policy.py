"""What a cook with a simple rule does: the hand-written policy of the stand-ins and the reflex.

It reads what can be seen, and nothing else. Spec of the experiment, section 4.1: finish critical
dishes by the earliest end of their windows, then soft ones, at once or deferred; else stage the
next dish if a slot is free; else tutor; else wait.
"""

from typing import Literal

from timeful.core.units import Instant
from timeful.environments.kitchen.actions import Action
from timeful.environments.kitchen.settings import TICK, ticks
from timeful.environments.kitchen.view import DishView, KitchenView

Soft = Literal["at once", "deferred"]

MARGIN = ticks(60)
"""How long before the end of keeping warm a deferred dish is finished at the latest."""


def reflex(view: KitchenView) -> Action | None:
    """Finish the most urgent dish that has signalled, if there is one."""
    dish = _critical(view) or _first(view.signalled)
    return None if dish is None else Action(verb="finish", target=dish.name)


def decide(view: KitchenView, now: Instant, *, soft: Soft = "at once") -> Action:
    """The next action.

    Args:
        view: What can be seen.
        now: The present, which may be later than the view.
        soft: Whether a soft dish is finished at once, or only between two problems or shortly
            before it no longer keeps warm.
    """
    ready = _critical(view) or _soft(view, now, soft)
    if ready is not None:
        return Action(verb="finish", target=ready.name)
    if view.free_slots:
        for dish in view.dishes:
            if dish.stage == "prepared":
                return Action(verb="stage", target=dish.name)
            if dish.stage == "raw":
                return Action(verb="prepare", target=dish.name)
    if view.open_problems:
        return _tutor(view, now)
    is_done = all(dish.stage == "finished" for dish in view.dishes)
    return Action(verb="end" if is_done else "wait")


def _critical(view: KitchenView) -> DishView | None:
    return _first(tuple(dish for dish in view.signalled if dish.is_critical))


def _first(dishes: tuple[DishView, ...]) -> DishView | None:
    return min(dishes, key=lambda dish: dish.deadline, default=None)


def _soft(view: KitchenView, now: Instant, soft: Soft) -> DishView | None:
    dish = _first(tuple(dish for dish in view.signalled if not dish.is_critical))
    if dish is None or soft == "at once":
        return dish
    is_between = all(problem.written == 0 for problem in view.open_problems)
    return dish if is_between or now >= dish.deadline - MARGIN else None


def _tutor(view: KitchenView, now: Instant) -> Action:
    """Go on with the problem begun, or the first one, until a deferred dish must be finished."""
    problem = max(view.open_problems, key=lambda problem: problem.written > 0)
    deferred = _first(view.signalled)
    bound = None
    if deferred is not None:
        span = (deferred.deadline - MARGIN - now) // TICK
        bound = max(span, 1) if span < problem.left else None
    return Action(verb="tutor", target=problem.name, number=bound)
