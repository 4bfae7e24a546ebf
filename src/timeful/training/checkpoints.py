"""Where a training goes on: checkpoints that are whole.

transformers writes one under its final name, file by file, so a kill may leave a part of it.
"""

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any
from zipfile import is_zipfile

from safetensors import SafetensorError, safe_open
from transformers.trainer import OPTIMIZER_NAME, SCHEDULER_NAME, TRAINER_STATE_NAME

from timeful.training.folder import CHECKPOINTS


class SynchronizedCheckpoints:
    """Mixed into a trainer: a checkpoint's last file is written when all processes wrote theirs."""

    accelerator: Any

    def _save_rng_state(self, output_dir: str) -> None:
        super()._save_rng_state(output_dir)  # type: ignore[misc]
        self.accelerator.wait_for_everyone()


def last_checkpoint(out: Path) -> str | None:
    """The last whole checkpoint, where a training goes on; None if it begins."""
    checkpoints = (out / CHECKPOINTS).glob("checkpoint-*")
    whole = [path for path in checkpoints if _is_whole(path)]
    return str(max(whole, key=update_of)) if whole else None


def update_of(checkpoint: str | Path | None) -> int:
    """After how many updates it was written; 0 for none."""
    return 0 if checkpoint is None else int(str(checkpoint).rpartition("-")[2])


def _is_whole(checkpoint: Path) -> bool:
    """Whether the file that is written last is there, and all others have their ends.

    A kill leaves no half of an earlier file; a full disk may, and is survived as well.
    """
    states = [checkpoint / OPTIMIZER_NAME, checkpoint / SCHEDULER_NAME]
    try:
        json.loads((checkpoint / TRAINER_STATE_NAME).read_bytes())
        _open(checkpoint.glob("*.safetensors"))
    except (OSError, ValueError, SafetensorError):
        return False
    return all(map(is_zipfile, [*states, *checkpoint.glob("rng_state*.pth")]))


def _open(tensors: Iterable[Path]) -> None:
    for path in tensors:
        with safe_open(path, "np"):
            pass
