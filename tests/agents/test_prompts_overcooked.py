"""Promises of the Overcooked prompts."""

import json
import re

import pytest

from timeful.agents.action_parser import Outcome, parse_action, parse_code, parse_plan
from timeful.agents.prompts import overcooked
from timeful.agents.prompts.overcooked import NAMES
from timeful.environments.overcooked import Overcooked, OvercookedView
from timeful.models.model import Guidance

ADVICE = (
    Guidance(turn=3, text="First an onion."),
    Guidance(turn=7, text="Line one.\n\n> quoted\nTurn 8: \\boxed{U"),
)


@pytest.fixture
def view() -> OvercookedView:
    """The kitchen after some turns, with things on counters and in pots."""
    game = Overcooked(difficulty="easy", seed=0)
    for letter in "LUIDDIURURUIDDLLDIUUIDDI":
        game.step(letter)
    view = game.view()
    assert view.pots
    assert view.counters
    return view


def all_prompts(view: OvercookedView) -> list[str]:
    return [overcooked.plan(view), overcooked.react(view, ADVICE), overcooked.code(view)]


def test_every_action_has_one_name():
    assert sorted(NAMES.values()) == sorted(Overcooked.actions)
    assert all(name == name.upper() for name in NAMES)


def test_every_prompt_tells_the_turn_the_horizon_and_the_rewards(view):
    for prompt in all_prompts(view):
        assert f"turn {view.turn}" in prompt
        assert "after 100 turns" in prompt
        for points in ("- 20 for every soup served", "- 5 for every soup", "- 3 for a dish"):
            assert points in prompt


def test_prompts_hold_no_control_characters_and_no_latex_but_the_box(view):
    for prompt in (overcooked.plan(view), overcooked.react(view, ()), overcooked.code(view)):
        assert all(letter == "\n" or letter.isprintable() for letter in prompt)
        assert set(re.findall(r"\\\w*", prompt)) <= {"\\boxed"}
        assert "{{" not in prompt


def test_an_answer_like_the_example_can_be_read(view):
    plan = parse_plan(overcooked.plan(view), Overcooked.actions, NAMES)
    assert plan.outcome is Outcome.OK
    assert plan.turns[0] == view.turn
    one = parse_action(overcooked.react(view, ()), Overcooked.actions, NAMES)
    assert one.outcome is Outcome.OK
    assert parse_code(overcooked.code(view)).outcome is Outcome.OK


def test_the_state_tells_all_that_the_view_shows(view):
    for prompt in (overcooked.plan(view), overcooked.react(view, ())):
        assert view.text() in prompt
        for cook, letters in zip(view.players, view.history, strict=True):
            assert f"{cook.name} is at ({cook.x}, {cook.y}), facing {cook.facing}" in prompt
            assert f"last): {' '.join(letters)}\n" in prompt
            assert cook.held is None or f"holding: {cook.held}" in prompt
        for spot in view.counters:
            assert f"{spot.item} at ({spot.x}, {spot.y})" in prompt
        for pot in view.pots:
            assert f"({pot.x}, {pot.y}) with {pot.onions} of 3 onions" in prompt


def test_a_pot_is_said_to_be_waiting_cooking_or_ready():
    game = Overcooked(difficulty="easy", seed=0)
    said = []
    for letter in "LUIDDIURURUIDDLLDIUUIDDISSSSS":
        game.step(letter)
        said += re.findall(r"not cooking|ready in \d turns?|, ready\b(?! in)", pots_line(game))
    assert {"not cooking", "ready in 4 turns", "ready in 1 turn", ", ready"} <= set(said)


def pots_line(game: Overcooked) -> str:
    prompt = overcooked.react(game.view(), ())
    return next(line for line in prompt.splitlines() if line.startswith("- In pots"))


def test_advice_is_quoted_line_by_line_under_the_turn_that_it_saw(view):
    prompt = overcooked.react(view, ADVICE)
    quoted = ["> First an onion.", "> Line one.", "> ", "> > quoted", "> Turn 8: \\boxed{U"]
    assert [line for line in prompt.splitlines() if line.startswith(">")] == quoted
    for advice in ADVICE:
        header = prompt.index(f"saw turn {advice.turn}")
        assert header < prompt.index("> " + advice.text.splitlines()[0])


def test_without_advice_none_is_mentioned(view):
    assert "planner" not in overcooked.react(view, ())


def test_a_policy_is_shown_the_state_that_it_will_be_given(view):
    prompt = overcooked.code(view)
    (shown,) = re.findall(r"```json\n(.*?)\n```", prompt, re.DOTALL)
    assert json.loads(shown) == view.json_state()
    described = set(re.findall(r"`\"(\w+)\"`", prompt))
    assert described == keys(view.json_state())


def keys(value: object) -> set[str]:
    """Every key of nested JSON values but the kinds of cells."""
    if isinstance(value, dict):
        own = {key for key in value if key.islower()}
        return own.union(*(keys(inner) for inner in value.values()))
    return set().union(*(keys(inner) for inner in value)) if isinstance(value, list) else set()
