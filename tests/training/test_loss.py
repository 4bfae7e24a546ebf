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
from timeful.training.config import Config, OptimiserPart
from timeful.training.credit import shared_out
from timeful.training.rolling import RolloutFunction
from timeful.training.rollouts import Rollout
from timeful.training.trl_trainer import Sample, TimedGRPOTrainer

pytestmark = pytest.mark.filterwarnings("ignore")  # of libraries, about each other

Group = Sequence[Rollout]


def rewards(groups: Sequence[Group], update: int, progress: float) -> list[list[float | None]]:
    """Rewards that differ; the second one of each group is lacking."""
    return [
        [None if i == 1 else (one.sampling % 1009) / 500 - 1 for i, one in enumerate(group)]
        for group in groups
    ]


def older(sample: Sample) -> Sample:
    """The same, as if an older policy had sampled it."""
    assert sample.row is not None
    told = tuple(one - 0.3 for one in sample.row.logprobs)
    return dataclasses.replace(sample, row=dataclasses.replace(sample.row, logprobs=told))


def logprobs(model: Any, sample: Sample, temperature: float) -> torch.Tensor:
    """Of the completion's tokens, of one row by itself."""
    assert sample.row is not None
    ids, first = torch.tensor([sample.row.ids]), len(sample.row.prompt_ids)
    told = (model(input_ids=ids).logits[0] / temperature).log_softmax(-1)
    return told[first - 1 : -1].gather(1, ids[0, first:, None])[:, 0]


def advantages(found: Config, group: Group, given: list[float | None]) -> list[list[float]]:
    """Of each turn of each row: (R - mean) / std over the group, or at that turn."""
    told = [one for one in given if one is not None]
    if found.reward.credit == "turn":
        world = [one.turn_rewards for one in group]
        shares = [
            None if reward is None else list(shared_out(reward, own))
            for reward, own in zip(given, world, strict=True)
        ]
        return reference(shares, found.reward.discount, scale=found.optimiser.scale == "group")
    spread = stdev(told) + 1e-4 if found.optimiser.scale == "group" else 1.0
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
    optimiser, temperature = found.optimiser, found.rollout.temperature
    model = AutoModelForCausalLM.from_pretrained(found.model.path, dtype=torch.float32).eval()
    model.load_state_dict(weights[0])
    with torch.no_grad():
        before = [logprobs(model, one, temperature) for one in samples]
    model.load_state_dict(weights[-1])
    size = found.rollout.samples
    credit: list[list[float]] = []
    for first in range(0, len(played), size):
        group = played[first : first + size]
        credit += advantages(found, group, rewards([group], 0, 0)[0])
    spoken = sum(sum(one.row.mask) for one in samples if one.row)
    for sample, old, given in zip(samples, before, credit, strict=True):
        assert sample.row is not None
        if optimiser.ratio == "sampler":
            old = torch.tensor(sample.row.logprobs)
        mask = torch.tensor(sample.row.mask)
        wanted = torch.tensor([given[t] if t >= 0 and given else 0.0 for t in sample.row.turns])
        ratio = torch.exp(logprobs(model, sample, temperature) - old)
        clipped = ratio.clamp(1 - optimiser.clip_low, 1 + optimiser.clip_high)
        gain = torch.minimum(ratio.clamp(max=optimiser.ratio_cap) * wanted, clipped * wanted)
        (-(gain * mask).sum() / spoken).backward()
    return {name: one.grad for name, one in model.named_parameters()}


@pytest.mark.parametrize(
    ("family", "credit", "optimiser"),
    [
        ("", "episode", {"epochs": 3, "ratio_cap": 2.0, "micro_batch": 4}),
        ("", "episode", {"epochs": 2, "ratio": "sampler", "scale": "none"}),
        ("fiction", "turn", {"epochs": 2, "micro_batch": 2}),
        ("fiction", "turn", {"epochs": 1, "scale": "none"}),
    ],
)
def test_an_update_is_what_the_equations_say(
    family: str,
    credit: Any,
    optimiser: dict[str, Any],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    part = OptimiserPart(
        steps=optimiser["epochs"], learning_rate=0.1, max_grad_norm=1e9, **optimiser
    )
    if family:
        found = replace(of_games(family, tmp_path), optimiser=part)
    else:
        found = config(checkpoint(tmp_path / "tiny"), tmp_path / "out", optimiser=part)
    found = replace(
        found,
        reward=replace(found.reward, credit=credit, discount=0.9),
        rollout=replace(found.rollout, temperature=0.8),
    )
    seen: dict[str, Any] = {"weights": []}
    learn, play, step = TimedGRPOTrainer.train, RolloutFunction.__call__, torch.optim.AdamW.step

    def learnt(self: Any, **others: Any) -> Any:
        seen["model"] = self.model
        return learn(self, **others)

    def noted(self: RolloutFunction, *args: Any) -> list[Sample]:
        self.tell = lambda update, played, rewards: seen.update(played=played)
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
    assert len(seen["weights"]) == part.steps
    assert max(float(one.abs().max()) for one in expected.values()) > 1e-3
    for name, gradient in expected.items():
        assert torch.allclose(seen["found"][name], gradient, rtol=1e-4, atol=1e-6), name
