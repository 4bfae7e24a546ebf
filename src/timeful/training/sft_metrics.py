"""The metrics of a training by examples: what TRL measured, a line for each update."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
from transformers import TrainerCallback


class SftMetricsCallback(TrainerCallback):  # type: ignore[misc]  # transformers is not followed by mypy
    """Writes `metrics.jsonl`, cut back to the checkpoint that a training goes on from.

    Args:
        path: The file.
        measured: Told of each update what was measured, in a few words.
    """

    def __init__(self, path: Path, measured: Callable[[str], None] = lambda text: None) -> None:
        self._path = path
        self._measured = measured

    def open(self, update: int) -> None:
        """Begin after so many updates; later ones, which will be done again, are forgotten."""
        truncate_metrics(self._path, update)

    def on_log(self, args: Any, state: Any, control: Any, logs: Any = None, **_: Any) -> None:
        """Write a line, when TRL has measured an update."""
        if logs and "loss" in logs:
            # TRL counts tokens from the last kill on.
            trl = {name: value for name, value in logs.items() if name != "num_tokens"}
            with self._path.open("ab") as file:
                file.write(msgspec.json.encode({"update": state.global_step, "trl": trl}) + b"\n")
            self._measured(f"loss {logs['loss']:.4g}")


def truncate_metrics(path: Path, update: int) -> list[dict[str, Any]]:
    """Leave the lines of so many updates in a file of metrics, and return what they say."""
    lines = path.read_bytes().splitlines(keepends=True) if path.exists() else []
    whole = [(one, msgspec.json.decode(one)) for one in lines if one.endswith(b"\n")]
    kept = [(line, told) for line, told in whole if told["update"] <= update]
    partial = path.with_suffix(".part")  # a kill in between must lose no line
    partial.write_bytes(b"".join(line for line, _ in kept))
    partial.replace(path)
    return [told for _, told in kept]
