"""What happened in a training, a line for each update: what was played, and what TRL measured.

`metrics.jsonl` is cut back to the checkpoint that a training goes on from, so that no update stands
in it twice. Lengths are kept for each budget apart: a mean over all of them hides that a policy has
forgotten to look. Where several processes train, each plays its share, and the line is of all.
"""

from collections.abc import Callable, Sequence
from pathlib import Path
from statistics import fmean
from typing import Any

import msgspec
from accelerate.utils import gather_object
from transformers import TrainerCallback

from timeful.rewards.outcome import read_outcome
from timeful.training.alarm import collapse
from timeful.training.config import Config
from timeful.training.folder import EPISODES, METRICS
from timeful.training.rollouts import Played

RECENT = 10
"""So many updates the alarm looks back on: fewer are noise."""


class Journal(TrainerCallback):  # type: ignore[misc]  # transformers is not followed by mypy
    """Writes the metrics of a training, and the records of its rollouts if they are kept.

    Args:
        config: The settings.
        rank: The number of this process; only that of the first writes metrics.
        warn: Told when the alarm of collapse begins to ring.
    """

    def __init__(
        self, config: Config, *, rank: int, warn: Callable[[str], None] = lambda text: None
    ) -> None:
        self._out = Path(config.run.out)
        self._steps = config.optimiser.steps
        self._records = config.run.records
        self._rank = rank
        self._warn = warn
        self._played: dict[str, Any] = {}
        self._tokens: list[dict[str, float]] = []
        self._alarm = ""

    def open(self, update: int) -> None:
        """Begin after so many updates; later ones, which will be done again, are forgotten."""
        if self._rank:
            return
        self._out.mkdir(parents=True, exist_ok=True)
        path = self._out / METRICS
        lines = path.read_bytes().splitlines(keepends=True) if path.exists() else []
        whole = [(one, msgspec.json.decode(one)) for one in lines if one.endswith(b"\n")]
        kept = [(line, told) for line, told in whole if told["update"] <= update]
        partial = path.with_suffix(".part")  # a kill in between must lose no line
        partial.write_bytes(b"".join(line for line, _ in kept))
        partial.replace(path)
        self._tokens = [told["tokens"] for _, told in kept]
        self._alarm = kept[-1][1].get("alarm", "") if kept else ""

    def tell(self, update: int, played: Sequence[Played], rewards: Sequence[float | None]) -> None:
        """Take note of what was played for an update; all processes do."""
        if self._records:
            for one in played:
                one.keep(self._out / EPISODES, update)
        every = gather_object(list(map(_summary, played, rewards)))
        told = [one["reward"] for one in every if one["reward"] is not None]
        by_budget: dict[str, list[dict[str, Any]]] = {}
        for one in every:
            if one["budget"] is not None:
                by_budget.setdefault(one["budget"], []).append(one)
        self._played = {
            "episodes": len(every),
            "failed": sum(one["failed"] for one in every),
            "unrewarded": len(every) - len(told),
            "reward": sum(told) / len(told) if told else None,
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
        self._tokens.append(self._played.get("tokens", {}))
        if alarm := self._rings(state.global_step):
            line["alarm"] = alarm
            if not self._alarm:
                self._warn(f"update {state.global_step}: {alarm}")
        self._alarm = alarm
        with (self._out / METRICS).open("ab") as file:
            file.write(msgspec.json.encode(line) + b"\n")

    def _rings(self, update: int) -> str:
        """The alarm of collapse over the last updates; a policy has the first half to learn."""
        if 2 * update < self._steps or len(self._tokens) < RECENT:
            return ""
        found: dict[float, list[float]] = {}
        for tokens in self._tokens[-RECENT:]:
            for budget, mean in tokens.items():
                if budget != "none":
                    found.setdefault(float(budget.removesuffix("s")), []).append(mean)
        return collapse({budget: fmean(means) for budget, means in found.items()})


def _summary(played: Played, reward: float | None) -> dict[str, Any]:
    """What a line needs of an episode, as values that travel between processes."""
    is_task = played.ok and played.scene.turn is None
    outcome = read_outcome(played.events) if is_task else None
    found: dict[str, Any] = {"failed": not played.ok, "reward": reward, "budget": None}
    if outcome is not None:
        found["budget"] = "none" if outcome.budget is None else f"{outcome.budget / 1e9:g}s"
        found["tokens"] = outcome.tokens
        found["right"] = bool(outcome.correct) and not outcome.is_late
    elif played.ok and played.row is not None:
        found.update(budget="none", tokens=sum(played.row.mask))
    return found
