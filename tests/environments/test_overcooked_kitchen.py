"""Promises of the kitchen's dynamics, for any kitchen that could be."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from timeful.environments.game import DIFFICULTIES
from timeful.environments.overcooked.kitchen import (
    ACTIONS,
    COOK_TIME,
    STEPS,
    Kitchen,
    layout_of,
    open_kitchen,
)
from timeful.errors import WorldError

ITEMS = ("onion", "dish", "soup")

letters = st.sampled_from(ACTIONS)
difficulties = st.sampled_from(DIFFICULTIES)


@st.composite
def kitchens(draw) -> Kitchen:
    """Any kitchen that could be, however unlikely in play."""
    layout = open_kitchen(draw(difficulties)).layout
    spots = draw(st.permutations(layout.cells_of(" ")))
    counters = draw(st.dictionaries(st.sampled_from(layout.cells_of("X")), st.sampled_from(ITEMS)))
    cooked = st.one_of(
        st.tuples(st.integers(1, 2), st.just(-1)),
        st.tuples(st.just(3), st.integers(0, COOK_TIME)),
    )
    return Kitchen(
        layout,
        at=spots[:2],
        facing=[draw(st.sampled_from("UDLR")) for _ in range(2)],
        held=[draw(st.sampled_from((None, *ITEMS))) for _ in range(2)],
        counters=counters,
        pots=draw(st.dictionaries(st.sampled_from(layout.cells_of("P")), cooked)),
    )


def amounts(kitchen: Kitchen) -> tuple[int, int]:
    """Onions and dishes in the kitchen, those in soups included."""
    things = [*kitchen.held, *kitchen.counters.values()]
    soups = things.count("soup")
    in_pots = sum(onions for onions, _ in kitchen.pots.values())
    return things.count("onion") + in_pots + 3 * soups, things.count("dish") + soups


@given(kitchens(), letters, letters)
def test_items_come_only_from_dispensers_and_go_only_over_the_serving_place(kitchen, alice, bob):
    onions, dishes = amounts(kitchen)
    for who, action in enumerate((alice, bob)):
        place = kitchen.layout.terrain[kitchen.faced(who)]
        if action == "I" and kitchen.held[who] is None:
            onions += place == "O"
            dishes += place == "D"
        elif action == "I" and kitchen.held[who] == "soup" and place == "S":
            onions, dishes = onions - 3, dishes - 1
    kitchen.step(alice, bob)
    assert amounts(kitchen) == (onions, dishes)


@given(kitchens(), letters, letters)
def test_cooks_stand_on_different_floor_cells_and_both_stay_when_they_would_meet(
    kitchen, alice, bob
):
    layout, before = kitchen.layout, list(kitchen.at)
    wanted = []
    for at, action in zip(before, (alice, bob), strict=True):
        x, y = layout.cells[at]
        dx, dy = STEPS.get(action, (0, 0))
        is_floor = layout.rows[y + dy][x + dx] == " "
        wanted.append(layout.cell(x + dx, y + dy) if is_floor else at)
    facing = [
        action if action in STEPS else old
        for action, old in zip((alice, bob), kitchen.facing, strict=True)
    ]
    kitchen.step(alice, bob)
    meet = wanted[0] == wanted[1]
    swap = wanted == before[::-1]
    assert kitchen.at == (before if meet or swap else wanted)
    assert kitchen.facing == facing
    assert kitchen.at[0] != kitchen.at[1]
    assert all(layout.terrain[at] == " " for at in kitchen.at)


@pytest.mark.parametrize(
    ("alice", "bob", "both_end_at"),
    [
        ("R", "L", [(1, 1), (2, 1)]),  # they would swap
        ("R", "S", [(1, 1), (2, 1)]),  # he is in the way
        ("R", "D", [(1, 1), (2, 1)]),  # so he is when he only turns
        ("U", "L", [(1, 2), (1, 1)]),  # he follows her
        ("R", "R", [(2, 1), (3, 1)]),
        ("R", "U", [(2, 1), (2, 2)]),
    ],
)
def test_a_cook_may_enter_the_cell_that_the_other_leaves_but_not_swap_with_him(
    alice, bob, both_end_at
):
    layout = open_kitchen("easy").layout
    kitchen = Kitchen(layout, at=(layout.cell(1, 1), layout.cell(2, 1)))
    kitchen.step(alice, bob)
    assert [layout.cells[at] for at in kitchen.at] == both_end_at


def test_two_who_want_one_cell_both_stay_and_turn():
    layout = open_kitchen("easy").layout
    kitchen = Kitchen(layout, at=(layout.cell(1, 1), layout.cell(3, 1)))
    kitchen.step("R", "L")
    assert [layout.cells[at] for at in kitchen.at] == [(1, 1), (3, 1)]
    assert kitchen.facing == ["R", "L"]


@given(kitchens(), letters, letters)
def test_rewards_are_only_for_useful_dishes_lifted_and_served_soups(kitchen, alice, bob):
    terrain, held = kitchen.layout.terrain, kitchen.held
    places = [terrain[kitchen.faced(who)] for who in (0, 1)]
    expected = 0
    if alice == "I" and places[0] == "D" and held[0] is None:
        is_useful = "dish" not in kitchen.counters.values()
        is_useful &= (held[1] == "dish") < len(kitchen.pots)
        expected += 3 * is_useful
    tick = kitchen.pots.get(kitchen.faced(0), (0, -1))[1]
    if alice == "I" and places[0] == "P" and held[0] == "dish" and tick == COOK_TIME:
        expected += 5
    for who, action in enumerate((alice, bob)):
        expected += 20 * (action == "I" and places[who] == "S" and held[who] == "soup")
    assert kitchen.step(alice, bob) == expected


def two_at_the_counter_between(alice_holds: str | None, bob_holds: str | None) -> Kitchen:
    layout = open_kitchen("medium").layout
    at = (layout.cell(3, 3), layout.cell(3, 1))
    return Kitchen(layout, at=at, facing=("D", "U"), held=(alice_holds, bob_holds))


def test_alice_interacts_before_bob_who_already_finds_what_she_did():
    kitchen = two_at_the_counter_between("dish", None)
    kitchen.step("I", "I")
    assert kitchen.held == [None, "dish"]
    assert kitchen.counters == {}
    kitchen = two_at_the_counter_between("dish", "onion")
    kitchen.step("I", "I")
    assert kitchen.held == [None, "onion"]
    assert list(kitchen.counters.values()) == ["dish"]
    kitchen = two_at_the_counter_between(None, "onion")
    kitchen.step("I", "I")
    assert kitchen.held == [None, None]
    assert list(kitchen.counters.values()) == ["onion"]


def cook_at_a_pot(onions: int, tick: int, held: str | None) -> Kitchen:
    layout = open_kitchen("easy").layout
    pot = layout.cell(1, 0)
    return Kitchen(
        layout,
        at=(layout.cell(1, 1), layout.cell(3, 3)),
        held=(held, None),
        pots={pot: (onions, tick)},
    )


def test_the_third_onion_starts_cooking_and_its_own_turn_counts():
    kitchen = cook_at_a_pot(2, -1, "onion")
    (pot,) = kitchen.pots
    ticks = []
    kitchen.step("I", "S")
    for _ in range(6):
        ticks.append(kitchen.pots[pot])
        kitchen.step("S", "S")
    assert ticks == [(3, 1), (3, 2), (3, 3), (3, 4), (3, 5), (3, 5)]


def test_fewer_than_three_onions_never_cook():
    kitchen = cook_at_a_pot(1, -1, "onion")
    (pot,) = kitchen.pots
    for _ in range(10):
        kitchen.step("I", "S")
    assert kitchen.pots[pot] == (2, -1)


def test_a_full_pot_takes_no_fourth_onion():
    kitchen = cook_at_a_pot(3, 5, "onion")
    kitchen.step("I", "S")
    assert kitchen.held[0] == "onion"
    assert list(kitchen.pots.values()) == [(3, 5)]


def test_a_soup_can_be_lifted_when_it_is_ready_and_not_before():
    kitchen = cook_at_a_pot(3, 4, "dish")
    assert kitchen.step("I", "S") == 0
    assert kitchen.held[0] == "dish"
    assert kitchen.step("I", "S") == 5
    assert kitchen.held[0] == "soup"
    assert kitchen.pots == {}


def test_bob_earns_only_by_serving():
    layout = open_kitchen("easy").layout
    alice = layout.cell(2, 3)
    pots = {layout.cell(1, 0): (3, 5)}
    at_pot = Kitchen(layout, at=(alice, layout.cell(1, 1)), held=(None, "dish"), pots=pots)
    assert at_pot.step("S", "I") == 0
    assert at_pot.held[1] == "soup"
    at_dishes = Kitchen(layout, at=(alice, layout.cell(1, 2)), facing=("D", "L"), pots=pots)
    assert at_dishes.step("S", "I") == 0
    assert at_dishes.held[1] == "dish"
    at_serving = Kitchen(
        layout, at=(alice, layout.cell(3, 2)), facing=("D", "R"), held=(None, "soup")
    )
    assert at_serving.step("S", "I") == 20
    assert at_serving.held[1] is None


def test_a_second_dish_for_one_pot_earns_nothing():
    layout = open_kitchen("easy").layout
    pots = {layout.cell(1, 0): (1, -1)}
    at = (layout.cell(1, 2), layout.cell(3, 3))
    for bob_holds, reward in ((None, 3), ("dish", 0)):
        kitchen = Kitchen(layout, at=at, facing=("L", "D"), held=(None, bob_holds), pots=pots)
        assert kitchen.step("I", "S") == reward
    waiting = {layout.cell(0, 1): "dish"}
    kitchen = Kitchen(layout, at=at, facing=("L", "D"), pots=pots, counters=waiting)
    assert kitchen.step("I", "S") == 0


@pytest.mark.parametrize("rows", [("XXX", "X  ", "XXX"), ("XXX", "XX"), ("XXX", "X?X", "XXX")])
def test_a_drawing_that_is_no_closed_kitchen_is_refused(rows):
    with pytest.raises(WorldError):
        layout_of(rows)
