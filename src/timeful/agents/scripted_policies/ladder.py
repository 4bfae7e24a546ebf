"""Players for tasks of machine learning: they pick ready scripts by the time that is left.

They know the scripts, and how long each took elsewhere, which no model does. All else they read
in the transcript: the budget, and what the replies say of the time.

| player | what it does |
| --- | --- |
| climber | the best that should fit, by what the time was; something safe before it if both fit |
| one-shot | one script: the best that takes less than half of the budget, as it was elsewhere |
| stubborn | the slowest script, whatever the time |
"""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import ceil, inf

import numpy as np

from timeful.agents.scripted_policies import Player
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
"""How much longer than expected a program may take, without a submission and with one."""
_QUICK = 2
"""How many of the scripts are quick enough to come before another."""
_BELIEF_S = 0.1
"""Seconds of programs that were as quick as elsewhere, before any was seen: a prior weight."""
_LETTERS_PER_TOKEN = 4
_GLANCE, _LAST_WORDS = 20, 30
"""Tokens of a look at the time, and of a conclusion."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Run:
    """A script that was run.

    Attributes:
        rung: Which one.
        took: How long it ran, as it says itself; if it failed, as long as it was expected to.
        accuracy: What was said of its submission.
    """

    rung: int
    took: float
    accuracy: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class _Here:
    """How many times as long as elsewhere things take here.

    Attributes:
        words: Thinking and writing.
        programs: Programs.
    """

    words: float
    programs: float

    def seconds(self, rung: Rung, *, margin: float = _AT_RISK) -> float:
        """The time until a script is submitted and the last words are said."""
        said = _words(_price(rung)) + _words(_LAST_WORDS)
        return self.words * said + margin * self.programs * rung.seconds


def climber(case: Case) -> Rule:
    """Learn how fast one is, and submit the best for which there is time."""
    rungs = ladder(case)

    def rule(view: Transcript, rng: np.random.Generator) -> Answer:
        spent = _spent(view)
        if spent is None:
            return _look()
        runs = _runs(view, rungs)
        left, here = _left(view, spent), _here(view, spent, runs, rungs)
        if not view.rounds and here.seconds(rungs[0]) + _words(_GLANCE) < left < inf:
            return _look()
        rung = _choose(rungs, runs, here, left)
        return _conclude(spent, runs) if rung is None else _execute(rung, f"Next is {rung.name}.")

    return rule


def one_shot(case: Case) -> Rule:
    """Choose once, by the budget, and conclude."""
    rungs = ladder(case)

    def rule(view: Transcript, rng: np.random.Generator) -> Answer:
        budget = view.view.budget
        half = inf if budget is None else in_seconds(budget) / 2
        fit = [rung for rung in rungs if rung.seconds < half] or list(rungs[:1])
        return _once(view, rungs, fit[-1])

    return rule


def stubborn(case: Case) -> Rule:
    """Go for the slowest script, without a look at the time."""
    rungs = ladder(case)

    def rule(view: Transcript, rng: np.random.Generator) -> Answer:
        return _once(view, rungs, rungs[-1])

    return rule


PLAYERS: Mapping[str, Player] = {
    "climber": Player(
        name="climber",
        says="stand-in with ready scripts: the best that should fit, by what the time was",
        pace=PACE,
        make=climber,
    ),
    "one-shot": Player(
        name="one-shot",
        says="stand-in with ready scripts: one, chosen by the budget before it starts",
        pace=PACE,
        make=one_shot,
    ),
    "stubborn": Player(
        name="stubborn",
        says="stand-in with ready scripts: the slowest, whatever the time",
        pace=PACE,
        make=stubborn,
    ),
}


# --- what they read ------------------------------------------------------------------------------

_SPENT = re.compile(r"You have spent ([\d.]+) seconds\.")
_LEFT = re.compile(r"You have ([\d.]+) seconds left\.")
_TIMER = re.compile(r"([\d.]+) seconds\.")
_TOOK = re.compile(r"^took ([\d.]+) s$", re.MULTILINE)
_ACCURACY = re.compile(r"^Evaluation accuracy: ([\d.]+)\.$", re.MULTILINE)


def _told(view: Transcript, said: str, tool: str) -> float | None:
    """The seconds that have passed, if a reply says so."""
    if tool == TIMER.name:
        found = _TIMER.fullmatch(said.strip())
        return float(found.group(1)) if found else None
    # What a program prints cannot pass for the time: that comes last.
    budget = view.view.budget
    if spent := _last(_SPENT, said):
        return float(spent)
    if budget is not None and (left := _last(_LEFT, said)):
        return in_seconds(budget) - float(left)
    return None


def _last(pattern: re.Pattern[str], said: str) -> str:
    found = pattern.findall(said.rpartition("\n")[2])
    return found[-1] if found else ""


def _number(pattern: re.Pattern[str], said: str) -> float | None:
    found = pattern.findall(said)
    return float(found[-1]) if found else None


def _spent(view: Transcript) -> float | None:
    """The seconds that have passed by the latest reply; None if it does not tell."""
    if not view.rounds:
        return 0.0
    last = view.rounds[-1].replies[-1]
    spent = _told(view, last.text, "" if last.call is None else last.call.name)
    if spent is None and last.call is not None and last.call.name == TIMER.name:
        return inf  # even the timer does not tell: better to stop than to ask for ever
    return spent


def _left(view: Transcript, spent: float) -> float:
    budget = view.view.budget
    return inf if budget is None else in_seconds(budget) - spent


def _runs(view: Transcript, rungs: Sequence[Rung]) -> list[_Run]:
    """The scripts that were run."""
    places, runs = {rung.code: place for place, rung in enumerate(rungs)}, list[_Run]()
    for reply in _replies(view):
        place = places.get(reply.call.arguments.get("code", "")) if reply.call else None
        if place is not None:
            took = _number(_TOOK, reply.text)
            runs.append(
                _Run(
                    rung=place,
                    took=rungs[place].seconds if took is None else took,
                    accuracy=_number(_ACCURACY, reply.text),
                )
            )
    return runs


def _replies(view: Transcript) -> Iterator[Reply]:
    return (reply for one in view.rounds for reply in one.replies)


# --- what they make of it ------------------------------------------------------------------------


def _here(view: Transcript, spent: float, runs: Sequence[_Run], rungs: Sequence[Rung]) -> _Here:
    """What all that was done so far tells of the time.

    What no program took is words. A program of a few milliseconds tells little of long ones, so
    that some belief in what was measured elsewhere is kept.
    """
    glances = sum(one.call is not None and one.call.name == TIMER.name for one in _replies(view))
    said = glances * _words(_GLANCE) + sum(_words(_price(rungs[run.rung])) for run in runs)
    ran, elsewhere = (sum(run.took for run in runs), sum(rungs[run.rung].seconds for run in runs))
    return _Here(
        words=max(0.0, spent - ran) / said if said else 1.0,
        programs=(_BELIEF_S + ran) / (_BELIEF_S + elsewhere),
    )


def _choose(rungs: Sequence[Rung], runs: Sequence[_Run], here: _Here, left: float) -> Rung | None:
    """What to submit next: nothing that was tried, and nothing below what is submitted.

    Without a submission it is a quick one, if that leaves time for the best there can be.
    """
    tried = {run.rung for run in runs}
    highest = max((run.rung for run in runs if run.accuracy is not None), default=-1)
    open_ = [rung for i, rung in enumerate(rungs) if i > highest and i not in tried]
    for i, best in reversed(list(enumerate(open_))):
        soon = here.seconds(best, margin=_SAFE)
        if highest >= 0 and soon < left:
            return best
        before = [rung for rung in open_[:i][:_QUICK] if here.seconds(rung) + soon < left < inf]
        if highest < 0 and (before or here.seconds(best) < left):
            return (before or [best])[-1]
    return None if runs else rungs[0]


# --- what they say -------------------------------------------------------------------------------


def _once(view: Transcript, rungs: Sequence[Rung], rung: Rung) -> Answer:
    """Run a script, and conclude whatever came of it."""
    if not view.rounds:
        return _execute(rung, f"I will use {rung.name}.")
    spent = _spent(view)
    if spent is None:
        return _look()
    return _conclude(spent, _runs(view, rungs))


def _conclude(spent: float, runs: Sequence[_Run]) -> Answer:
    """The last words, in the form that the briefing asks for (A.1.3)."""
    known = [run.accuracy for run in runs if run.accuracy is not None]
    accuracy = known[-1] if known else 0.0
    text = (
        f"<conclusion>total duration: {spent:.2f} seconds</conclusion>\n"
        f"<accuracy>{accuracy:.4f}</accuracy>"
    )
    return Answer(text, _LAST_WORDS)


def _execute(rung: Rung, thought: str) -> Answer:
    return _call(EXECUTE.name, {"code": rung.code}, thought, tokens=_price(rung))


def _price(rung: Rung) -> int:
    return ceil(len(rung.code) / _LETTERS_PER_TOKEN)


def _words(tokens: int) -> float:
    """The seconds that an answer of so many tokens usually takes."""
    return in_seconds(PACE.first + tokens * PACE.per_token)


def _look() -> Answer:
    return _call(TIMER.name, {}, "What time is it?", tokens=_GLANCE)


def _call(name: str, arguments: dict[str, str], thought: str, *, tokens: int) -> Answer:
    call = json.dumps({"name": name, "arguments": arguments})
    return Answer(f"{thought}\n<tool_call>{call}</tool_call>", tokens)
