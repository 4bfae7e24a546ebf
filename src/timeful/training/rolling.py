"""From cases to rewarded samples: what the trainer asks for at every update."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import groupby

from timeful.errors import ModelError
from timeful.training.credit import shared_out, turn_advantages
from timeful.training.rollout_tasks import RolloutTask
from timeful.training.rollouts import Player, RewardFunction, Rollout, sampling_seed
from timeful.training.trl_trainer import Sample

Tell = Callable[[int, Sequence[Rollout], Sequence[float | None]], None]
"""Told of each update what was played and how it was rewarded."""


@dataclass(kw_only=True)
class RolloutFunction:
    """A `Roll` for the trainer: plays groups of episodes, rewards them, and gives credit.

    Args:
        player: Who plays; its weights are the trainer's own.
        scenes: The cases by their keys.
        rewards: Of all groups of an update.
        seed: Of what is sampled.
        by_turn: Whether credit is given by turn (`credit.py`).
        discount: Of what came later, a turn.
        scale: Whether credit is divided by the group's standard deviation.
        tell: Told what was played.
        first: The number of the first member of its first group that this process plays; where
            a group is spread over processes, each plays its own.
        gather: The lists of all processes, one after the other.
    """

    player: Player
    scenes: Mapping[str, RolloutTask]
    rewards: RewardFunction
    seed: int
    by_turn: bool = False
    discount: float = 1.0
    scale: bool = True
    tell: Tell = field(default=lambda update, played, rewards: None)
    first: Callable[[], int] = field(default=lambda: 0)
    gather: Callable[[list[str | None]], Sequence[str | None]] = field(default=lambda own: own)

    def __call__(self, keys: Sequence[str], update: int, progress: float) -> list[Sample]:
        """Play the scenes of these keys; equal ones side by side are a group.

        Raises:
            ModelError: If all of them fail: that is no mishap, and nothing can be learnt.
        """
        self.player.sampler.policy = update
        tasks = list(self._tasks(keys, update))
        played = self.player.play(tasks)
        failures = self.gather([None if one.ok else one.failure for one in played])
        if None not in failures:
            raise ModelError(
                f"every rollout of update {update} failed; the first failure is: {failures[0]}"
            )
        groups: list[Sequence[Rollout]] = []
        for _, same in groupby(keys):
            start = sum(map(len, groups))
            groups.append(played[start : start + len(list(same))])
        given = self.rewards(groups, update, progress)
        self.tell(update, played, [reward for some in given for reward in some])
        return [
            sample
            for group, some in zip(groups, given, strict=True)
            for sample in self._samples(group, some)
        ]

    def _tasks(self, keys: Sequence[str], update: int) -> Iterator[tuple[RolloutTask, int]]:
        start = self.first()
        for key, same in groupby(keys):
            for member, _ in enumerate(same, start):
                yield self.scenes[key], sampling_seed(self.seed, update, key, member)
            start = 0

    def _samples(self, group: Sequence[Rollout], given: Sequence[float | None]) -> list[Sample]:
        if not self.by_turn:
            return [Sample(row=p.row, reward=r) for p, r in zip(group, given, strict=True)]
        turns = turn_advantages(
            [_by_turn(p, r) for p, r in zip(group, given, strict=True)],
            discount=self.discount,
            scale=self.scale,
        )
        return [
            Sample(row=p.row, reward=r, turns=t)
            for p, r, t in zip(group, given, turns, strict=True)
        ]


def _by_turn(played: Rollout, reward: float | None) -> tuple[float, ...] | None:
    return None if reward is None else shared_out(reward, played.turn_rewards)
