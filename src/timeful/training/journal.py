"""What happened in a training, a line for each update: what was played, and what TRL measured.

`metrics.jsonl` is cut back to the checkpoint that a training goes on from, so that no update stands
in it twice. Lengths are kept for each budget apart: a mean over all of them hides that a policy has
forgotten to look.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec
from transformers import TrainerCallback

from timeful.records.recorder import Recorder
from timeful.rewards.outcome import read_outcome
from timeful.training.rollouts import Played

METRICS = "metrics.jsonl"


class Journal(TrainerCallback):  # type: ignore[misc]  # transformers is not followed by mypy
    """Writes the metrics of a training, and the records of its rollouts if they are kept.

    Args:
        out: The folder of the training.
        rank: The number of this process; only that of the first writes metrics.
        records: Whether records are kept.
    """

    def __init__(self, out: Path, *, rank: int, records: bool) -> None:
        self._out = out
        self._rank = rank
        self._records = records
        self._played: dict[str, Any] = {}

    def open(self, update: int) -> None:
        """Begin after so many updates; later ones, which will be done again, are forgotten."""
        self._out.mkdir(parents=True, exist_ok=True)
        path = self._out / METRICS
        lines = path.read_bytes().splitlines(keepends=True) if path.exists() else []
        kept = [one for one in lines if one.endswith(b"\n") and _update(one) <= update]
        if self._rank == 0:
            path.write_bytes(b"".join(kept))

    def tell(self, update: int, played: Sequence[Played], rewards: Sequence[float | None]) -> None:
        """Take note of what was played for an update."""
        told = [one for one in rewards if one is not None]
        by_budget: dict[str, list[tuple[int, bool]]] = {}
        for one in played:
            outcome = read_outcome(one.events) if one.ok else None
            if outcome is not None:
                budget = "none" if outcome.budget is None else f"{outcome.budget / 1e9:g}s"
                right = bool(outcome.correct) and not outcome.is_late
                by_budget.setdefault(budget, []).append((outcome.tokens, right))
        self._played = {
            "episodes": len(played),
            "failed": sum(not one.ok for one in played),
            "unrewarded": len(rewards) - len(told),
            "reward": sum(told) / len(told) if told else None,
            "tokens": {b: sum(n for n, _ in all_) / len(all_) for b, all_ in by_budget.items()},
            "right_in_time": {
                b: sum(ok for _, ok in all_) / len(all_) for b, all_ in by_budget.items()
            },
        }
        if self._records:
            self._keep(update, played)

    def on_log(self, args: Any, state: Any, control: Any, logs: Any = None, **_: Any) -> None:
        """Write a line, when TRL has measured an update."""
        if self._rank or not logs or "loss" not in logs:
            return
        line = {"update": state.global_step, **self._played, "trl": logs}
        with (self._out / METRICS).open("ab") as file:
            file.write(msgspec.json.encode(line) + b"\n")

    def _keep(self, update: int, played: Sequence[Played]) -> None:
        folder = self._out / "episodes" / f"{update:05d}"
        for one in played:
            recorder = Recorder(folder / f"{one.scene.key}-{one.sampling}.jsonl")
            for event in one.events:
                recorder.write(event)
            recorder.close()


def _update(line: bytes) -> int:
    number: int = msgspec.json.decode(line)["update"]
    return number
