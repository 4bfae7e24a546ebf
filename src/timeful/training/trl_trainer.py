"""The one file that leans on TRL's experimental hooks: rollouts of our own in its GRPO trainer.

Advantages within a group, clipping, the cap of the ratio and the loss are TRL's. What is ours comes
in by three doors, each marked here: `rollout_func`, in place of its generation; a reward function
that hands on what the records said; and `_generate_and_score_completions`, where advantages by turn
and the sampler's own log-probabilities take the place of what TRL has worked out.
"""

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from timeful.training.checkpoints import SynchronizedCheckpoints
from timeful.training.trajectory import Row

os.environ.setdefault("TRL_EXPERIMENTAL_SILENCE", "1")  # this file is the answer to its warning

import torch
from datasets import Dataset
from trl import GRPOConfig, GRPOTrainer

Ratio = Literal["trainer", "sampler"]
"""Whose log-probabilities the importance ratio is taken against: the policy's as the trainer finds
them before its update, or those of the sampler, which may be older."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Sample:
    """What became of one rollout.

    Attributes:
        row: What was said; None if the rollout failed, or nothing was sampled.
        reward: Its reward; None if there is none, and then it is compared with nobody.
        turns: The advantage of each turn, if credit is given by turn.
    """

    row: Row | None
    reward: float | None
    turns: tuple[float, ...] | None = None


Roll = Callable[[Sequence[str], int, float], Sequence[Sample]]
"""Plays: the keys of cases, each as often as its group is large and one after the other; the number
of the update; and how far the training is, from 0 to 1. As many samples come back, in order."""


class TimedGRPOTrainer(SynchronizedCheckpoints, GRPOTrainer):  # type: ignore[misc]  # TRL is not followed by mypy
    """TRL's GRPO trainer over rollouts on the timeline.

    `roll` plays them, and is to be set before training; it needs the model that is held here.

    Args:
        model: The policy, or its path.
        keys: The keys of the cases of all updates, in their order.
        args: TRL's configuration. What a process plays of an update is whole groups where turns
            are credited or a judge sees them; how many rows it then computes at once is free.
        ratio: See `Ratio`.
        others: What else TRL takes, such as `processing_class` and `peft_config`.
    """

    def __init__(
        self,
        model: Any,
        *,
        keys: Sequence[str],
        args: GRPOConfig,
        ratio: Ratio = "trainer",
        **others: Any,
    ) -> None:
        self.roll: Roll | None = None
        self._ratio = ratio
        self._samples: Sequence[Sample] = ()
        super().__init__(
            model=model,
            args=args,
            reward_funcs=[_from_records],
            train_dataset=Dataset.from_dict({"prompt": list(keys)}),
            rollout_func=_rollout,
            **others,
        )
        self.accelerator.unwrap_model(self.model).register_forward_pre_hook(
            _positions, with_kwargs=True
        )

    def play(self, keys: Sequence[str]) -> dict[str, list[Any]]:
        """Play a batch and lay it out as TRL wants it."""
        state = self.state
        assert self.roll is not None, "who plays the rollouts was not set"
        self._samples = self.roll(keys, state.global_step, state.global_step / state.max_steps)
        if len(self._samples) != len(keys):
            raise AssertionError(f"{len(keys)} rollouts were asked for, got {len(self._samples)}")
        filler = self.processing_class.eos_token_id
        laid: dict[str, list[Any]] = {
            name: [] for name in ("prompt_ids", "completion_ids", "logprobs", "env_mask", "reward")
        }
        for sample in self._samples:
            row = sample.row
            # TRL has no empty place in a batch: who failed is one masked token without a reward.
            laid["prompt_ids"].append(list(row.prompt_ids) if row else [filler])
            laid["completion_ids"].append(list(row.completion_ids) if row else [filler])
            laid["logprobs"].append(list(row.logprobs) if row else [0.0])
            laid["env_mask"].append(list(row.mask) if row else [0])
            laid["reward"].append(sample.reward if row else None)
        return laid

    def _generate_and_score_completions(self, inputs: list[dict[str, Any]]) -> dict[str, Any]:
        batch: dict[str, Any] = super()._generate_and_score_completions(inputs)
        if self._ratio == "sampler":
            batch["old_per_token_logps"] = batch["sampling_per_token_logps"]
        if any(sample.turns is not None for sample in self._samples):
            batch["advantages"] = self._by_turn(batch["completion_ids"])
        return batch

    def _by_turn(self, completion_ids: torch.Tensor) -> torch.Tensor:
        """The advantage of each token (B, T): that of its turn; 0 where the world spoke."""
        advantages = torch.zeros(completion_ids.shape, device=completion_ids.device)
        for i, sample in enumerate(self._samples):
            if sample.row is None or sample.reward is None:
                continue
            for t, turn in enumerate(sample.row.turns):
                if turn >= 0 and sample.turns:
                    advantages[i, t] = sample.turns[turn]
        return advantages


def _positions(model: Any, args: tuple[Any, ...], given: dict[str, Any]) -> Any:
    """Count positions from the first token that is no padding.

    TRL pads prompts on the left and leaves counting to the model; one with learnt positions would
    count the padding too, and find other probabilities than those by which was sampled.
    """
    mask = given.get("attention_mask")
    if mask is not None and mask.dim() == 2 and given.get("position_ids") is None:
        given["position_ids"] = (mask.long().cumsum(-1) - 1).clamp(min=0)
    return args, given


def _rollout(prompts: list[str], trainer: TimedGRPOTrainer) -> dict[str, list[Any]]:
    return trainer.play(prompts)


def _from_records(*, reward: list[float | None], **_: Any) -> list[float | None]:
    """The rewards that came with the rollouts."""
    return reward


_from_records.__name__ = "reward"  # what TRL's metrics call it
