"""Rows as they would come of episodes."""

from typing import Any

from timeful.tasks.rows import TaskRow


def row(**changes: Any) -> TaskRow:
    """A right answer in time, of a stand-in, but for what is said."""
    values: dict[str, Any] = {
        "family": "reasoning",
        "case": "sums/sums-1",
        "who": "paced",
        "stand_in": True,
        "run": 0,
        "budget": "1x",
        "budget_ns": 4_000_000_000,
        "latency": "none",
        "status": "ok",
        "reason": "answered",
        "value": 1.0,
        "gain": None,
        "start_score": None,
        "max_score": None,
        "won": None,
        "correct": True,
        "checked": "exact",
        "metric_name": None,
        "metric": None,
        "reward_accuracy": None,
        "valid_runs": None,
        "calls": 0,
        "timer_calls": 1,
        "bad_calls": 0,
        "rounds": 2,
        "tokens": 100,
        "counted_ns": 2_000_000_000,
        "tool_ns": 0,
        "thinking_ns": 2_000_000_000,
        "utilisation": 0.7,
        "notes": (),
        "error": None,
        "sha256": "0",
    }
    return TaskRow(**{**values, **changes})
