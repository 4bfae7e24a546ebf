"""The rows of data sets for TRL, in its conversational form, made of episodes.

| as | a row is | columns that TRL reads |
| --- | --- | --- |
| sft | a conversation of enough reward | `messages` |
| preference | two with the same prompt and different rewards | `prompt`, `chosen`, `rejected` |
| prompts | the prompt of a conversation, once | `prompt` |

All other columns are the origin of a row; TRL's GRPO passes those of prompts to its rewards.
"""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from hashlib import sha256
from math import isnan

import msgspec

from timeful.environments.reasoning.split import Split
from timeful.errors import SettingsError
from timeful.training.data.conversations import Conversation
from timeful.training.data.episodes import Episode, Run
from timeful.training.data.files import DatasetKind, Row


@dataclass(frozen=True, slots=True, kw_only=True)
class Choice:
    """The choice of rows.

    Attributes:
        split: Only this split.
        minimum: Only conversations of at least this reward.
        is_best: Only the best episode of each case and condition; of several, the first by name.
        is_in_time: Only episodes that ended before their deadline.
    """

    split: Split | None = None
    minimum: float | None = None
    is_best: bool = False
    is_in_time: bool = False

    def __post_init__(self) -> None:
        if self.minimum is not None and isnan(self.minimum):
            raise SettingsError("the minimum is a number, got nan")

    def __contains__(self, episode: Episode) -> bool:
        return self.split in (None, episode.split) and (episode.is_in_time or not self.is_in_time)

    def is_worth(self, conversation: Conversation) -> bool:
        """Whether a conversation has enough reward."""
        reward = conversation.reward
        return self.minimum is None or (reward is not None and reward >= self.minimum)


@dataclass(slots=True)
class Counts:
    """Counts of episodes and conversations.

    Attributes:
        episodes: Episodes that came to their end.
        chosen: Episodes of which rows could be made.
        unrewarded: Episodes without this reward.
        worthless: Conversations below the minimum reward.
        cut: Conversations that were cut, and so do not show how to end.
        ties: Conversations without a pair: no other began so, or all have the same reward.
        splits: Rows by their split.
        models: Conversations of the chosen episodes by their model.
    """

    episodes: int = 0
    chosen: int = 0
    unrewarded: int = 0
    worthless: int = 0
    cut: int = 0
    ties: int = 0
    splits: Counter[str] = field(default_factory=Counter)
    models: Counter[str] = field(default_factory=Counter)

    def choose(self, episode: Episode) -> Episode:
        """Count a chosen episode."""
        self.chosen += 1
        self.models.update(conversation.model for conversation in episode.conversations)
        return episode


def rows(run: Run, kind: DatasetKind, choice: Choice, counts: Counts) -> Iterator[Row]:
    """The rows of a data set, one by one; no more than two episodes are in memory at a time."""
    make = {"sft": _sft, "preference": _preference, "prompts": _prompts}[kind]
    for row in make(run, choice, counts):
        counts.splits[row["split"]] += 1
        yield row


def _select(run: Run, choice: Choice, counts: Counts) -> Iterator[Episode]:
    for episode in run:
        counts.episodes += 1
        counts.unrewarded += episode.reward is None
        if episode in choice:
            yield episode


def _origin(episode: Episode, conversation: Conversation) -> Row:
    return {
        "case": episode.case,
        "conditions": episode.conditions,
        "budget_s": episode.budget_s,
        "alpha": episode.alpha,
        "split": episode.split,
        "purpose": conversation.purpose,
        "tools": episode.tools,
    }


def sft_row(episode: Episode, conversation: Conversation) -> Row:
    """A conversation as an example to follow."""
    return {
        "messages": conversation.messages,
        "reward": conversation.reward,
        "tokens": conversation.tokens,
        "model": conversation.model,
        "episode": episode.key,
        **_origin(episode, conversation),
    }


def _sft(run: Run, choice: Choice, counts: Counts) -> Iterator[Row]:
    best = _best(run, choice) if choice.is_best else None
    for episode in _select(run, choice, counts):
        if best is not None and best.get((episode.case, episode.conditions)) != episode.key:
            continue
        for conversation in counts.choose(episode).conversations:
            if not choice.is_worth(conversation):
                counts.worthless += 1
            elif conversation.has_ended:
                yield sft_row(episode, conversation)
            else:
                counts.cut += 1


def _best(run: Run, choice: Choice) -> dict[tuple[str, str], str]:
    best: dict[tuple[str, str], tuple[float, str]] = {}
    for episode in run:
        case = (episode.case, episode.conditions)
        if episode not in choice or episode.reward is None:
            continue
        if case not in best or episode.reward > best[case][0]:
            best[case] = episode.reward, episode.key
    return {case: key for case, (_, key) in best.items()}


@dataclass(frozen=True, slots=True)
class _Candidate:
    """The reward of a conversation, and where to read it again."""

    reward: float
    key: str
    index: int
    is_whole: bool


def _preference(run: Run, choice: Choice, counts: Counts) -> Iterator[Row]:
    """The best with the worst, the second best with the second worst, as long as they differ.

    Each conversation is in one pair at most. One that was cut may be the worse one.
    """
    groups: dict[bytes, list[_Candidate]] = {}
    for episode in _select(run, choice, counts):
        for index, conversation in enumerate(counts.choose(episode).conversations):
            reward, is_whole = conversation.reward, conversation.has_ended
            if reward is not None:
                candidate = _Candidate(reward, episode.key, index, is_whole)
                groups.setdefault(_beginning(episode, conversation), []).append(candidate)
    for group in groups.values():
        group.sort(key=lambda c: (-c.reward, not c.is_whole, c.key, c.index))
        pairs = [
            (good, bad)
            for good, bad in zip(group, reversed(group[len(group) // 2 :]), strict=False)
            if good.reward > bad.reward and good.is_whole
        ]
        counts.ties += len(group) - 2 * len(pairs)
        for good, bad in pairs:
            yield _pair(run, good, bad)


def _pair(run: Run, good: _Candidate, bad: _Candidate) -> Row:
    episode = run.read(good.key)
    better = episode.conversations[good.index]
    worse = run.read(bad.key).conversations[bad.index]
    return {
        "prompt": better.prompt,
        "chosen": better.completion,
        "rejected": worse.completion,
        "chosen_reward": good.reward,
        "rejected_reward": bad.reward,
        "chosen_episode": good.key,
        "rejected_episode": bad.key,
        **_origin(episode, better),
    }


def _prompts(run: Run, choice: Choice, counts: Counts) -> Iterator[Row]:
    beginnings: set[bytes] = set()
    for episode in _select(run, choice, counts):
        answer = None if episode.problem is None else episode.problem.answer
        for conversation in counts.choose(episode).conversations:
            beginning = _beginning(episode, conversation)
            if beginning not in beginnings:
                beginnings.add(beginning)
                prompt = conversation.prompt
                yield {"prompt": prompt, "answer": answer, **_origin(episode, conversation)}


def _beginning(episode: Episode, conversation: Conversation) -> bytes:
    begin = (episode.case, episode.conditions, conversation.purpose, conversation.prompt)
    return sha256(msgspec.json.encode(begin)).digest()
