"""The teller: it writes worked solutions down, in full or in short, by the time that is left.

It goes by what a solver could know. It writes a step and asks the timer, which tells how fast time
goes; then it goes on in full, with the timer between parts, as long as all that is left fits; it
gives the sums alone where only they fit; and where not even they do, the answer at once. So the
last reading, which it gives as the duration, is one from just before the end. It makes no mistakes:
what it writes is for others to learn from. It is no language model.
"""

import re
from dataclasses import dataclass
from math import ceil

import numpy as np

from timeful.agents.scripted_policies import Player
from timeful.agents.tool_user import Transcript
from timeful.core.units import in_seconds, milliseconds
from timeful.environments.reasoning.problems import Problem
from timeful.environments.timed.world import TIMER
from timeful.errors import SettingsError
from timeful.models.pace import Pace
from timeful.models.rules import Answer, Rule
from timeful.tools import ToolCall

NAME = "worked"

PARTS = 4
"""Into how many parts a solution is cut that is told in full."""

MARGIN = 1.15
"""By how much more time than it seems to need something is written only if there is: thoughts
take a while to begin, and timers are not exact."""

_CALL = f"<tool_call>{ToolCall(name=TIMER.name)!s}</tool_call>"
_STEP = re.compile(r"^Step [0-9]+\. ", re.MULTILINE)
_READING = re.compile(r"([0-9.]+) seconds")


@dataclass(frozen=True, slots=True)
class _Solution:
    """A worked solution, and how much of it is told."""

    problem: Problem
    done: int = 0

    @property
    def remaining(self) -> range:
        return range(self.done, len(self.problem.worked))

    def lines(self, steps: range, *, in_short: bool = False) -> list[str]:
        worked = self.problem.worked
        texts = [worked[i].rpartition(": ")[2] if in_short else worked[i] for i in steps]
        return [f"Step {i + 1}. {text}" for i, text in zip(steps, texts, strict=True)]

    def chunks(self) -> list[range]:
        """The rest in full, in parts."""
        size = ceil(len(self.problem.worked) / PARTS)
        begins = range(self.done, len(self.problem.worked), size)
        return [self.remaining[i - self.done : i - self.done + size] for i in begins]

    def answer(self, read: float, *, is_told: bool) -> list[str]:
        how = "every step was worked out" if is_told else "there was no time for all steps"
        return [
            f"<summary>{how}</summary>",
            f"<conclusion>total duration: {read:.2f} seconds</conclusion>",
            f"<answer>{self.problem.answer}</answer>",
        ]


def time_in_full(problem: Problem, pace: Pace) -> float:
    """The seconds that a solution takes at a pace that is told in full, calls and answer too."""
    solution = _Solution(problem)
    calls = 1 + len(_Solution(problem, 1).chunks())
    lines = [
        *solution.lines(solution.remaining),
        *calls * [_CALL],
        *solution.answer(0, is_told=True),
    ]
    return ((calls + 1) * pace.first + _words(lines) * pace.per_token) / 1e9


def _words(lines: list[str]) -> int:
    return sum(len(line.split()) for line in lines)


def _tell(problem: Problem, transcript: Transcript) -> list[str]:
    texts = [round_.message for round_ in transcript.rounds]
    solution = _Solution(problem, sum(len(_STEP.findall(text)) for text in texts))
    read = _read(transcript)
    if not solution.remaining:
        return solution.answer(read, is_told=True)
    if not texts:
        return [*solution.lines(solution.remaining[:1]), _CALL]
    rest_of_budget, rate = _time_left(transcript, read), read / _words(texts)
    chunks, ending = solution.chunks(), [_CALL, *solution.answer(read, is_told=True)]
    full = [*solution.lines(solution.remaining), *(len(chunks) - 1) * [_CALL], *ending]
    if rest_of_budget is None or _words(full) * rate * MARGIN <= rest_of_budget:
        return [*solution.lines(chunks[0]), _CALL]
    short = solution.lines(solution.remaining, in_short=True)
    if _words([*short, *ending]) * rate * MARGIN <= rest_of_budget:
        return [*short, _CALL]
    return solution.answer(read, is_told=False)


def _time_left(transcript: Transcript, read: float) -> float | None:
    budget = transcript.view.budget
    return None if budget is None else in_seconds(budget) - read


def _read(transcript: Transcript) -> float:
    for dialogue_round in reversed(transcript.rounds):
        for reply in reversed(dialogue_round.replies):
            if match := _READING.search(reply.text):
                return float(match[1])
    return 0.0


def _make(problem: Problem) -> Rule:
    if not problem.worked:
        raise SettingsError(
            f"{problem.id} has no worked solution; only our own problems have one, so give "
            'source = "teacher"'
        )

    def rule(transcript: Transcript, rng: np.random.Generator) -> Answer:
        return Answer.spoken("\n".join(_tell(problem, transcript)))

    return rule


SOLUTION_WRITER = Player(
    name=NAME,
    pace=Pace(first=milliseconds(100), per_token=milliseconds(25)),
    make=_make,
)
