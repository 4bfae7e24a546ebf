"""Promises of Bob: the published script, and the random partner of the paper."""

from collections import deque

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from timeful.environments.game import DIFFICULTIES
from timeful.environments.overcooked import Overcooked, OvercookedView
from timeful.environments.overcooked.draws import WORDS, Draws, published_words
from timeful.environments.overcooked.kitchen import STEPS


class PlainPartner:
    """The published script once more, slowly, with numpy's own generators and plain lists."""

    def __init__(self, view: OvercookedView) -> None:
        self.own = np.random.RandomState(42)
        self.own.rand()
        self.last, self.count = (view.players[1].x, view.players[1].y), 0
        self.start_period()

    def start_period(self) -> None:
        self.own.rand()
        self.stage, self.goal, self.rng = 1, None, np.random.RandomState(42)

    def is_valid(self, view: OvercookedView, cell: tuple[int, int]) -> bool:
        x, y = cell
        kind, held = view.rows[y][x], view.players[1].held
        is_free = kind == "X" and cell not in [(spot.x, spot.y) for spot in view.counters]
        if self.stage == 2:
            full = [(pot.x, pot.y) for pot in view.pots if pot.onions == 3]
            return is_free or (kind == "P" and cell not in full)
        if held is None:
            return kind == "O"
        return is_free or (held == "soup" and kind == "S")

    def paths(self, view: OvercookedView) -> dict[tuple[int, int], str]:
        alice, bob = ((cook.x, cook.y) for cook in view.players)
        found, queue = {bob: ""}, deque([bob])
        while queue:
            x, y = queue.popleft()
            if view.rows[y][x] != " ":
                continue
            for letter in "DURL":
                cell = (x + STEPS[letter][0], y + STEPS[letter][1])
                if cell != alice and cell not in found:
                    found[cell] = found[x, y] + letter
                    queue.append(cell)
        return found

    def work(self, view: OvercookedView) -> str:
        paths = self.paths(view)
        if self.goal not in paths or not self.is_valid(view, self.goal):
            cells = sorted(paths, key=lambda cell: (cell[1], cell[0]))
            among = [cell for cell in cells if self.is_valid(view, cell)]
            among = among or [cell for cell in cells if view.rows[cell[1]][cell[0]] == " "]
            self.goal = among[self.rng.randint(0, len(among))]
        bob = view.players[1]
        faced = (bob.x + STEPS[bob.facing][0], bob.y + STEPS[bob.facing][1])
        if faced == self.goal and self.is_valid(view, faced):
            return "I"
        anywhere = "DURL"[self.rng.randint(0, 4)]
        return paths[self.goal][:1] or anywhere

    def act(self, view: OvercookedView) -> str:
        bob = view.players[1]
        if self.stage == 2 and bob.held is None:
            self.start_period()
        if self.stage == 1 and bob.held == "onion":
            self.stage, self.goal, self.rng = 2, None, np.random.RandomState(42)
        action = self.work(view)
        if (bob.x, bob.y) != self.last:
            self.last, self.count = (bob.x, bob.y), 0
            return action
        self.count += 1
        return "DURLSI"[self.own.randint(0, 6)] if self.count >= 3 else action


@settings(max_examples=40, deadline=None)
@given(st.sampled_from(DIFFICULTIES), st.text(alphabet="UDLRIIS", min_size=60, max_size=100))
def test_the_fast_partner_acts_like_the_plain_one(difficulty, actions):
    game = Overcooked(difficulty=difficulty, seed=0)
    plain = PlainPartner(game.view())
    for action in actions:
        expected = plain.act(game.view())
        game.step(action)
        assert game.view().history[1][-1] == expected


@given(st.lists(st.integers(0, 40), max_size=300))
def test_draws_are_those_of_numpy(sizes):
    """A size of 0 stands for a double."""
    draws, state = Draws(published_words()), np.random.RandomState(42)
    for size in sizes:
        if size == 0:
            state.rand()
            draws.skip_double()
        else:
            assert draws.below(size) == state.randint(0, size)


def test_an_episode_cannot_run_out_of_words():
    words = published_words()
    longest = 0
    for n in range(2, 41):  # no kitchen has more cells
        mask, run = (1 << (n - 1).bit_length()) - 1, 0
        for word in words:
            run = run + 1 if word & mask >= n else 0
            longest = max(longest, run)
    draws_per_turn, turns = 2, 100
    assert turns * draws_per_turn * (longest + 1) < WORDS


@pytest.mark.parametrize("mode", ["compat", "paper"])
@pytest.mark.parametrize("difficulty", DIFFICULTIES)
def test_the_partner_carries_onions_from_dispensers_to_pots_and_counters(difficulty, mode):
    game = Overcooked(difficulty=difficulty, seed=5, mode=mode)
    changes = []
    while not game.done:
        before = game.view()
        game.step("S")
        bob, after = before.players[1], game.view().players[1]
        if bob.held != after.held:
            dx, dy = STEPS[bob.facing]
            changes.append((bob.held, after.held, before.rows[bob.y + dy][bob.x + dx]))
    takes, puts = changes[0::2], changes[1::2]
    assert len(puts) >= 3
    assert all((was, now) == (None, "onion") for was, now, _ in takes)
    assert all((was, now) == ("onion", None) for was, now, _ in puts)
    assert {place for _, _, place in puts} <= {"P", "X"}
    # Only the published partner, when he thinks he is stuck, may lift an onion from a counter.
    assert {place for _, _, place in takes} <= ({"O", "X"} if mode == "compat" else {"O"})


def test_the_published_partner_is_one_policy_whose_every_stage_draws_alike():
    game = Overcooked(difficulty="easy", seed=0)
    held, cells = None, []
    while not game.done:
        before = game.view().players[1]
        game.step("S")
        if held is None and game.view().players[1].held == "onion":
            cells.append((before.x, before.y, before.facing))
        held = game.view().players[1].held
    # Alice stands still, both dispensers stay in reach: it is always the same one.
    assert len({(x, y) for x, y, _ in cells}) == 1


def test_the_random_partner_chooses_pots_and_counters_evenly():
    first = []
    for seed in range(300):
        game = Overcooked(difficulty="hard", seed=seed, mode="paper")
        while not (game.view().pots or game.view().counters):
            game.step("S")
        first.append(bool(game.view().pots))
    assert 120 < sum(first) < 180


def test_bob_goes_on_to_where_he_was_going_after_putting_a_wrong_item_aside() -> None:
    # The stuck rule makes him take a dish on his way to an onion; when he has put it back he
    # does not choose a dispenser again. Found by comparing with a second reading of the release.
    kitchen = Overcooked(difficulty="easy", seed=0)
    for action in "DDLDLIURUILDLIULIDLIDLIULIDRRILUSLISSUSSDRDDIDD":
        kitchen.step(action)
    assert kitchen.summary()["players"][1] == [2, 3, "R", None]
