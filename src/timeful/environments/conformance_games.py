"""The tests that define the `Game` protocol.

The tests of a game call `check_game` for each of its settings. Every check plays random episodes
from a seed of its own, so a failure can be repeated; it raises `AssertionError` with the broken
promise.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from timeful.environments.conformance import check_views, is_plain_json, promise
from timeful.environments.game import DIFFICULTIES, MODES, Difficulty, Game, Mode, View
from timeful.errors import IllegalActionError, SettingsError, WorldError
from timeful.seeding import child

ILLEGAL = ("", "up", "UU", "u", " ", "\n", "Z", "é")


@dataclass(frozen=True, slots=True, kw_only=True)
class Setting:
    """One episode of a game, and the seed of its random players."""

    kind: type[Game]
    difficulty: Difficulty
    seed: int
    mode: Mode = "compat"
    players: int = 0

    def make(self) -> Game:
        """Make the game at its start."""
        return self.kind(difficulty=self.difficulty, seed=self.seed, mode=self.mode)

    def rng(self, purpose: str) -> np.random.Generator:
        """The generator of the random player of a check."""
        return child(self.players, self.kind.name, self.difficulty, self.seed, purpose)


def check_game(setting: Setting) -> None:
    """Check every promise for one setting.

    Raises:
        AssertionError: If a promise is broken; the message names it.
    """
    for check in CHECKS:
        check(setting)


def check_names(setting: Setting) -> None:
    """All listed actions and the default action are legal."""
    game = setting.make()
    for action in (*game.actions, game.default_action):
        promise(action in game.legal_actions(), f"{action!r} is listed but not legal")
    promise(game.turn == 0 and not game.done, "a game starts at turn 0 and is not done")


def check_repeatable(setting: Setting) -> None:
    """Two games, and a game after a reset, have the same future for the same actions."""
    actions = [action for _, action in _play(setting, setting.rng("repeat"))]
    game = setting.make()
    trace = _trace(game, actions)
    promise(trace == _trace(setting.make(), actions), "two games with one seed differ")
    game.reset()
    promise(trace == _trace(game, actions), "reset does not lead back to the same episode")


def check_steps(setting: Setting) -> None:
    """A step is one turn and pays its reward; an illegal action changes nothing."""
    actions = [action for _, action in _play(setting, setting.rng("score"))]
    game = setting.make()
    total = game.score
    for turn, action in enumerate(actions):
        promise(game.turn == turn == game.view().turn, "a step must be one turn")
        before = game.save()
        for illegal in set(ILLEGAL).difference(game.legal_actions()):
            is_refused = _refuses(game, illegal, IllegalActionError)
            promise(is_refused, f"{illegal!r} must raise IllegalActionError")
        promise(game.save() == before, "an illegal action changed the state")
        reward = game.step(action)
        promise(type(reward) is float, "a reward must be a float")
        total += reward
        promise(game.score == total, "the score must be the sum of all rewards")


def check_end(setting: Setting) -> None:
    """The horizon ends the game, and an ended game refuses every action."""
    for game, _ in _play(setting, setting.rng("end")):
        promise(not game.done, "a game must not be over while it is played")
    promise(game.done, "a game must be over at its horizon")
    before = game.save()
    for action in game.legal_actions():
        promise(_refuses(game, action, WorldError), "an ended game must raise WorldError")
    promise(game.save() == before, "a step after the end changed the state")


def check_save(setting: Setting) -> None:
    """A saved state has the same future in a new game, in a copy and in a game at another turn."""
    rng = setting.rng("save")
    for game, _ in _play(setting, rng):
        if game.turn == 0 or rng.random() < 0.25:
            copy, state = game.copy(), game.save()
            promise(copy.save() == state, "a copy must be in the same state")
            future = _future(game, rng)
            trace = _trace(copy, future)
            promise(game.save() == state, "a step of a copy changed the original")
            promise(_trace(game.copy(), future) == trace, "a copy has another future")
            loaded_game = setting.make()
            loaded_game.load(state)
            promise(loaded_game.save() == state, "a loaded state must save to the same bytes")
            promise(_trace(loaded_game, future) == trace, "a loaded game has another future")
            loaded_game.load(state)
            promise(_trace(loaded_game, future) == trace, "a game at another turn does not load")


def check_foreign_bytes(setting: Setting) -> None:
    """Bytes that are no saved state are refused and change nothing."""
    game = setting.make()
    before = game.save()
    for state in (b"", b"{}", b"null", b"\x80\x04N.", before[:-1], b"\xff" + before):
        try:
            game.load(state)
        except WorldError:
            promise(game.save() == before, "a refused state changed the game")
        else:
            promise(False, f"{state[:20]!r} must be refused as a saved state")


def check_view(setting: Setting) -> None:
    """Views have equal hashes for equal states; views and summaries hold plain JSON values."""

    def views() -> Iterator[View]:
        for game, _ in _play(setting, setting.rng("view")):
            promise(game.view() == game.view(), "two views of one state must be equal")
            promise(hash(game.view()) == hash(game.view()), "equal views must have equal hashes")
            promise(is_plain_json(game.summary()), "a summary must hold plain JSON values")
            yield game.view()

    check_views(views())


def check_settings(setting: Setting) -> None:
    """An unknown difficulty or mode is refused, with all names in the message."""
    settings = {"difficulty": setting.difficulty, "seed": setting.seed, "mode": setting.mode}
    for name, typo, names in (("difficulty", "eazy", DIFFICULTIES), ("mode", "papre", MODES)):
        try:
            setting.kind(**(settings | {name: typo}))  # type: ignore[arg-type]
        except SettingsError as error:
            for word in (*names, typo):
                promise(word in str(error), f"the error about {name} must say {word!r}: {error}")
        else:
            promise(False, f"{name} {typo!r} must be refused")


def check_seeds(setting: Setting) -> None:
    """A seed is either playable or refused, with the range of seeds in the message."""
    for seed in (-1, 8, 32, 1_000, 10**20):
        try:
            game = replace(setting, seed=seed).make()
        except SettingsError as error:
            promise(str(seed) in str(error), f"the error must say the seed {seed}: {error}")
            for bound in re.findall(r" (\d+) to (\d+)", str(error))[0]:
                replace(setting, seed=int(bound)).make()
        else:
            game.step(game.default_action)


CHECKS = (
    check_names,
    check_repeatable,
    check_steps,
    check_end,
    check_save,
    check_foreign_bytes,
    check_view,
    check_settings,
    check_seeds,
)
"""Every check, in reading order."""


def _draw_safe(game: Game, rng: np.random.Generator) -> str:
    """A random action that does not end the game, if one of a few tries finds it."""
    for _ in range(8):
        action, copy = _draw(game, rng), game.copy()
        copy.step(action)
        if not copy.done:
            break
    return action


def _draw(game: Game, rng: np.random.Generator) -> str:
    legal = game.legal_actions()
    return legal[rng.integers(len(legal))]


def _play(setting: Setting, rng: np.random.Generator) -> Iterator[tuple[Game, str]]:
    """Play randomly, but mostly avoid the end: the game before each step, and the action."""
    game = setting.make()
    for _ in range(game.horizon):
        action = _draw(game, rng) if rng.random() < 0.01 else _draw_safe(game, rng)
        yield game, action
        game.step(action)
        if game.done:
            return


def _future(game: Game, rng: np.random.Generator) -> list[str]:
    """Actions with which a copy of the game is played to its end."""
    copy, actions = game.copy(), []
    while not copy.done:
        actions.append(_draw_safe(copy, rng))
        copy.step(actions[-1])
    return actions


def _trace(game: Game, actions: list[str]) -> list[object]:
    trace: list[object] = [game.view()]
    for action in actions:
        if game.done:
            break
        trace.append((game.step(action), game.score, game.done, game.view(), game.default_action))
    return [*trace, game.save()]


def _refuses(game: Game, action: str, error: type[WorldError]) -> bool:
    try:
        game.step(action)
    except error:
        return True
    return False
