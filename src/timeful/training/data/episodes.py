"""The episodes of a run as data: which case, under which budget, what was said, what it came to.

Records are read one by one, in the order of their names. An episode that failed is left out, and
a record that cannot be read is left out and named.
"""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import msgspec

from timeful.catalogs.reading import convert
from timeful.environments.coding.task import EXECUTE
from timeful.environments.fiction.task import FictionTask
from timeful.environments.reasoning.problems import Problem
from timeful.environments.reasoning.split import SHARES, Shares, Split, split_of
from timeful.environments.timed.world import TIMER
from timeful.errors import RecordError, RewardError, SettingsError, check_known
from timeful.records.events import (
    Entry,
    EpisodeEnded,
    EpisodeFailed,
    EpisodeStarted,
    Happened,
)
from timeful.records.folder import read_settings
from timeful.records.recorder import read_record
from timeful.records.summary import CompleteRecord, complete_record, foreign_record
from timeful.tasks.episode import TaskSource
from timeful.tasks.library import process_library
from timeful.training.data.conversations import Conversation, conversations


@dataclass(frozen=True, slots=True)
class _Names:
    """Where settings say which case it is, and what makes it easier or harder."""

    case: tuple[str, ...]
    conditions: tuple[str, ...]


_TIMELY = ("episode.budget_ns", "episode.latency", "tool_latencies", "alpha", "timer", "calls")
_OF_SUITES = {
    "timely/fiction": _Names(("episode.case",), _TIMELY),
    "timely/coding": _Names(("episode.case",), _TIMELY),
    "timely/reasoning": _Names(("episode.case",), _TIMELY),
    "traces": _Names(("episode.case",), _TIMELY),
    "realtime": _Names(
        ("episode.game", "episode.difficulty", "episode.mode", "episode.game_seed"),
        ("episode.tokens_per_step", "episode.seconds_per_step", "budget", "interface", "pace"),
    ),
    "engagement/inbox": _Names(
        ("episode.decomposition", "episode.seed", "episode.episode"),
        ("episode.interface", "poll"),
    ),
    "engagement/kitchen": _Names(
        ("episode.setting", "episode.case", "episode.sample"), ("episode.law",)
    ),
    "proactor": _Names(
        ("source.domain", "source.data", "source.split", "source.seed", "episode.place"),
        ("episode.timing", "episode.pace", "interface", "asks"),
    ),
}
_TURN = _Names(("cases.domain", "cases.data", "cases.split", "episode.key"), ("episode.agent",))
"""Of a training on turns, whose keys end in the turn: all turns of a dialogue are one case."""
"""Cases and conditions by suite. What is in neither is who played, and with which luck."""

_SIDES: Mapping[str, Split] = {"train": "train", "dev": "validation", "test": "test"}
"""The sides that dialogues have in their data: what is tested on is never learnt from."""

_REASONING = ("timely/reasoning", "traces")

_TOOLS = {"timely/fiction": FictionTask.tools, "timely/coding": (EXECUTE,)}
"""What is offered beside the timer."""

Worth = Callable[[Sequence[Entry], list[Conversation]], float | None]
"""What an episode is worth, from its record; None if this reward says nothing of it. A reward of
turns gives each conversation that of its turn, else all have the episode's."""


@dataclass(slots=True, kw_only=True)
class Episode:
    """An episode that came to its end.

    Attributes:
        key: The name of its record, after the update's in a training.
        case: What was played.
        conditions: Under which budget, latency and so on, as JSON.
        budget_s: The budget in seconds, where there is one.
        alpha: How much thinking counted.
        reward: What it is worth; None if nobody can tell.
        is_in_time: Whether it was over before its deadline, if it had one.
        split: On which side its case is.
        problem: The problem, of reasoning only.
        tools: What the endpoint's API was told of tools, as JSON; None if they stood in words.
        over: What the world said at the end.
        conversations: What was said.
        record: The whole record.
    """

    key: str
    case: str
    conditions: str
    budget_s: float | None
    alpha: float
    reward: float | None
    is_in_time: bool
    split: Split
    problem: Problem | None
    tools: str | None
    over: Mapping[str, Any]
    conversations: list[Conversation]
    record: CompleteRecord


@dataclass(slots=True)
class LeftOut:
    """What was no data.

    Attributes:
        failed: How many episodes failed, by boundary.
        errors: What each failed with, after its name.
        broken: What is wrong with records that cannot be read, after their names.
    """

    failed: Counter[str] = field(default_factory=Counter)
    errors: list[str] = field(default_factory=list)
    broken: list[str] = field(default_factory=list)


class Run:
    """A run folder, or a training's, as a source of episodes; each reading counts anew.

    Args:
        folder: The folder.
        worth: What an episode is worth; the world's own score by default.
        shares: How problems are divided; by default as a folder of traces says, else as everywhere.

    Raises:
        RecordError: If the folder holds no run, or one without records.
        SettingsError: If it is of a suite without records, or its words are private.
    """

    def __init__(
        self, folder: Path, *, worth: Worth | None = None, shares: Shares | None = None
    ) -> None:
        self.settings = read_settings(folder)
        self._records = folder / "episodes"
        self.suite = self._suite()
        check_known("suite of a run that has records:", self.suite, _OF_SUITES)
        if _at(self.settings, "source.is_private"):
            raise SettingsError(
                f"the problems of {folder} are private: their words stand nowhere, and are not "
                "exported"
            )
        self.left_out = LeftOut()
        self._worth = worth or score
        shares_text = _at(self.settings, "traces.splits")
        self._shares = shares or (
            SHARES
            if shares_text is None
            else convert(shares_text, Shares, f"{folder}: traces.splits")
        )

    @property
    def paths(self) -> list[Path]:
        """The records, in the order of their names; a training has a folder for each update."""
        return sorted(self._records.rglob("*.jsonl"))

    def _suite(self) -> str:
        """What was played; a training's settings do not say it, but its records do."""
        if "suite" in self.settings:
            return str(self.settings["suite"])
        for path in self.paths:
            begin = next(iter(read_record(path)), None)
            if isinstance(begin, EpisodeStarted):
                return str(begin.settings.get("suite"))
        raise RecordError(
            f"{self._records.parent} keeps no records; a training does with run.records = true"
        )

    def __iter__(self) -> Iterator[Episode]:
        """Read the episodes one by one, each forgotten before the next.

        Raises:
            SettingsError: If a record has no transcript, or the problems of the run cannot be
                found again.
            RewardError: If a reward of one's own breaks.
        """
        self.left_out = LeftOut()
        for path in self.paths:
            try:
                record = complete_record(read_record(path))
                if isinstance(record.end, EpisodeFailed):
                    self.left_out.failed[record.end.boundary] += 1
                    self.left_out.errors.append(f"{path.stem}: {record.error}")
                    continue
                with foreign_record("this run"):
                    episode = self._episode(path, record)
                yield episode
            except RewardError as error:
                raise RewardError(f"{path.name}: {error}") from error
            except RecordError as error:
                has_name = str(error).startswith(path.name)
                self.left_out.broken.append(str(error) if has_name else f"{path.name}: {error}")

    def read(self, key: str) -> Episode:
        """Read one episode again."""
        path = self._records / f"{key}.jsonl"
        return self._episode(path, complete_record(read_record(path)))

    def _episode(self, path: Path, record: CompleteRecord) -> Episode:
        events, settings = record.events, {**self.settings, **record.settings}
        is_turn = _at(settings, "episode.part") == "turn"
        names = _TURN if is_turn else _OF_SUITES[self.suite]
        case = "/".join(str(_at(settings, name)) for name in names.case)
        if is_turn:
            case = case.rpartition("-turn")[0]
        budget = _at(settings, "episode.budget_ns")
        problem = self._problem(case, settings)
        try:
            dialogues = conversations(events)
        except SettingsError as error:
            raise SettingsError(f"{path.name}: {error}") from None
        conditions = {name: _at(settings, name) for name in names.conditions}
        happenings = (e for e in events if isinstance(e, Happened) and e.what == "over")
        over = next((event.data for event in happenings), {})
        return Episode(
            key=path.relative_to(self._records).with_suffix("").as_posix(),
            case=case,
            conditions=msgspec.json.encode(conditions).decode(),
            budget_s=None if budget is None else budget / 1e9,
            alpha=float(_at(settings, "alpha") or 1.0),
            reward=self._worth(events, dialogues),
            # Also where the deadline was only announced.
            is_in_time=over.get("reason") != "deadline"
            and (budget is None or over.get("counted", 0) <= budget),
            split=self._side(case, problem, settings),
            problem=problem,
            tools=self._tools(settings),
            over=over,
            conversations=dialogues,
            record=record,
        )

    def _problem(self, case: str, settings: Mapping[str, Any]) -> Problem | None:
        if self.suite not in _REASONING:
            return None
        source = msgspec.convert(settings["source"], TaskSource)
        problems_by_name = process_library().problems(source, settings["seed"])
        if case not in problems_by_name:
            raise SettingsError(
                f"the problem {case} is not among those that the run's settings make; is its "
                "file another one now?"
            )
        return problems_by_name[case]

    def _side(self, case: str, problem: Problem | None, settings: Mapping[str, Any]) -> Split:
        """The side of a case: that of its words, unless its data have sides already."""
        own = _at(settings, "source.split") or _at(settings, "cases.split")
        if self.suite == "proactor" and own in _SIDES:
            return _SIDES[own]
        words = f"{self.suite} {case}" if problem is None else problem.question
        return split_of(words, self._shares)

    def _tools(self, settings: Mapping[str, Any]) -> str | None:
        if settings.get("calls") != "native":
            return None
        tools = (*_TOOLS.get(self.suite, ()), TIMER)
        return msgspec.json.encode([tool.schema() for tool in tools]).decode()


def score(events: Sequence[Entry], conversations: list[Conversation]) -> float | None:
    """The world's own score, at the end."""
    return shared(
        next((e.score for e in events if isinstance(e, EpisodeEnded)), None), conversations
    )


def shared(worth: float | None, conversations: list[Conversation]) -> float | None:
    """Let all conversations have what the episode is worth."""
    for conversation in conversations:
        conversation.reward = worth
    return worth


def _at(settings: Any, name: str) -> Any:
    for field_name in name.split("."):
        settings = settings.get(field_name) if isinstance(settings, Mapping) else None
    return settings
