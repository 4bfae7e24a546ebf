"""One checkpoint a process, for whoever names its folder."""

from dataclasses import replace
from functools import lru_cache
from pathlib import Path

from timeful.models.local.batching import Batcher
from timeful.models.local.checkpoint import Checkpoint, load
from timeful.models.local.model import LocalModel
from timeful.models.local.sampler import Sampler
from timeful.models.pace import Pace


def local_model(path: Path, *, temperature: float | None, pace: Pace | None) -> LocalModel:
    """A model over the checkpoint in a folder, which is loaded when it is first asked for.

    Args:
        path: The folder.
        temperature: The sampling temperature; None leaves it to the checkpoint.
        pace: What a token costs; None if only a wall clock shall tell.

    Raises:
        SettingsError: If it cannot be loaded.
    """
    # Of two thoughts at once, as planner and reactor have them, it is up to the machine when one
    # joins the other, and so would be the last bits of what is recorded: without a clock on the
    # wall there is no hurry, and each is drawn alone.
    batcher = _batcher(path.resolve(), is_alone=pace is not None)
    checkpoint = batcher.sampler.checkpoint
    generation = checkpoint.generation
    if temperature is not None:
        generation = replace(generation, temperature=temperature)
    (slot,) = batcher.slots(1)
    return LocalModel(checkpoint, slot, generation=generation, pace=pace)


@lru_cache(maxsize=4)
def _batcher(path: Path, *, is_alone: bool) -> Batcher:
    checkpoint = _checkpoint(path)
    return Batcher(Sampler(checkpoint, rows=1) if is_alone else Sampler(checkpoint))


@lru_cache(maxsize=2)
def _checkpoint(path: Path) -> Checkpoint:
    return load(path)
