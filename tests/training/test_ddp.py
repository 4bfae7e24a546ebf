"""Two processes on one machine train as one does."""

import json
import multiprocessing
import os
import socket
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("trl", reason="training needs the extra `train`")

from tests.training.material import checkpoint

pytestmark = pytest.mark.filterwarnings("ignore")  # of libraries, about each other

FILE = """
[model]
path = "tiny"
adapter = "full"
dtype = "float32"
[cases]
sets = ["levels:8"]
size = 6
budgets = ["0.6s", "2s"]
soft = true
token_seconds = 0.1
[reward]
name = "timely"
[rollout]
samples = 16
cases = 2
max_tokens = 20
[optimiser]
steps = 2
learning_rate = 1e-3
[run]
out = "out"
threads = 1
save_every = 1
"""


def train(folder: Path, rank: int = 0, processes: int = 1, port: int = 0) -> None:
    """Train as one of so many processes that torchrun has started, and keep its weights."""
    import torch

    from timeful.cli.train import from_file
    from timeful.training.adapter import TimedGRPOTrainer

    if processes > 1:
        many = {"RANK": rank, "LOCAL_RANK": rank, "WORLD_SIZE": processes, "MASTER_PORT": port}
        os.environ.update({name: str(value) for name, value in many.items()})
        os.environ["MASTER_ADDR"] = "127.0.0.1"
    ordinary = TimedGRPOTrainer.train

    def kept(self: Any, **options: Any) -> Any:
        result = ordinary(self, **options)
        weights = self.accelerator.unwrap_model(self.model).state_dict()
        torch.save(dict(weights), folder / f"rank{rank}.pt")
        return result

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(TimedGRPOTrainer, "train", kept)
        from_file(folder / "a.toml", changes=(), dry_run=False, replace=False, is_printed=False)


def folder_of(path: Path) -> Path:
    """A folder with a checkpoint and settings."""
    checkpoint(path / "tiny")
    (path / "a.toml").write_text(FILE)
    return path


def train_together(folder: Path, processes: int) -> None:
    """Train in processes that start with everything loaded."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["timeful.training.learning", "tests.training.test_ddp"])
    running = [
        context.Process(target=train, args=(folder, rank, processes, port))
        for rank in range(processes)
    ]
    for one in running:
        one.start()
    for one in running:
        one.join(120)
        assert one.exitcode == 0


def metrics(folder: Path) -> list[dict[str, Any]]:
    return [
        json.loads(line) for line in (folder / "out" / "metrics.jsonl").read_text().splitlines()
    ]


def test_two_processes_stay_equal_and_come_to_what_one_comes_to(tmp_path: Path) -> None:
    import torch

    train(folder_of(tmp_path / "one"))
    train_together(folder_of(tmp_path / "two"), 2)
    single = torch.load(tmp_path / "one" / "rank0.pt")
    ranks = [torch.load(tmp_path / "two" / f"rank{rank}.pt") for rank in range(2)]
    for name, weights in single.items():
        assert torch.equal(ranks[0][name], ranks[1][name])
        assert torch.allclose(ranks[0][name], weights, atol=1e-5)
    learnt = [line["trl"]["grad_norm"] > 0 for line in metrics(tmp_path / "one")]
    assert any(learnt), "there is something to learn"
    alone, shared = metrics(tmp_path / "one"), metrics(tmp_path / "two")
    assert [line["update"] for line in shared] == [1, 2], "a line for each update, once"
    for one, two in zip(alone, shared, strict=True):
        for name in ("episodes", "failed", "unrewarded", "reward", "tokens", "right_in_time"):
            assert one[name] == two[name], name
        assert one["trl"]["reward"] == pytest.approx(two["trl"]["reward"], nan_ok=True)
        assert one["trl"]["grad_norm"] == pytest.approx(two["trl"]["grad_norm"], abs=1e-5)
