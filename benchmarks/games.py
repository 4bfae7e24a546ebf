"""The games: turns per CPU second on one core, without a view or a text."""

import gc
from statistics import median

from timeful.core.clock import cpu_seconds
from timeful.environments.freeway import Freeway
from timeful.environments.game import Game
from timeful.environments.overcooked import Overcooked
from timeful.environments.snake import Snake
from timeful.seeding import child

TURNS, ROUNDS = 30_000, 5

GAMES: dict[type[Game], int] = {Freeway: 30_000, Overcooked: 30_000, Snake: 150_000}
"""The games, and how many turns per CPU second are asked of each."""


def survived(game: Game) -> list[str]:
    """Random actions from the game's start, chosen to keep it going for as long as possible."""
    rng = child(0, "benchmark", game.name)
    actions: list[str] = []
    while not game.done:
        for _ in range(16):
            action, twin = str(rng.choice(game.actions)), game.copy()
            twin.step(action)
            if not twin.done:
                break
        actions.append(action)
        game.step(action)
    game.reset()
    return actions


def rate(game: Game, actions: list[str]) -> float:
    """Turns per CPU second of one round, resets included, checked to have been played."""
    episodes = -(-TURNS // len(actions))
    played = 0
    gc.collect()
    begin = cpu_seconds()
    for _ in range(episodes):
        game.reset()
        for action in actions:
            game.step(action)
        played += game.turn
    spent = cpu_seconds() - begin
    assert played == episodes * len(actions) >= TURNS, f"{game.name} played {played} turns"
    return played / spent


def main() -> None:
    """Play all games in turn, so that a busy machine slows all alike, and print medians."""
    games = [kind(difficulty="easy", seed=3) for kind in GAMES]
    scripts = [survived(game) for game in games]
    rounds = [[rate(*pair) for pair in zip(games, scripts, strict=True)] for _ in range(ROUNDS)]
    print(f"{'game':<14}{'turns/CPU s':>14}{'target':>10}{'episode':>10}")
    for game, script, rates in zip(games, scripts, zip(*rounds, strict=True), strict=True):
        target = GAMES[type(game)]
        wanted = f"{target:,}" if target else ""
        print(f"{game.name:<14}{median(rates):>14,.0f}{wanted:>10}{len(script):>10}")


if __name__ == "__main__":
    main()
