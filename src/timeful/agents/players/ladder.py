"""Players for tasks of machine learning: they pick ready scripts by the time that is left.

They know the scripts, and how long each took elsewhere, which no model does. All else they read
in the transcript: the budget, and what the replies say of the time.

| player | what it does |
| --- | --- |
| climber | the quickest script first, then the best that should still fit, by what the time was |
| one-shot | one script: the best that takes less than half of the budget, as it was elsewhere |
| stubborn | the slowest script, whatever the time |
"""

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import ceil, inf

import numpy as np

from timeful.agents.players import Player
from timeful.agents.players.scripts import Rung, ladder
from timeful.agents.tool_user import Transcript
from timeful.core.units import in_seconds, milliseconds
from timeful.environments.coding.cases import Case
from timeful.environments.coding.task import EXECUTE
from timeful.environments.timed.world import TIMER
from timeful.models.pace import Pace
from timeful.models.rules import Answer, Rule

PACE = Pace(first=milliseconds(100), per_token=milliseconds(4))
_MARGIN = 1.2
"""How much longer than expected a run may take, for all the climber knows."""
_LETTERS_PER_TOKEN = 4
_LAST_WORDS = 30
"""Tokens of a conclusion."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Run:
    """A script that was run.

    Attributes:
        rung: Which one.
        seconds: From the reply before to its own, thought included.
        took: How long it ran, as it says itself; if it failed, as long as it was expected to.
        accuracy: What was said of its submission.
    """

    rung: int
    seconds: float
    took: float
    accuracy: float | None


def climber(case: Case) -> Rule:
    """Submit something at once, then take the best that fits, then say how it went."""
    rungs = ladder(case)

    def rule(view: Transcript, rng: np.random.Generator) -> Answer:
        spent = _spent(view)
        if spent is None:
            return _call(TIMER.name, {}, "What time is it?")
        runs = _runs(view, rungs)
        if spent == inf:
            return _conclude(spent, runs)
        if not runs:
            return _execute(rungs[0], "Something quick first, so that there is a submission.")
        left = _left(view, spent)
        highest = max(run.rung for run in runs)
        for rung in reversed(rungs[highest + 1 :]):
            if _MARGIN * _expected(rung, runs, rungs) < left:
                return _execute(rung, f"{rung.name} should fit.")
        return _conclude(spent, runs)

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
        says="stand-in with ready scripts: a quick one first, then the best that should fit",
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
    """The scripts that were run, with what each cost, its thought included."""
    places = {rung.code: place for place, rung in enumerate(rungs)}
    runs, before, running = list[_Run](), 0.0, None
    for one in view.rounds:
        for reply in one.replies:
            if reply.call is None:
                continue
            code = reply.call.arguments.get("code")
            if code in places:
                running = reply.text
                place = places[code]
            now = _told(view, reply.text, reply.call.name)
            if now is not None and running is not None:
                took = _number(_TOOK, running)
                runs.append(
                    _Run(
                        rung=place,
                        seconds=max(0.0, now - before),
                        took=rungs[place].seconds if took is None else took,
                        accuracy=_number(_ACCURACY, running),
                    )
                )
                before, running = now, None
    return runs


def _expected(rung: Rung, runs: Sequence[_Run], rungs: Sequence[Rung]) -> float:
    """The seconds until a script is submitted and the last words are said.

    All but the program costs by its length, as in the first round; programs are as much slower
    here than elsewhere as the latest one was.
    """
    first, latest = runs[0], runs[-1]
    per_token = max(0.0, first.seconds - first.took) / _price(rungs[first.rung])
    slower = max(1.0, latest.took / rungs[latest.rung].seconds)
    return per_token * (_price(rung) + _LAST_WORDS) + slower * rung.seconds


# --- what they say -------------------------------------------------------------------------------


def _once(view: Transcript, rungs: Sequence[Rung], rung: Rung) -> Answer:
    """Run a script, and conclude whatever came of it."""
    if not view.rounds:
        return _execute(rung, f"I will use {rung.name}.")
    spent = _spent(view)
    if spent is None:
        return _call(TIMER.name, {}, "What time is it?")
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


def _call(name: str, arguments: dict[str, str], thought: str, *, tokens: int = 20) -> Answer:
    call = json.dumps({"name": name, "arguments": arguments})
    return Answer(f"{thought}\n<tool_call>{call}</tool_call>", tokens)
