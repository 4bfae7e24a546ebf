"""Every game, in every mode and difficulty, keeps every promise of the `Game` protocol."""

import subprocess
import sys

import pytest

from timeful.environments.conformance_games import CHECKS, Setting, check_game
from timeful.environments.game import DIFFICULTIES, MODES
from timeful.environments.registry import GAME_NAMES, game_type, make_game
from timeful.environments.snake import Snake
from timeful.errors import SettingsError


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("name", GAME_NAMES)
def test_the_game_keeps_its_promise(name, mode, check):
    for difficulty, seed in zip(DIFFICULTIES, (0, 5, 7), strict=True):
        kind = game_type(name)
        check(Setting(kind=kind, difficulty=difficulty, seed=seed, mode=mode, players=seed))


class Forgetful(Snake):
    """A game whose reset forgets the score."""

    def reset(self):
        score = getattr(self, "score", 0.0)
        super().reset()
        self.score = score


class Lenient(Snake):
    """A game that takes unknown actions for the default one."""

    def step(self, action):
        return super().step(action if action in self.legal_actions() else "S")


class Endless(Snake):
    """A game that never ends."""

    @property
    def done(self):
        return False

    @done.setter
    def done(self, value):
        pass


class Shared(Snake):
    """A game whose copies share their body."""

    def copy(self):
        twin = super().copy()
        twin.body = self.body
        return twin


class Amnesiac(Snake):
    """A game that does not save which food comes next."""

    def load(self, state):
        drawn = self.drawn
        super().load(state)
        self.drawn = drawn


class Cumulative(Snake):
    """A game whose reward is the score so far, as the published one returns it."""

    def step(self, action):
        super().step(action)
        return self.score


@pytest.mark.parametrize("kind", [Forgetful, Lenient, Endless, Shared, Amnesiac, Cumulative])
def test_a_broken_game_is_caught(kind):
    with pytest.raises(AssertionError):
        check_game(Setting(kind=kind, difficulty="easy", seed=1))


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("name", GAME_NAMES)
def test_a_seed_must_be_an_integer(name, mode):
    for seed in ("first", None, 1.0, True):
        with pytest.raises(SettingsError):
            make_game(name, difficulty="easy", seed=seed, mode=mode)


def test_all_games_are_found_by_name():
    assert GAME_NAMES == ("freeway", "overcooked", "snake")
    for name, kind in ((name, game_type(name)) for name in GAME_NAMES):
        assert kind.name == name
        game = make_game(name, difficulty="easy", seed=0)
        assert isinstance(game, kind)
        assert game.turn == 0


def test_an_unknown_game_is_answered_with_the_nearest_name():
    with pytest.raises(SettingsError, match=r"freeway, overcooked, snake.*'snake'\?"):
        make_game("snaek", difficulty="easy", seed=0)


def test_the_registry_imports_no_game_before_it_is_asked_for():
    program = (
        "import sys; import timeful.environments.registry as r; "
        "r.make_game('snake', difficulty='easy', seed=0); "
        "print(*(name for name in r.GAME_NAMES if f'timeful.environments.{name}' in sys.modules))"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert done.stdout.split() == ["snake"]
