"""Scripted policies for machine learning tasks: they select ready scripts by the remaining time.

They know the scripts and a reference duration of each. The budget and the elapsed time come from
the transcript.

| player | selection |
| --- | --- |
| climber | the best script that should fit by the measured speed; a safe one first if both fit |
| one-shot | the best script whose reference duration is less than half of the budget |
| stubborn | the slowest script |
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import ceil, inf

import numpy as np

from timeful.agents.scripted_policies import Player, call_tool, conclude
from timeful.agents.scripted_policies.scripts import Rung, ladder
from timeful.agents.tool_user import Reply, Transcript
from timeful.core.units import in_seconds, milliseconds
from timeful.environments.coding.cases import Case
from timeful.environments.coding.task import EXECUTE
from timeful.environments.timed.world import TIMER
from timeful.models.pace import Pace
from timeful.models.rules import Answer, Rule

PACE = Pace(first=milliseconds(100), per_token=milliseconds(4))
_AT_RISK, _SAFE = 1.5, 1.1
"""The factors on the expected duration of a program, without and with a submission."""
_QUICK = 2
"""The number of scripts that may run before another one."""
_BELIEF_S = 0.1
"""The prior weight of the reference speed, in seconds of programs."""
_LETTERS_PER_TOKEN = 4
_GLANCE, _LAST_WORDS = 20, 30
"""The tokens of a timer call, and of a conclusion."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Run:
    """A run of a script.

    Attributes:
        rung: The index of the script.
        seconds: The reported duration; the reference duration if it failed.
        accuracy: The reported accuracy of its submission.
    """

    rung: int
    seconds: float
    accuracy: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class _Here:
    """The slowdown factors relative to the reference durations.

    Attributes:
        words: The factor of reasoning and writing.
        programs: The factor of programs.
    """

    words: float
    programs: float

    def seconds(self, rung: Rung, *, margin: float = _AT_RISK) -> float:
        """The time until a script is submitted and the conclusion is written."""
        writing = _words(_price(rung)) + _words(_LAST_WORDS)
        return self.words * writing + margin * self.programs * rung.seconds


def climber(case: Case) -> Rule:
    """Measure the speed, and submit the best script that fits the remaining time."""
    rungs = ladder(case)

    def rule(view: Transcript, rng: np.random.Generator) -> Answer:
        elapsed = _elapsed(view)
        if elapsed is None:
            return _look()
        runs = _runs(view, rungs)
        remaining, here = _remaining(view, elapsed), _here(view, elapsed, runs, rungs)
        if not view.rounds and here.seconds(rungs[0]) + _words(_GLANCE) < remaining < inf:
            return _look()
        rung = _choose(rungs, runs, here, remaining)
        return _conclude(elapsed, runs) if rung is None else _execute(rung, f"Next is {rung.name}.")

    return rule


def one_shot(case: Case) -> Rule:
    """Select one script by the budget, and conclude."""
    rungs = ladder(case)

    def rule(view: Transcript, rng: np.random.Generator) -> Answer:
        budget = view.view.budget
        half = inf if budget is None else in_seconds(budget) / 2
        fit = [rung for rung in rungs if rung.seconds < half] or list(rungs[:1])
        return _once(view, rungs, fit[-1])

    return rule


def stubborn(case: Case) -> Rule:
    """Run the slowest script, and conclude."""
    rungs = ladder(case)

    def rule(view: Transcript, rng: np.random.Generator) -> Answer:
        return _once(view, rungs, rungs[-1])

    return rule


PLAYERS: Mapping[str, Player] = {
    name: Player(name=name, pace=PACE, make=make)
    for name, make in (("climber", climber), ("one-shot", one_shot), ("stubborn", stubborn))
}


# --- reading the transcript ----------------------------------------------------------------------

_SPENT = re.compile(r"You have spent ([\d.]+) seconds\.")
_LEFT = re.compile(r"You have ([\d.]+) seconds left\.")
_TIMER = re.compile(r"([\d.]+) seconds\.")
_TOOK = re.compile(r"^took ([\d.]+) s$", re.MULTILINE)
_ACCURACY = re.compile(r"^Evaluation accuracy: ([\d.]+)\.$", re.MULTILINE)


def _read_elapsed(view: Transcript, text: str, tool: str) -> float | None:
    """The elapsed seconds in a reply; None if it has none."""
    if tool == TIMER.name:
        match = _TIMER.fullmatch(text.strip())
        return float(match.group(1)) if match else None
    # The time is in the last line: the output of a program cannot imitate it.
    budget = view.view.budget
    if elapsed := _last(_SPENT, text):
        return float(elapsed)
    if budget is not None and (remaining := _last(_LEFT, text)):
        return in_seconds(budget) - float(remaining)
    return None


def _last(pattern: re.Pattern[str], text: str) -> str:
    matches = pattern.findall(text.rpartition("\n")[2])
    return matches[-1] if matches else ""


def _number(pattern: re.Pattern[str], text: str) -> float | None:
    matches = pattern.findall(text)
    return float(matches[-1]) if matches else None


def _elapsed(view: Transcript) -> float | None:
    """The elapsed seconds in the latest reply; None if it has none."""
    if not view.rounds:
        return 0.0
    last = view.rounds[-1].replies[-1]
    elapsed = _read_elapsed(view, last.text, "" if last.call is None else last.call.name)
    if elapsed is None and last.call is not None and last.call.name == TIMER.name:
        return inf  # the timer failed: stop, because another call would fail too
    return elapsed


def _remaining(view: Transcript, elapsed: float) -> float:
    budget = view.view.budget
    return inf if budget is None else in_seconds(budget) - elapsed


def _runs(view: Transcript, rungs: Sequence[Rung]) -> list[_Run]:
    indices, runs = {rung.code: index for index, rung in enumerate(rungs)}, list[_Run]()
    for reply in _replies(view):
        index = indices.get(reply.call.arguments.get("code", "")) if reply.call else None
        if index is not None:
            duration = _number(_TOOK, reply.text)
            runs.append(
                _Run(
                    rung=index,
                    seconds=rungs[index].seconds if duration is None else duration,
                    accuracy=_number(_ACCURACY, reply.text),
                )
            )
    return runs


def _replies(view: Transcript) -> Iterator[Reply]:
    return (reply for round_ in view.rounds for reply in round_.replies)


# --- decisions -----------------------------------------------------------------------------------


def _here(view: Transcript, elapsed: float, runs: Sequence[_Run], rungs: Sequence[Rung]) -> _Here:
    """Estimate the slowdown factors.

    Elapsed time outside of programs counts as writing. A prior keeps short programs from dominating
    the estimate.
    """
    calls = (reply.call for reply in _replies(view))
    glances = sum(call is not None and call.name == TIMER.name for call in calls)
    writing = glances * _words(_GLANCE) + sum(_words(_price(rungs[run.rung])) for run in runs)
    running = sum(run.seconds for run in runs)
    reference = sum(rungs[run.rung].seconds for run in runs)
    return _Here(
        words=max(0.0, elapsed - running) / writing if writing else 1.0,
        programs=(_BELIEF_S + running) / (_BELIEF_S + reference),
    )


def _choose(
    rungs: Sequence[Rung], runs: Sequence[_Run], here: _Here, remaining: float
) -> Rung | None:
    """Select an untried script above the best submission; None if there is none in time.

    Without a submission, prefer a quick script if the best feasible one still fits after it.
    """
    attempts = {run.rung for run in runs}
    highest = max((run.rung for run in runs if run.accuracy is not None), default=-1)
    open_ = [rung for i, rung in enumerate(rungs) if i > highest and i not in attempts]
    for i, best in reversed(list(enumerate(open_))):
        soon = here.seconds(best, margin=_SAFE)
        if highest >= 0 and soon < remaining:
            return best
        quick = open_[:i][:_QUICK]
        before = [rung for rung in quick if here.seconds(rung) + soon < remaining < inf]
        if highest < 0 and (before or here.seconds(best) < remaining):
            return (before or [best])[-1]
    return None if runs else rungs[0]


# --- answers -------------------------------------------------------------------------------------


def _once(view: Transcript, rungs: Sequence[Rung], rung: Rung) -> Answer:
    """Run a script, and conclude with or without a submission."""
    if not view.rounds:
        return _execute(rung, f"I will use {rung.name}.")
    elapsed = _elapsed(view)
    if elapsed is None:
        return _look()
    return _conclude(elapsed, _runs(view, rungs))


def _conclude(elapsed: float, runs: Sequence[_Run]) -> Answer:
    accuracies = [run.accuracy for run in runs if run.accuracy is not None]
    accuracy = accuracies[-1] if accuracies else 0.0
    return conclude(elapsed, f"<accuracy>{accuracy:.4f}</accuracy>", _LAST_WORDS)


def _execute(rung: Rung, thought: str) -> Answer:
    return call_tool(EXECUTE.name, {"code": rung.code}, thought, _price(rung))


def _price(rung: Rung) -> int:
    return ceil(len(rung.code) / _LETTERS_PER_TOKEN)


def _words(tokens: int) -> float:
    """The usual duration of an answer, in seconds."""
    return in_seconds(PACE.first + tokens * PACE.per_token)


def _look() -> Answer:
    return call_tool(TIMER.name, {}, "What time is it?", _GLANCE)
