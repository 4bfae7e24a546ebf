"""What models are told about Freeway and Snake: all that is shown, nothing hidden, no strays.

The texts in `golden/` are changed only on purpose:
`python tests/agents/test_prompts_freeway_snake.py` writes them anew, and the change is reviewed.
"""

import ast
import json
import re
from pathlib import Path

import numpy as np
import pytest

from timeful.agents.action_parser import Outcome, parse_action, parse_code, parse_plan
from timeful.agents.prompts import freeway, snake
from timeful.environments.freeway import CarView, FreewayView
from timeful.environments.game import MODES
from timeful.environments.registry import make_game
from timeful.environments.snake import Food, SnakeView
from timeful.models.model import Guidance

GOLDEN = Path(__file__).parent / "golden"

ADVICE = (
    Guidance(turn=4, text="Wait for the long car.\n\nThen go up: \\boxed{Turn 4: S}"),
    Guidance(turn=6, text="Lane 3 is free\u2028now"),
)

CROSSING = FreewayView(
    turn=7,
    y=2,
    cars=(
        CarView(lane=1, head=48, direction="right", speed=12, span=11),
        CarView(lane=1, head=-21, direction="right", speed=3, span=11),
        CarView(lane=3, head=-60, direction="left", speed=36, span=35),
    ),
    default="D",
    mode="paper",
)
CRAWL = SnakeView(
    turn=7,
    body=((3, 3), (4, 3), (4, 4)),
    heading="L",
    obstacles=((1, 6), (5, 2)),
    foods=(Food(2, 2, 10), Food(6, 5, 3)),
)
GAMES = {"freeway": freeway, "snake": snake}
VIEWS = {"freeway": CROSSING, "snake": CRAWL}


def asked(game: str, purpose: str, view: object, guidance: tuple[Guidance, ...] = ()) -> str:
    prompts = GAMES[game]
    if purpose == "react":
        return prompts.react(view, guidance)
    return prompts.plan(view) if purpose == "plan" else prompts.code(view)


def views(game: str):
    """Some states of real games."""
    rng = np.random.default_rng(5)
    for mode in MODES:
        for difficulty in ("easy", "hard"):
            for seed in (1, 2):
                played = make_game(game, difficulty=difficulty, seed=seed, mode=mode)
                for _ in range(4):
                    yield played.view()
                    if not played.done:
                        played.step(str(rng.choice(played.legal_actions())))
    yield VIEWS[game]


ALL = [(game, purpose) for game in GAMES for purpose in ("react", "plan", "code")]


@pytest.mark.parametrize(("game", "purpose"), ALL)
def test_prompts_are_plain_text_without_strays(game, purpose):
    for view in views(game):
        text = asked(game, purpose, view, ADVICE[:1])
        assert [c for c in text if not c.isprintable() and c != "\n"] == []
        assert text.isascii()
        assert set(re.findall(r"\\\w*", text)) <= {"\\boxed"}
        assert not re.search(r"\$|\btau\b|\{[a-z_.]+\}", text)
        assert "\n\n\n" not in text
        assert text == text.strip("\n")


@pytest.mark.parametrize("purpose", ["react", "plan"])
def test_every_fact_of_a_crossing_is_told(purpose):
    for view in views("freeway"):
        text = asked("freeway", purpose, view)
        state = text[text.index("## State") :]
        assert f"Turn: {view.turn} of 100\nYou: y = {view.y}\n" in state
        assert f"Without an answer in time: {view.default}\n" in state
        told = []
        for lane, row in re.findall(r"^\| (\d) \| (.*) \|$", state, re.MULTILINE):
            cars = re.findall(r"\((-?\d+), (-?\d+), (left|right), (\d+)\)", row)
            assert bool(cars) != (row == "none")
            told += [
                CarView(int(lane), int(head), way, int(speed), abs(int(head) - int(tail)))
                for head, tail, way, speed in cars
            ]
        assert tuple(told) == view.cars


@pytest.mark.parametrize("purpose", ["react", "plan"])
def test_every_fact_of_the_snakes_world_is_told(purpose):
    for view in views("snake"):
        text = asked("snake", purpose, view)
        state = text[text.index("## State") :]

        def places(label: str, state: str = state) -> tuple[tuple[int, int], ...]:
            (line,) = re.findall(rf"^{label}: (.*)$", state, re.MULTILINE)
            return tuple((int(x), int(y)) for x, y in re.findall(r"\((\d), (\d)\)", line))

        assert f"Turn: {view.turn} of 100\n" in state
        assert places("Snake, head first") == view.body
        assert places("Obstacles") == view.obstacles
        assert f"Heading: {view.heading} (" in state
        foods = re.findall(r"- at \((\d), (\d)\): life (\d+), value \+(\d)", state)
        assert tuple(Food(*map(int, food)) for food in foods) == view.foods
        assert state.rstrip("\n").endswith(view.text())
        assert f"grid of {view.size} by {view.size} cells" in text


@pytest.mark.parametrize("game", GAMES)
def test_a_policy_is_shown_the_state_that_it_will_be_given(game):
    for view in views(game):
        text = asked(game, "code", view)
        (block,) = re.findall(r"```json\n(.*)\n```", text)
        state = json.loads(block)
        assert state == view.json_state()
        for key in state:
            assert f'`"{key}"`' in text


@pytest.mark.parametrize("purpose", ["react", "plan", "code"])
def test_each_mode_of_freeway_tells_its_own_rules(purpose):
    compat, paper = (
        " ".join(asked("freeway", purpose, FreewayView(turn=0, y=0, cars=(), mode=mode)).split())
        for mode in MODES
    )
    for told in ("put back with its head at -48", "every car is back", "the action of a turn is U"):
        assert told in compat
        assert told not in paper
    for told in ("is gone", "while the cars drive on", "the one of the turn before"):
        assert told in paper
        assert told not in compat


@pytest.mark.parametrize("game", GAMES)
def test_without_advice_none_is_mentioned(game):
    alone = asked(game, "react", VIEWS[game])
    assert "dvice" not in alone
    assert "planner" not in alone
    assert asked(game, "react", VIEWS[game], (Guidance(turn=3, text=" \n"),)) == alone


@pytest.mark.parametrize("game", GAMES)
def test_answers_in_the_form_that_is_asked_for_can_be_read(game):
    names = GAMES[game].NAMES
    letters = tuple(names.values())
    react, plan, code = (asked(game, purpose, VIEWS[game]) for purpose in ("react", "plan", "code"))
    assert parse_action(react, letters, names).outcome is Outcome.OK
    planned = parse_plan(plan, letters, names)
    assert planned.outcome is Outcome.OK
    assert planned.turns == (7, 8)
    program = parse_code(code.split("## State")[0])
    assert program.outcome is Outcome.OK
    (function,) = ast.parse(program.code).body
    assert function.name == "next_action"
    assert function.body[0].value.value in letters


def golden_texts() -> dict[str, str]:
    return {
        "freeway_plan.txt": asked("freeway", "plan", CROSSING),
        "snake_react.txt": asked("snake", "react", CRAWL, ADVICE[:1]),
        "snake_code.txt": asked("snake", "code", CRAWL),
    }


@pytest.mark.parametrize("name", golden_texts())
def test_the_words_have_not_changed(name):
    assert (GOLDEN / name).read_text(encoding="utf-8") == golden_texts()[name] + "\n"


if __name__ == "__main__":
    GOLDEN.mkdir(exist_ok=True)
    for name, text in golden_texts().items():
        (GOLDEN / name).write_text(text + "\n", encoding="utf-8")
