"""Players that solve a problem from its worked solution: three ways to treat a time budget.

A worked solution is a list of steps, each of which ends in a figure; the last figure answers the
problem. A player writes the steps down, by the sum alone or in full, and slips: with a chance for
each step, which is greater for short steps, the figure comes out wrong, and so does all that
follows. Going over the steps again finds most slips. Whoever stops early has the latest figure to
go by, and nothing else: no player looks at the answer.

| player | treats time |
| --- | --- |
| paced | asks the timer between parts, and works as deep as the time that is left allows |
| steady | does not look at it: always the whole solution in full |
| curt | shortens everything as soon as there is a limit: a few steps at most, then a guess |

They stand in for language models to show that the platform works. Their chances are invented.
"""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from math import ceil
from typing import Literal

import numpy as np

from timeful.agents.scripted_policies import Player
from timeful.agents.tool_user import Round, Transcript
from timeful.core.units import in_seconds, milliseconds
from timeful.environments.reasoning.problems import Problem
from timeful.environments.timed.world import TIMER
from timeful.errors import SettingsError
from timeful.models.pace import Pace
from timeful.models.rules import Answer, Rule
from timeful.seeding import child
from timeful.tools import ToolCall

Depth = Literal["terse", "full", "again"]
"""How a step is written: its sum alone, all of it, or all of it once more."""

SLIPS = {"terse": 0.05, "full": 0.02}
"""The chance that the figure of a step comes out wrong."""

NOTICED = 0.8
"""The chance that going over a step again finds that it was wrong."""

PARTS = 4
"""Into how many parts a solution is cut by whoever looks at the time between them."""

MOST_PASSES = 3
"""How often the steps are gone over, the first time included."""

HASTY_STEPS = 6
"""The most steps of a player that is in a hurry whatever the time."""

MARGIN = 1.1
"""By how much more time than it seems to need a part is begun only if there is."""

_ANSWER_WORDS = 12
"""About what the answer costs, and what it takes to begin it."""

_PACE = Pace(first=milliseconds(100), per_token=milliseconds(25))

_FIGURE = re.compile(r"(?<![\w.])-?[0-9]+(?=\.?$)")
_STEP = re.compile(r"^(?:Step|Again) ([0-9]+)\. .*?(-?[0-9]+)\.$", re.MULTILINE)
_SECONDS = re.compile(r"([0-9.]+) seconds")
_CALL = f"<tool_call>{ToolCall(name=TIMER.name)!s}</tool_call>"


@dataclass(slots=True)
class _Notes:
    """What was written down so far: all that a player knows of a problem.

    Attributes:
        slips: By how much each step that was written is off by its own fault.
        again: How many steps of the latest time over were written again.
        passes: How often the whole solution was gone over.
        latest: The figure that was written last.
    """

    slips: list[int] = field(default_factory=list)
    again: int = 0
    passes: int = 0
    latest: int = 0

    def take(self, i: int, slip: int, right: int, *, last: bool) -> int:
        """Note a step, and return its figure: what went wrong before it is carried along."""
        is_new = i == len(self.slips)
        self.slips[i:] = [slip, *self.slips[i + 1 :]]
        self.again = 0 if is_new else i + 1
        if last:
            self.again, self.passes = 0, self.passes + 1
        self.latest = right + sum(self.slips[: i + 1])
        return self.latest


@dataclass(frozen=True, slots=True)
class _Solution:
    """A worked solution, and how it is written down."""

    problem: Problem

    @property
    def steps(self) -> Sequence[str]:
        return self.problem.worked

    def figure(self, i: int) -> int:
        found = _FIGURE.search(self.steps[i])
        assert found is not None, "a step ends in a figure"
        return int(found.group())

    def write(self, i: int, depth: Depth, notes: _Notes, rng: np.random.Generator) -> str:
        """Write one step, right or wrong, and take note of it."""
        slip = _slip(depth, notes.slips[i] if depth == "again" else 0, rng)
        figure = notes.take(i, slip, self.figure(i), last=i == len(self.steps) - 1)
        return self._line(i, depth, figure)

    def _line(self, i: int, depth: Depth, figure: int) -> str:
        step = self.steps[i]
        said = step.rpartition(": ")[2] if depth == "terse" else step
        label = "Again" if depth == "again" else "Step"
        return f"{label} {i + 1}. {_FIGURE.sub(str(figure), said)}"

    def words(self, i: int, depth: Depth) -> int:
        """What a step costs."""
        return _words(self._line(i, depth, self.figure(i)))

    def read(self, rounds: Sequence[Round]) -> _Notes:
        """What was written in the rounds so far; it shows what went wrong at each step."""
        notes = _Notes()
        for one in rounds:
            for number, figure in _STEP.findall(one.said):
                i = int(number) - 1
                slip = int(figure) - self.figure(i) - sum(notes.slips[:i])
                notes.take(i, slip, self.figure(i), last=i == len(self.steps) - 1)
        return notes

    def answer(self, notes: _Notes, rng: np.random.Generator) -> str:
        """The last words, by what was written down."""
        done = notes.passes > 0
        # Half way through another time over, what it has mended counts already.
        figure = self.figure(len(self.steps) - 1) + sum(notes.slips) if done else notes.latest
        said = self._choice(figure, done, rng) if self.problem.choices else str(figure)
        opening = "So the result is" if done else "Time is short, so my estimate is"
        return f"{opening} {said}. <answer>{said}</answer>"

    def _choice(self, figure: int, done: bool, rng: np.random.Generator) -> str:
        """The choice that is nearest to a result; without a result, any."""
        choices = self.problem.choices
        far = [abs(int(choice) - figure) for choice in choices]
        place = far.index(min(far)) if done else int(rng.integers(len(choices)))
        return chr(ord("A") + place)


def _slip(depth: Depth, before: int, rng: np.random.Generator) -> int:
    """By how much a step is off by its own fault; `before` is how much it was so far."""
    chance, sign, size = rng.random(), 2 * int(rng.integers(2)) - 1, int(rng.integers(1, 10))
    if depth == "again":
        return 0 if chance < NOTICED else before
    return sign * size if chance < SLIPS[depth] else 0


def _words(text: str) -> int:
    """Tokens, counted as the words that are said."""
    return len(text.split())


def _say(lines: Sequence[str]) -> Answer:
    return Answer.spoken("\n".join(lines))


Play = Callable[[Problem, Transcript, np.random.Generator], Answer]
"""What to say next, of a problem that is known from elsewhere."""


# --- the three players ---------------------------------------------------------------------------


def _steady(problem: Problem, transcript: Transcript, rng: np.random.Generator) -> Answer:
    """All of it in full, in one thought."""
    solution, notes = _Solution(problem), _Notes()
    lines = [solution.write(i, "full", notes, rng) for i in range(len(solution.steps))]
    return _say([*lines, solution.answer(notes, rng)])


def _curt(problem: Problem, transcript: Transcript, rng: np.random.Generator) -> Answer:
    """Without a limit as steady; with one, a few short steps."""
    if transcript.view.budget is None:
        return _steady(problem, transcript, rng)
    solution, notes = _Solution(problem), _Notes()
    most = min(HASTY_STEPS, len(solution.steps))
    lines = [solution.write(i, "terse", notes, rng) for i in range(most)]
    return _say([*lines, solution.answer(notes, rng)])


def _paced(problem: Problem, transcript: Transcript, rng: np.random.Generator) -> Answer:
    """A part after the other, as deep as there is time for, and the timer between them."""
    solution = _Solution(problem)
    notes = solution.read(transcript.rounds)
    part = _Plan(solution, notes, _left(transcript), _rate(transcript)).part()
    lines = [solution.write(i, part.depth, notes, rng) for i in part.steps]
    return _say([*lines, solution.answer(notes, rng) if part.is_last else _CALL])


@dataclass(frozen=True, slots=True)
class _Part:
    """Steps to write next, and whether the answer follows at once."""

    steps: range
    depth: Depth
    is_last: bool = False


_ANSWER = _Part(range(0), "terse", is_last=True)


@dataclass(frozen=True, slots=True)
class _Plan:
    """What to write next, by the time that is left.

    Attributes:
        solution: What there is to write.
        notes: What was written.
        left: The seconds that are left; None without a limit.
        rate: The seconds that a word takes; None if nobody knows yet.
    """

    solution: _Solution
    notes: _Notes
    left: float | None
    rate: float | None

    def part(self) -> _Part:
        """The next part: of the first time over, of another one, or the answer."""
        count = len(self.solution.steps)
        size = ceil(count / PARTS)
        if self.notes.passes == 0:
            return self._first(range(len(self.notes.slips), count), size)
        again = range(self.notes.again, min(count, self.notes.again + size))
        is_enough = self.notes.passes >= MOST_PASSES
        if is_enough or not self._fits(_Part(again, "again")):
            return _ANSWER  # without a limit, once is enough
        return _Part(again, "again")

    def _first(self, rest: range, size: int) -> _Part:
        """In full, if all that is left then fits at least as sums alone; else those at once."""
        if self.left is None:
            return _Part(rest[:size], "full")
        if self.rate is None:
            return _Part(rest[:1], "full")  # it tells how fast this goes
        for steps in range(min(size, len(rest)), 0, -1):
            full = _Part(rest[:steps], "full")
            if self._fits(full, _Part(rest[steps:], "terse")):
                return full
        while len(rest) and not self._fits(_Part(rest, "terse")):
            rest = rest[:-1]
        return _Part(rest, "terse", is_last=True)

    def _fits(self, *parts: _Part) -> bool:
        """Whether there is time for this, a call after each part, and an answer."""
        if self.rate is None or self.left is None:
            return False
        words = _ANSWER_WORDS + len(parts) * _words(_CALL)
        words += sum(self.solution.words(i, part.depth) for part in parts for i in part.steps)
        return words * self.rate * MARGIN <= self.left


def _left(transcript: Transcript) -> float | None:
    """The seconds that are left by the latest word of the timer."""
    budget = transcript.view.budget
    return None if budget is None else in_seconds(budget) - _read(transcript)


def _rate(transcript: Transcript) -> float | None:
    """The seconds that a word has taken so far; None before the timer was asked."""
    words = sum(_words(one.said) for one in transcript.rounds)
    seconds = _read(transcript)
    return seconds / words if words and seconds > 0 else None


def _read(transcript: Transcript) -> float:
    """What the timer said last."""
    for one in reversed(transcript.rounds):
        for reply in reversed(one.replies):
            found = _SECONDS.search(reply.text)
            if found is not None:
                return float(found.group(1))
    return 0.0


def _make(play: Play, problem: Problem) -> Rule:
    if not problem.worked:
        raise SettingsError(
            f"{problem.id} has no worked solution for a stand-in to go by; only our own problems "
            "have one, so give a model"
        )

    def rule(transcript: Transcript, rng: np.random.Generator) -> Answer:
        # Of its own for each problem, or one seed would let all of them slip at one place.
        return play(problem, transcript, child(int(rng.integers(2**62)), problem.id))

    return rule


PLAYERS = {
    player.name: player
    for player in (
        Player(
            name="paced",
            says="a stand-in that knows a worked solution, and fits its depth to the timer",
            pace=_PACE,
            make=partial(_make, _paced),
        ),
        Player(
            name="steady",
            says="a stand-in that knows a worked solution, and writes all of it whatever the time",
            pace=_PACE,
            make=partial(_make, _steady),
        ),
        Player(
            name="curt",
            says="a stand-in that knows a worked solution, and does little of it under a limit",
            pace=_PACE,
            make=partial(_make, _curt),
        ),
    )
}
"""The players of reasoning, by name."""
