"""From the record of a kitchen episode to its row: every number of the tables, as counts.

Definitions that the paper leaves open:

| number | here |
| --- | --- |
| visibility delay | from a signal to the controller's first call that is shown it, or until the engine's reflex sets about it |
| finish delay | from a signal to the start of its finish action |
| priority | of the controller's finish actions with dishes of both kinds ready, the share of critical ones |
| soft defer | of the soft dishes that were seen, the share that saw more tutoring before they were finished |
| resume delay | from the interruption of a text to the token with which it goes on |
| overlap | words at the end of a text that are said again at the start of what goes on, relative to the words of what goes on |
| restart | what goes on begins with the same eight words as the problem's text |
"""  # noqa: E501 - a table

from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise
from typing import Any, Literal

import msgspec

from timeful.core.units import Instant
from timeful.environments.kitchen.settings import Utility, in_ticks
from timeful.errors import RecordError
from timeful.records.events import Entry
from timeful.records.recorder import Recorder
from timeful.suites.engagement.kitchen.trace import Signal, Stretch, Trace, trace

_RESTART = 8  # words


class KitchenRow(msgspec.Struct, frozen=True, kw_only=True):
    """The outcome of an episode; delays are in ticks, and there is one for each dish or text.

    `score` is what the world came to, `utility` the same less what the interface's own checks
    cost. Both are None if the episode failed. Of the `calls`, `refused` answers came to nothing;
    an episode that was ended because none was left is `out_of_calls`.
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
    recorder = Recorder()

    def hashed() -> Iterator[Entry]:
        for event in events:
            recorder.write(event)
            yield event

    made = trace(hashed())
    values = {
        **made.episode,
        **_outcome(made),
        **_delays(made),
        **_choices(made),
        **_continuity(made),
        "calls": made.calls,
        "out_of_calls": made.is_out_of_calls,
        "refused": made.refused,
        "tokens": made.tokens,
        "error": made.error,
        "sha256": recorder.sha256,
    }
    try:
        return msgspec.convert(values, KitchenRow)
    except (TypeError, msgspec.ValidationError) as problem:
        raise RecordError(f"the record's settings do not name an episode: {problem}") from problem


def _outcome(made: Trace) -> dict[str, Any]:
    menu = made.settings["menu"]
    soft = {dish["name"] for dish in menu["dishes"] if dish["slack"] is not None}
    in_time = {deed.dish for deed in made.deeds if deed.quality}
    ok = made.error is None
    return {
        "status": "ok" if ok else "failed",
        "utility": utility(made) if ok else None,
        "score": made.score,
        "ticks": in_ticks(made.end or 0),
        "switches": _switches(made),
        "checks": _checks(made),
        "dishes": len(menu["dishes"]),
        "in_time": len(in_time),
        "critical": len(menu["dishes"]) - len(soft),
        "critical_in_time": len(in_time - soft),
        "soft": len(soft),
        "soft_in_time": len(in_time & soft),
        "problems": len(menu["problems"]),
        "complete": len(made.complete),
    }


def utility(made: Trace) -> float:
    """The utility of an episode (appendix E), from its record alone."""
    weights = Utility(**made.settings["world"]["utility"])
    return (
        weights.dish * sum(deed.quality or 0 for deed in made.deeds)
        + weights.problem * len(made.complete)
        - weights.tick * in_ticks(made.end or 0)
        - weights.switch * _switches(made)
        - weights.check * _checks(made)
    )


def _checks(made: Trace) -> int:
    """The controller's own checks, and the interface's."""
    return len(made.polls) + sum(action.verb == "check" for action in made.actions)


def _switches(made: Trace) -> int:
    """How often work changed between kitchen and tutoring; an episode begins in the kitchen."""
    modes = ["kitchen"]
    modes += [
        "tutor" if action.verb == "tutor" else "kitchen"
        for action in made.actions
        if action.verb in ("prepare", "stage", "finish", "tutor")
    ]
    return sum(one != other for one, other in pairwise(modes))


def _delays(made: Trace) -> dict[str, Any]:
    seen, finished = [], []
    for signal in made.signals.values():
        if signal.seen is not None:
            seen.append(in_ticks(signal.seen - signal.at))
        finish = made.finish_of(signal.dish)
        if finish is not None:
            finished.append(in_ticks(finish.start - signal.at))
    return {"seen_after": seen, "finished_after": finished}


def _choices(made: Trace) -> dict[str, Any]:
    chosen = chances = deferred = 0
    for deed in made.deeds:
        if deed.verb == "finish" and deed.by == "agent":
            ready = [s for s in made.signals.values() if _is_ready(made, s, deed.start)]
            if len({signal.is_critical for signal in ready}) == 2:
                chances += 1
                chosen += made.signals[deed.dish].is_critical
    soft = [s for s in made.signals.values() if not s.is_critical and s.seen is not None]
    for signal in soft:
        finish = made.finish_of(signal.dish)
        until = (made.end or 0) if finish is None else finish.start
        deferred += any((signal.seen or 0) <= s.start < until for s in made.stretches)
    return {
        "priority_chosen": chosen,
        "priority_chances": chances,
        "soft_seen": len(soft),
        "soft_deferred": deferred,
    }


def _is_ready(made: Trace, signal: Signal, at: Instant) -> bool:
    """Whether a dish is known to have signalled, and nobody finishes it before an instant."""
    finish = made.finish_of(signal.dish)
    is_known = signal.seen is not None and signal.seen <= at
    return is_known and (finish is None or finish.start >= at)


def _continuity(made: Trace) -> dict[str, Any]:
    delays = list(_resumptions(made.stretches))
    pairs = list(_goings_on(made))
    return {
        "interrupted": sum(s.ending == "interrupted" for s in made.stretches),
        "resumed": len(delays),
        "resumed_after": delays,
        "overlaps": [overlap(before, after) for _, before, after in pairs],
        "restarts": sum(is_restart(whole, after) for whole, _, after in pairs),
    }


def _resumptions(stretches: Sequence[Stretch]) -> Iterator[float]:
    """How long each interrupted text waited until it went on, if it did."""
    for place, stretch in enumerate(stretches):
        if stretch.ending == "interrupted":
            for later in stretches[place + 1 :]:
                if later.problem == stretch.problem:
                    yield in_ticks(later.start - stretch.end)
                    break


def _goings_on(made: Trace) -> Iterator[tuple[str, str, str]]:
    """The text of a problem, what it was until a break, and what it went on with to the next."""
    for problem, text in made.texts.items():
        breaks = sorted({b for b in made.breaks.get(problem, []) if 0 < b < len(text)})
        for place, start in enumerate(breaks):
            end = breaks[place + 1] if place + 1 < len(breaks) else len(text)
            yield text[: breaks[0]], text[:start], text[start:end]


def overlap(before: str, after: str) -> float:
    """The share of a text's words that only say again what was said last before it."""
    said, more = before.split(), after.split()
    longest = 0
    for count in range(1, min(len(said), len(more)) + 1):
        if said[-count:] == more[:count]:
            longest = count
    return longest / len(more) if more else 0.0


def is_restart(first: str, after: str) -> bool:
    """Whether a text begins like the first stretch of its problem."""
    words = after.split()[:_RESTART]
    return len(words) == _RESTART and words == first.split()[:_RESTART]
