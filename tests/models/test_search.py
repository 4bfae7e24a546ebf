"""Promises of the search reasoner: honest, deterministic, counted, and worth its time."""

import copy
import dataclasses
import inspect

import pytest
from hypothesis import given
from hypothesis import strategies as st

from timeful.agents.action_parser import Outcome, parse_action, parse_code, parse_plan
from timeful.core.source import Chunk, End
from timeful.environments.freeway import Freeway, minimum_crossing
from timeful.environments.game import DIFFICULTIES
from timeful.environments.registry import GAME_NAMES, make_game
from timeful.errors import ModelError, SettingsError
from timeful.models.model import Guidance, Message, Prompt
from timeful.models.pace import TOKEN_TIME
from timeful.models.search.plans import Plan, read_plan, say_plan
from timeful.models.search.reasoner import SearchModel
from timeful.models.search.settings import DEEP, SHALLOW

ROADS = [(difficulty, seed) for difficulty in DIFFICULTIES for seed in range(8)]
PURPOSES = [(DEEP, "plan"), (SHALLOW, "react"), (DEEP, "code")]


def ask(setting, purpose, view, *, guidance=(), seed=0, said="", max_tokens=None):
    prompt = Prompt(
        label=purpose,
        render=lambda: (Message("user", "the question"), Message("assistant", said)),
        view=view,
        guidance=tuple(guidance),
    )
    return SearchModel(setting).open(prompt, max_tokens=max_tokens, seed=seed)


def drain(source):
    chunks = []
    while isinstance(piece := source.pull(), Chunk):
        chunks.append(piece)
    return chunks, piece


def think(*args, **more):
    chunks, end = drain(ask(*args, **more))
    assert end == End()
    return chunks


def text(chunks, channel=None):
    return "".join(c.text for c in chunks if channel in (None, c.channel))


def later(game, *actions):
    for action in actions:
        game.step(action)
    return game


def plan_of(game, **more):
    return list(
        parse_plan(text(think(DEEP, "plan", game.view(), **more)), game.actions, {}).actions
    )


# --- honesty ---------------------------------------------------------------------------------


@pytest.mark.parametrize("name", GAME_NAMES)
@pytest.mark.parametrize(("setting", "purpose"), PURPOSES)
def test_a_view_made_anew_from_its_fields_is_answered_alike(name, setting, purpose):
    view = later(make_game(name, difficulty="medium", seed=3), "U", "U").view()
    fields = {f.name: copy.deepcopy(getattr(view, f.name)) for f in dataclasses.fields(view)}
    again = type(view)(**fields)
    assert again is not view
    assert think(setting, purpose, again) == think(setting, purpose, view)


@pytest.mark.parametrize("name", GAME_NAMES)
def test_thinking_leaves_the_real_game_and_its_view_untouched(name):
    game = make_game(name, difficulty="hard", seed=1)
    before, view = game.save(), game.view()
    shown = copy.deepcopy(view)
    for setting, purpose in PURPOSES:
        think(setting, purpose, view)
    assert (game.save(), view) == (before, shown)
    assert list(inspect.signature(view.problem).parameters) == []


@pytest.mark.parametrize("name", GAME_NAMES)
@pytest.mark.parametrize(("setting", "purpose"), PURPOSES)
def test_the_same_seed_says_the_same_and_tokens_are_words(name, setting, purpose):
    view = make_game(name, difficulty="medium", seed=0).view()
    chunks = think(setting, purpose, view, seed=5)
    assert chunks == think(setting, purpose, view, seed=5)
    assert all(c.tokens == len(c.text.split()) for c in chunks)
    assert all(c.text.endswith("\n") for c in chunks)
    assert [c.channel for c in chunks] == ["reasoning"] * (len(chunks) - 1) + ["answer"]


def test_other_seeds_decide_otherwise_between_equals():
    view = make_game("snake", difficulty="easy", seed=2).view()
    assert len({text(think(DEEP, "plan", view, seed=seed)) for seed in range(4)}) > 1


def test_what_is_not_shown_cannot_be_asked_about():
    with pytest.raises(ModelError, match="needs a view of a game"):
        ask(DEEP, "plan", None)


# --- the price of thinking -------------------------------------------------------------------


@pytest.mark.parametrize("name", GAME_NAMES)
@pytest.mark.parametrize("difficulty", DIFFICULTIES)
def test_a_reaction_takes_under_4k_tokens_and_a_plan_between_4k_and_32k(name, difficulty):
    for seed in range(8):
        view = make_game(name, difficulty=difficulty, seed=seed).view()
        reaction, plan = (
            sum(c.tokens for c in think(setting, purpose, view, seed=seed))
            for setting, purpose in PURPOSES[:2][::-1]
        )
        assert 100 < reaction < 4_000 < plan < 32_000


class CountedView:
    """A view whose problem counts how many states are looked into."""

    def __init__(self, view):
        self.view, self.looked = view, 0

    def problem(self):
        problem = self.view.problem()
        options = problem.options

        def counted(state):
            self.looked += 1
            return options(state)

        problem.options = counted
        return problem


def test_only_what_is_pulled_is_worked_out():
    view = CountedView(make_game("snake", difficulty="easy", seed=0).view())
    source = ask(DEEP, "plan", view)
    assert view.looked == 0
    for _ in range(6):
        source.pull()
    assert 0 < view.looked <= 6
    looked = view.looked
    source.close()
    source.close()
    assert isinstance(source.pull(), End)
    assert view.looked == looked


@pytest.mark.parametrize("limit", [0, 1, 50, 777])
def test_a_token_limit_is_kept_exactly(limit):
    chunks, end = drain(
        ask(DEEP, "plan", Freeway(difficulty="easy", seed=0).view(), max_tokens=limit)
    )
    assert sum(c.tokens for c in chunks) == limit
    assert end == End("length")


def test_a_setting_without_bounds_is_refused_and_names_are_short():
    with pytest.raises(SettingsError):
        dataclasses.replace(DEEP, beam=0)
    assert (SearchModel(DEEP).name, SearchModel(SHALLOW).name) == ("search-deep", "search-shallow")
    assert SearchModel(DEEP).pace is TOKEN_TIME
    assert not SearchModel(DEEP).live


# --- what depth is worth ---------------------------------------------------------------------


@pytest.mark.parametrize(("difficulty", "seed"), ROADS)
def test_a_deep_plan_crosses_every_published_road_in_the_fewest_turns(difficulty, seed):
    game = Freeway(difficulty=difficulty, seed=seed)
    plan = plan_of(game)
    assert len(plan) == minimum_crossing(game)
    later(game, *plan)
    assert (game.done, game.collisions, game.score) == (True, 0, 100 - len(plan))


@pytest.mark.parametrize(("difficulty", "seed"), ROADS)
def test_a_plan_gets_no_worse_with_more_thought(difficulty, seed):
    view = Freeway(difficulty=difficulty, seed=seed).view()
    found = []
    for nodes in (1, 5, 20, 60, 200):
        setting = dataclasses.replace(DEEP, nodes=nodes)
        plan = read_plan(text(think(setting, "plan", view)))
        found.append((plan.solved, len(plan.letters) if not plan.solved else -len(plan.letters)))
    assert found == sorted(found)
    assert found[-1][0]


@pytest.mark.parametrize("seed", range(8))
def test_a_deep_snake_plan_is_survived_and_feeds_at_least_as_well_as_a_shallow_one(seed):
    view = make_game("snake", difficulty="hard", seed=seed).view()
    eaten = []
    for setting in (dataclasses.replace(DEEP, depth=2), DEEP):
        problem = view.problem()
        state = problem.start
        for letter in read_plan(text(think(setting, "plan", view))).letters:
            state = problem.step(state, letter).state
            assert state is not None
        eaten.append(state.score)
    assert eaten[1] >= max(eaten[0], 1)


@pytest.mark.parametrize("difficulty", DIFFICULTIES)
def test_a_deep_cooking_plan_makes_points_if_the_partner_makes_way(difficulty):
    view = make_game("overcooked", difficulty=difficulty, seed=0).view()
    problem = view.problem()
    state = problem.start
    for letter in read_plan(text(think(DEEP, "plan", view))).letters:
        state = problem.step(state, letter).state
    onions = sum(onions for onions, _ in state.kitchen.pots.values())
    assert state.points > 0 or onions == 3


# --- answers ---------------------------------------------------------------------------------


@pytest.mark.parametrize("name", GAME_NAMES)
def test_answers_are_read_by_the_strict_parser(name):
    game = later(make_game(name, difficulty="easy", seed=4), "U")
    plan = parse_plan(text(think(DEEP, "plan", game.view()), "answer"), game.actions, {})
    assert plan.outcome is Outcome.OK
    assert plan.turns == tuple(range(1, 1 + len(plan.actions)))
    move = parse_action(text(think(SHALLOW, "react", game.view())), game.actions, {})
    assert move.outcome is Outcome.OK


@pytest.mark.parametrize("name", GAME_NAMES)
def test_a_program_plays_a_whole_episode_alone_and_legally(name):
    game = make_game(name, difficulty="easy", seed=1)
    chunks = think(DEEP, "code", game.view())
    assert 4_000 < sum(c.tokens for c in chunks) < 32_000
    code = parse_code(text(chunks)).code
    assert "timeful" not in code
    program = {}
    exec(code, program)
    while not game.done:
        action = program["next_action"](game.view().json_state())
        assert action in (*game.actions, "S")
        game.step(action)
    assert game.score > 0


def test_a_forced_answer_is_the_first_step_of_the_last_plan_said():
    said = say_plan(3, "y=0", [("S", "y=0")], worth="worth 0") + "and then\n"
    said += say_plan(3, "y=0", [("U", "y=1"), ("U", "y=2")], worth="worth 2")
    answer = text(think(DEEP, "force", None, said=said + "Therefore \\boxed{"))
    assert answer == "U}"
    assert text(think(DEEP, "force", None, said="no plan yet")) == "?}"


# --- following a planner ---------------------------------------------------------------------


def react(view, *guidance, seed=0):
    chunks = think(SHALLOW, "react", view, guidance=guidance, seed=seed)
    return text(chunks), parse_action(text(chunks), ("U", "D", "S", "L", "R"), {}).actions[0]


@pytest.mark.parametrize(("difficulty", "seed"), ROADS)
def test_a_reactor_that_hears_a_whole_plan_crosses_as_planned(difficulty, seed):
    game = Freeway(difficulty=difficulty, seed=seed)
    said = Guidance(turn=0, text=text(think(DEEP, "plan", game.view())))
    while not game.done:
        game.step(react(game.view(), said)[1])
    assert game.score == 100 - minimum_crossing(game)


@pytest.mark.parametrize("seed", range(8))
def test_a_reactor_joins_a_plan_that_it_has_fallen_behind(seed):
    game = Freeway(difficulty="medium", seed=seed)
    said = Guidance(turn=0, text=text(think(DEEP, "plan", game.view())))
    later(game, "S", "S")
    words, action = react(game.view(), said)
    assert "a plan that reaches to turn" in words
    later(game, action)
    assert not game.hit


def test_a_plan_that_would_be_hit_is_not_followed():
    game = Freeway(difficulty="easy", seed=0)
    while all(game.view().problem().step((0, game.y), a).state for a in "USD"):
        game.step("U")
    bad = next(a for a in "USD" if game.view().problem().step((0, game.y), a).state is None)
    where = f"y={game.y}"
    said = say_plan(game.turn, where, [(bad, "y=9"), ("U", "y=9")], worth="solved")
    words, action = react(game.view(), Guidance(turn=game.turn, text=said))
    assert "does not hold" in words
    assert action != bad


def test_a_newer_thought_without_a_plan_leaves_the_older_one_in_force():
    game = Freeway(difficulty="hard", seed=2)
    plan = text(think(DEEP, "plan", game.view()), "answer")
    letters = read_plan(plan).letters
    later(game, letters[0])
    newer = Guidance(turn=1, text="It is turn 1. Best so far from turn 1 at y=1: U>y=2 S")
    assert react(game.view(), Guidance(turn=0, text=plan), newer)[1] == letters[1]


STEPS = st.lists(st.tuples(st.sampled_from("UDLRIS"), st.sampled_from(["y=3", "(2,4)onion"])))


@given(turn=st.integers(0, 99), steps=STEPS.filter(bool), solved=st.booleans(), noise=st.text())
def test_a_plan_that_is_said_can_be_read_and_half_a_plan_is_none(turn, steps, solved, noise):
    said = say_plan(turn, "(1,1)", steps, worth="solved" if solved else "worth 1.5")
    plan = read_plan(noise.replace("Best", "") + said)
    assert plan == Plan(
        turn=turn,
        letters=tuple(letter for letter, _ in steps),
        labels=("(1,1)", *(label for _, label in steps)),
        solved=solved,
    )
    assert read_plan(said + said[: len(said) // 2]) == plan
    assert read_plan(said[: said.rindex(")")]) is None
