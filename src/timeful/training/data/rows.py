"""The rows of data sets for TRL, in its conversational form, made of episodes.

| as | a row is | columns that TRL reads |
| --- | --- | --- |
| sft | a conversation that was worth it | `messages` |
| preference | two that began alike, and were not worth the same | `prompt`, `chosen`, `rejected` |
| prompts | what a conversation began with, once | `prompt` |

All other columns say where a row comes from; TRL's GRPO hands those of prompts to its rewards.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from hashlib import sha256
from math import isnan

import msgspec

from timeful.environments.reasoning.split import Split
from timeful.errors import SettingsError
from timeful.training.data.columns import Kind
from timeful.training.data.conversations import Conversation
from timeful.training.data.episodes import Episode, Run
from timeful.training.data.writing import Row


@dataclass(frozen=True, slots=True, kw_only=True)
class Choice:
    """Which rows are wanted.

    Attributes:
        split: Only of this side.
        minimum: Only conversations that are worth this much.
        is_best: Only the best episode of each case and condition; of several, the first by name.
        is_in_time: Only of episodes that were over before their deadline.
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

    def is_worth(self, one: Conversation) -> bool:
        """Whether a conversation is worth enough."""
        return self.minimum is None or (one.reward is not None and one.reward >= self.minimum)


@dataclass(slots=True)
class Counts:
    """What became of the episodes.

    Attributes:
        episodes: That came to their end.
        chosen: Of which rows could be made.
        unrewarded: Of which the reward says nothing.
        worthless: Conversations that are not worth enough.
        cut: Conversations that were cut, and so are no example of how to end.
        ties: Conversations without a pair: nobody else began so, or all were worth the same.
        splits: Rows by their side.
        models: Conversations of the chosen episodes by who spoke.
    """

    episodes: int = 0
    chosen: int = 0
    unrewarded: int = 0
    worthless: int = 0
    cut: int = 0
    ties: int = 0
    splits: dict[str, int] = field(default_factory=dict)
    models: dict[str, int] = field(default_factory=dict)

    def choose(self, episode: Episode) -> Episode:
        """Count an episode that is chosen."""
        self.chosen += 1
        for one in episode.conversations:
            self.models[one.model] = self.models.get(one.model, 0) + 1
        return episode

    def row(self, row: Row) -> Row:
        """Count a row."""
        self.splits[row["split"]] = self.splits.get(row["split"], 0) + 1
        return row


def rows(run: Run, kind: Kind, choice: Choice, counts: Counts) -> Iterator[Row]:
    """The rows of a data set, one by one; no more than two episodes are in memory at a time."""
    make = {"sft": _sft, "preference": _preference, "prompts": _prompts}[kind]
    for row in make(run, choice, counts):
        yield counts.row(row)


def _chosen(run: Run, choice: Choice, counts: Counts) -> Iterator[Episode]:
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
    for episode in _chosen(run, choice, counts):
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
    """The best episode of each case and condition."""
    best: dict[tuple[str, str], tuple[float, str]] = {}
    for episode in run:
        place = (episode.case, episode.conditions)
        if episode in choice and episode.reward is not None:
            known = best.get(place)
            if known is None or episode.reward > known[0]:
                best[place] = episode.reward, episode.key
    return {place: key for place, (_, key) in best.items()}


@dataclass(frozen=True, slots=True)
class _Candidate:
    """Where a conversation is, and what it is worth."""

    reward: float
    key: str
    place: int
    is_whole: bool


def _preference(run: Run, choice: Choice, counts: Counts) -> Iterator[Row]:
    """The best with the worst, the second best with the second worst, as long as they differ.

    Each conversation is in one pair at most. One that was cut may be the worse one.
    """
    groups: dict[bytes, list[_Candidate]] = {}
    for episode in _chosen(run, choice, counts):
        for place, one in enumerate(counts.choose(episode).conversations):
            if one.reward is None:
                continue
            there = _Candidate(one.reward, episode.key, place, one.has_ended)
            groups.setdefault(_beginning(episode, one), []).append(there)
    for group in groups.values():
        group.sort(key=lambda one: (-one.reward, not one.is_whole, one.key, one.place))
        pairs = [
            (good, bad)
            for good, bad in zip(group, reversed(group[len(group) // 2 :]), strict=False)
            if good.reward > bad.reward and good.is_whole
        ]
        counts.ties += len(group) - 2 * len(pairs)
        for good, bad in pairs:
            yield _pair(run, good, bad)


def _pair(run: Run, good: _Candidate, bad: _Candidate) -> Row:
    episode, other = run.read(good.key), run.read(bad.key)
    chosen, rejected = episode.conversations[good.place], other.conversations[bad.place]
    return {
        "prompt": chosen.prompt,
        "chosen": chosen.completion,
        "rejected": rejected.completion,
        "chosen_reward": good.reward,
        "rejected_reward": bad.reward,
        "chosen_episode": good.key,
        "rejected_episode": bad.key,
        **_origin(episode, chosen),
    }


def _prompts(run: Run, choice: Choice, counts: Counts) -> Iterator[Row]:
    known: set[bytes] = set()
    for episode in _chosen(run, choice, counts):
        answer = None if episode.problem is None else episode.problem.answer
        for conversation in counts.choose(episode).conversations:
            beginning = _beginning(episode, conversation)
            if beginning not in known:
                known.add(beginning)
                yield {
                    "prompt": conversation.prompt,
                    "answer": answer,
                    **_origin(episode, conversation),
                }


def _beginning(episode: Episode, conversation: Conversation) -> bytes:
    """A fingerprint of a case, its conditions and what a conversation begins with."""
    begin = (episode.case, episode.conditions, conversation.purpose, conversation.prompt)
    return sha256(msgspec.json.encode(begin)).digest()
