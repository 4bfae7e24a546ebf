"""From cases to rewarded samples: what the trainer asks for at every update."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from typing import Any

from timeful.rewards.names import Reward, reward_of
from timeful.training.adapter import Sample
from timeful.training.credit import shared_out, turn_advantages
from timeful.training.rollouts import GroupReward, Played, Player, sampling_seed
from timeful.training.scenes import Scene

Tell = Callable[[int, Sequence[Played], Sequence[float | None]], None]
"""Told of each update what was played and how it was rewarded."""


def by_record(reward: Reward) -> GroupReward:
    """A reward that is made of each episode's own record."""

    def rewards(group: Sequence[Played], progress: float) -> list[float | None]:
        told = progress if reward.kind.needs_progress else None
        return [reward_of(one.events, reward, progress=told) if one.ok else None for one in group]

    return rewards


@dataclass(kw_only=True)
class Rolling:
    """A `Roll` for the trainer: plays groups of episodes, rewards them, and gives credit.

    Args:
        player: Who plays; its weights are the trainer's own.
        scenes: The cases by their keys.
        reward: Of a group.
        seed: Of what is sampled.
        by_turn: Whether credit is given by turn (`credit.py`).
        discount: Of what came later, a turn.
        tell: Told what was played.
        first: The number of the first member of a group that this process plays; where a group
            is spread over processes, each plays its own.
    """

    player: Player
    scenes: Mapping[str, Scene]
    reward: GroupReward
    seed: int
    by_turn: bool = False
    discount: float = 1.0
    tell: Tell = field(default=lambda update, played, rewards: None)
    first: Callable[[], int] = field(default=lambda: 0)

    def __call__(self, keys: Sequence[str], update: int, progress: float) -> list[Sample]:
        """Play the scenes of these keys; equal ones side by side are a group."""
        self.player.sampler.policy = update
        tasks = list(self._tasks(keys, update))
        played = self.player.play(tasks)
        samples: list[Sample] = []
        rewards: list[float | None] = []
        at = 0
        for _, same in groupby(keys):
            group = played[at : at + len(list(same))]
            at += len(group)
            given = list(self.reward(group, progress))
            rewards += given
            samples += self._samples(group, given)
        self.tell(update, played, rewards)
        return samples

    def _tasks(self, keys: Sequence[str], update: int) -> Any:
        for key, same in groupby(keys):
            for member, _ in enumerate(same, self.first()):
                yield self.scenes[key], sampling_seed(self.seed, update, key, member)

    def _samples(self, group: Sequence[Played], given: Sequence[float | None]) -> list[Sample]:
        if not self.by_turn:
            return [Sample(row=p.row, reward=r) for p, r in zip(group, given, strict=True)]
        turns = turn_advantages(
            [_by_turn(p, r) for p, r in zip(group, given, strict=True)],
            discount=self.discount,
        )
        return [
            Sample(row=p.row, reward=r, turns=t)
            for p, r, t in zip(group, given, turns, strict=True)
        ]


def _by_turn(played: Played, reward: float | None) -> tuple[float, ...] | None:
    return None if reward is None else shared_out(reward, played.turn_rewards)
