"""A game from one call: what an example, a notebook or a test needs."""

from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from timeful.agents.session import Agent
from timeful.core.clock import Clock, VirtualClock
from timeful.core.units import Duration
from timeful.environments.game import Difficulty, Game, Mode
from timeful.environments.registry import make_game
from timeful.environments.ticking import Ticking
from timeful.errors import TimefulError
from timeful.interfaces.fixed_rate import FixedRate
from timeful.models.pace import tokens
from timeful.records.events import EpisodeFailed, Event, Turned
from timeful.records.recorder import Recorder
from timeful.runs.episode import EpisodeSetting, play_episode
from timeful.seeding import child_seed


@dataclass(frozen=True, slots=True, kw_only=True)
class Played:
    """What became of a game.

    Attributes:
        score: The raw return R.
        turns: How many turns it lasted.
        late: In how many of them no action had come, so that the default was taken.
        events: Its whole record.
    """

    score: float
    turns: int
    late: int
    events: tuple[Event, ...] = field(repr=False)


def play_game(
    agent: Agent,
    game: str | Game,
    *,
    difficulty: Difficulty = "medium",
    seed: int = 0,
    mode: Mode = "compat",
    step: Duration | None = None,
    clock: Clock | None = None,
    record: Path | None = None,
) -> Played:
    """Play one game in real time: the world ticks every `step`, whatever the agent does.

    Args:
        agent: An async function of a session.
        game: freeway, snake or overcooked; or a game of your own, which brings its difficulty,
            seed and rules along.
        difficulty: easy, medium or hard; of a game that is named.
        seed: The seed of the agent's sampling, and of a game that is named.
        mode: The published rules ("compat"), or the paper's; of a game that is named.
        step: The length of a turn; 8192 tokens if not given.
        clock: A virtual clock if not given.
        record: Where to write the record as well.

    Raises:
        SettingsError: If there is no such game, difficulty, seed or mode.
        TimefulError: If the agent, its model or the world failed; it names which.
    """
    if isinstance(game, str):
        world = make_game(game, difficulty=difficulty, seed=seed, mode=mode)
        settings = {"game": game, "difficulty": difficulty, "seed": seed, "mode": mode}
    else:
        # Nobody but the game knows its difficulty, and a record says nothing that is not so.
        world = game
        settings = {"game": world.name, "seed": seed}
    recorder = Recorder(record)
    try:
        play_episode(
            EpisodeSetting(
                settings=settings,
                seed=child_seed(seed, "game", world.name, difficulty),
            ),
            environment=Ticking(world, tokens(8192) if step is None else step),
            interface=partial(FixedRate, full=True),
            agent=agent,
            clock=clock or VirtualClock(),
            recorder=recorder,
        )
    finally:
        recorder.close()
    for event in recorder.events:
        if isinstance(event, EpisodeFailed):
            raise TimefulError(f"the episode failed at the {event.boundary}: {event.error}")
    turns = [event for event in recorder.events if isinstance(event, Turned)]
    return Played(
        score=world.score,
        turns=len(turns),
        late=sum(turn.late for turn in turns),
        events=tuple(recorder.events),
    )
