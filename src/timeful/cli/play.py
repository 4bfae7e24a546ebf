"""`timeful play`: a game by hand in the terminal, or from a script."""

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar, cast

import click

from timeful.errors import SettingsError

if TYPE_CHECKING:
    from timeful.environments.game import Difficulty, Game, Mode
    from timeful.runs.by_hand import Sitting

N = TypeVar("N", int, float)

_SHORTEST_TICK_S, _LONGEST_TICK_S = 0.05, 3600.0
_BASE_TOKENS = 8192
_COMPARED = ("agile", "planning", "reactive")


@click.command()
@click.argument("game")
@click.option(
    "--difficulty", default="easy", show_default=True, help="Difficulty: easy, medium or hard."
)
@click.option("--seed", default="0", show_default=True, metavar="N", help="Seed of the episode.")
@click.option(
    "--mode",
    default="compat",
    show_default=True,
    help="compat: as in the published code; paper: as in the paper, any seed.",
)
@click.option("--actions", help="Letters of actions, one per turn; played without a clock.")
@click.option(
    "--json", "as_json", is_flag=True, help="With --actions: print one JSON object per state."
)
@click.option(
    "--tick",
    default="1.0",
    show_default=True,
    metavar="SECONDS",
    help="Length of a turn in a game by hand.",
)
@click.option(
    "--record",
    type=click.Path(path_type=Path),
    help="File for the record of a game by hand.",
)
def play(
    *,
    game: str,
    difficulty: str,
    seed: str,
    mode: str,
    actions: str | None,
    as_json: bool,
    tick: str,
    record: Path | None,
) -> None:
    """Play GAME by hand in real time, or from a script with --actions.

    GAME is freeway, snake or overcooked.
    """
    from timeful.environments.registry import make_game

    tick_s = _number("--tick", tick, float)
    if not _SHORTEST_TICK_S <= tick_s <= _LONGEST_TICK_S:
        raise SettingsError(
            f"--tick must be {_SHORTEST_TICK_S:g} to {_LONGEST_TICK_S:g} seconds, got {tick}"
        )
    number = _number("--seed", seed, int)
    # The game checks these names and suggests the nearest.
    world = make_game(
        game, difficulty=cast("Difficulty", difficulty), seed=number, mode=cast("Mode", mode)
    )
    if actions is not None:
        if record is not None:
            raise SettingsError("--record requires a game by hand; leave out --actions")
        _play_script(world, actions, as_json=as_json)
    elif as_json:
        raise SettingsError("--json needs --actions")
    else:
        settings = {"game": game, "difficulty": difficulty, "seed": number, "mode": mode}
        _play_by_hand(world, settings, tick_s=tick_s, record=record)


def _number(option: str, text: str, kind: type[N]) -> N:
    try:
        return kind(text)
    except ValueError:
        noun = "an integer" if kind is int else "a number"
        raise SettingsError(f"{option} must be {noun}, got {text!r}") from None


def _play_script(world: "Game", actions: str, *, as_json: bool) -> None:
    from timeful.runs.replay import replay

    try:
        for step in replay(world, actions):
            if as_json:
                print(step.json())
        if unused := len(actions) - world.turn:
            # No error: a script may send more letters than the game has turns.
            over = f"{world.name} was over after turn {world.turn}"
            print(
                f"timeful: {over}; {unused} of {len(actions)} actions were not used",
                file=sys.stderr,
            )
        if not as_json:
            print(world.view().text())
            end = "over" if world.done else "not over"
            print(f"turn {world.turn}/{world.horizon}, return {world.score:g}, {end}")
    finally:
        # Before an error is printed, and while a closed pipe is still detected.
        sys.stdout.flush()


def _play_by_hand(
    world: "Game", settings: dict[str, object], *, tick_s: float, record: Path | None
) -> None:
    from timeful.core.units import seconds
    from timeful.runs.by_hand import open_record, play_by_hand

    if not (sys.stdin.isatty() and sys.stdout.isatty()) or os.environ.get("TERM") == "dumb":
        raise SettingsError("playing by hand needs a terminal; from a script, give --actions")
    try:
        from timeful.runs.terminal import Terminal
    except ImportError:
        raise SettingsError(
            "playing by hand needs a Unix terminal; on this system, give --actions"
        ) from None
    recorder = open_record(record)
    try:
        with Terminal() as terminal:
            sitting = play_by_hand(
                world,
                terminal,
                settings={**settings, "agent": "person", "tick_s": tick_s},
                tick=seconds(tick_s),
                recorder=recorder,
                colour="NO_COLOR" not in os.environ,
            )
    finally:
        recorder.close()
    print(world.view().text())
    print(_ending(sitting, str(settings["game"]), str(settings["difficulty"]), tick_s=tick_s))
    if record is not None:
        print(f"record: {record}")
    if terminal.stopped is not None:
        raise SystemExit(128 + terminal.stopped)


def _ending(sitting: "Sitting", game: str, difficulty: str, *, tick_s: float) -> str:
    """The final score next to the published scores of agents."""
    from timeful.suites.realtime.cells import REFERENCE
    from timeful.suites.realtime.scores import normalise

    if not sitting.is_over:
        return f"You left after {sitting.turns} turns, with a return of {sitting.score:g} so far."
    own = normalise(game, sitting.score)
    lines = [(own, "you", f"return {sitting.score:g}, {sitting.turns} turns, {sitting.late} late")]
    for agent in _COMPARED:
        where: dict[str, object] = {"game": game, "difficulty": difficulty, "agent": agent}
        where["tokens_per_step"] = _BASE_TOKENS
        numbers = [n for n in REFERENCE.numbers if where.items() <= n.where.items()]
        if numbers:
            lines.append((numbers[0].value, agent, f"published: {numbers[0].source}"))
    lines.sort(key=lambda line: -line[0])
    table = [f"  {value:5.2f}  {name:<18} {source}" for value, name, source in lines]
    about = (
        f"Scores are normalised as in the paper (Table 4); its agents had\n{_BASE_TOKENS} "
        f"tokens a turn, you had {tick_s:g} s."
    )
    return "\n".join(["", f"{game}, {difficulty}: over.", *table, about])
