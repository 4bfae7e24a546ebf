"""What an episode is worth, by the name of a reward, or as its world scores it.

A reward of turns, such as ProActor's, gives each conversation that of the turn which it predicted
for, and the episode their mean.
"""

from collections.abc import Iterable, Sequence
from contextlib import suppress
from functools import partial

import msgspec

from timeful.errors import SettingsError, check_known
from timeful.records.events import Acted, Entry, ThoughtEnded
from timeful.rewards.custom import is_custom
from timeful.rewards.registry import REWARDS, Reward, reward_of
from timeful.rewards.turns import read_turns
from timeful.training.data.conversations import Conversation
from timeful.training.data.episodes import Worth, score, shared

SCORE = "score"
"""The world's own score."""


class _Predicted(msgspec.Struct):
    """What an action says of the turn that it is for."""

    turn: int


def find_worth(name: str) -> Worth:
    """What episodes are worth by a reward, or by the world's own score.

    Raises:
        SettingsError: If there is no such reward, or it needs more than a record.
    """
    if name == SCORE:
        return score
    if not is_custom(name):
        check_known("reward", name, (SCORE, *REWARDS))
    reward = Reward(name=name)
    spec = reward.spec
    if spec.needs_judge or spec.needs_progress:
        need = "a judge's scores" if spec.needs_judge else "to know how far training is"
        raise SettingsError(f"{name} cannot be told from a record: it needs {need}")
    of = _of_turns if spec.of == "turn" else _of_task
    return partial(of, reward=reward)


def check_fits(name: str, suite: str) -> None:
    """Refuse a reward that says nothing of a suite's episodes.

    Raises:
        SettingsError: If it is one of turns, and they have none, or one of tasks.
    """
    if name == SCORE or is_custom(name):
        return
    is_of_turns = REWARDS[name].of == "turn"
    if is_of_turns != (suite == "proactor") or not suite.startswith(("timely", "traces", "proac")):
        kind = "conversations: runs of proactor" if is_of_turns else "tasks: runs of timely"
        raise SettingsError(f"{name} is a reward of {kind}, and this is a run of {suite}")


def _of_task(
    events: Sequence[Entry], conversations: list[Conversation], *, reward: Reward
) -> float | None:
    return shared(reward_of(events, reward), conversations)


def _of_turns(
    events: Sequence[Entry], conversations: list[Conversation], *, reward: Reward
) -> float | None:
    turns = read_turns(events) or {}
    predicted = _predicted(events)
    for conversation in conversations:
        turn = predicted.get(conversation.thought)
        if turn in turns:
            conversation.reward = reward_of(events, reward, turn=turn)
    return reward_of(events, reward)


def _predicted(events: Iterable[Entry]) -> dict[int, int]:
    turns: dict[int, int] = {}
    thought: int | None = None
    for event in events:
        if isinstance(event, ThoughtEnded):
            thought = event.thought
        elif isinstance(event, Acted) and thought is not None:
            with suppress(msgspec.DecodeError):
                turns[thought] = msgspec.json.decode(event.action, type=_Predicted).turn
            thought = None
    return turns
