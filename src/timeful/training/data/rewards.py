"""What an episode is worth, by the name of a reward, or as its world scores it."""

from functools import partial

from timeful.errors import SettingsError, check_known
from timeful.records.events import AnyEvent
from timeful.rewards.names import REWARDS, Reward, reward_of
from timeful.training.data.episodes import Worth

SCORE = "score"
"""The world's own score."""


def find_reward(name: str) -> Worth | None:
    """The reward of a name; None for the world's own score.

    Raises:
        SettingsError: If there is none, or it needs more than a record.
    """
    if name == SCORE:
        return None
    check_known("reward", name, (SCORE, *REWARDS))
    kind = REWARDS[name]
    if kind.needs_judge or kind.needs_progress:
        need = "a judge" if kind.needs_judge else "how far training is"
        raise SettingsError(f"{name} cannot be read from a record: it needs {need}")
    return partial(_worth, reward=Reward(name=name))


def _worth(events: list[AnyEvent], *, reward: Reward) -> float | None:
    return reward_of(events, reward)
