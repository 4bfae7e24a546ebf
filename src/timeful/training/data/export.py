"""A run's records as data sets for TRL, in its conversational form.

| as | a row is | columns that TRL reads |
| --- | --- | --- |
| sft | a conversation that was worth it | `messages` |
| preference | two that began alike, and were not worth the same | `prompt`, `chosen`, `rejected` |
| prompts | what a conversation began with, once | `prompt` |

All other columns say where a row comes from; TRL's GRPO hands those of prompts to its rewards.
"""

from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, field
from hashlib import sha256
from pathlib import Path
from typing import Literal

import msgspec

from timeful.environments.reasoning.split import Split
from timeful.training.data.card import listed, write_card
from timeful.training.data.conversations import Conversation
from timeful.training.data.episodes import Episode, LeftOut, Run
from timeful.training.data.rewards import check_fits
from timeful.training.data.writing import Columns, Format, Row, check_form, write_rows

Kind = Literal["sft", "preference", "prompts"]

_ORIGIN: Columns = {
    "case": "text",
    "conditions": "text",
    "budget_s": "number",
    "alpha": "number",
    "split": "text",
    "purpose": "text",
    "tools": "text",
}
COLUMNS: Mapping[Kind, Columns] = {
    "sft": {
        "messages": "messages",
        "reward": "number",
        "tokens": "integer",
        "model": "text",
        "episode": "text",
        **_ORIGIN,
    },
    "preference": {
        "prompt": "messages",
        "chosen": "messages",
        "rejected": "messages",
        "chosen_reward": "number",
        "rejected_reward": "number",
        "chosen_episode": "text",
        "rejected_episode": "text",
        **_ORIGIN,
    },
    "prompts": {"prompt": "messages", "answer": "text", **_ORIGIN},
}
"""The columns of each kind. `tools` is JSON, null where the messages describe the tools."""


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
    """

    episodes: int = 0
    chosen: int = 0
    unrewarded: int = 0
    worthless: int = 0
    cut: int = 0
    ties: int = 0
    splits: dict[str, int] = field(default_factory=dict)

    def row(self, row: Row) -> Row:
        """Count a row."""
        self.splits[row["split"]] = self.splits.get(row["split"], 0) + 1
        return row


@dataclass(frozen=True, slots=True, kw_only=True)
class Exported:
    """What was written."""

    rows: int
    counts: Counts
    left_out: LeftOut
    card: Path


def export_run(
    run: Run, kind: Kind, choice: Choice, out: Path, *, form: Format = "jsonl", reward: str
) -> Exported:
    """Write a run as a data set, with a card of the same name beside it.

    Args:
        run: The run.
        kind: What its rows are.
        choice: Which of them are wanted.
        out: The file.
        form: Its form.
        reward: The name of what episodes are worth, for the card.

    Raises:
        SettingsError: If a record has no transcript, the reward is none of this suite, or Parquet
            cannot be written here.
    """
    check_form(form)
    check_fits(reward, run.suite)
    counts = Counts()
    count = write_rows(rows(run, kind, choice, counts), out, COLUMNS[kind], form)
    left = run.left_out
    card = write_card(
        out.with_name(f"{out.name}.md"),
        f"Episodes of {run.suite} as {_SAYS[kind]}",
        f"{count} rows, made of the records of a run. Columns: {', '.join(COLUMNS[kind])}.",
        {
            "Rows by the side of their problem": dict(sorted(counts.splits.items())),
            "Episodes": {
                "that came to their end": counts.episodes,
                "of which rows could be made": counts.chosen,
                f"of which {reward} says nothing": counts.unrewarded,
                **{f"that failed: {where}": n for where, n in sorted(left.failed.items())},
            },
            "Conversations left out": {
                "that are not worth enough": counts.worthless,
                "that were cut": counts.cut,
                "without another that began alike and was worth less or more": counts.ties,
            },
            "Records that cannot be read": listed("record", left.broken),
            "Choice": {"reward": reward, **asdict(choice)},
            "The run": {"suite": run.suite, "version": run.settings.get("version")},
        },
        {choice.split or "train": out.name},
    )
    return Exported(rows=count, counts=counts, left_out=left, card=card)


_SAYS: Mapping[Kind, str] = {
    "sft": "examples to follow",
    "preference": "pairs of a better and a worse one",
    "prompts": "prompts",
}


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
            counts.chosen += 1
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
            counts.chosen -= 1
            continue
        for conversation in episode.conversations:
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
        for place, one in enumerate(episode.conversations):
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
        for conversation in episode.conversations:
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
