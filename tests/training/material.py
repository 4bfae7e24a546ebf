"""A tiny checkpoint, and a training of it that takes seconds."""

import json
from pathlib import Path
from typing import Any

from timeful.core.units import milliseconds
from timeful.models.pace import Pace
from timeful.training.config import (
    CasesPart,
    Config,
    ModelPart,
    RewardPart,
    RolloutPart,
    RunPart,
)
from timeful.training.observer import TrainingObserver
from timeful.training.tiny.language import Language

LANGUAGE = Language(
    levels=10,
    events=8,
    strides=(8, 2, 0),
    budgets=(2, 6, 20),
    pace=Pace(per_token=milliseconds(100)),
)


CASES = """\
sets = ["levels:8"]
size = 2
budgets = ["0.6s", "2s"]
soft = true
token_seconds = 0.1
"""


def checkpoint(folder: Path, *, seed: int = 0, width: int = 16) -> Path:
    """Write an untrained decoder."""
    from timeful.training.tiny.pretrain import make_decoder
    from timeful.training.tiny.settings import Shape

    tokenizer = LANGUAGE.tokenizer()
    tokenizer.save_pretrained(folder)
    shape = Shape(width=width, layers=1, heads=1, context=96)
    make_decoder(shape, tokenizer, seed=seed).save_pretrained(folder)
    return folder


def config(model: Path, out: Path, **others: Any) -> Config:
    """A training of three updates, with four episodes each of two cases; there are four."""
    parts: dict[str, Any] = {
        "model": ModelPart(path=str(model), adapter="full", dtype="float32"),
        "cases": CasesPart(
            sets=("levels:8",), size=2, budgets=("0.6s", "2s"), soft=True, token_seconds=0.1
        ),
        "reward": RewardPart(name="ep_aware"),
        "rollout": RolloutPart(cases=2),
        "run": RunPart(out=str(out), threads=1, save_steps=1),
    }
    given = others.pop("grpo", {"max_steps": 3, "learning_rate": 1e-3})
    parts["grpo"] = {"num_generations": 4, "max_completion_length": 12, **given}
    return Config(**{**parts, **others})


class ListingObserver(TrainingObserver):
    """Lists what it is told."""

    def __init__(self) -> None:
        self.reports: list[str] = []
        self.warnings: list[str] = []

    def report(self, metrics: str) -> None:
        self.reports.append(metrics)

    def warn(self, text: str) -> None:
        self.warnings.append(text)


def file_of(folder: Path, name: str = "a.toml", *, cases: str = CASES, more: str = "") -> Path:
    """The same as a file, beside the checkpoint `tiny`; it writes to `out`."""
    path = folder / name
    path.write_text(
        f"""
[model]
path = "tiny"
adapter = "full"
dtype = "float32"
[cases]
{cases}
[reward]
name = "ep_aware"
[rollout]
cases = 2
[grpo]
num_generations = 4
max_completion_length = 12
max_steps = 3
learning_rate = 1e-3
[run]
out = "out"
threads = 1
save_steps = 1
{more}
"""
    )
    return path


def metrics(out: Path) -> list[dict[str, Any]]:
    """The lines of the journal, without what the machine's speed changes."""
    lines = [json.loads(line) for line in (out / "metrics.jsonl").read_text().splitlines()]
    for line in lines:
        line["trl"] = {k: v for k, v in line["trl"].items() if "time" not in k}
    return lines
