"""A game of words as a task: five tools, and the game's own points (Timely Machine, A.1.2)."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from timeful.core.clock import monotonic_ns
from timeful.core.units import Duration
from timeful.environments.fiction.text_game import TextGame
from timeful.environments.timed.task import Done, Work
from timeful.tools import Parameter, ToolCall, ToolSpec

STEP = ToolSpec(
    name="step",
    description="Types a command into the game and returns what the game says.",
    parameters=(
        Parameter(name="action", description='The command, such as "take lamp" or "go north".'),
    ),
)
ACTIONS = ToolSpec(
    name="get_available_actions",
    description="Lists commands that would change something in the game right now.",
)
SCORE = ToolSpec(name="get_score", description="Tells the points you have.")
MAX_SCORE = ToolSpec(name="get_max_score", description="Tells the most points there are.")
END = ToolSpec(name="end_game", description="Ends the game for good; your points stay.")

LISTED = "You could try: "
"""How the reply of `get_available_actions` begins; commands follow, with `; ` between them."""

LONGEST = 200
"""The most characters of a command."""


class FictionTask:
    """Play a game for points; the score is the game's own, start score included.

    Args:
        game: The game, at its start; the task owns it.
    """

    tools = (STEP, ACTIONS, SCORE, MAX_SCORE, END)

    def __init__(self, game: TextGame) -> None:
        self._game = game
        self._ended = False

    @property
    def opening(self) -> str:
        """What the game says first."""
        return f"The game begins.\n\n{self._game.opening}"

    @property
    def score(self) -> float:
        """The game's points."""
        return float(self._game.score)

    @property
    def over(self) -> bool:
        """Whether the game is, or was ended."""
        return self._ended or self._game.over

    def reset(self) -> None:
        """Begin the game again."""
        self._game.reset()
        self._ended = False

    def begin(self, call: ToolCall, limit: Duration) -> Work | None:
        """Looking for commands may take a while; all else is a matter of milliseconds."""
        return _Look(self._game) if call.name == ACTIONS.name else None

    def finish(self, call: ToolCall, result: Any) -> str:
        """Let a call take effect."""
        game = self._game
        match call.name:
            case STEP.name:
                return self._step(" ".join(call.arguments["action"].split()))
            case ACTIONS.name:
                return LISTED + "; ".join(result) if result else "Nothing comes to mind."
            case SCORE.name:
                return f"You have {game.score} points."
            case MAX_SCORE.name:
                has_max = game.max_score is not None
                return (
                    f"There are {game.max_score} points." if has_max else "The game does not say."
                )
        self._ended = True
        return f"The game was ended with {game.score} points."

    def _step(self, action: str) -> str:
        if not action:
            return "You have to type something."
        if len(action) > LONGEST:
            return f"A command has at most {LONGEST} characters."
        return self._game.step(action)

    def answer(self, text: str) -> None:
        """The last words change nothing in the game."""
        self._ended = True

    def facts(self) -> Mapping[str, Any]:
        """The points at the start, at the end and at most, the moves, and whether it was won."""
        game = self._game
        return {
            "start_score": game.start_score,
            "final_score": game.score,
            "max_score": game.max_score,
            "moves": game.moves,
            "won": game.won,
        }

    def close(self) -> None:
        """Let go of the game's process."""
        self._game.close()


@dataclass(frozen=True, slots=True)
class _Look:
    """Looks for commands, in a thread; what is found late is of no use and does no harm."""

    game: TextGame

    def run(self) -> Done:
        """Look."""
        since = monotonic_ns()
        actions = self.game.available_actions()
        return Done(took=Duration(monotonic_ns() - since), result=actions)

    def stop(self) -> None:
        """It ends by itself soon enough."""
