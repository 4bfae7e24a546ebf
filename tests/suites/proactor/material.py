"""A small run of ProActor, and predictions made by hand."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from timeful.dialogues.opportunity import Input, Inputs, Opportunity, Status
from timeful.experiments.run import Results, run_suite
from timeful.experiments.sweep import Choice, plan_episodes
from timeful.metrics.proactor.files import PredictedTurn
from timeful.reports.results import ResultRow
from timeful.suites.proactor.episode import ProactorEpisode
from timeful.suites.proactor.suite import suite

FAST, SLOW = 1.0, 20.0
SMALL: dict[str, Any] = {
    "agent": ["non-reasoning"],
    "threshold": [0.7, 0.2],
    "token_ms": [FAST, SLOW],
    "run": range(2),
    "dialogues": 2,
    "curve": False,
}
ONE = {**SMALL, "threshold": [0.2], "timing": ["by-turn"], "run": range(1)}
FILES = ("report.html", "results.json", "table.csv", "episodes.csv", "settings.json")


def choose(**values: Any) -> Choice:
    """A choice; lists are swept, other values fixed."""
    swept = {k: v for k, v in values.items() if isinstance(v, list | range)}
    return Choice(values=swept, fixed={k: v for k, v in values.items() if k not in swept})


def episodes(**values: Any) -> list[ProactorEpisode]:
    return [planned.episode for planned in plan_episodes(suite, choose(**values))]


def run(out: Path, values: dict[str, Any] = SMALL, workers: int = 1, **changes: Any) -> Results:
    return run_suite(suite, choose(**{**values, **changes}), out, workers=workers)


def cell(results: Results, metric: str, **where: Any) -> ResultRow:
    """The only cell of a metric with these values."""
    ours = [c for c in results.cells if c.stand_in is not None]
    (found,) = [c for c in ours if c.metric == metric and c.matches(where)]
    return found


def foresee(name: str, status: Status, value: str | None = None) -> Opportunity:
    given = Input(name="who", provided=value is not None, value=value)
    return Opportunity(name=name, inputs=Inputs(required=(given,)), status=status)


def turns(*predicted: Sequence[Opportunity], **due: tuple[int, ...]) -> list[PredictedTurn]:
    """Turns from 1 with their predictions; the ready turns of names with _ for -."""
    ranges = {name.replace("_", "-"): numbers for name, numbers in due.items()}
    return [
        PredictedTurn(
            dialogue="by hand",
            turn=number,
            predictions=tuple(predictions),
            references=tuple(
                foresee(name, "ready_to_trigger", "Ada")
                for name, numbers in ranges.items()
                if number in numbers
            ),
            ready_ranges=ranges,
        )
        for number, predictions in enumerate(predicted, 1)
    ]
