"""The metrics of a training: a line for each update, of what was played and what TRL measured.

`metrics.jsonl` is cut back to the checkpoint from which a training resumes, so that no update is in
it twice. Lengths are kept for each budget: a mean over all of them hides a policy that ignores the
budget. Where several processes train, each plays its share, and the line is of all.
"""

from collections.abc import Sequence
from itertools import groupby
from pathlib import Path
from statistics import fmean
from typing import Any

from accelerate.utils import gather_object
from transformers import TrainerCallback

from timeful.rewards.outcome import read_outcome
from timeful.training.collapse_detection import find_collapse, find_standstill, span_of
from timeful.training.folder import EPISODES, METRICS
from timeful.training.observer import TrainingObserver
from timeful.training.rollouts import Rollout
from timeful.training.update_metrics import open_metrics

RECENT = 10
"""Updates in which a collapse is looked for: fewer are noise."""

STILL = 5
"""Batches without anything to learn that make a standstill."""


class MetricsCallback(TrainerCallback):  # type: ignore[misc]  # transformers is not followed
    """Writes the metrics of a training, and the records of its rollouts if they are kept.

    Args:
        out: The folder of the training.
        steps: All its updates.
        patience: Updates of a batch, in a training in which a standstill is looked for; else 0.
        has_records: Whether records are kept.
        rank: The number of this process; only the first one writes metrics.
        observer: Told of metrics and alarms.
    """

    def __init__(
        self,
        out: Path,
        *,
        steps: int,
        patience: int = 1,
        has_records: bool = False,
        rank: int = 0,
        observer: TrainingObserver | None = None,
    ) -> None:
        self._out = out
        self._steps = steps
        self._still = STILL * patience
        self._has_records = has_records
        self._rank = rank
        self._observer = observer or TrainingObserver()
        self._played: dict[str, Any] = {}
        self._lines: list[dict[str, Any]] = []
        self._alarms = ""

    def open(self, update: int) -> None:
        """Begin after an update; the lines of later ones, which will be repeated, are removed."""
        if self._rank:
            return
        self._out.mkdir(parents=True, exist_ok=True)
        self._log = open_metrics(self._out / METRICS)
        self._log.discard([done for done in self._log if done > update])
        self._lines = list(self._log.values())
        self._alarms = "; ".join(line.get("alarm", "") for line in self._lines)

    def note(
        self, update: int, rollouts: Sequence[Rollout], rewards: Sequence[float | None]
    ) -> None:
        """Note the rollouts of an update; all processes must."""
        if self._has_records:
            for rollout in rollouts:
                rollout.save(self._out / EPISODES, update)
        episodes = gather_object(list(map(_summarize, rollouts, rewards)))
        rewarded = [e["reward"] for e in episodes if e["reward"] is not None]
        timed = [e for e in episodes if e["budget"] is not None]
        by_budget: dict[str, list[dict[str, Any]]] = {}
        for episode in sorted(timed, key=lambda e: span_of(e["budget"])):
            by_budget.setdefault(episode["budget"], []).append(episode)
        groups = [[e["reward"] for e in same] for _, same in groupby(episodes, lambda e: e["key"])]
        self._played = {
            "episodes": len(episodes),
            "failed": sum(e["failed"] for e in episodes),
            "unrewarded": len(episodes) - len(rewarded),
            "reward": sum(rewarded) / len(rewarded) if rewarded else None,
            "alike": fmean(len({*rewards} - {None}) < 2 for rewards in groups),
            "tokens": {b: fmean(e["tokens"] for e in same) for b, same in by_budget.items()},
            "right_in_time": {
                b: fmean(e["right"] for e in same)
                for b, same in by_budget.items()
                if "right" in same[0]
            },
        }

    def on_log(self, args: Any, state: Any, control: Any, logs: Any = None, **_: Any) -> None:
        """Write a line, when TRL has measured an update."""
        if self._rank or not logs or "loss" not in logs:
            return
        if not self._played:  # a training by examples, whose tokens TRL counts from a kill on
            logs = {name: value for name, value in logs.items() if name != "num_tokens"}
        line = {"update": state.global_step, **self._played, "trl": logs}
        self._lines.append(line)
        alarms = [a for a in (self._find_collapse(state.global_step), self._find_standstill()) if a]
        if alarms:
            line["alarm"] = "; ".join(alarms)
        for alarm in alarms:
            if alarm.partition(":")[0] not in self._alarms:
                self._observer.warn(f"update {state.global_step}: {alarm}")
                self._alarms += alarm
        self._log.put(line)
        self._observer.report(summarize_update(line))

    def _find_collapse(self, update: int) -> str:
        """The alarm of collapse over the last updates; a policy has the first half to learn."""
        if 2 * update < self._steps or len(self._lines) < RECENT:
            return ""
        lengths: dict[float, list[float]] = {}
        for line in self._lines[-RECENT:]:
            for budget, mean in line.get("tokens", {}).items():
                if budget != "none":
                    lengths.setdefault(span_of(budget), []).append(mean)
        return find_collapse({budget: fmean(means) for budget, means in lengths.items()})

    def _find_standstill(self) -> str:
        """The alarm of a standstill over the last batches."""
        lines = self._lines[-self._still :]
        if not self._still or len(lines) < self._still:
            return ""
        return find_standstill([x.get("alike") for x in lines], [x.get("reward") for x in lines])


def summarize_update(line: dict[str, Any]) -> str:
    """The metrics of an update, in a few words."""
    phrases = [] if "reward" in line else [f"loss {line['trl']['loss']:.4g}"]
    if line.get("reward") is not None:
        phrases.append(f"reward {line['reward']:.3f}")
    if right := line.get("right_in_time"):
        phrases.append(f"right in time {fmean(right.values()):.0%}")
    if tokens := line.get("tokens"):
        phrases.append(f"{fmean(tokens.values()):.0f} tokens")
    if line.get("failed"):
        phrases.append(f"{line['failed']} failed")
    return ", ".join(phrases)


def _summarize(rollout: Rollout, reward: float | None) -> dict[str, Any]:
    """What a line needs of an episode, as values that travel between processes."""
    summary: dict[str, Any] = {
        "key": rollout.task.key,
        "failed": not rollout.ok,
        "reward": reward,
        "budget": None,
    }
    if not rollout.ok:
        return summary
    outcome = read_outcome(rollout.events) if rollout.task.turn is None else None
    if outcome is not None:
        summary["budget"] = "none" if outcome.budget is None else f"{outcome.budget / 1e9:g}s"
        summary["tokens"] = outcome.tokens
        summary["right"] = bool(outcome.correct) and not outcome.is_late
    elif rollout.sequence is not None:
        summary.update(budget="none", tokens=sum(rollout.sequence.mask))
    return summary
