"""TRL's GRPO trainer over rollouts on the timeline: the one file that needs its experimental hooks.

Advantages within a group, clipping and the loss are TRL's. Three hooks are used: `rollout_func`, in
place of TRL's generation; a reward function that passes on the rewards of the records; and
`_generate_and_score_completions`, where advantages by turn and the sampler's log-probabilities
replace TRL's.
"""

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from timeful.training.checkpoints import SynchronizedCheckpoints
from timeful.training.trajectory import TrainingSequence

os.environ.setdefault("TRL_EXPERIMENTAL_SILENCE", "1")  # this file is the answer to its warning

import torch
from datasets import Dataset
from trl import GRPOConfig, GRPOTrainer

LogprobSource = Literal["trainer", "sampler"]
"""The old log-probabilities of the importance ratio: those of the trainer's policy before its
update, or those of the sampler, which may be older."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Sample:
    """The result of one rollout.

    Attributes:
        sequence: Its tokens; None if the rollout failed, or nothing was sampled.
        reward: Its reward; None leaves it out of the group's comparison.
        turns: The advantage of each turn, if credit is given by turn.
    """

    sequence: TrainingSequence | None
    reward: float | None
    turns: tuple[float, ...] | None = None


Roll = Callable[[Sequence[str], int, float], Sequence[Sample]]
"""Plays the tasks of keys, in their order, each key as often as its group is large; with the number
of the update, and how far the training is, from 0 to 1."""


class TimedGRPOTrainer(SynchronizedCheckpoints, GRPOTrainer):  # type: ignore[misc]  # not followed
    """TRL's GRPO trainer over rollouts on the timeline.

    `rollout_function` plays them. It needs the model held here, so it is set before training.

    Args:
        model: The policy, or its path.
        keys: The keys of the tasks of all updates, in their order.
        args: TRL's configuration.
        old_logprobs: See `LogprobSource`.
        others: Other arguments of TRL, such as `processing_class` and `peft_config`.
    """

    def __init__(
        self,
        model: Any,
        *,
        keys: Sequence[str],
        args: GRPOConfig,
        old_logprobs: LogprobSource = "trainer",
        **arguments: Any,
    ) -> None:
        self.rollout_function: Roll | None = None
        self._old_logprobs = old_logprobs
        self._samples: Sequence[Sample] = ()
        super().__init__(
            model=model,
            args=args,
            reward_funcs=[_from_records],
            train_dataset=Dataset.from_dict({"prompt": list(keys)}),
            rollout_func=_rollout,
            **arguments,
        )
        self.accelerator.unwrap_model(self.model).register_forward_pre_hook(
            _positions, with_kwargs=True
        )

    def play(self, keys: Sequence[str]) -> dict[str, list[Any]]:
        """Play a batch and lay it out as TRL wants it."""
        state = self.state
        assert self.rollout_function is not None, "rollout_function must be set before training"
        progress = state.global_step / state.max_steps
        self._samples = list(self.rollout_function(keys, state.global_step, progress))
        if len(self._samples) != len(keys):
            raise AssertionError(f"{len(keys)} rollouts were asked for, got {len(self._samples)}")
        # TRL has no empty place in a batch: a failed rollout is one masked token without a reward.
        filler = self.processing_class.eos_token_id
        empty = TrainingSequence(
            prompt_ids=(filler,), completion_ids=(filler,), logprobs=(0.0,), mask=(0,)
        )
        sequences = [sample.sequence or empty for sample in self._samples]
        return {
            "prompt_ids": [list(sequence.prompt_ids) for sequence in sequences],
            "completion_ids": [list(sequence.completion_ids) for sequence in sequences],
            "logprobs": [list(sequence.logprobs) for sequence in sequences],
            "env_mask": [list(sequence.mask) for sequence in sequences],
            "reward": [s.reward if s.sequence else None for s in self._samples],
        }

    def _generate_and_score_completions(self, inputs: list[dict[str, Any]]) -> dict[str, Any]:
        batch: dict[str, Any] = super()._generate_and_score_completions(inputs)
        if self._old_logprobs == "sampler":
            batch["old_per_token_logps"] = batch["sampling_per_token_logps"]
        if any(sample.turns is not None for sample in self._samples):
            batch["advantages"] = self._by_turn(batch["completion_ids"])
        return batch

    def _by_turn(self, completion_ids: torch.Tensor) -> torch.Tensor:
        """The advantage of each token (B, T): that of its turn; 0 for the world's tokens."""
        advantages = torch.zeros(completion_ids.shape, device=completion_ids.device)
        for i, sample in enumerate(self._samples):
            if sample.sequence is None or sample.reward is None:
                continue
            for t, turn in enumerate(sample.sequence.turns):
                if turn >= 0 and sample.turns:
                    advantages[i, t] = sample.turns[turn]
        return advantages


def _positions(model: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Count positions from the first token after the padding.

    TRL pads prompts on the left and passes no positions. A model with learnt positions would count
    the padding, and find other probabilities than those of sampling.
    """
    mask = kwargs.get("attention_mask")
    if mask is not None and mask.dim() == 2 and kwargs.get("position_ids") is None:
        kwargs["position_ids"] = (mask.long().cumsum(-1) - 1).clamp(min=0)
    return args, kwargs


def _rollout(prompts: list[str], trainer: TimedGRPOTrainer) -> dict[str, list[Any]]:
    return trainer.play(prompts)


def _from_records(*, reward: list[float | None], **_: Any) -> list[float | None]:
    return reward


_from_records.__name__ = "reward"  # what TRL's metrics call it
