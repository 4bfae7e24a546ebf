"""Playing one episode of the suite."""

from functools import partial

from timeful.agents.agile import agile, agile_concurrent, agile_reduced
from timeful.agents.code_policy import code_policy
from timeful.agents.connection import Interface
from timeful.agents.planning import planning
from timeful.agents.prompt_kit import prompt_kit
from timeful.agents.reactive import FORCED_TOKENS, reactive, reactive_forced
from timeful.agents.session import Agent
from timeful.core.clock import Clock, VirtualClock, WallClock
from timeful.core.units import Duration
from timeful.environments.registry import make_game
from timeful.environments.ticking import Ticking
from timeful.interfaces.make import make_interface
from timeful.models.model import Model
from timeful.models.model_spec import Role
from timeful.records.recorder import Recorder
from timeful.runs.episode import EpisodeSetting, play_episode
from timeful.sandbox.policy import PolicyProcess
from timeful.seeding import child_seed
from timeful.suites.realtime.spec import EpisodeSpec

PATIENCE = 1 << 20
"""How long a frozen world waits: a million tokens, or 17 minutes."""


def play(spec: EpisodeSpec, recorder: Recorder, *, api_key: str = "") -> bool:
    """Play an episode and write its record; True if it came to its end."""
    seed = child_seed(
        spec.seed, "realtime", spec.game, spec.difficulty, spec.game_seed, spec.sample
    )
    game = make_game(spec.game, difficulty=spec.difficulty, seed=spec.game_seed, mode=spec.mode)
    clock: Clock = WallClock(spec.time_scale) if spec.clock == "wall" else VirtualClock()
    return play_episode(
        EpisodeSetting(settings=spec.settings(), seed=seed, transcripts=spec.transcripts),
        environment=Ticking(game, spec.span(spec.step)),
        interface=_interface(spec),
        agent=agent(spec, api_key=api_key),
        clock=clock,
        recorder=recorder,
    )


def _interface(spec: EpisodeSpec) -> Interface:
    span = None
    if spec.law == "frozen":
        span = spec.span(PATIENCE)
    elif spec.law == "polling":
        span = spec.interval
    return make_interface(spec.law, span=span, full=spec.transcripts == "full")


_TWO_THREADS = {
    "agile": agile,
    "agile-concurrent": agile_concurrent,
    "agile-reduced": agile_reduced,
}


def agent(spec: EpisodeSpec, *, api_key: str = "") -> Agent:
    """Put the agent of an episode together."""
    book = prompt_kit(spec.game)

    def make(role: Role) -> Model:
        choice = spec.planner if role == "planner" else spec.reactor
        return choice.make(role, pace=spec.pace, scope=spec.scope, api_key=api_key)

    budget = spec.span(spec.budget or spec.step)
    match spec.agent:
        case "reactive":
            return partial(reactive, model=make("reactor"), prompts=book, budget=budget)
        case "reactive-budget":
            model = make("planner")
            return partial(
                reactive_forced,
                model=model,
                prompts=book,
                budget=budget,
                forced=_forced(spec, model),
            )
        case "planning":
            return partial(planning, model=make("planner"), prompts=book)
        case "code-policy":
            return partial(code_policy, model=make("planner"), prompts=book, launch=PolicyProcess)
    return partial(
        _TWO_THREADS[spec.agent],
        planner=make("planner"),
        reactor=make("reactor"),
        prompts=book,
        reserve=spec.span(spec.reserve or spec.step),
    )


def _forced(spec: EpisodeSpec, model: Model) -> Duration:
    """What one forced call may take: its few tokens at the model's pace.

    On a wall clock that alone tells the time of tokens, it is a twentieth of a turn: with three
    calls, most of the turn is left to think.
    """
    if model.pace is not None:
        return model.pace(FORCED_TOKENS)
    return spec.span(spec.step) // 20
