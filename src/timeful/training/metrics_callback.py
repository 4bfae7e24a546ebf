"""What happened in a training, a line for each update: what was played, and what TRL measured.

`metrics.jsonl` is cut back to the checkpoint that a training goes on from, so that no update stands
in it twice. Lengths are kept for each budget apart: a mean over all of them hides that a policy has
forgotten to look. Where several processes train, each plays its share, and the line is of all.
"""

from collections.abc import Callable, Sequence
from itertools import groupby
from pathlib import Path
from statistics import fmean
from typing import Any

import msgspec
from accelerate.utils import gather_object
from transformers import TrainerCallback

from timeful.rewards.outcome import read_outcome
from timeful.training.collapse_detection import collapse, span_of, standstill
from timeful.training.config import Config
from timeful.training.folder import EPISODES, METRICS
from timeful.training.rollouts import Rollout
from timeful.training.sft_metrics import truncate_metrics

RECENT = 10
"""So many updates the alarm of collapse looks back on: fewer are noise."""

STILL = 5
"""So many batches without anything to learn are a standstill."""


class MetricsCallback(TrainerCallback):  # type: ignore[misc]  # transformers is not followed by mypy
    """Writes the metrics of a training, and the records of its rollouts if they are kept.

    Args:
        config: The settings.
        rank: The number of this process; only that of the first writes metrics.
        warn: Told when an alarm rings for the first time.
        measured: Told of each update what was measured, in a few words.
    """

    def __init__(
        self,
        config: Config,
        *,
        rank: int,
        warn: Callable[[str], None] = lambda text: None,
        measured: Callable[[str], None] = lambda text: None,
    ) -> None:
        self._out = Path(config.run.out)
        self._steps = config.optimiser.steps
        self._records = config.run.records
        self._rank = rank
        self._warn = warn
        self._measured = measured
        # Credit by turn may tell apart what earned the same; a batch is learnt from several times.
        self._still = STILL * config.optimiser.epochs if config.reward.credit == "episode" else 0
        self._played: dict[str, Any] = {}
        self._lines: list[dict[str, Any]] = []
        self._said = ""

    def open(self, update: int) -> None:
        """Begin after so many updates; later ones, which will be done again, are forgotten."""
        if self._rank:
            return
        self._out.mkdir(parents=True, exist_ok=True)
        self._lines = truncate_metrics(self._out / METRICS, update)
        self._said = "; ".join(told.get("alarm", "") for told in self._lines)

    def tell(self, update: int, played: Sequence[Rollout], rewards: Sequence[float | None]) -> None:
        """Take note of what was played for an update; all processes do."""
        if self._records:
            for one in played:
                one.keep(self._out / EPISODES, update)
        every = gather_object(list(map(_summary, played, rewards)))
        told = [one["reward"] for one in every if one["reward"] is not None]
        by_budget: dict[str, list[dict[str, Any]]] = {}
        known = [one for one in every if one["budget"] is not None]
        for one in sorted(known, key=lambda one: span_of(one["budget"])):
            by_budget.setdefault(one["budget"], []).append(one)
        groups = [[one["reward"] for one in some] for _, some in groupby(every, _key)]
        self._played = {
            "episodes": len(every),
            "failed": sum(one["failed"] for one in every),
            "unrewarded": len(every) - len(told),
            "reward": sum(told) / len(told) if told else None,
            "alike": fmean(len({*some} - {None}) < 2 for some in groups),
            "tokens": {b: fmean(one["tokens"] for one in some) for b, some in by_budget.items()},
            "right_in_time": {
                b: fmean(one["right"] for one in some)
                for b, some in by_budget.items()
                if "right" in some[0]
            },
        }

    def on_log(self, args: Any, state: Any, control: Any, logs: Any = None, **_: Any) -> None:
        """Write a line, when TRL has measured an update."""
        if self._rank or not logs or "loss" not in logs:
            return
        line = {"update": state.global_step, **self._played, "trl": logs}
        self._lines.append(line)
        if alarms := [one for one in (self._collapsed(state.global_step), self._stands()) if one]:
            line["alarm"] = "; ".join(alarms)
        for one in alarms:
            if one.partition(":")[0] not in self._said:
                self._warn(f"update {state.global_step}: {one}")
                self._said += one
        with (self._out / METRICS).open("ab") as file:
            file.write(msgspec.json.encode(line) + b"\n")
        self._measured(summarize_update(line))

    def _collapsed(self, update: int) -> str:
        """The alarm of collapse over the last updates; a policy has the first half to learn."""
        if 2 * update < self._steps or len(self._lines) < RECENT:
            return ""
        found: dict[float, list[float]] = {}
        for line in self._lines[-RECENT:]:
            for budget, mean in line.get("tokens", {}).items():
                if budget != "none":
                    found.setdefault(span_of(budget), []).append(mean)
        return collapse({budget: fmean(means) for budget, means in found.items()})

    def _stands(self) -> str:
        """The alarm of a standstill over the last batches."""
        last = self._lines[-self._still :]
        if not self._still or len(last) < self._still:
            return ""
        return standstill([one.get("alike") for one in last], [one.get("reward") for one in last])


def summarize_update(line: dict[str, Any]) -> str:
    """What was measured of an update, in a few words."""
    found = []
    if line.get("reward") is not None:
        found.append(f"reward {line['reward']:.3f}")
    if right := line.get("right_in_time"):
        found.append(f"right in time {fmean(right.values()):.0%}")
    if tokens := line.get("tokens"):
        found.append(f"{fmean(tokens.values()):.0f} tokens")
    if line.get("failed"):
        found.append(f"{line['failed']} failed")
    return ", ".join(found)


def _key(one: dict[str, Any]) -> str:
    found: str = one["key"]
    return found


def _summary(played: Rollout, reward: float | None) -> dict[str, Any]:
    """What a line needs of an episode, as values that travel between processes."""
    is_task = played.ok and played.scene.turn is None
    outcome = read_outcome(played.events) if is_task else None
    found: dict[str, Any] = {
        "key": played.scene.key,
        "failed": not played.ok,
        "reward": reward,
        "budget": None,
    }
    if outcome is not None:
        found["budget"] = "none" if outcome.budget is None else f"{outcome.budget / 1e9:g}s"
        found["tokens"] = outcome.tokens
        found["right"] = bool(outcome.correct) and not outcome.is_late
    elif played.ok and played.row is not None:
        found.update(budget="none", tokens=sum(played.row.mask))
    return found
