"""Promises of the game Overcooked: episodes, saved states, views and imagined kitchens."""

import json
from dataclasses import FrozenInstanceError, fields

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from timeful.environments.game import DIFFICULTIES
from timeful.environments.overcooked import Overcooked, imagine
from timeful.environments.overcooked.kitchen import ACTIONS, Kitchen, open_kitchen
from timeful.errors import WorldError

difficulties = st.sampled_from(DIFFICULTIES)
lines = st.text(alphabet="".join(ACTIONS), max_size=100)
modes = st.sampled_from(("compat", "paper"))
whole_episodes = settings(deadline=None, max_examples=50)


def play(game: Overcooked, actions: str) -> list[float]:
    return [game.step(action) for action in actions]


def trace(game: Overcooked, actions: str) -> list:
    return [(game.step(action), game.summary(), game.view().history) for action in actions]


@whole_episodes
@given(difficulties, st.integers(), lines)
def test_the_seed_has_no_effect_in_compat(difficulty, seed, actions):
    games = [Overcooked(difficulty=difficulty, seed=one) for one in (0, seed)]
    assert trace(games[0], actions) == trace(games[1], actions)


@pytest.mark.parametrize("difficulty", DIFFICULTIES)
def test_the_seed_changes_the_partner_in_paper_mode(difficulty):
    partners = set()
    for seed in range(8):
        game = Overcooked(difficulty=difficulty, seed=seed, mode="paper")
        partners.add("".join(one[2][1][-1] for one in trace(game, "S" * 100)))
    assert len(partners) == 8


def test_a_saved_state_that_cannot_be_is_refused():
    game = Overcooked(difficulty="easy", seed=0)
    saved = game.save()
    with pytest.raises(WorldError, match="cannot be"):
        game.load(saved.replace(b"\xa2at\x92\x11\x07", b"\xa2at\x92\x11\x11"))
    with pytest.raises(WorldError):
        game.load(saved.replace(b"easy", b"eazy"))


# --- views, and kitchens imagined from them ---


def test_the_view_is_frozen_and_holds_only_what_is_shown():
    view = Overcooked(difficulty="easy", seed=0).view()
    assert {field.name for field in fields(view)} == {
        "turn",
        "rows",
        "players",
        "counters",
        "pots",
        "history",
    }
    with pytest.raises(FrozenInstanceError):
        view.turn = 3


def test_the_text_shows_the_top_row_first_and_every_thing_in_its_cell():
    layout = open_kitchen("easy").layout
    game = Overcooked(difficulty="easy", seed=0)
    game._kitchen = Kitchen(
        layout,
        at=(layout.cell(2, 3), layout.cell(1, 1)),
        facing=("L", "D"),
        held=("soup", None),
        counters={layout.cell(0, 3): "dish"},
        pots={layout.cell(1, 0): (2, -1), layout.cell(3, 0): (3, 4)},
    )
    cells = [
        ["X", "O", "X", "O", "X"],
        ["Xd", " ", "←0s", " ", "X"],
        ["D", " ", " ", " ", "S"],
        ["X", "↓1", " ", " ", "X"],
        ["X", "P{øø", "X", "P{øøø4", "X"],
    ]
    expected = "\n".join("".join(cell.ljust(7) + " " for cell in row) for row in cells)
    assert game.view().text() == expected
    game.step("S")
    assert "P{øøø✓" in game.view().text()


def test_the_structured_state_is_plain_json_and_tells_the_same():
    game = Overcooked(difficulty="medium", seed=0)
    play(game, "UDLRIS" * 10)
    state = game.view().json_state()
    assert json.loads(json.dumps(state)) == state
    summary = game.summary()
    assert state["game_turn"] == state["state"]["timestep"] == game.turn
    assert [cook["position"] for cook in state["state"]["players"]] == [
        [x, y] for x, y, _, _ in summary["players"]
    ]
    assert [thing["position"] for thing in state["state"]["objects"]] == [
        [x, y] for x, y, *_ in summary["counters"] + summary["pots"]
    ]
    assert state["layout"]["Pot"] == [[2, 0], [4, 0]]
    assert [len(letters) for letters in state["history"]] == [5, 5]


@whole_episodes
@given(difficulties, modes, lines, lines)
def test_an_imagined_kitchen_moves_like_the_real_one_with_a_still_bob(
    difficulty, mode, past, future
):
    game = Overcooked(difficulty=difficulty, seed=1, mode=mode)
    play(game, past)
    imagined, kitchen = imagine(game.view()), game.copy()._kitchen
    for action in future[: 100 - game.turn]:
        assert imagined.step(action) == kitchen.step(action, "S")
        assert imagined.kitchen.at == kitchen.at
        assert imagined.kitchen.held == kitchen.held
        assert imagined.kitchen.counters == kitchen.counters
        assert imagined.kitchen.pots == kitchen.pots


def test_an_imagined_copy_is_independent_and_equal_kitchens_have_equal_keys():
    imagined = imagine(Overcooked(difficulty="easy", seed=0).view())
    twin = imagined.copy()
    assert twin.key() == imagined.key()
    twin.step("U")
    assert twin.key() != imagined.key()
    assert imagined.turn == 0
