"""A game played by hand: a person is an agent whose thinking takes real time.

The world ticks on the same kernel, under the same interface and into the same record as for
any other agent, only that the clock on the wall is the clock.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from timeful.agents.session import Session
from timeful.core.activity import CancelledActivityError
from timeful.core.clock import WallClock
from timeful.core.kernel import Kernel
from timeful.core.units import Duration, in_seconds, milliseconds
from timeful.environments.environment import Environment, Turn
from timeful.environments.game import Game
from timeful.environments.ticking import Ticking
from timeful.errors import SettingsError, TimefulError
from timeful.interfaces.fixed_rate import FixedRate
from timeful.records.events import EpisodeEnded, EpisodeFailed, Turned
from timeful.records.recorder import Recorder
from timeful.runs.board import Caption, default_in_words, draw, in_words, keys_of
from timeful.runs.episode import EpisodeSetting, play_episode

REFRESH = milliseconds(40)
"""How often the screen is drawn; only what changed is written."""

LEAVING = frozenset({"q", "Q", "ctrl-c", "ctrl-d", "end"})
"""The keys that end a game early."""


class Screen(Protocol):
    """A person's keyboard and screen; see `timeful.runs.terminal.Terminal`."""

    def read_key(self, timeout_s: float | None = None) -> str:
        """Wait for a key; "" when the time is up or `wake` was called."""
        ...

    def wake(self) -> None:
        """Let `read_key` return."""
        ...

    def size(self) -> tuple[int, int]:
        """Columns and rows."""
        ...

    def paint(self, lines: list[str]) -> None:
        """Show lines."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Sitting:
    """What became of a game by hand; `late` counts the turns in which no key came in time."""

    turns: int
    late: int
    score: float
    is_over: bool


def open_record(path: Path | None) -> Recorder:
    """Make a recorder, in memory only without a path.

    Raises:
        SettingsError: If the file exists already, or cannot be written.
    """
    if path is None:
        return Recorder()
    if path.exists():
        raise SettingsError(f"{path} exists already; a record is not written over")
    try:
        return Recorder(path)
    except OSError as error:
        raise SettingsError(f"{path} cannot be written: {error.strerror}") from error


def play_by_hand(
    game: Game,
    screen: Screen,
    *,
    settings: dict[str, Any],
    tick: Duration,
    recorder: Recorder,
    clock: WallClock | None = None,
    colour: bool = True,
) -> Sitting:
    """Let a person play a game in wall time, from the first key they press.

    Args:
        game: The game; it is reset.
        screen: The person's keyboard and screen.
        settings: What identifies the episode, for its record and the title.
        tick: The length of a turn, above 0.
        recorder: Where the episode is written.
        clock: The clock on the wall if not given.
        colour: Whether the board is drawn in colours.

    Raises:
        TimefulError: If the screen or the world failed.
    """
    person = _Person(game, screen, tick=tick, title=_title(settings), colour=colour)
    is_over = False
    if person.is_ready():
        try:
            play_episode(
                EpisodeSetting(settings=settings, seed=0),
                environment=Ticking(game, tick),
                interface=person.join,
                agent=person.play,
                clock=clock or WallClock(),
                recorder=recorder,
            )
            is_over = True
        except CancelledActivityError:  # the person left, and the world stopped
            at = recorder.events[-1].at
            recorder.write(
                EpisodeEnded(at=at, reason="the player left", turns=game.turn, score=game.score)
            )
    for event in recorder.events:
        if isinstance(event, EpisodeFailed):
            raise TimefulError(f"the game broke off at the {event.boundary}: {event.error}")
    turns = [event for event in recorder.events if isinstance(event, Turned)]
    late = sum(turn.late for turn in turns)
    return Sitting(turns=len(turns), late=late, score=game.score, is_over=is_over)


def _title(settings: dict[str, Any]) -> str:
    return ", ".join(
        f"{name} {value}" if isinstance(value, int) else str(value)
        for name, value in settings.items()
        if name in ("game", "difficulty", "seed", "mode")
    )


class _Person:
    """Hands that choose, and eyes that see, side by side."""

    def __init__(
        self, game: Game, screen: Screen, *, tick: Duration, title: str, colour: bool
    ) -> None:
        self._game = game
        self._screen = screen
        self._tick = tick
        self._title = title
        self._colour = colour
        self._keys = keys_of(game)
        self._choice = ""
        self._chosen_in = -1

    def is_ready(self) -> bool:
        """Show the start and wait for a key; False if the person leaves."""
        while True:
            self._show("Press any key to start: the world will not wait for you.", "", 1.0)
            key = self._screen.read_key(0.2)
            if key:
                return key not in LEAVING

    def join(self, kernel: Kernel, environment: Environment, recorder: Recorder) -> FixedRate:
        """Sit down at a world."""
        self._kernel = kernel
        self._port = FixedRate(kernel, environment, recorder, full=True)
        return self._port

    async def play(self, session: Session) -> None:
        """The person as an agent."""
        session.spawn(self._see(session), name="eyes")
        while True:
            key = await self._kernel.hold(
                self._screen.read_key, stop=self._screen.wake, name="hands"
            )
            if key in LEAVING:
                self._port.world.interrupt("the player left")
                return
            action = self._keys.get(key)
            if action is not None and session.act(action):
                self._choice, self._chosen_in = action, session.turn

    async def _see(self, session: Session) -> None:
        last = ""
        while True:
            for seen in session.observe():
                if not isinstance(seen, Turn):
                    continue
                late = ", as no key came in time" if seen.late else ""
                words = in_words(self._game, seen.action)
                hit = " Hit: back to the start." if seen.restarted else ""
                last = f"Last turn: {words}{late}; reward {seen.reward:+g}.{hit}"
            chosen = self._choice if self._chosen_in == session.turn else ""
            if chosen:
                message = f"Your move: {in_words(self._game, chosen)}"
            else:
                message = f"Your move? Else {default_in_words(self._game)}"
            left = session.next_tick - session.now
            self._show(message, last, left / self._tick)
            await session.sleep(min(REFRESH, self._tick))

    def _show(self, message: str, last: str, left: float) -> None:
        columns, rows = self._screen.size()
        tick_s = in_seconds(self._tick)
        caption = Caption(
            title=self._title, left_s=left * tick_s, tick_s=tick_s, message=message, last=last
        )
        lines = draw(self._game, caption, columns=columns, rows=rows, colour=self._colour)
        self._screen.paint(lines)
