"""What an update does, against the papers' equations in a few lines of torch, row by row."""

import dataclasses
from collections.abc import Sequence
from pathlib import Path
from statistics import mean, stdev
from typing import Any

import pytest

pytest.importorskip("trl", reason="training needs the extra `train`")

import torch
from msgspec.structs import replace
from transformers import AutoModelForCausalLM

from tests.training.material import checkpoint, config
from tests.training.test_credit import reference
from tests.training.test_grpo import train
from tests.training.test_many_turns import settings as of_games
from timeful.training.config import Config
from timeful.training.credit import divide_reward
from timeful.training.grpo import RolloutFunction
from timeful.training.rollouts import Rollout
from timeful.training.trl_trainer import Sample, TimedGRPOTrainer

pytestmark = pytest.mark.filterwarnings("ignore")  # of libraries, about each other

Group = Sequence[Rollout]
SIZE = "per_device_train_batch_size"


def rewards(groups: Sequence[Group], update: int, progress: float) -> list[list[float | None]]:
    """Rewards that differ; the second one of each group is lacking."""
    return [
        [None if i == 1 else (one.sampling % 1009) / 500 - 1 for i, one in enumerate(group)]
        for group in groups
    ]


def older(sample: Sample) -> Sample:
    """The same, as if an older policy had sampled it."""
    assert sample.sequence is not None
    told = tuple(one - 0.3 for one in sample.sequence.logprobs)
    return dataclasses.replace(sample, sequence=dataclasses.replace(sample.sequence, logprobs=told))


def logprobs(model: Any, sample: Sample, temperature: float) -> torch.Tensor:
    """Of the completion's tokens, of one row by itself."""
    assert sample.sequence is not None
    ids, first = torch.tensor([sample.sequence.ids]), len(sample.sequence.prompt_ids)
    told = (model(input_ids=ids).logits[0] / temperature).log_softmax(-1)
    return told[first - 1 : -1].gather(1, ids[0, first:, None])[:, 0]


def advantages(found: Config, group: Group, given: list[float | None]) -> list[list[float]]:
    """Of each turn of each row: (R - mean) / std over the group, or at that turn."""
    told = [one for one in given if one is not None]
    if found.reward.credit == "turn":
        world = [one.turn_rewards for one in group]
        shares = [
            None if reward is None else list(divide_reward(reward, own))
            for reward, own in zip(given, world, strict=True)
        ]
        return reference(
            shares, found.reward.discount, scale=found.grpo["scale_rewards"] == "group"
        )
    spread = stdev(told) + 1e-4 if found.grpo["scale_rewards"] == "group" else 1.0
    return [
        [0.0 if one is None else (one - mean(told)) / spread] * len(who.turn_rewards)
        for one, who in zip(given, group, strict=True)
    ]


def gradients(
    found: Config,
    played: Sequence[Rollout],
    samples: Sequence[Sample],
    weights: list[dict[str, torch.Tensor]],
) -> dict[str, torch.Tensor]:
    """Of the last step: clipped below and above, capped where the advantage is negative."""
    grpo, temperature = found.grpo, found.grpo["temperature"]
    model = AutoModelForCausalLM.from_pretrained(found.model.path, dtype=torch.float32).eval()
    model.load_state_dict(weights[0])
    with torch.no_grad():
        before = [logprobs(model, one, temperature) for one in samples]
    model.load_state_dict(weights[-1])
    size = found.grpo["num_generations"]
    credit: list[list[float]] = []
    for first in range(0, len(played), size):
        group = played[first : first + size]
        credit += advantages(found, group, rewards([group], 0, 0)[0])
    spoken = sum(sum(one.sequence.mask) for one in samples if one.sequence)
    for sample, old, given in zip(samples, before, credit, strict=True):
        assert sample.sequence is not None
        if found.rollout.old_logprobs == "sampler":
            old = torch.tensor(sample.sequence.logprobs)
        mask = torch.tensor(sample.sequence.mask)
        wanted = torch.tensor(
            [given[t] if t >= 0 and given else 0.0 for t in sample.sequence.turns]
        )
        ratio = torch.exp(logprobs(model, sample, temperature) - old)
        clipped = ratio.clamp(1 - grpo["epsilon"], 1 + grpo["epsilon_high"])
        gain = torch.minimum(ratio.clamp(max=grpo["delta"]) * wanted, clipped * wanted)
        (-(gain * mask).sum() / spoken).backward()
    return {name: one.grad for name, one in model.named_parameters()}


@pytest.mark.parametrize(
    ("family", "credit", "old", "grpo"),
    [
        ("", "episode", "trainer", {"max_steps": 3, "delta": 2.0, SIZE: 4}),
        ("", "episode", "sampler", {"max_steps": 2, "scale_rewards": "none"}),
        ("fiction", "turn", "trainer", {"max_steps": 2, SIZE: 2}),
        ("fiction", "turn", "trainer", {"max_steps": 1, "scale_rewards": "none"}),
    ],
)
def test_an_update_is_what_the_equations_say(
    family: str,
    credit: Any,
    old: Any,
    grpo: dict[str, Any],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    if family:
        found = of_games(family, tmp_path)
    else:
        found = config(checkpoint(tmp_path / "tiny"), tmp_path / "out")
    more = {"learning_rate": 0.1, "max_grad_norm": 1e9, "temperature": 0.8}
    found = replace(
        found,
        reward=replace(found.reward, credit=credit, discount=0.9),
        rollout=replace(found.rollout, old_logprobs=old),
        grpo={**found.grpo, **grpo, **more, "num_iterations": grpo["max_steps"]},
    )
    seen: dict[str, Any] = {"weights": []}
    learn, play, step = TimedGRPOTrainer.train, RolloutFunction.__call__, torch.optim.AdamW.step

    def learnt(self: Any, **others: Any) -> Any:
        seen["model"] = self.model
        return learn(self, **others)

    def noted(self: RolloutFunction, *args: Any) -> list[Sample]:
        self.metrics.note = lambda update, rollouts, rewards: seen.update(played=rollouts)
        seen["samples"] = [older(one) for one in play(self, *args)]
        return list(seen["samples"])

    def stepped(self: Any, *args: Any, **others: Any) -> Any:
        model = seen["model"]
        seen["weights"].append({name: one.clone() for name, one in model.state_dict().items()})
        seen["found"] = {name: one.grad.clone() for name, one in model.named_parameters()}
        return step(self, *args, **others)

    monkeypatch.setattr(TimedGRPOTrainer, "train", learnt)
    monkeypatch.setattr(RolloutFunction, "__call__", noted)
    monkeypatch.setattr(torch.optim.AdamW, "step", stepped)
    train(found, rewards)
    expected = gradients(found, seen["played"], seen["samples"], seen["weights"])
    assert len(seen["weights"]) == grpo["max_steps"]
    assert max(float(one.abs().max()) for one in expected.values()) > 1e-3
    for name, gradient in expected.items():
        assert torch.allclose(seen["found"][name], gradient, rtol=1e-4, atol=1e-6), name
