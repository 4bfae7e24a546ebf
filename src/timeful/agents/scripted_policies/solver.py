"""Scripted policies for reasoning problems with a worked solution: three uses of a time budget.

A worked solution is a list of steps. Each step ends in a figure, and the last figure is the
answer. A player writes each step, in full or as its sum alone. With an invented probability, which
is higher for short steps, the figure is wrong, and the error propagates to all later figures.
A repeated pass over the steps finds most errors. After an early stop the latest figure is the
estimate. No player reads the answer of the problem.

| player | use of time |
| --- | --- |
| paced | calls the timer between sections, and adapts the depth to the remaining time |
| steady | ignores the time and writes the whole solution in full |
| curt | with a limit, writes a few short steps and guesses; otherwise as steady |
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
"""The form of a step: its sum alone, in full, or repeated in full."""

SLIPS = {"terse": 0.05, "full": 0.02}
"""The probability of a wrong figure, for each step."""

NOTICED = 0.8
"""The probability that a repeated step corrects its error."""

SECTIONS = 4
"""The number of sections of a solution; the timer is called between them."""

MOST_PASSES = 3
"""The maximum number of passes, with the first one."""

HASTY_STEPS = 6
"""The maximum number of steps of the curt player."""

MARGIN = 1.1
"""The safety factor on the estimated time of a section."""

_ANSWER_WORDS = 12
"""The approximate tokens of the answer."""

_PACE = Pace(first=milliseconds(100), per_token=milliseconds(25))

_FIGURE = re.compile(r"(?<![\w.])-?[0-9]+(?=\.?$)")
_STEP = re.compile(r"^(?:Step|Again) ([0-9]+)\. .*?(-?[0-9]+)\.$", re.MULTILINE)
_SECONDS = re.compile(r"([0-9.]+) seconds")
_CALL = f"<tool_call>{ToolCall(name=TIMER.name)!s}</tool_call>"


@dataclass(slots=True)
class _Notes:
    """The state of a written solution.

    Attributes:
        slips: The error that each written step adds.
        again: The number of repeated steps in the current pass.
        passes: The number of complete passes.
        latest: The latest figure.
    """

    slips: list[int] = field(default_factory=list)
    again: int = 0
    passes: int = 0
    latest: int = 0

    def take(self, i: int, slip: int, right: int, *, last: bool) -> int:
        """Add a step, and return its figure with all earlier errors."""
        is_new = i == len(self.slips)
        self.slips[i:] = [slip, *self.slips[i + 1 :]]
        self.again = 0 if is_new else i + 1
        if last:
            self.again, self.passes = 0, self.passes + 1
        self.latest = right + sum(self.slips[: i + 1])
        return self.latest


@dataclass(frozen=True, slots=True)
class _Solution:
    problem: Problem

    @property
    def steps(self) -> Sequence[str]:
        return self.problem.worked

    def figure(self, i: int) -> int:
        match = _FIGURE.search(self.steps[i])
        assert match is not None, "a step ends in a figure"
        return int(match.group())

    def write(self, i: int, depth: Depth, notes: _Notes, rng: np.random.Generator) -> str:
        """Write one step, with or without an error, and add it to the notes."""
        slip = _slip(depth, notes.slips[i] if depth == "again" else 0, rng)
        figure = notes.take(i, slip, self.figure(i), last=i == len(self.steps) - 1)
        return self._line(i, depth, figure)

    def _line(self, i: int, depth: Depth, figure: int) -> str:
        step = self.steps[i]
        text = step.rpartition(": ")[2] if depth == "terse" else step
        label = "Again" if depth == "again" else "Step"
        return f"{label} {i + 1}. {_FIGURE.sub(str(figure), text)}"

    def words(self, i: int, depth: Depth) -> int:
        """The tokens of a step."""
        return _words(self._line(i, depth, self.figure(i)))

    def read(self, rounds: Sequence[Round]) -> _Notes:
        """Recover the notes from the text of the rounds."""
        notes = _Notes()
        for round_ in rounds:
            for number, figure in _STEP.findall(round_.message):
                i = int(number) - 1
                slip = int(figure) - self.figure(i) - sum(notes.slips[:i])
                notes.take(i, slip, self.figure(i), last=i == len(self.steps) - 1)
        return notes

    def answer(self, notes: _Notes, rng: np.random.Generator) -> str:
        """The final answer that follows from the notes."""
        done = notes.passes > 0
        # In the middle of a repeated pass, its corrections count already.
        figure = self.figure(len(self.steps) - 1) + sum(notes.slips) if done else notes.latest
        result = self._choice(figure, done, rng) if self.problem.choices else str(figure)
        opening = "So the result is" if done else "Time is short, so my estimate is"
        return f"{opening} {result}. <answer>{result}</answer>"

    def _choice(self, figure: int, done: bool, rng: np.random.Generator) -> str:
        """The letter of the choice nearest to a result; a random one without a result."""
        choices = self.problem.choices
        far = [abs(int(choice) - figure) for choice in choices]
        index = far.index(min(far)) if done else int(rng.integers(len(choices)))
        return chr(ord("A") + index)


def _slip(depth: Depth, before: int, rng: np.random.Generator) -> int:
    """Draw the error that a step adds; `before` is its error in the previous pass."""
    chance, sign, size = rng.random(), 2 * int(rng.integers(2)) - 1, int(rng.integers(1, 10))
    if depth == "again":
        return 0 if chance < NOTICED else before
    return sign * size if chance < SLIPS[depth] else 0


def _words(text: str) -> int:
    """The number of tokens: one for each word."""
    return len(text.split())


def _join(lines: Sequence[str]) -> Answer:
    return Answer.spoken("\n".join(lines))


Play = Callable[[Problem, Transcript, np.random.Generator], Answer]
"""Computes the next answer for a problem."""


# --- the three players ---------------------------------------------------------------------------


def _steady(problem: Problem, transcript: Transcript, rng: np.random.Generator) -> Answer:
    """Write the whole solution in one thought."""
    solution, notes = _Solution(problem), _Notes()
    lines = [solution.write(i, "full", notes, rng) for i in range(len(solution.steps))]
    return _join([*lines, solution.answer(notes, rng)])


def _curt(problem: Problem, transcript: Transcript, rng: np.random.Generator) -> Answer:
    """Write a few short steps if there is a limit."""
    if transcript.view.budget is None:
        return _steady(problem, transcript, rng)
    solution, notes = _Solution(problem), _Notes()
    most = min(HASTY_STEPS, len(solution.steps))
    lines = [solution.write(i, "terse", notes, rng) for i in range(most)]
    return _join([*lines, solution.answer(notes, rng)])


def _paced(problem: Problem, transcript: Transcript, rng: np.random.Generator) -> Answer:
    """Write a section and call the timer, or answer."""
    solution = _Solution(problem)
    notes = solution.read(transcript.rounds)
    section = _Plan(solution, notes, _remaining(transcript), _rate(transcript)).section()
    lines = [solution.write(i, section.depth, notes, rng) for i in section.steps]
    return _join([*lines, solution.answer(notes, rng) if section.is_last else _CALL])


@dataclass(frozen=True, slots=True)
class _Section:
    """The next steps, and whether the answer follows in the same message."""

    steps: range
    depth: Depth
    is_last: bool = False


_ANSWER = _Section(range(0), "terse", is_last=True)


@dataclass(frozen=True, slots=True)
class _Plan:
    """The choice of the next section by the remaining time.

    Attributes:
        solution: The worked solution.
        notes: The steps written so far.
        remaining: The remaining time in seconds; None without a limit.
        rate: The seconds for each word; None if unknown.
    """

    solution: _Solution
    notes: _Notes
    remaining: float | None
    rate: float | None

    def section(self) -> _Section:
        """The next section of the first or of a repeated pass, or the answer."""
        count = len(self.solution.steps)
        size = ceil(count / SECTIONS)
        if self.notes.passes == 0:
            return self._first(range(len(self.notes.slips), count), size)
        again = range(self.notes.again, min(count, self.notes.again + size))
        is_enough = self.notes.passes >= MOST_PASSES
        if is_enough or not self._has_time(_Section(again, "again")):
            return _ANSWER  # without a limit, one pass is enough
        return _Section(again, "again")

    def _first(self, steps: range, size: int) -> _Section:
        """Steps in full if the remaining ones then fit as sums alone; else all as sums alone."""
        if self.remaining is None:
            return _Section(steps[:size], "full")
        if self.rate is None:
            return _Section(steps[:1], "full")  # this step measures the speed
        for count in range(min(size, len(steps)), 0, -1):
            full = _Section(steps[:count], "full")
            if self._has_time(full, _Section(steps[count:], "terse")):
                return full
        while len(steps) and not self._has_time(_Section(steps, "terse")):
            steps = steps[:-1]
        return _Section(steps, "terse", is_last=True)

    def _has_time(self, *sections: _Section) -> bool:
        """Whether the sections, a timer call after each, and an answer fit the remaining time."""
        if self.rate is None or self.remaining is None:
            return False
        words = _ANSWER_WORDS + len(sections) * _words(_CALL)
        for section in sections:
            words += sum(self.solution.words(i, section.depth) for i in section.steps)
        return words * self.rate * MARGIN <= self.remaining


def _remaining(transcript: Transcript) -> float | None:
    """The remaining seconds by the latest reply of the timer."""
    budget = transcript.view.budget
    return None if budget is None else in_seconds(budget) - _read(transcript)


def _rate(transcript: Transcript) -> float | None:
    """The mean seconds for each word; None before the first timer reply."""
    words = sum(_words(round_.message) for round_ in transcript.rounds)
    seconds = _read(transcript)
    return seconds / words if words and seconds > 0 else None


def _read(transcript: Transcript) -> float:
    """The latest reply of the timer, in seconds; 0 without one."""
    for round_ in reversed(transcript.rounds):
        for reply in reversed(round_.replies):
            match = _SECONDS.search(reply.text)
            if match is not None:
                return float(match.group(1))
    return 0.0


def _make(play: Play, problem: Problem) -> Rule:
    if not problem.worked:
        raise SettingsError(
            f"{problem.id} has no worked solution for a stand-in to go by; only our own problems "
            "have one, so give a model"
        )

    def rule(transcript: Transcript, rng: np.random.Generator) -> Answer:
        # A separate seed for each problem: otherwise all problems have errors at the same steps.
        return play(problem, transcript, child(int(rng.integers(2**62)), problem.id))

    return rule


PLAYERS = {
    name: Player(name=name, pace=_PACE, make=partial(_make, play))
    for name, play in (("paced", _paced), ("steady", _steady), ("curt", _curt))
}
