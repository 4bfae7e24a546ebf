"""Gymnasium's environments as worlds that move by themselves, and worlds as its environments.

    Ticking(GymnasiumGame(gymnasium.make("FrozenLake-v1"), default="LEFT", ...), period)
    WorldEnv(lambda seed: Ticking(make_game("snake", ...), period), actions="LRUDS", seeds=range(8))

The first gives an environment that waits for its agent a default action and a clock. The second
lets an agent that acts once a step into a world that does not wait: with `thinking` a step costs
time, and the world goes on meanwhile. Without it, the world is frozen between steps.
"""

import json
from collections.abc import Callable, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass
from string import printable
from typing import Any, ClassVar, Self

import msgspec
import numpy as np

from timeful.core.units import START, Duration, Instant, nanoseconds
from timeful.environments.environment import Environment, Observation
from timeful.environments.game import View
from timeful.environments.ticking import Ticking
from timeful.errors import IllegalActionError, SettingsError, WorldError, check_range

try:
    import gymnasium
    from gymnasium import spaces
except ImportError as error:
    raise SettingsError(
        "the bridges to Gymnasium need it installed: pip install 'timeful[gymnasium]'"
    ) from error


@dataclass(frozen=True, slots=True, kw_only=True)
class GymnasiumView:
    """What a Gymnasium environment shows: its last observation.

    Attributes:
        turn: The number of steps that have passed.
        words: The observation in words, as the game's `show` puts it.
        plain: The observation as JSON text.
    """

    turn: int
    words: str
    plain: str

    def text(self) -> str:
        """The observation in words."""
        return self.words

    def json_state(self) -> dict[str, Any]:
        """The turn, and the observation as plain JSON values."""
        return {"turn": self.turn, "observation": json.loads(self.plain)}


class _Saved(msgspec.Struct, tag="gymnasium", frozen=True, forbid_unknown_fields=True):
    """A saved game: all that was done since the start, which is all that there is to know."""

    seed: int
    actions: tuple[str, ...]


class GymnasiumGame:
    """A `Game` around a Gymnasium environment; `Ticking` makes it move by itself.

    Args:
        env: The environment. It must be repeatable given a seed, as Gymnasium asks, and
            `copy.deepcopy` must copy it.
        actions: What each action of an agent means to the environment; the numbers of a
            discrete action space if None.
        default: The action that is taken when none came in time.
        seed: Of the episode; every reset begins the same one.
        horizon: The greatest number of turns; the environment's own limit if None.
        show: Puts an observation into words, for prompts.
        name: For records; the environment's own if None.

    Raises:
        SettingsError: If the default is no action, actions are missing, or nothing limits the
            number of turns.
    """

    name: ClassVar[str] = "gymnasium"
    actions: ClassVar[tuple[str, ...]] = ()
    horizon: ClassVar[int] = 0
    restarted = False
    busy = False

    def __init__(
        self,
        env: gymnasium.Env[Any, Any],
        *,
        default: str,
        actions: Mapping[str, Any] | None = None,
        seed: int = 0,
        horizon: int | None = None,
        show: Callable[[Any], str] = str,
        name: str | None = None,
    ) -> None:
        spec = env.spec
        limit = horizon or (spec.max_episode_steps if spec else None)
        if not limit:
            raise SettingsError("nothing limits the turns of this environment; give a `horizon`")
        self._table = _table(env) if actions is None else dict(actions)
        if default not in self._table:
            labels = ", ".join(self._table)
            raise SettingsError(f"the default {default!r} is no action; actions are {labels}")
        # What other games share as a class, each of these has of its own.
        vars(self)["name"] = name or (spec.id if spec else type(env.unwrapped).__name__)
        vars(self)["actions"] = tuple(self._table)
        vars(self)["horizon"] = limit
        self.env = env
        self.default_action = default
        self._seed = seed
        self._show = show
        self.reset()

    def reset(self) -> None:
        """Go back to the start of the same episode."""
        observation, _ = self.env.reset(seed=self._seed)
        self._seen(observation)
        self._history: list[str] = []
        self.turn = 0
        self.score = 0.0
        self.done = False

    def step(self, action: str) -> float:
        """Play one turn and return its reward.

        Raises:
            IllegalActionError: If there is no such action; nothing has changed.
            WorldError: If the game is over.
        """
        if action not in self._table:
            raise IllegalActionError.named(action, self.actions)
        if self.done:
            raise WorldError(f"{self.name} is over; reset it to play again")
        observation, reward, terminated, truncated, _ = self.env.step(self._table[action])
        self._seen(observation)
        self._history.append(action)
        self.turn += 1
        self.score += float(reward)
        self.done = terminated or truncated or self.turn >= self.horizon
        return float(reward)

    def legal_actions(self) -> tuple[str, ...]:
        """The actions that `step` takes."""
        return self.actions

    def view(self) -> GymnasiumView:
        """What a player is shown now."""
        return GymnasiumView(turn=self.turn, words=self._words, plain=self._plain)

    def summary(self) -> dict[str, Any]:
        """The state in short."""
        return {"turn": self.turn, "score": self.score, "done": self.done}

    def save(self) -> bytes:
        """The seed and all actions so far; to load is to play them again."""
        return msgspec.json.encode(_Saved(seed=self._seed, actions=tuple(self._history)))

    def load(self, state: bytes) -> None:
        """Continue from a saved state.

        Raises:
            WorldError: If the bytes are no saved state of this game.
        """
        try:
            snapshot = msgspec.json.decode(state, type=_Saved)
        except (msgspec.DecodeError, msgspec.ValidationError) as error:
            raise WorldError(f"these bytes are no saved state of {self.name}: {error}") from error
        if not set(snapshot.actions) <= set(self.actions) or len(snapshot.actions) > self.horizon:
            raise WorldError(f"these bytes are of another game than {self.name}")
        self._seed = snapshot.seed
        self.reset()
        for action in snapshot.actions:
            self.step(action)

    def copy(self) -> Self:
        """An independent game in the same state."""
        return deepcopy(self)

    def _seen(self, observation: Any) -> None:
        # Some environments write the next observation into the same array.
        self._words = self._show(observation)
        self._plain = json.dumps(_as_json(observation))


Choice = str | Callable[[View], str] | None
"""An action of a world, a rule that reads it from a view, or None for no action."""

GLYPHS = printable + "↑↓←→ø✓"
"""The characters of the built-in worlds' texts."""


def at_horizon(world: Environment, last: Observation) -> bool:
    """Whether a time limit ended a world: a game's horizon, or the budget of a world of events."""
    if isinstance(world, Ticking):
        return world.game.turn >= world.game.horizon
    return last.event == "budget" or last.data.get("why") == "horizon"


class WorldEnv(gymnasium.Env[Any, Any]):
    """A world as a Gymnasium environment: one step is one decision.

    A step thinks for `thinking`, while the world moves; then the action goes in, counting as well
    at the very instant at which the world moves; then the world moves through its next change.
    With no thinking this is the law `frozen`; with some, `fixed_rate` for an agent whose every
    decision takes that long. The reward is all utility that the step saw. What is not legal when
    it goes in is as if nothing was done, and `info` says so. An episode that a time limit ended is
    truncated; all others are terminated.

    Args:
        make: Makes the world for a seed.
        actions: What the numbers of the action space mean, in order; None is to do nothing, and a
            function reads the action from the view.
        seeds: The seeds of the episodes, one of which each reset draws.
        thinking: How long a decision takes; nothing if None.
        encode: What the agent is given of a view; its text if None.
        space: The space of what `encode` gives; texts of up to 8192 characters if None.
        spans: The additional time of each action; nothing if None.
        token: The length of a token. With it, an action is a Dict of `action` and `tokens`, and
            the thought before it lasts for its tokens in addition.
        most_tokens: The largest thought that such an action can state.
        idle: The action that is taken in place of an illegal one.
        is_cut: Whether a time limit ended the world, given its last observation.
        render_mode: "ansi" for the text of the view, or None.

    Raises:
        SettingsError: If there are no actions or no seeds, only one of `encode` and `space`, a
            negative time, or spans for another number of actions.
    """

    # As Gymnasium declares it.
    metadata: dict[str, Any] = {"render_modes": ["ansi"], "render_fps": 1}  # noqa: RUF012

    def __init__(  # noqa: PLR0913 - the options of an environment
        self,
        make: Callable[[int], Environment],
        actions: Sequence[Choice],
        *,
        seeds: Sequence[int],
        thinking: Duration | None = None,
        encode: Callable[[View], Any] | None = None,
        space: spaces.Space[Any] | None = None,
        spans: Sequence[Duration] | None = None,
        token: Duration | None = None,
        most_tokens: int = 4096,
        idle: str | None = None,
        is_cut: Callable[[Environment, Observation], bool] = at_horizon,
        render_mode: str | None = None,
    ) -> None:
        if not actions or not seeds:
            raise SettingsError("a world needs at least one action and one seed")
        if (encode is None) != (space is None):
            raise SettingsError("`encode` and `space` belong together; give both or neither")
        if spans is not None and len(spans) != len(actions):
            raise SettingsError(f"{len(spans)} spans were given for {len(actions)} actions")
        check_range("thinking, in ns,", thinking or 0, least=0)
        check_range("the length of a token, in ns,", token or 0, least=0)
        self._make = make
        self._actions = tuple(actions)
        self._seeds = seeds
        self._thinking = nanoseconds(0 if thinking is None else thinking)
        self._encode = encode or (lambda view: view.text())
        self._spans = None if spans is None else tuple(spans)
        self._token = token
        self._idle = idle
        self._is_cut = is_cut
        self.render_mode = render_mode
        choices = spaces.Discrete(len(self._actions))
        self.action_space = (
            choices
            if token is None
            else spaces.Dict(action=choices, tokens=spaces.Box(0, most_tokens, (), np.int64))
        )
        self.observation_space = space or spaces.Text(8192, min_length=0, charset=GLYPHS)

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Any, dict[str, Any]]:
        """Begin an episode; the same seed begins the same one. There are no options."""
        super().reset(seed=seed)
        self.world = self._make(self._seeds[int(self.np_random.integers(len(self._seeds)))])
        self.world.reset()
        self._now, self._cut = START, False
        return self._encode(self.world.view()), self._info((), legal=True)

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        """Think, act, and let the world move."""
        world, before = self.world, self.world.score
        number, thinking = self._read(action)
        acts_at = Instant(self._now + thinking)
        # At the very instant of a change the agent goes first, as under every interface.
        observations = world.advance(Instant(acts_at - 1)) if thinking else ()
        change = world.next_change()
        legal = True
        if change is not None:
            choice = self._actions[number]
            if callable(choice):
                choice = choice(world.view())
            legal = self._intervene(choice, at=acts_at)
            if not legal:
                self._intervene(self._idle, at=acts_at)
            # An action may have brought the next change nearer.
            change = world.next_change() or change
            self._now = max(acts_at, change)
            observations = (*observations, *world.advance(self._now))
        over = world.next_change() is None
        if over and observations:
            self._cut = self._is_cut(world, observations[-1])
        current = observations and observations[-1].at == self._now
        view = self._encode(observations[-1].view if current else world.view())
        info = self._info(observations, legal=legal)
        return view, world.score - before, over and not self._cut, over and self._cut, info

    def render(self) -> Any:
        """The text of the view, for the render mode "ansi"."""
        return self.world.view().text() if self.render_mode == "ansi" else None

    def _read(self, action: Any) -> tuple[int, int]:
        """The number of an action, and how long the agent thinks before it."""
        if self._token is None:
            number, thinking = int(action), self._thinking
        else:
            number = int(action["action"])
            thinking = nanoseconds(self._thinking + int(action["tokens"]) * self._token)
        if self._spans is not None:
            thinking = nanoseconds(thinking + self._spans[number])
        return number, thinking

    def _intervene(self, action: str | None, *, at: Instant) -> bool:
        try:
            self.world.intervene(() if action is None else (action,), at=at)
        except IllegalActionError:
            return False
        return True

    def _info(self, observations: Sequence[Observation], *, legal: bool) -> dict[str, Any]:
        events = [(observation.at, observation.event) for observation in observations]
        return {"now": self._now, "events": events, "legal": legal}


def _table(env: gymnasium.Env[Any, Any]) -> dict[str, Any]:
    space = env.action_space
    if not isinstance(space, spaces.Discrete):
        raise SettingsError(
            f"the actions of {space} have no names; give `actions`, such as {{'PUSH': [0.5]}}"
        )
    return {str(number): number for number in range(int(space.start), int(space.start + space.n))}


def _as_json(value: Any) -> Any:
    """An observation as JSON values: arrays as lists, and what is unknown in words."""
    if isinstance(value, np.ndarray | np.generic):
        return value.tolist()
    if isinstance(value, Mapping):
        return {str(key): _as_json(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_as_json(item) for item in value]
    return value if value is None or isinstance(value, str | int | float) else str(value)
