"""Gymnasium ids of the built-in worlds. To import this module is to register them.

    gymnasium.make("timeful.bridges.envs:timeful/Snake-v0", difficulty="hard")

`timeful/{Freeway,Snake,Overcooked,Inbox,Kitchen}-v0` show texts, `-array-v0` arrays of whole
numbers (`bridges.arrays`), and in `-timed-v0` an action says how many tokens its thought took.
Action 0 is to do nothing (in the kitchen, to wait 50 ticks). Run with Gymnasium 1.4.0.
"""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import gymnasium

from timeful.bridges import arrays
from timeful.bridges.gymnasium import Choice, WorldEnv, at_horizon
from timeful.core.units import Duration, milliseconds
from timeful.environments.environment import Environment, Observation
from timeful.environments.freeway.cars import GOAL
from timeful.environments.game import MODES, Difficulty, Mode
from timeful.environments.inbox.settings import InboxSettings
from timeful.environments.inbox.task import FITTED
from timeful.environments.kitchen.cases import multi_dish_case
from timeful.environments.kitchen.settings import TICK, KitchenSettings
from timeful.environments.kitchen.world import Kitchen
from timeful.environments.named import make_inbox
from timeful.environments.registry import game_type, make_game
from timeful.environments.ticking import Ticking
from timeful.errors import check_known, check_range
from timeful.seeding import child

FRESH_SEEDS = range(1000)
"""The seeds of episodes of worlds that take any seed."""

WAIT = '<wait ticks="50"/>'
"""To do nothing in the kitchen, where the next event can be far."""

VECTORS = "timeful.bridges.vectors:make_vector_env"

PUBLISHED = {"freeway": range(8), "snake": range(32), "overcooked": FRESH_SEEDS}
"""The seeds of games in compat mode."""

_ENCODERS: dict[str, Callable[[Any], Any]] = {
    "freeway": arrays.freeway_array,
    "snake": arrays.snake_array,
    "overcooked": arrays.overcooked_array,
}


def _crossed(last: Any) -> bool:
    # A player who crosses on a published road is put back to y = 0 without a hit.
    return last.view.y == GOAL or (last.view.y == 0 and last.action == "U" and not last.restarted)


def _is_cut(world: Environment, last: Observation) -> bool:
    """Whether the horizon ended a game: no death and no goal in its last turn."""
    assert isinstance(world, Ticking), "only games come here"
    if not at_horizon(world, last):
        return False
    match world.game.name:
        case "snake":
            return last.reward >= 0
        case "freeway":
            return not _crossed(last)
    return True


def make_game_env(  # noqa: PLR0913 - the options of an environment
    game: str,
    *,
    difficulty: Difficulty = "medium",
    mode: Mode = "paper",
    seeds: Sequence[int] | None = None,
    step_ms: float = 1000,
    thinking_ms: float = 0,
    array: bool = False,
    timed: bool = False,
    render_mode: str | None = None,
) -> WorldEnv:
    """Make an environment of a game that moves by itself.

    Args:
        game: The name of the game.
        difficulty: `easy`, `medium` or `hard`.
        mode: `paper` for any seed, `compat` for the published episodes.
        seeds: The seeds of episodes, one of which each reset draws.
        step_ms: The length of a turn in ms.
        thinking_ms: The length of each decision in ms.
        array: Whether observations are arrays instead of texts.
        timed: Whether an action states the tokens of its thought, 1 ms each.
        render_mode: "ansi", or None.

    Raises:
        SettingsError: If a setting is unknown or out of its range.
    """
    check_range("thinking_ms", thinking_ms, least=0)
    check_range("step_ms", step_ms, above=0)
    check_known("mode", mode, MODES)
    seeds = seeds or game_seeds(game, mode)

    def make(seed: int) -> Environment:
        return Ticking(
            make_game(game, difficulty=difficulty, seed=seed, mode=mode), milliseconds(step_ms)
        )

    encode = _ENCODERS[game] if array else None
    return WorldEnv(
        make,
        (None, *game_actions(game)),
        seeds=seeds,
        thinking=milliseconds(thinking_ms),
        encode=encode,
        space=encode and arrays.space_of(encode, make(seeds[0]).view()),
        token=milliseconds(1) if timed else None,
        is_cut=_is_cut,
        render_mode=render_mode,
    )


def game_seeds(game: str, mode: Mode) -> Sequence[int]:
    """The seeds of a game's episodes if none are given."""
    return FRESH_SEEDS if mode == "paper" else PUBLISHED[game]


def game_actions(game: str) -> tuple[str, ...]:
    """The actions of a game, without that of doing nothing."""
    return game_type(game).actions


def make_event_env(
    world: str,
    *,
    seeds: Sequence[int] = FRESH_SEEDS,
    thinking_ms: float = 0,
    array: bool = False,
    timed: bool = False,
    render_mode: str | None = None,
) -> WorldEnv:
    """Make an environment of the inbox or the kitchen; a step lasts until the next event.

    In the inbox, to write a milestone takes its mean length and to deal with an email its triage;
    in the kitchen, problems are written for as long as tutoring continues. Arguments are as those
    of `make_game_env`; a token takes what it takes in the world.

    Raises:
        SettingsError: If a setting is out of its range.
    """
    check_range("thinking_ms", thinking_ms, least=0)
    settings = InboxSettings()
    if world == "inbox":
        make: Callable[[int], Environment] = _make_inbox
        actions, spans = _inbox_actions(settings)
        encode: Callable[[Any], Any] = arrays.inbox_array
        token, most_tokens = settings.token, 256
    else:
        make, actions, spans = _make_kitchen, _kitchen_actions(), None
        encode, token, most_tokens = arrays.kitchen_array, TICK, 1024
    return WorldEnv(
        make,
        actions,
        seeds=seeds,
        thinking=milliseconds(thinking_ms),
        encode=encode if array else None,
        space=arrays.space_of(encode, make(seeds[0]).view()) if array else None,
        spans=spans,
        token=token if timed else None,
        most_tokens=most_tokens,
        idle=WAIT if world == "kitchen" else None,
        render_mode=render_mode,
    )


def _make_inbox(seed: int) -> Environment:
    return make_inbox(seed=seed, decomposition="milestones")


def _make_kitchen(seed: int) -> Environment:
    case = multi_dish_case(family="resume_pressure", dishes=3, problems=2, stoves=1, seed=seed)
    return Kitchen(case, KitchenSettings(writes_itself=True), child(seed, "kitchen", "jitter"))


def _inbox_actions(settings: InboxSettings) -> tuple[list[Choice], list[Duration]]:
    """Nothing, return, write, and three verbs for each of the emails that arrays show."""

    def letter(view: Any, *, verb: str, rank: int) -> str:
        waiting = view.waiting()
        return f"{verb} {waiting[rank].number if rank < len(waiting) else 0}"

    def write(view: Any) -> str:
        return f"deliver {view.written + 1}"

    writing = settings.token * round(FITTED["milestones"].mean / settings.scoring.target)
    verbs = ("handle", "remind", "ignore")
    letters: list[Choice] = [
        partial(letter, verb=verb, rank=rank) for verb in verbs for rank in range(arrays.LETTERS)
    ]
    spans = [milliseconds(0), milliseconds(0), writing, *[settings.triage] * len(letters)]
    return [None, "return", write, *letters], spans


def _kitchen_actions() -> list[Choice]:
    """To wait 50 ticks, to end, three verbs for each of three dishes, and to tutor each problem."""

    def dish(view: Any, *, verb: str, index: int) -> str:
        return f'<{verb} dish="{view.dishes[index].name}"/>'

    def tutor(view: Any, *, index: int) -> str:
        return f'<tutor problem="{view.problems[index].name}"/>'

    verbs = ("prepare", "stage", "finish")
    dishes: list[Choice] = [
        partial(dish, verb=verb, index=index) for verb in verbs for index in range(3)
    ]
    return [
        '<wait ticks="50"/>',
        "<end/>",
        *dishes,
        *(partial(tutor, index=index) for index in range(2)),
    ]


def _register() -> None:
    kinds: dict[str, dict[str, Any]] = {
        "": {},
        "-array": {"array": True},
        "-timed": {"timed": True},
    }
    for name in ("Freeway", "Snake", "Overcooked", "Inbox", "Kitchen"):
        is_game = name.lower() in _ENCODERS
        entry = "make_game_env" if is_game else "make_event_env"
        for suffix, settings in kinds.items():
            is_batch = name in ("Freeway", "Snake") and suffix == "-array"
            gymnasium.register(
                f"timeful/{name}{suffix}-v0",
                entry_point=f"{__name__}:{entry}",
                vector_entry_point=VECTORS if is_batch else None,
                kwargs={"game" if is_game else "world": name.lower(), **settings},
            )


_register()
