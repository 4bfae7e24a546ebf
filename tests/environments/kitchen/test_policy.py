"""The hand-written cook puts first what the paper's guidance puts first."""

from dataclasses import replace

from tests.environments.kitchen.menus import SILENT, at, case, critical, problem, soft
from timeful.environments.kitchen.policy import decide, reflex
from timeful.environments.kitchen.settings import ticks
from timeful.environments.kitchen.view import DishView, KitchenView
from timeful.environments.kitchen.world import Kitchen
from timeful.seeding import child


def view(*dishes: DishView, written: int = 0) -> KitchenView:
    menu = case(
        *(critical(dish.name) for dish in dishes), problems=(problem("Q1"), problem("Q2")), stoves=9
    )
    start = Kitchen(menu, SILENT, child(0, "test")).view()
    first, second = start.problems
    return replace(start, dishes=dishes, problems=(first, replace(second, written=written)))


def ready(name: str, *, signal: int, window: int = 20, slack: int | None = None) -> DishView:
    """A dish that has signalled; soft if it has some slack."""
    dish = soft(name) if slack is not None else critical(name)
    shown = DishView.of(
        replace(dish, window=ticks(window), slack=None if slack is None else ticks(slack))
    )
    return replace(shown, stage="signalled", signal=at(signal))  # fmt: skip


def test_critical_dishes_come_before_soft_ones_even_if_these_are_due_earlier() -> None:
    seen = view(ready("D1", signal=100, slack=5), ready("D2", signal=110, window=90))
    assert str(decide(seen, at(112))) == str(reflex(seen)) == '<finish dish="D2"/>'


def test_of_critical_dishes_the_one_whose_window_ends_first_comes_first() -> None:
    seen = view(ready("D1", signal=100, window=60), ready("D2", signal=110, window=30))
    assert str(decide(seen, at(112))) == str(reflex(seen)) == '<finish dish="D2"/>'


def test_the_reflex_does_nothing_about_nothing() -> None:
    assert reflex(view(DishView.of(critical("D1")))) is None


def test_a_soft_dish_waits_for_the_end_of_a_problem_only_if_it_is_deferred() -> None:
    seen = view(ready("D1", signal=100, slack=200), written=10)
    assert str(decide(seen, at(112))) == '<finish dish="D1"/>'
    assert decide(seen, at(112), soft="deferred").verb == "tutor"
    between = view(ready("D1", signal=100, slack=200))
    assert str(decide(between, at(112), soft="deferred")) == '<finish dish="D1"/>'
    assert decide(seen, at(320 - 60), soft="deferred").verb == "finish"


def test_a_problem_that_was_begun_is_gone_on_with() -> None:
    done = replace(DishView.of(critical("D1")), stage="finished", quality=1)
    assert str(decide(view(done, written=10), at(0))) == '<tutor problem="Q2"/>'
    assert str(decide(view(done), at(0))) == '<tutor problem="Q1"/>'
