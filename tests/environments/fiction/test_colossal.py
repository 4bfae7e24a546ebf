"""Colossal Cave without its traps, and its actions found as by trying each on a fresh copy."""

import pickle
import random
from pathlib import Path

import pytest

from timeful.environments.fiction import colossal
from timeful.environments.fiction.colossal import ColossalCave
from timeful.errors import SettingsError, WorldError

pytest.importorskip("adventure", reason="the extra timely is not installed")

WAY_DOWN = (
    "in; get lamp; get keys; out; s; s; s; unlock grate; light lamp; down; west; get cage; west; "
    "get rod; west; west; west; down"
)


def play(game: ColossalCave, commands: str) -> list[str]:
    return [game.step(command.strip()) for command in commands.split(";")]


def wander(game: ColossalCave, seed: int, moves: int) -> list[str]:
    """Random words, some of them sensible."""
    rng = random.Random(seed)
    words = sorted(word for word in game._game.vocabulary if isinstance(word, str))
    said = []
    for _ in range(moves):
        if game.over:
            break
        if rng.random() < 0.5:
            action = " ".join(rng.choices(words, k=rng.choice([1, 2, 2, 3])))
        else:
            action = rng.choice(game.available_actions() or ("look",))
        said += [action, game.step(action)]
    return said


def test_it_starts_at_36_of_350_with_the_first_question_answered() -> None:
    game = ColossalCave(seed=1)
    assert (game.start_score, game.score, game.max_score, game.moves) == (36, 36, 350, 0)
    assert "SMALL BRICK BUILDING" in game.opening
    assert "INSTRUCTIONS?" not in game.opening
    assert "yes" not in game.available_actions()


def test_the_way_down_is_worth_points() -> None:
    game = ColossalCave(seed=1)
    play(game, WAY_DOWN)
    assert game.score == 36 + 25
    assert game.moves == 18


@pytest.mark.parametrize("seed", range(3))
def test_the_same_seed_says_the_same_and_no_words_break_it(seed: int) -> None:
    game = ColossalCave(seed=seed)
    first = wander(game, seed, 60)
    assert wander(ColossalCave(seed=seed), seed, 60) == first
    game.reset()
    assert wander(game, seed, 60) == first


def test_other_seeds_say_something_else() -> None:
    said = {
        tuple(play(ColossalCave(seed=seed), "xyzzy; blorp; blorp; blorp; blorp"))
        for seed in range(8)
    }
    assert len(said) > 1


@pytest.mark.parametrize(
    "command", ["save mine", "suspend", "pause lamp", "lamp save", "save lamp"]
)
def test_it_writes_no_files(command: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    game = ColossalCave(seed=1)
    play(game, "in; get lamp")
    assert game.step(command) == "There is no saving here."
    assert not list(tmp_path.iterdir())


def test_more_than_two_words_are_too_many_but_articles_do_not_count() -> None:
    game = ColossalCave(seed=1)
    said = play(game, "go in; pick up the lamp; get the lamp from the ground; ; go to the building")
    assert said[1] == "OK"
    assert "one or two words" in said[2]
    assert "no command" in said[3]


def of_fresh_copies(game: ColossalCave) -> set[tuple[object, ...]]:
    """The states that can be reached, each command tried on a pickled copy of its own."""
    frozen = pickle.dumps(game._game)
    marks = set()
    for action in colossal._ideas(game._game):
        copy = pickle.loads(frozen)
        saved = colossal._Saved(copy)
        colossal._type(copy, action)
        marks.add(saved.mark())
    return marks - {colossal._Saved(game._game).mark()}


@pytest.mark.parametrize("upto", [0, 3, 8, 13, 18])
def test_actions_are_those_of_fresh_copies(upto: int) -> None:
    game = ColossalCave(seed=2)
    if upto:
        play(game, "; ".join(WAY_DOWN.split("; ")[:upto]))
    frozen = pickle.dumps(game._game)
    marks = set()
    for action in game.available_actions():
        copy = pickle.loads(frozen)
        colossal._type(copy, action)
        marks.add(colossal._Saved(copy).mark())
    assert len(marks) == len(game.available_actions())
    assert marks == of_fresh_copies(game)


def test_looking_for_actions_changes_nothing_that_is_said_later() -> None:
    asked, other = ColossalCave(seed=3), ColossalCave(seed=3)
    for command in WAY_DOWN.split("; ") + ["e", "w", "n", "s"] * 4:
        asked.available_actions()
        assert asked.step(command) == other.step(command)
    assert asked.score == other.score


def test_useful_things_are_on_offer() -> None:
    game = ColossalCave(seed=1)
    play(game, "in")
    assert {"get lamp", "get keys", "light lamp", "west"} <= set(game.available_actions())
    play(game, "get lamp; get keys; out; s; s; s")
    assert "unlock grate" in game.available_actions()
    assert "look" not in game.available_actions()
    assert "inventory" not in game.available_actions()
    assert len(game.available_actions()) <= colossal.MOST_ACTIONS


def test_a_question_can_only_be_answered() -> None:
    game = ColossalCave(seed=1)
    game.step("quit")
    assert game.available_actions() == ("yes", "no")
    game.step("yes")
    assert game.over
    assert not game.won
    assert game.available_actions() == ()
    with pytest.raises(WorldError, match="over"):
        game.step("look")


def test_without_the_package_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "adventure", None)
    with pytest.raises(SettingsError, match=r"timeful\[timely\]"):
        ColossalCave(seed=1)
