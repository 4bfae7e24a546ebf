"""Trainings in processes of their own: two that train as one does, and one that is killed."""

import json
import multiprocessing
import os
import socket
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("trl", reason="training needs the extra `train`")

import torch

from tests.servers.fake import FakeServer, Say, Step, Usage
from tests.training.material import checkpoint, file_of, metrics
from tests.training.talker import talker
from timeful.cli.train import train as train_command
from timeful.judges.ruler_prompts import read_attempts
from timeful.models.ledger import read_accounts

pytestmark = pytest.mark.filterwarnings("ignore")  # of libraries, about each other

MANY = (
    "grpo.num_generations=8",
    "grpo.max_completion_length=20",
    "grpo.max_steps=2",
    "reward.name=timely",
)


def train(file: Path, changes: tuple[str, ...], rank: int = 0, processes: int = 1) -> None:
    """Train as one of so many processes, and keep the weights that it comes to."""
    from timeful.training.trl_trainer import TimedGRPOTrainer

    ordinary = TimedGRPOTrainer.train

    def kept(self: Any, **options: Any) -> Any:
        result = ordinary(self, **options)
        weights = self.accelerator.unwrap_model(self.model).state_dict()
        torch.save(dict(weights), file.parent / f"rank{rank}of{processes}.pt")
        return result

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(TimedGRPOTrainer, "train", kept)
        options = [[x] if x.startswith("--") else ["--set", x] for x in changes]
        arguments = [str(file), *(word for option in options for word in option)]
        train_command.main(arguments, standalone_mode=False)


def as_torchrun(file: Path, changes: tuple[str, ...], rank: int, processes: int, port: int) -> None:
    """The same in a process that torchrun has started."""
    many = {"RANK": rank, "LOCAL_RANK": rank, "WORLD_SIZE": processes, "MASTER_PORT": port}
    os.environ.update({name: str(value) for name, value in many.items()})
    os.environ["MASTER_ADDR"] = "127.0.0.1"
    train(file, changes, rank, processes)


def started(file: Path, *changes: str, processes: int = 1) -> list[BaseProcess]:
    """Begin to train in processes that start with everything loaded."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["timeful.training.grpo", "tests.training.test_processes"])
    running = [
        context.Process(target=as_torchrun, args=(file, changes, rank, processes, port))
        for rank in range(processes)
    ]
    for one in running:
        one.start()
    return running


def train_together(file: Path, *changes: str) -> None:
    """Train in two processes."""
    for one in started(file, *changes, processes=2):
        one.join(120)
        assert one.exitcode == 0


def same_numbers(one: Path, two: Path) -> None:
    """Whether two trainings were of the same rollouts and gradients."""
    alone, shared = metrics(one), metrics(two)
    assert [line["update"] for line in shared] == [1, 2], "a line for each update, once"
    for mine, other in zip(alone, shared, strict=True):
        for name in ("episodes", "failed", "unrewarded", "reward", "tokens", "right_in_time"):
            assert mine[name] == other[name], name
        assert mine["trl"]["reward"] == pytest.approx(other["trl"]["reward"], nan_ok=True)
        assert mine["trl"]["grad_norm"] == pytest.approx(other["trl"]["grad_norm"], abs=1e-5)
    assert any(line["trl"]["grad_norm"] > 0 for line in alone), "there is something to learn"


@pytest.mark.parametrize("adapter", ["full", "lora"])
def test_two_processes_stay_equal_and_come_to_what_one_comes_to(
    adapter: str, tmp_path: Path
) -> None:
    checkpoint(tmp_path / "tiny")
    changes = (*MANY, f"model.adapter={adapter}")
    if adapter == "full":
        changes = (*changes, "rollout.cases=3")  # a group is spread over both
    else:
        changes = (*changes, "reward.credit=turn")
    file = file_of(tmp_path)
    train(file, (*changes, f"run.out={str(tmp_path / 'one')!r}"))
    two = f"run.out={str(tmp_path / 'two')!r}"
    train_together(file, *changes, two, "grpo.per_device_train_batch_size=4")
    single = torch.load(tmp_path / "rank0of1.pt")
    ranks = [torch.load(tmp_path / f"rank{rank}of2.pt") for rank in range(2)]
    for name, weights in single.items():
        assert torch.equal(ranks[0][name], ranks[1][name])
        assert torch.allclose(ranks[0][name], weights, atol=1e-5)
    same_numbers(tmp_path / "one", tmp_path / "two")


def judge(body: dict[str, Any]) -> list[Step]:
    """A judge that prefers later attempts, and counts 100 tokens a request."""
    attempts = list(read_attempts(body["messages"][-1]["content"]))
    scores = [
        {"trajectory_id": number, "explanation": "", "score": place / len(attempts)}
        for place, (number, _) in enumerate(attempts)
    ]
    return [Say(json.dumps({"scores": scores})), Usage(10, prompt=90)]


def judged_file(folder: Path, server: FakeServer) -> Path:
    """A training with a judge, of a model that fits it."""
    action = {"name": "find-account", "action_trigger_status": "pending"}
    answers = [{"proactive_action_opportunities": some} for some in ([], [action])]
    words = tuple(json.dumps(one, separators=(",", ":")) for one in answers)
    talker(folder / "tiny", more=words)
    return file_of(
        folder,
        cases='kind = "turns"\nsize = 1\nagent = "non-reasoning"',
        more=f'[judge]\nmodel = "fake"\nbase_url = "{server.base_url}"',
    )


def test_processes_of_a_training_share_one_budget(tmp_path: Path) -> None:
    changes = ("reward.name=ruler", "grpo.max_steps=2", f"run.out={str(tmp_path / 'out')!r}")
    with FakeServer(judge) as server:
        file = judged_file(tmp_path, server)
        for process in started(file, *changes, "--max-tokens-total=250", processes=2):
            process.join(120)
            assert process.exitcode not in (0, None)
        assert len(server.requests) == 3, "a probe, and one request of each process"
        train_together(file, *changes, "--max-tokens-total=2000")
        assert len(server.requests) == 6, "a probe, and the groups of the second update"
    total = read_accounts(tmp_path / "out").total
    assert (total.requests, total.prompt, total.completion) == (6, 540, 60)


def test_two_processes_ask_a_judge_about_groups_of_their_own(tmp_path: Path) -> None:
    with FakeServer(judge) as server:
        file = judged_file(tmp_path, server)
        changes = ("reward.name=ruler", "grpo.max_steps=2")
        train(file, (*changes, f"run.out={str(tmp_path / 'one')!r}"))
        assert len(server.requests) == 5, "a probe, and a question for each group"
        train_together(file, *changes, f"run.out={str(tmp_path / 'two')!r}")
        assert len(server.requests) == 10
    same_numbers(tmp_path / "one", tmp_path / "two")
    logs = [(tmp_path / "two" / name).read_text() for name in ("ruler.jsonl", "ruler-1.jsonl")]
    assert [len(log.splitlines()) for log in logs] == [2, 2]
    roles = {line.role: line.requests for line in read_accounts(tmp_path / "two").expenses}
    assert roles == {"judge": 4, "probe": 1}, "those of both processes"


def test_killed_while_it_writes_a_checkpoint_it_goes_on_to_the_same_bytes(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    checkpoint(tmp_path / "tiny")
    file, changes = file_of(tmp_path), ("grpo.max_steps=5",)
    train(file, (*changes, f"run.out={str(tmp_path / 'whole')!r}"))
    cut = f"run.out={str(tmp_path / 'cut')!r}"
    [running] = started(file, *changes, cut)
    third = tmp_path / "cut" / "checkpoints" / "checkpoint-3"
    while not third.is_dir():
        assert running.is_alive(), "it ended before it could be killed"
        running.join(0.001)
    running.kill()
    running.join()
    assert not (tmp_path / "cut" / "policy").exists()
    train(file, (*changes, cut))
    assert "resuming in" in capsys.readouterr().err
    assert metrics(tmp_path / "cut") == metrics(tmp_path / "whole")
    weights = [tmp_path / name / "policy" / "model.safetensors" for name in ("cut", "whole")]
    assert weights[0].read_bytes() == weights[1].read_bytes()
