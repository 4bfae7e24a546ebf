"""The scores of an episode, from its record."""

from collections.abc import Sequence

from timeful.experiments.rows import row_maker
from timeful.experiments.suite import Suite
from timeful.records.events import Entry, EpisodeEnded
from timeful.records.rows import EpisodeRow
from timeful.reports.metric import read_item
from timeful.suites.realtime.scores import normalise


def read_scores(suite: Suite, events: Sequence[Entry]) -> dict[str, float]:
    """The score of an episode, and the metrics of its suite that a single episode has."""
    row = row_maker(suite).make(events)
    end = next(event for event in events if isinstance(event, EpisodeEnded))
    scores = {"score": end.score}
    if isinstance(row, EpisodeRow):
        late = row.late_turns / max(1, row.turns)
        score = normalise(row.game, end.score)
        return {**scores, "normalised": score, "late": late, "in time": 1 - late}
    for metric in suite.metrics:
        if metric.value == "":  # of the whole run
            continue
        value = read_item(row, metric.value)
        weight = 1 if metric.per is None else read_item(row, metric.per)
        if value is not None and weight:
            scores.setdefault(metric.name, metric.scale * float(value) / weight)
    return scores
