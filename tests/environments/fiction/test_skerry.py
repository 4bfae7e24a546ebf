"""The Light on Skerry can be won, cannot be broken, and is the same again for the same seed."""

from dataclasses import asdict

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.environments.fiction.walkthrough import walk
from timeful.environments.fiction.command_parser import DIRECTIONS, VERBS
from timeful.environments.fiction.engine import StoryGame
from timeful.environments.fiction.skerry import skerry
from timeful.environments.fiction.story import parse_clauses
from timeful.errors import WorldError

NOUNS = sorted({word for one in skerry(0).things.values() for word in one.words})
SEEDS = st.integers(0, 50)
COMMANDS = st.one_of(
    st.sampled_from(sorted(DIRECTIONS)),
    st.builds("{} {}".format, st.sampled_from(sorted(VERBS)), st.sampled_from(NOUNS)),
    st.builds(
        "{} {} with {}".format,
        st.sampled_from(sorted(VERBS)),
        st.sampled_from(NOUNS),
        st.sampled_from(NOUNS),
    ),
    st.text(max_size=30),
)


def game(seed: int = 1) -> StoryGame:
    return StoryGame(skerry(seed))


@pytest.mark.parametrize("seed", range(12))
def test_the_walkthrough_wins_every_seed_with_all_points_in_60_to_100_moves(seed: int) -> None:
    played = game(seed)
    said = walk(played)
    assert played.won
    assert played.over
    assert played.score == played.max_score == 100
    assert 60 <= played.moves <= 100
    assert said[-1].endswith("You have won.")


def test_it_has_fifteen_to_twenty_rooms_and_all_can_be_reached() -> None:
    rooms = skerry(0).rooms
    assert 15 <= len(rooms) <= 20
    reached, new = {"jetty"}, ["jetty"]
    while new:
        for there in rooms[new.pop()].ways.values():
            if there not in reached:
                reached.add(there)
                new.append(there)
    assert reached == set(rooms)


def test_seeds_differ_in_the_number_and_in_where_the_wick_is() -> None:
    stories = [skerry(seed) for seed in range(12)]
    assert len({story.things["code"].name for story in stories}) > 6
    chests = {next(rule.text for rule in story.rules if rule.thing == "chest") for story in stories}
    assert len(chests) == 2


def test_all_names_in_conditions_and_effects_exist() -> None:
    story = skerry(3)
    for rule in story.rules:
        assert {rule.thing, rule.second or rule.thing} <= story.things.keys()
        for words in parse_clauses(rule.needs):
            if "has" in words:
                assert words[-1] in story.things
            if "at" in words:
                assert words[-1] in story.rooms
        for words in parse_clauses(rule.does):
            if words[0] == "move":
                assert words[1] in story.things
                assert words[2] in {*story.rooms, "hands", "away"}


def test_flags_that_are_asked_for_are_set_somewhere() -> None:
    story = skerry(3)
    asked = {
        w[-1]
        for rule in story.rules
        for w in parse_clauses(f"{rule.needs},{rule.hidden}")
        if "is" in w
    }
    asked |= {
        w[-1]
        for one in story.rooms.values()
        for n, _ in one.shut.values()
        for w in parse_clauses(n)
    }
    assert asked <= {
        w[1] for rule in story.rules for w in parse_clauses(rule.does) if w[0] == "set"
    }


@settings(max_examples=60, deadline=None)
@given(seed=SEEDS, commands=st.lists(COMMANDS, max_size=60))
def test_no_command_breaks_it_and_points_only_rise_up_to_the_most(
    seed: int, commands: list[str]
) -> None:
    played = game(seed)
    for command in commands:
        before = played.score
        assert played.step(command)
        assert before <= played.score <= played.max_score
    assert played.moves == len(commands)


@settings(max_examples=30, deadline=None)
@given(seed=SEEDS, choices=st.lists(st.integers(0, 1000), max_size=80))
def test_what_is_listed_changes_something_and_listing_does_not(
    seed: int, choices: list[int]
) -> None:
    played = game(seed)
    for choice in choices:
        before = asdict(played._state)
        actions = played.available_actions()
        assert asdict(played._state) == before
        assert actions
        assert len(set(actions)) == len(actions)
        action = actions[choice % len(actions)]
        played.step(action)
        after = asdict(played._state)
        assert after | {"moves": 0, "oil": 0} != before | {"moves": 0, "oil": 0}, action
        if played.over:
            return


def test_each_command_of_the_walkthrough_that_does_something_was_on_offer() -> None:
    played, seen = game(), 0
    for said in walk(game())[1:]:
        typed = said.splitlines()[0].removeprefix("> ")
        offered = played.available_actions()
        copies = {action: played.copy() for action in offered}
        before = played.copy()
        played.step(typed)
        if "Your score goes up" in said:
            seen += 1
            for action, copy in copies.items():
                copy.step(action)
            assert played.score in {copy.score for copy in copies.values()}, typed
        assert before.score <= played.score
    assert seen > 20


def type_all(played: StoryGame, commands: str) -> str:
    return [played.step(command.strip()) for command in commands.split(";")][-1]


def test_the_dark_hides_what_is_there_until_the_lantern_burns() -> None:
    played = game()
    assert "too dark" in type_all(played, "n; n; w; d")
    assert "see no slab" in played.step("move slab")
    type_all(played, "u; e; s; e; take lantern; take matches; light lantern; w; n; w")
    assert "niche" in played.step("d")


def test_what_was_put_down_in_the_dark_can_be_felt_for() -> None:
    played = game()
    type_all(played, "n; e; take lantern; take matches; w; n; w; d; drop matches; drop lantern")
    assert played.available_actions() == ("up", "take box of matches", "take storm lantern")
    assert "niche" in type_all(played, "take matches; take lantern; light lantern; look")


def test_oil_burns_down_and_the_lantern_goes_out() -> None:
    played = game()
    type_all(played, "n; e; take lantern; take matches; light lantern")
    offered = played.available_actions()
    for _ in range(200):  # that time passes is nothing one does, also in the last move
        said = played.step("wait")
        if "goes out" in said:
            break
        assert played.available_actions() == offered
    assert 30 < played.moves < 200
    assert not any("goes out" in played.step("wait") for _ in range(100))
    assert played.step("fill lantern") == "There is nothing to do that with."


def test_hands_hold_so_much_and_no_more() -> None:
    played = game()
    walk_to_hall = [s.splitlines()[0].removeprefix("> ") for s in walk(game())[1:]]
    for typed in walk_to_hall[: walk_to_hall.index("put lens in frame")]:
        played.step(typed)
    type_all(played, "d; d; d")
    assert "too much" in played.step("take weight")


@pytest.mark.parametrize(
    "way", ["open safe with {}", "dial {}", "turn dial to {}", "enter {}", "unlock safe with {}"]
)
def test_a_number_can_be_dialled_in_many_ways_by_those_who_guess_it(way: str) -> None:
    played = game()
    typed = [s.splitlines()[0].removeprefix("> ") for s in walk(game())[1:]]
    for one in typed[: next(i for i, t in enumerate(typed) if t.startswith("dial"))]:
        played.step(one)
    code = skerry(1).things["code"].name
    wrong = played.step(way.format("0815"))
    assert "swings open" not in wrong
    before = played.score
    assert "swings open" in played.step(way.format(code))
    assert played.score == before + 8


def test_a_game_that_is_won_takes_no_more_commands() -> None:
    played = game()
    walk(played)
    assert played.available_actions() == ()
    with pytest.raises(WorldError, match="over"):
        played.step("look")


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("take lantern", "pick up the storm lantern"),
        ("take lantern", "GET LAMP!"),
        ("west", "go west"),
        ("w", "walk west"),
        ("examine lantern", "look at lantern"),
        ("i", "inventory"),
    ],
)
def test_many_words_mean_the_same(first: str, second: str) -> None:
    one, other = game(), game()
    type_all(one, "n; e")
    type_all(other, "n; e")
    assert one.step(first) == other.step(second)
    assert one._state == other._state
