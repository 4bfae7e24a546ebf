"""A tiny checkpoint, and a training of it that takes seconds."""

from pathlib import Path
from typing import Any

from timeful.core.units import milliseconds
from timeful.models.pace import Pace
from timeful.training.config import (
    CasesPart,
    Config,
    ModelPart,
    OptimiserPart,
    RewardPart,
    RolloutPart,
    RunPart,
)
from timeful.training.tiny.language import Language

LANGUAGE = Language(
    levels=10,
    events=8,
    strides=(8, 2, 0),
    budgets=(2, 6, 20),
    pace=Pace(per_token=milliseconds(100)),
)


def checkpoint(folder: Path, *, seed: int = 0) -> Path:
    """A decoder that knows nothing, on disk."""
    from timeful.training.tiny.decoder import make_decoder
    from timeful.training.tiny.settings import Shape

    tokenizer = LANGUAGE.tokenizer()
    tokenizer.save_pretrained(folder)
    shape = Shape(width=16, layers=1, heads=1, context=96)
    make_decoder(shape, tokenizer, seed=seed).save_pretrained(folder)
    return folder


def config(model: Path, out: Path, **others: Any) -> Config:
    """A training of three updates, with four episodes each of two cases."""
    parts: dict[str, Any] = {
        "model": ModelPart(path=str(model), adapter="full", dtype="float32"),
        "cases": CasesPart(
            sets=("levels:8",), size=6, budgets=("0.6s", "2s"), soft=True, token_seconds=0.1
        ),
        "reward": RewardPart(name="ep_aware"),
        "rollout": RolloutPart(samples=4, cases=2, max_tokens=12),
        "optimiser": OptimiserPart(steps=3, learning_rate=1e-3),
        "run": RunPart(out=str(out), threads=1, save_every=1),
    }
    return Config(**{**parts, **others})
