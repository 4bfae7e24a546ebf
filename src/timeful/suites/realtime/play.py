"""Playing one episode of the suite."""

from functools import cache
from typing import Any

from timeful.agents.agile import agile, agile_concurrent, agile_reduced
from timeful.agents.code_policy import code_policy
from timeful.agents.connection import Interface
from timeful.agents.planning import planning
from timeful.agents.prompt_kit import PromptKit, prompt_kit
from timeful.agents.reactive import FORCED_TOKENS, reactive, reactive_forced
from timeful.agents.session import Agent
from timeful.core.clock import Clock, VirtualClock, WallClock
from timeful.core.units import Duration
from timeful.environments.game import Game
from timeful.environments.registry import GAME_NAMES, make_game
from timeful.environments.ticking import Ticking
from timeful.errors import SettingsError
from timeful.interfaces.make import make_interface
from timeful.models.kinds import ApiKey
from timeful.models.model import Model
from timeful.models.model_spec import Role
from timeful.records.recorder import Recorder
from timeful.registry import bind, load
from timeful.runs.episode import EpisodeSetting, play_episode
from timeful.sandbox.policy import PolicyProcess
from timeful.seeding import child_seed
from timeful.suites.names import short_name
from timeful.suites.realtime.episode import RealtimeEpisode, roles

PATIENCE = 1 << 20
"""The longest wait of a frozen world: a million tokens, or 17 minutes."""


def play(episode: RealtimeEpisode, recorder: Recorder, *, api_key: ApiKey = "") -> bool:
    """Play an episode and write its record; True if it came to its end."""
    name = short_name(episode.game)
    seed = child_seed(
        episode.seed, "realtime", name, episode.difficulty, episode.game_seed, episode.sample
    )
    game = make_world(episode)
    clock: Clock = WallClock(episode.time_scale) if episode.clock == "wall" else VirtualClock()
    return play_episode(
        EpisodeSetting(
            settings=recorder.settings or episode.settings(),
            seed=seed,
            transcripts=episode.transcripts,
        ),
        environment=Ticking(game, episode.span(episode.step)),
        interface=interface(episode),
        agent=agent(episode, game, api_key=api_key),
        clock=clock,
        recorder=recorder,
    )


def make_world(episode: RealtimeEpisode) -> Game:
    """Make the game of an episode, built in or of a user's own.

    A world of one's own is a function or class; it gets `difficulty`, `seed` and `mode` if it has
    parameters of these names.

    Raises:
        SettingsError: If there is no such world, difficulty, mode or seed.
    """
    if episode.game in GAME_NAMES:
        return make_game(
            episode.game, difficulty=episode.difficulty, seed=episode.game_seed, mode=episode.mode
        )
    available = {
        "difficulty": lambda: episode.difficulty,
        "seed": lambda: episode.game_seed,
        "mode": lambda: episode.mode,
    }
    factory: Any = load("world", episode.game)
    game: Game = bind(factory, available)()
    if not hasattr(game, "step"):
        raise SettingsError(
            f"{episode.game} is no world of turns: it has no method `step`; play a world of events "
            "with timeful.play, or in a suite of your own"
        )
    return game


def find_prompts(episode: RealtimeEpisode, game: Game) -> PromptKit:
    """The prompts of a game; a world of a user's own has them in the attribute `prompts`.

    Raises:
        SettingsError: If it has none.
    """
    if episode.game in GAME_NAMES:
        return prompt_kit(episode.game)
    prompts = getattr(game, "prompts", None)
    if not isinstance(prompts, PromptKit):
        raise SettingsError(
            f"{episode.game} has no attribute `prompts`, a PromptKit, which the agent "
            f"{episode.agent!r} needs"
        )
    return prompts


def interface(episode: RealtimeEpisode) -> Interface:
    """Make the interface between the agent's time and the world's."""
    name, is_polling, _ = episode.interface.partition(":")
    span = episode.interval if is_polling else None
    if name == "frozen":
        span = episode.span(PATIENCE)
    return make_interface(name, span=span, full=episode.transcripts == "full")


BUILT_IN: dict[str, Any] = {
    "agile": agile,
    "agile-concurrent": agile_concurrent,
    "agile-reduced": agile_reduced,
    "code-policy": code_policy,
    "planning": planning,
    "reactive": reactive,
    "reactive-budget": reactive_forced,
}


def agent(episode: RealtimeEpisode, game: Game, *, api_key: ApiKey = "") -> Agent:
    """Put the agent of an episode together.

    An agent is a coroutine function of a session; it gets `planner`, `reactor`, `model` (the one
    of an agent with a single model), `prompts`, `budget`, `reserve` and `step` if it has parameters
    of these names.
    """

    @cache
    def make(role: Role) -> Model:
        model = episode.planner if role == "planner" else episode.reactor
        return model.make(role, pace=episode.pace, scope=episode.scope, api_key=api_key)

    only = roles(episode.agent)[0]
    share = episode.reserve or max(1, episode.step // 4)
    function: Any = BUILT_IN.get(episode.agent) or load("agent", episode.agent)
    return bind(
        function,
        {
            "planner": lambda: make("planner"),
            "reactor": lambda: make("reactor"),
            "model": lambda: make(only),
            "prompts": lambda: find_prompts(episode, game),
            "budget": lambda: episode.span(episode.budget or episode.step),
            "reserve": lambda: episode.span(share),
            "step": lambda: episode.span(episode.step),
            "forced": lambda: _forced(episode, make(only)),
            "launch": lambda: PolicyProcess,
        },
        skip=1,
    )


def _forced(episode: RealtimeEpisode, model: Model) -> Duration:
    """The time of one forced call: its few tokens at the model's pace.

    On a wall clock without a pace it is a twentieth of a turn, so that three calls leave most of
    the turn for thinking.
    """
    if model.pace is not None:
        return model.pace(FORCED_TOKENS)
    return episode.span(episode.step) // 20
