"""What every game promises: the tests that define the `Game` protocol.

A game's own tests call `check_game` for each of its settings. Every check plays random
episodes from a seed of its own, so a failure can be repeated; it raises `AssertionError` and
says which promise was broken.
"""

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from timeful.environments.game import DIFFICULTIES, MODES, Difficulty, Game, Mode
from timeful.errors import IllegalActionError, SettingsError, WorldError
from timeful.seeding import child

ILLEGAL = ("", "up", "UU", "u", " ", "\n", "Z", "é")


@dataclass(frozen=True, slots=True, kw_only=True)
class Setting:
    """One episode of a game, and the seed of the random players that try it."""

    kind: type[Game]
    difficulty: Difficulty
    seed: int
    mode: Mode = "compat"
    players: int = 0

    def make(self) -> Game:
        """Make the game afresh."""
        return self.kind(difficulty=self.difficulty, seed=self.seed, mode=self.mode)

    def rng(self, purpose: str) -> np.random.Generator:
        """The random player of one check."""
        return child(self.players, self.kind.name, self.difficulty, self.seed, purpose)


def check_game(setting: Setting) -> None:
    """Check every promise for one setting.

    Raises:
        AssertionError: If a promise is broken; the message says which.
    """
    for check in CHECKS:
        check(setting)


def check_names(setting: Setting) -> None:
    """Actions are legal, and the default action is."""
    game = setting.make()
    for action in (*game.actions, game.default_action):
        _promise(action in game.legal_actions(), f"{action!r} is listed but not legal")
    _promise(game.turn == 0 and not game.done, "a game starts at turn 0 and not done")


def check_repeatable(setting: Setting) -> None:
    """Two games, and one game after a reset, live through the same with the same actions."""
    actions = [action for _, action in _played(setting, setting.rng("repeat"))]
    first, second = setting.make(), setting.make()
    once = _trace(first, actions)
    _promise(once == _trace(second, actions), "two games with one seed differ")
    first.reset()
    _promise(once == _trace(first, actions), "reset does not lead back to the same episode")


def check_end(setting: Setting) -> None:
    """The horizon ends the game, and an ended game refuses every action."""
    for game, _ in _played(setting, setting.rng("end")):
        _promise(not game.done, "a game that is over was still played")
    _promise(game.done, "a game must be over at its horizon")
    before = game.save()
    for action in game.legal_actions():
        _promise(_refuses(game, action, WorldError), "an ended game must raise WorldError")
    _promise(game.save() == before, "a step after the end changed the state")


def check_score(setting: Setting) -> None:
    """The score moves by the reward of each step, and by nothing else."""
    actions = [action for _, action in _played(setting, setting.rng("score"))]
    game = setting.make()
    expected = game.score
    for action in actions:
        reward = game.step(action)
        _promise(type(reward) is float, "a reward must be a float")
        expected += reward
        _promise(game.score == expected, "the score must be the accumulated return")


def check_turns(setting: Setting) -> None:
    """Every step is one turn, in the game and in its view."""
    for turn, (game, _) in enumerate(_played(setting, setting.rng("turns"))):
        _promise(game.turn == turn == game.view().turn, "a step must be exactly one turn")


def check_illegal(setting: Setting) -> None:
    """An illegal action raises and changes nothing."""
    for game, _ in _played(setting, setting.rng("illegal")):
        before, seen = game.save(), game.view()
        for action in ILLEGAL:
            if action not in game.legal_actions():
                refused = _refuses(game, action, IllegalActionError)
                _promise(refused, f"{action!r} must raise IllegalActionError")
        _promise(game.save() == before and game.view() == seen, "an illegal action moved the world")


def check_save(setting: Setting) -> None:
    """A saved state, loaded into a fresh or a played-on game, has the same future."""
    rng = setting.rng("save")
    for game, _ in _played(setting, rng):
        if rng.random() < 0.25:
            state, future = game.save(), _future(game, rng)
            other = setting.make()
            other.load(state)
            _promise(other.save() == state, "a loaded state must save to the same bytes")
            expected = _trace(game.copy(), future)
            _promise(_trace(other, future) == expected, "a loaded game has another future")
            other.load(state)
            _promise(_trace(other, future) == expected, "a game that was played on does not load")


def check_foreign_bytes(setting: Setting) -> None:
    """Bytes that are no saved state are refused, and nothing has changed."""
    game = setting.make()
    before = game.save()
    for state in (b"", b"{}", b"null", b"\x80\x04N.", before[:-1], b"\xff" + before):
        try:
            game.load(state)
        except WorldError:
            _promise(game.save() == before, "a refused state changed the game")
        else:
            _promise(False, f"{state[:20]!r} was taken for a saved state")


def check_copy(setting: Setting) -> None:
    """A copy has the same future, and neither game moves the other."""
    rng = setting.rng("copy")
    for game, _ in _played(setting, rng):
        if rng.random() < 0.25:
            twin, before = game.copy(), game.save()
            _promise(twin.save() == before, "a copy must be in the same state")
            future = _future(game, rng)
            once = _trace(twin, future)
            _promise(game.save() == before, "playing a copy moved the original")
            _promise(_trace(game.copy(), future) == once, "a copy has another future")


def check_view(setting: Setting) -> None:
    """A view is a value: hashable, equal for equal states, fixed, and plain as JSON."""
    kept = []
    for game, _ in _played(setting, setting.rng("view")):
        view = game.view()
        _promise(view == game.view(), "two views of one state must be equal")
        _promise(hash(view) == hash(game.view()), "equal views must have equal hashes")
        _promise(_is_frozen(view), "a view must be frozen")
        kept.append((view, view.text(), json.dumps(view.json_state())))
    for view, text, state in kept:
        _promise(view.text() == text, "the text of a view changed while the game went on")
        _promise(json.dumps(view.json_state()) == state, "the JSON of a view changed later")
        _promise(json.loads(state) == view.json_state(), "json_state must hold plain JSON values")


def check_summary(setting: Setting) -> None:
    """A summary holds plain JSON values."""
    for game, _ in _played(setting, setting.rng("summary")):
        summary = game.summary()
        plain = json.loads(json.dumps(summary))
        _promise(plain == summary, "a summary must hold plain JSON values")


def check_settings(setting: Setting) -> None:
    """A difficulty or mode that no game has is refused, and the message names those there are."""
    good = {"difficulty": setting.difficulty, "seed": setting.seed, "mode": setting.mode}
    for name, wrong, known in (("difficulty", "eazy", DIFFICULTIES), ("mode", "papre", MODES)):
        try:
            setting.kind(**(good | {name: wrong}))  # type: ignore[arg-type]
        except SettingsError as error:
            for word in (*known, wrong):
                _promise(word in str(error), f"the error about {name} must say {word!r}: {error}")
        else:
            _promise(False, f"{name} {wrong!r} was taken")


def check_seeds(setting: Setting) -> None:
    """A seed is either playable or refused, and the message names the seeds there are."""
    for seed in (-1, 8, 32, 1_000, 10**20):
        try:
            game = replace(setting, seed=seed).make()
        except SettingsError as error:
            _promise(str(seed) in str(error), f"the error must say the seed {seed}: {error}")
            ends = [int(number) for number in re.findall(r" (\d+) to (\d+)", str(error))[0]]
            for valid in ends:
                replace(setting, seed=valid).make()
        else:
            game.step(game.default_action)


CHECKS = (
    check_names,
    check_repeatable,
    check_end,
    check_score,
    check_turns,
    check_illegal,
    check_save,
    check_foreign_bytes,
    check_copy,
    check_view,
    check_summary,
    check_settings,
    check_seeds,
)
"""Every promise, in the order in which they are best read."""


def _promise(kept: bool, promise: str) -> None:
    if not kept:
        raise AssertionError(promise)


def _any(game: Game, rng: np.random.Generator) -> str:
    legal = game.legal_actions()
    return legal[rng.integers(len(legal))]


def _safe(game: Game, rng: np.random.Generator) -> str:
    """A random action that does not end the game, if one of a few tries finds it."""
    for _ in range(8):
        action, twin = _any(game, rng), game.copy()
        twin.step(action)
        if not twin.done:
            break
    return action


def _played(setting: Setting, rng: np.random.Generator) -> Iterator[tuple[Game, str]]:
    """Play randomly, but mostly avoid the end: the game before each step, and the action."""
    game = setting.make()
    for _ in range(game.horizon):
        action = _any(game, rng) if rng.random() < 0.01 else _safe(game, rng)
        yield game, action
        game.step(action)
        if game.done:
            return


def _future(game: Game, rng: np.random.Generator) -> list[str]:
    """Actions that lead a copy of the game on for a while."""
    twin, actions = game.copy(), []
    while not twin.done:
        actions.append(_safe(twin, rng))
        twin.step(actions[-1])
    return actions


def _trace(game: Game, actions: list[str]) -> list[object]:
    """All that can be seen while a game is played on, and its state at the end."""
    seen: list[object] = [game.view()]
    for action in actions:
        if game.done:
            break
        seen.append((game.step(action), game.score, game.done, game.view(), game.default_action))
    return [*seen, game.save()]


def _refuses(game: Game, action: str, error: type[WorldError]) -> bool:
    try:
        game.step(action)
    except error:
        return True
    return False


def _is_frozen(view: object) -> bool:
    try:
        view.turn = 0  # type: ignore[attr-defined]
    except AttributeError:
        return True
    return False
