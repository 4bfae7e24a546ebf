"""The rewards of rollouts: of each record alone, or of a group that a judge sees together."""

from collections.abc import Mapping, Sequence
from pathlib import Path

from timeful.errors import ModelError, RecordError, RewardError
from timeful.judges.candidates import candidate
from timeful.judges.ruler import Group, ruler
from timeful.judges.ruler_log import RulerLog
from timeful.judges.ruler_prompts import Trajectory
from timeful.judges.ruler_settings import RulerJudge
from timeful.models.model import Model
from timeful.rewards.registry import WHOLE, Reward, reward_of
from timeful.training.rollouts import RewardFunction, Rollout


def reward_by_record(reward: Reward, *, out: Path | None = None) -> RewardFunction:
    """A reward that is made of each episode's own record.

    Args:
        reward: The reward.
        out: Where the record is kept at which one's own breaks, in a folder for the update.

    Raises (the rewards):
        RewardError: If one's own breaks: that is no mishap of a rollout, and would come again.
    """

    def rewards(
        groups: Sequence[Sequence[Rollout]], update: int, progress: float
    ) -> list[list[float | None]]:
        return [[rewarded(one, update, progress) for one in group] for group in groups]

    def rewarded(one: Rollout, update: int, progress: float) -> float | None:
        try:
            return _reward(one, reward, progress)
        except RewardError as error:
            path = None if out is None else one.keep(out, update)
            where = f"update {update}, {one.scene.key}" if path is None else f"the record {path}"
            raise RewardError(f"{error}. It broke at {where}") from error

    return rewards


def reward_by_judge(
    reward: Reward, judge: Model, settings: RulerJudge, *, log: Path
) -> RewardFunction:
    """A reward that is made of a judge's scores too; all groups of an update are asked for at once.

    Args:
        reward: The reward.
        judge: Who scores.
        settings: By what, and how many groups at a time.
        log: Where what was asked and answered is written; an update that is done again after a
            kill finds its scores there.

    Raises (the rewards):
        ModelError: If the endpoint refuses all groups, and never scored one before: that is no
            mishap, and nothing could be learnt.
    """
    known = RulerLog(log, about=settings.about())

    def rewards(
        groups: Sequence[Sequence[Rollout]], update: int, progress: float
    ) -> list[list[float | None]]:
        said = [[_candidate(one) for one in group] for group in groups]
        asked = {
            i: Group(
                name=f"{update}/{groups[i][0].scene.key}",
                trajectories=tuple(one for one in some if one),
            )
            for i, some in enumerate(said)
            if any(some)
        }
        with known as book:
            scored = ruler(
                judge,
                list(asked.values()),
                settings.rubric(),
                workers=settings.max_concurrent_api_number,
                log=book,
            )
            if not book.has_scores and scored and all(one.failure == "endpoint" for one in scored):
                raise ModelError(
                    f"the judge scored no group of update {update}: {scored[0].error}; its address "
                    f"is that of [judge], its key is in the variable {settings.api_key_name}"
                )
        scores = {i: one.scores for i, one in zip(asked, scored, strict=True)}
        found: list[list[float | None]] = []
        for i, (group, some) in enumerate(zip(groups, said, strict=True)):
            given = scores.get(i, ())
            if given is None:  # the group was dropped: half a group has no advantages
                found.append([None for _ in group])
                continue
            each = iter(given)
            # Who said nothing that could be judged is in no group, and has nothing to be praised.
            judged = [next(each) if one else 0.0 for one in some]
            found.append(
                [
                    _reward(one, reward, progress, {one.scene.turn or WHOLE: score})
                    for one, score in zip(group, judged, strict=True)
                ]
            )
        return found

    return rewards


def _candidate(played: Rollout) -> Trajectory:
    """What a judge sees of an episode; nothing if it failed, or no thought of it came to an end."""
    try:
        return candidate(played.events) if played.ok else ()
    except RecordError:
        return ()


def _reward(
    played: Rollout,
    reward: Reward,
    progress: float,
    scores: Mapping[int, float] | None = None,
) -> float | None:
    if not played.ok:
        return None
    return reward_of(
        played.events,
        reward,
        progress=progress if reward.spec.needs_progress else None,
        ruler=scores,
    )
