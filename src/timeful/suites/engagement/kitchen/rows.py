"""From the record of a kitchen episode to its row: every number of the tables, as counts.

Definitions that the paper leaves open:

| number | here |
| --- | --- |
| visibility delay | from a signal to the controller's first call that is shown it, or until the engine's reflex starts on it |
| finish delay | from a signal to the start of its finish action |
| priority | of the controller's finish actions with dishes of both kinds ready, the share of critical ones |
| soft defer | of the soft dishes that were seen, the share that saw more tutoring before they were finished |
| resume delay | from the interruption of a text to the token with which it continues |
| overlap | words at the end of a text that are repeated at the start of its continuation, relative to the words of the continuation |
| restart | the continuation begins with the same eight words as the problem's text |
"""  # noqa: E501 - a table

from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise
from typing import Any, Literal

import msgspec

from timeful.core.units import Instant
from timeful.environments.kitchen.settings import Utility, in_ticks
from timeful.records.events import Acted, Entry, Noted, ThoughtEnded, ThoughtStarted
from timeful.records.summary import CompleteRecord, make_row
from timeful.suites.engagement.kitchen.trace import Signal, Stretch, Trace, read_trace

_RESTART = 8  # words


class KitchenRow(msgspec.Struct, frozen=True, kw_only=True):
    """The outcome of an episode; delays are in ticks, and there is one for each dish or text.

    `score` is the score of the world, `utility` the same less the cost of the interface's own
    checks. Both are None if the episode failed. Of the `calls`, `refused` answers could not be
    used; an episode that ended because no call was left is `out_of_calls`.
    """

    setting: str
    method: str
    law: str
    case: str
    family: str
    sample: int
    controller: str
    tutor: str
    stand_in: bool
    status: Literal["ok", "failed"]
    utility: float | None
    score: float | None
    ticks: float
    switches: int
    checks: int
    dishes: int
    in_time: int
    critical: int
    critical_in_time: int
    soft: int
    soft_in_time: int
    problems: int
    complete: int
    seen_after: tuple[float, ...]
    finished_after: tuple[float, ...]
    priority_chosen: int
    priority_chances: int
    soft_seen: int
    soft_deferred: int
    interrupted: int
    resumed: int
    resumed_after: tuple[float, ...]
    overlaps: tuple[float, ...]
    restarts: int
    calls: int
    out_of_calls: bool
    refused: int
    tokens: int
    error: str | None
    sha256: str


def summarize(events: Iterable[Entry]) -> KitchenRow:
    """Sum up an episode.

    Raises:
        RecordError: If the events are no whole record of a kitchen episode.
    """
    return make_row(events, KitchenRow, _read)


def _read(record: CompleteRecord) -> dict[str, Any]:
    trace = read_trace(record.events)
    return {
        **_outcome(trace),
        **_delays(trace),
        **_choices(trace),
        **_continuity(trace),
        **_count_calls(record.events),
    }


def _count_calls(events: Iterable[Entry]) -> dict[str, int | bool]:
    topics = [event.topic for event in events if isinstance(event, Noted)]
    illegal = sum(isinstance(event, Acted) and not event.legal for event in events)
    started = [event.purpose for event in events if isinstance(event, ThoughtStarted)]
    return {
        "calls": started.count("control"),
        "out_of_calls": "calls" in topics,
        "refused": illegal + topics.count("answer"),
        "tokens": sum(event.tokens for event in events if isinstance(event, ThoughtEnded)),
    }


def _outcome(trace: Trace) -> dict[str, Any]:
    menu = trace.settings["menu"]
    soft = {dish["name"] for dish in menu["dishes"] if dish["slack"] is not None}
    in_time = {execution.dish for execution in trace.executions if execution.quality}
    return {
        "utility": utility(trace) if trace.score is not None else None,
        "score": trace.score,
        "ticks": in_ticks(trace.end),
        "switches": _switches(trace),
        "checks": _checks(trace),
        "dishes": len(menu["dishes"]),
        "in_time": len(in_time),
        "critical": len(menu["dishes"]) - len(soft),
        "critical_in_time": len(in_time - soft),
        "soft": len(soft),
        "soft_in_time": len(in_time & soft),
        "problems": len(menu["problems"]),
        "complete": len(trace.complete),
    }


def utility(trace: Trace) -> float:
    """The utility of an episode (appendix E), from its record alone."""
    weights = Utility(**trace.settings["world"]["utility"])
    return (
        weights.dish * sum(execution.quality or 0 for execution in trace.executions)
        + weights.problem * len(trace.complete)
        - weights.tick * in_ticks(trace.end)
        - weights.switch * _switches(trace)
        - weights.check * _checks(trace)
    )


def _checks(trace: Trace) -> int:
    """The controller's own checks, and the interface's."""
    return len(trace.polls) + sum(action.verb == "check" for action in trace.actions)


def _switches(trace: Trace) -> int:
    """How often work changed between kitchen and tutoring; an episode begins in the kitchen."""
    modes = ["kitchen"]
    modes += [
        "tutor" if action.verb == "tutor" else "kitchen"
        for action in trace.actions
        if action.verb in ("prepare", "stage", "finish", "tutor")
    ]
    return sum(mode != following for mode, following in pairwise(modes))


def _delays(trace: Trace) -> dict[str, Any]:
    seen, finished = [], []
    for signal in trace.signals.values():
        if signal.seen_at is not None:
            seen.append(in_ticks(signal.seen_at - signal.at))
        finish = trace.finish_of(signal.dish)
        if finish is not None:
            finished.append(in_ticks(finish.start - signal.at))
    return {"seen_after": seen, "finished_after": finished}


def _choices(trace: Trace) -> dict[str, Any]:
    priorities = chances = deferred = 0
    for execution in trace.executions:
        if execution.verb == "finish" and execution.by == "agent":
            ready = [s for s in trace.signals.values() if _is_ready(trace, s, execution.start)]
            if len({signal.is_critical for signal in ready}) == 2:
                chances += 1
                priorities += trace.signals[execution.dish].is_critical
    soft = [s for s in trace.signals.values() if not s.is_critical and s.seen_at is not None]
    for signal in soft:
        finish = trace.finish_of(signal.dish)
        until = trace.end if finish is None else finish.start
        deferred += any((signal.seen_at or 0) <= s.start < until for s in trace.stretches)
    return {
        "priority_chosen": priorities,
        "priority_chances": chances,
        "soft_seen": len(soft),
        "soft_deferred": deferred,
    }


def _is_ready(trace: Trace, signal: Signal, at: Instant) -> bool:
    """Whether a dish is known to have signalled, and is not finished before an instant."""
    finish = trace.finish_of(signal.dish)
    is_known = signal.seen_at is not None and signal.seen_at <= at
    return is_known and (finish is None or finish.start >= at)


def _continuity(trace: Trace) -> dict[str, Any]:
    delays = list(_resumptions(trace.stretches))
    pairs = list(_continuations(trace))
    return {
        "interrupted": sum(s.ending == "interrupted" for s in trace.stretches),
        "resumed": len(delays),
        "resumed_after": delays,
        "overlaps": [overlap(before, after) for _, before, after in pairs],
        "restarts": sum(is_restart(whole, after) for whole, _, after in pairs),
    }


def _resumptions(stretches: Sequence[Stretch]) -> Iterator[float]:
    """The wait of each interrupted text until it continues, if it does."""
    for index, stretch in enumerate(stretches):
        if stretch.ending == "interrupted":
            for later in stretches[index + 1 :]:
                if later.problem == stretch.problem:
                    yield in_ticks(later.start - stretch.end)
                    break


def _continuations(trace: Trace) -> Iterator[tuple[str, str, str]]:
    """The text of a problem, its part until a break, and its continuation to the next break."""
    for problem, text in trace.texts.items():
        breaks = sorted({b for b in trace.breaks.get(problem, []) if 0 < b < len(text)})
        for index, start in enumerate(breaks):
            end = breaks[index + 1] if index + 1 < len(breaks) else len(text)
            yield text[: breaks[0]], text[:start], text[start:end]


def overlap(before: str, after: str) -> float:
    """The share of a text's words that repeat the last words before it."""
    words, more = before.split(), after.split()
    longest = 0
    for count in range(1, min(len(words), len(more)) + 1):
        if words[-count:] == more[:count]:
            longest = count
    return longest / len(more) if more else 0.0


def is_restart(first: str, after: str) -> bool:
    """Whether a text begins like the first stretch of its problem."""
    words = after.split()[:_RESTART]
    return len(words) == _RESTART and words == first.split()[:_RESTART]
