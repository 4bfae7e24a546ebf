"""One episode from one call: any agent, any world, any interface, any clock."""

from collections.abc import Callable
from dataclasses import dataclass, field
from inspect import signature
from pathlib import Path
from traceback import format_exception
from typing import TYPE_CHECKING, Any, Literal

from timeful.agents.connection import Interface
from timeful.agents.session import Agent, Transcripts
from timeful.core.clock import Clock, VirtualClock
from timeful.environments.environment import Environment
from timeful.environments.game import Game
from timeful.environments.registry import GAME_NAMES
from timeful.environments.ticking import Ticking
from timeful.errors import EpisodeError, SettingsError
from timeful.interfaces.compatibility import WORLDS, check_fits, world_name
from timeful.interfaces.make import make_interface
from timeful.models.pace import tokens
from timeful.records.events import Entry, EpisodeEnded, Happened, Turned, Wall
from timeful.records.recorder import Recorder
from timeful.records.verdicts import judge
from timeful.registry import is_file_name, load
from timeful.runs.episode import EpisodeSetting, boundary_of, run_episode
from timeful.seeding import child_seed

if TYPE_CHECKING:
    from timeful.viewer.inline import EpisodePage

World = str | Game | Environment | Callable[..., Game | Environment]
"""A world: a name, a game, an environment, or a function that makes one of these."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Episode:
    """An episode that was played, as its record tells it.

    Attributes:
        events: The record.
        error: The error that ended the episode; None if it came to its end.
    """

    events: tuple[Entry, ...] = field(repr=False)
    error: Exception | None = None

    @property
    def status(self) -> Literal["completed", "failed"]:
        """Whether the episode came to its end."""
        return "completed" if self.error is None else "failed"

    @property
    def traceback(self) -> str:
        """The traceback of the error as text; empty if there is none."""
        return "" if self.error is None else "".join(format_exception(self.error))

    @property
    def score(self) -> float:
        """The utility at the end; of a failed episode, the utility so far."""
        scores = (
            event.score
            for event in reversed(self.events)
            if isinstance(event, EpisodeEnded | Turned | Happened)
        )
        return next(scores, 0.0)

    @property
    def turns(self) -> int:
        """The number of changes of the world: turns of a game, events of another world."""
        return sum(isinstance(event, Turned | Happened) for event in self.events)

    @property
    def late(self) -> int:
        """The number of turns in which no action came in time, so that the default was taken."""
        return judge(self.events).counts().get("default", 0)

    @property
    def behind_s(self) -> float:
        """The greatest delay of the timeline after a wall clock, in s; 0 in virtual time."""
        return max(
            (event.behind_s for event in self.events if isinstance(event, Wall)), default=0.0
        )

    def save(self, path: Path | str) -> None:
        """Write the record to a file, one JSON object a line; `timeful show` prints it."""
        recorder = Recorder(path)
        try:
            for event in self.events:
                recorder.write(event)
        finally:
            recorder.close()

    def view(self) -> "EpisodePage":
        """Show the episode on a timeline: in a notebook below the cell, else in a browser."""
        # Workers play episodes and show none: they do not load the page.
        from timeful.viewer.inline import view_events  # noqa: PLC0415

        return view_events(self.events)


def play(
    agent: Agent,
    world: World,
    *,
    interface: str | Interface = "fixed-rate",
    clock: Clock | None = None,
    seed: int = 0,
    record: Path | str | Recorder | None = None,
    transcripts: Transcripts = "full",
    check: bool = True,
    **options: Any,
) -> Episode:
    """Play one episode.

    Args:
        agent: An async function of a session.
        world: A registered name (`timeful list worlds`), a file as `my.py:world`, a game, an
            environment, or a function that makes one; a game or an environment is reset.
        interface: The name of an interface, such as "event-driven" or "polling:30s", or one
            from `make_interface`. A fixed rate needs a period in a world of events.
        clock: A virtual clock if not given.
        seed: The seed of the agent's sampling, and of a world that is made here.
        record: A file to write the record to while the episode is played, or the recorder of a
            suite's episode, which has its settings.
        transcripts: "full" records every chunk of a thought and every state, "answers" only
            the answers.
        check: Whether a failed episode is raised as an error; otherwise it is returned.
        options: `step`, the length of a turn of a game (8192 tokens if not given), and the
            options of a world that is made here, such as `difficulty="hard"`.

    Returns:
        The episode: its score and its record.

    Raises:
        SettingsError: If there is no such world or interface, or they do not fit each other.
        TypeError: If the world is none of these, or has no such option.
        EpisodeError: If the agent, its model or the world failed; the cause is their error.
    """
    environment = _make_environment(world, seed=seed, options=dict(options))
    name = world_name(environment)
    registered_name = world if isinstance(world, str) and not is_file_name(world) else name
    settings = {"world": registered_name, "seed": seed, **options}
    if isinstance(interface, str):
        settings["interface"] = interface
        if name in WORLDS:
            check_fits(name, interface.partition(":")[0])
        interface = make_interface(interface, full=transcripts == "full")
    recorder = record if isinstance(record, Recorder) else Recorder(record)
    try:
        error = run_episode(
            EpisodeSetting(
                settings=settings if recorder.settings is None else recorder.settings,
                seed=child_seed(seed, "game", name, str(options.get("difficulty", "medium"))),
                transcripts=transcripts,
            ),
            environment=environment,
            interface=interface,
            agent=agent,
            clock=clock or VirtualClock(),
            recorder=recorder,
        )
    finally:
        if recorder is not record:
            recorder.close()
    if check and isinstance(error, SettingsError):
        raise error
    if check and error is not None:
        raise EpisodeError(
            f"the episode failed at the {boundary_of(error)}: {type(error).__name__}: {error}"
        ) from error
    return Episode(events=tuple(recorder.events), error=error)


def _make_environment(world: World, *, seed: int, options: dict[str, Any]) -> Environment:
    if isinstance(world, str):
        options = {"difficulty": "medium", **options} if world in GAME_NAMES else options
        made: Any = load("world", world)
        return _make_environment(made, seed=seed, options=options)
    if callable(world):
        parameters = signature(world).parameters
        steps = {"step": options.pop("step")} if "step" in {*options} - {*parameters} else {}
        if "seed" in parameters:
            options = {"seed": seed, **options}
        return _make_environment(world(**options), seed=seed, options=steps)
    if hasattr(world, "advance"):
        _refuse_options(options)
        world.reset()
        return world  # type: ignore[return-value]
    if not hasattr(world, "step"):
        raise TypeError(
            "a world is a name, a game, an environment, or a function that makes one; "
            f"got {world!r}"
        )
    step = options.pop("step", None)
    _refuse_options(options)
    return Ticking(world, tokens(8192) if step is None else step)


def _refuse_options(options: dict[str, Any]) -> None:
    if options:
        raise TypeError(f"this world was made already and takes no option {', '.join(options)}")
