"""Small kitchens, written by hand, and a world that is moved by a list of actions."""

from timeful.core.units import Instant
from timeful.environments.environment import Observation
from timeful.environments.kitchen.settings import Case, Dish, KitchenSettings, Problem, ticks
from timeful.environments.kitchen.world import Kitchen
from timeful.seeding import child

SILENT = KitchenSettings(jitter=0.0)


def at(tick: int) -> Instant:
    return Instant(ticks(tick))


def critical(name: str = "D1", *, prep: int = 10, offset: int = 100, finish: int = 8) -> Dish:
    return Dish(
        name=name,
        family="critical_narrow",
        prep=ticks(prep),
        offset=ticks(offset),
        finish=ticks(finish),
        window=ticks(20),
        is_whistle=True,
    )


def soft(name: str = "D2", *, offset: int = 100) -> Dish:
    return Dish(
        name=name,
        family="soft_keepwarm",
        prep=ticks(10),
        offset=ticks(offset),
        finish=ticks(12),
        window=ticks(20),
        slack=ticks(200),
    )


def problem(name: str = "Q1", length: int = 50) -> Problem:
    return Problem(name=name, family="xs", title="Slope", brief="Why.", length=length)


def case(*dishes: Dish, problems: tuple[Problem, ...] | None = None, stoves: int = 1) -> Case:
    return Case(
        name="by-hand",
        family="by-hand",
        dishes=dishes or (critical(),),
        problems=(problem(),) if problems is None else problems,
        stoves=stoves,
    )


def kitchen(*dishes: Dish, settings: KitchenSettings = SILENT, stoves: int = 1) -> Kitchen:
    return Kitchen(case(*dishes, stoves=stoves), settings, child(0, "test"))


def do(world: Kitchen, tick: int, action: str) -> list[Observation]:
    """Let the world move up to an instant, act, and move on to the end of the action."""
    seen = list(world.advance(Instant(at(tick) - 1)))
    world.intervene((action,), at=at(tick))
    while world.busy:
        change = world.next_change()
        assert change is not None
        seen += world.advance(change)
    return seen


def names(seen: list[Observation]) -> list[str]:
    return [one.event for one in seen]
