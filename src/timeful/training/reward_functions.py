"""Reward functions: the reward of each record alone, or of a group that a judge compares."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from timeful.errors import (
    BudgetError,
    ModelError,
    ModelRefusedError,
    RecordError,
    RewardError,
)
from timeful.judges.candidates import candidate
from timeful.judges.ruler import Group, Scored, ruler
from timeful.judges.ruler_log import RulerLog
from timeful.judges.ruler_prompts import Trajectory
from timeful.judges.ruler_settings import RulerJudge
from timeful.models.model import Model
from timeful.models.traffic import TRAFFIC, under
from timeful.rewards.registry import WHOLE, Reward, reward_of
from timeful.training.rollouts import Rollout

Rewards = list[list[float | None]]


@dataclass(frozen=True, slots=True)
class RecordReward:
    """A reward function of each episode's own record.

    Args:
        reward: The reward.
        folder: Where a record is saved on which a user's reward fails.
    """

    reward: Reward
    folder: Path | None = None

    def __call__(
        self, groups: Sequence[Sequence[Rollout]], update: int, progress: float
    ) -> Rewards:
        """The rewards of groups.

        Raises:
            RewardError: If a user's reward fails: every later episode would fail as well.
        """
        return [[self._reward(rollout, update, progress) for rollout in g] for g in groups]

    def _reward(self, rollout: Rollout, update: int, progress: float) -> float | None:
        try:
            return _reward_of(rollout, self.reward, progress)
        except RewardError as error:
            where = f"update {update}, {rollout.task.key}"
            if self.folder is not None:
                where = f"the record {rollout.save(self.folder, update)}"
            raise RewardError(f"{error}. It broke at {where}") from error


class JudgeReward:
    """A reward function with a judge's scores; all groups of an update are scored at once.

    Args:
        reward: The reward.
        judge: The judge's model.
        settings: Its rubric, and how many groups are scored at a time.
        log: The file of requests and answers; an update that is repeated after a kill reads its
            scores there.
    """

    def __init__(self, reward: Reward, judge: Model, settings: RulerJudge, *, log: Path) -> None:
        self._reward = reward
        self._judge = judge
        self._settings = settings
        self._path = log

    def __call__(
        self, groups: Sequence[Sequence[Rollout]], update: int, progress: float
    ) -> Rewards:
        """The rewards of groups.

        Raises:
            ModelError: If the endpoint refuses for good, or never gave an answer.
            BudgetError: If the budget is used up; the log keeps the scores.
        """
        candidates = [[_candidate(rollout) for rollout in group] for group in groups]
        requests = {
            i: Group(
                name=f"{update}/{groups[i][0].task.key}",
                trajectories=tuple(trajectory for trajectory in trajectories if trajectory),
            )
            for i, trajectories in enumerate(candidates)
            if any(trajectories)
        }
        scores = dict(zip(requests, self._score(list(requests.values()), update), strict=True))
        rewards: Rewards = []
        for i, (group, trajectories) in enumerate(zip(groups, candidates, strict=True)):
            group_scores = scores.get(i, ())
            if group_scores is None:  # the group was dropped: half a group has no advantages
                rewards.append([None for _ in group])
                continue
            judged = iter(group_scores)
            # An episode without a candidate was in no group, and scores 0.
            episode_scores = [next(judged) if trajectory else 0.0 for trajectory in trajectories]
            rewards.append(
                [
                    _reward_of(rollout, self._reward, progress, {rollout.task.turn or WHOLE: score})
                    for rollout, score in zip(group, episode_scores, strict=True)
                ]
            )
        return rewards

    @cached_property
    def _log(self) -> RulerLog:
        # Opened by the first update: to replace a training deletes its log before.
        return RulerLog(self._path, about=self._settings.about())

    def _score(self, groups: list[Group], update: int) -> list[Sequence[float] | None]:
        where = f"its address is that of [judge], its key is in {self._settings.key_name or 'none'}"
        spending = TRAFFIC.get().spending
        try:
            with under(None, spending.share()):
                results = self._ask(groups)
        except BudgetError:
            raise
        except ModelRefusedError as error:
            raise ModelRefusedError(f"the judge of update {update}: {error}; {where}") from error
        except ModelError:  # an endpoint that is away for a while costs groups, and no training
            with under(None, spending.share(is_run=False)):
                results = self._ask(groups)
        refused = results and all(result.failure == "endpoint" for result in results)
        if refused and not self._log.has_scores:
            raise ModelError(
                f"the judge scored no group of update {update}: {results[0].error}; {where}"
            )
        return [result.scores for result in results]

    def _ask(self, groups: Sequence[Group]) -> list[Scored]:
        return ruler(
            self._judge,
            groups,
            self._settings.rubric(),
            workers=self._settings.max_concurrent_api_number,
            log=self._log,
        )


def _candidate(rollout: Rollout) -> Trajectory:
    """What a judge sees; empty if the episode failed, or no thought of it was completed."""
    try:
        return candidate(rollout.events) if rollout.ok else ()
    except RecordError:
        return ()


def _reward_of(
    rollout: Rollout,
    reward: Reward,
    progress: float,
    scores: Mapping[int, float] | None = None,
) -> float | None:
    if not rollout.ok:
        return None
    return reward_of(
        rollout.events,
        reward,
        progress=progress if reward.spec.needs_progress else None,
        ruler=scores,
    )
