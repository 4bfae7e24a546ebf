"""The episodes of Timely-Eval: the options of each family, and the tasks that they name."""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import Any, ClassVar

from timeful.agents.prompts.timely import Calls
from timeful.agents.session import Transcripts
from timeful.core.units import Duration
from timeful.environments.reasoning.files import BENCHMARKS
from timeful.environments.reasoning.split import SPLITS
from timeful.environments.timed.stopwatch import TimerSettings
from timeful.environments.timed.world import TIMER
from timeful.errors import SettingsError, check_known
from timeful.experiments.options import option
from timeful.models.calibrate import load_calibration
from timeful.models.kinds import ApiKey
from timeful.models.pace import TOKEN_TIME, Pace
from timeful.models.role import ModelRole
from timeful.records.recorder import Recorder
from timeful.tasks import play as tasks
from timeful.tasks.budgets import NO_LIMIT, Budget, read_budget
from timeful.tasks.episode import (
    Clock,
    Family,
    SharedSettings,
    TaskEpisode,
    TaskSource,
    latency_name,
)
from timeful.tasks.families import FAMILY_SPECS
from timeful.tasks.library import process_library
from timeful.tasks.reasoning import GYM, SET_SIZE
from timeful.tools import names

_share_settings = lru_cache(maxsize=64, typed=True)(SharedSettings)
_make_timer = lru_cache(maxsize=64, typed=True)(TimerSettings)
"""A run has few of these and many episodes, each of which checks them again and again."""


def read_pair(text: str) -> tuple[str, str]:
    """Read NAME=VALUE."""
    name, _, value = map(str.strip, text.partition("="))
    if not (name and value):
        raise ValueError("give NAME=VALUE")
    return name, value


def read_pace(text: str) -> Pace:
    """Read the pace from a file of `timeful calibrate`."""
    return load_calibration(Path(text)).pace


@dataclass(frozen=True, slots=True, kw_only=True)
class TimelyEpisode:
    """The options that all families share."""

    family: ClassVar[Family]

    case: str = ""
    """Case."""
    latency: str = option("none", read=latency_name)
    """Latency of tools: none, 2s, uniform:1s:3s, lognormal:2s:0.3 or measured."""
    player: ModelRole = option(factory=lambda: ModelRole(stand_in=""))
    """Player."""
    budget: Budget = option(NO_LIMIT, read=read_budget)
    """Time: 0.75x or 30steps of the player's own, 30@PLAYER of another's, 20s or none."""
    run: int = 0
    """Repetitions of each case with other random numbers."""
    tool_latencies: tuple[tuple[str, str], ...] = option((), flag="tool-latency", read=read_pair)
    """Latency of one tool as TOOL=LATENCY."""
    soft: bool = False
    """Announce and measure budgets, but do not end episodes."""
    alpha: float = 1.0
    """Weight of thinking time; tools have weight 1."""
    timer_scale: float = 1.0
    """Factor by which timers are wrong."""
    timer_jitter: float = 0.0
    """Noise of timers in seconds."""
    tells: str = "elapsed"
    """Time that tools report: elapsed, remaining, both or nothing."""
    calls: Calls | None = option(
        None, needs=(lambda e: not e.player.is_stand_in, "a language model")
    )
    """Form of tool calls for a language model: native or text; native by default."""
    max_tokens: int | None = None
    """Most tokens of a thought."""
    clock: Clock = "virtual"
    """Clock: virtual counts tokens at their pace, wall lets time pass."""
    pace: Pace | None = option(
        None,
        read=read_pace,
        needs=(
            lambda e: e.clock != "wall" or not e.player.is_sampled,
            "--clock virtual, or a stand-in or cassette",
        ),
    )
    """File of `timeful calibrate` with the pace of tokens."""
    seed: int = 0
    """Seed of all random numbers."""
    transcripts: Transcripts | None = None
    """Content of records: full for language models and answers otherwise by default."""
    baselines: str = option(
        "runs/timely-baselines.jsonl", needs=(lambda e: e.player.is_live, "an openai:NAME model")
    )
    """File of `timeful baseline` with the unhurried times of endpoints."""
    sandbox: str = option("", hidden=True)
    """Sandbox of code, chosen by trying."""
    span: Duration | None = option(None, hidden=True)
    """Length of the budget, from baselines."""

    def __post_init__(self) -> None:
        if self.run < 0:
            raise SettingsError(f"a run starts at 0, got {self.run}")
        _ = self.task, self.task.time

    @property
    def source(self) -> TaskSource:
        """The source of the case."""
        return TaskSource()

    @property
    def task(self) -> TaskEpisode:
        """The episode of the task."""
        return TaskEpisode(
            family=self.family,
            case=self.case,
            role=self.player,
            run=self.run,
            latency=self.latency,
            budget=self.budget,
            span=self.span,
            shared=_share_settings(
                source=self.source,
                tool_latencies=self.tool_latencies,
                is_soft=self.soft,
                alpha=self.alpha,
                timer=_make_timer(
                    scale=self.timer_scale, jitter=self.timer_jitter, tells=self.tells
                ),
                calls=self.calls or "text",
                most_tokens=self.max_tokens,
                clock=self.clock,
                pace=self.pace,
                seed=self.seed,
                transcripts=self.transcripts or "answers",
            ),
        )

    @property
    def key(self) -> str:
        """The episode's name: unique in a run, and fit for a file."""
        return self.task.key

    def settings(self) -> dict[str, Any]:
        """All that identifies the episode, as its record begins."""
        return self.task.settings()


@dataclass(frozen=True, slots=True, kw_only=True)
class FictionEpisode(TimelyEpisode):
    """Text adventures under a time budget: many quick calls.

    Everything runs offline with stand-ins that are not language models. With --model openai:NAME
    and --base-url a language model plays; the key is read from OPENAI_API_KEY.
    """

    family: ClassVar[Family] = "fiction"

    case: str = option("", flag="game")
    """Game."""
    player: ModelRole = option(
        factory=lambda: ModelRole(stand_in="hasty"),
        main_model=True,
        stand_ins=tuple(FAMILY_SPECS["fiction"].players),
    )
    """Stand-in that plays."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CodingEpisode(TimelyEpisode):
    """Machine learning tasks under a time budget: few slow calls, in a sandbox.

    The time of code is measured, so the same seed does not give the same record. Everything runs
    offline with stand-ins that are not language models; with --model openai:NAME and --base-url a
    language model works on the tasks.
    """

    family: ClassVar[Family] = "coding"

    player: ModelRole = option(
        factory=lambda: ModelRole(stand_in="climber"),
        main_model=True,
        stand_ins=tuple(FAMILY_SPECS["coding"].players),
    )
    """Stand-in that works on the tasks."""
    data: str | None = None
    """Folder that `timeful prepare` wrote, or a folder of such folders."""
    unsafe: bool = False
    """Run code even if no sandbox works here."""

    @property
    def is_live(self) -> bool:
        """No: it measures how long programs run, so each process plays one episode at a time."""
        return False

    @property
    def source(self) -> TaskSource:
        """The source of the case."""
        return TaskSource(data=self.data, is_unsafe=self.unsafe, sandbox=self.sandbox)


def _from_file(e: Any) -> bool:
    return bool(e.problems)


@dataclass(frozen=True, slots=True, kw_only=True)
class ReasoningEpisode(TimelyEpisode):
    """Problems under a time budget: thinking alone, with a timer.

    Everything runs offline on generated problems, with stand-ins that are not language models. With
    --model openai:NAME and --base-url a language model solves them, and --problems takes a file.
    """

    family: ClassVar[Family] = "reasoning"

    case: str = "mixed"
    """Set of problems: mixed, a family, family:TERMS or gym:TASK."""
    player: ModelRole = option(
        factory=lambda: ModelRole(stand_in="paced"),
        main_model=True,
        stand_ins=tuple(FAMILY_SPECS["reasoning"].players),
    )
    """Stand-in that solves the problems."""
    size: int | None = None
    """Number of problems of each set, 28 by default, or of the file, all by default."""
    split: str | None = None
    """Split of the problems: train, validation or test."""
    problems: str | None = None
    """JSONL or CSV file of problems."""
    benchmark: str = option("file", needs=(_from_file, "--problems FILE"))
    """Format of the file: file, math-500, aime or gpqa."""
    fields: tuple[tuple[str, str], ...] = option(
        (), read=read_pair, needs=(_from_file, "--problems FILE")
    )
    """Field of the file as MEANING=FIELD: question, answer, id, choices, wrong or kind."""
    private: bool = option(False, needs=(_from_file, "--problems FILE"))
    """Keep the words of problems out of all records."""
    unsafe: bool = option(False, needs=(lambda e: e.sandbox, "gym:TASK"))
    """Score reasoning-gym even if no sandbox works here."""
    sets: tuple[str, ...] = option((), hidden=True)
    """All sets of the run."""

    def __post_init__(self) -> None:
        check_known("benchmark", self.benchmark, BENCHMARKS)
        if self.split is not None:
            check_known("split", self.split, SPLITS)
        if self.size is not None and self.size < 1:
            raise SettingsError(f"a set needs at least one problem, got {self.size}")
        super(ReasoningEpisode, self).__post_init__()

    @property
    def source(self) -> TaskSource:
        """The source of the case."""
        return TaskSource(
            sets=self.sets,
            size=self.size if self.size is not None or self.problems else SET_SIZE,
            split=next((split for split in SPLITS if split == self.split), None),
            problems=self.problems,
            benchmark=self.benchmark,
            fields=self.fields,
            is_private=self.private or BENCHMARKS[self.benchmark].private,
            is_unsafe=self.unsafe,
            sandbox=self.sandbox,
        )


def play(episode: TimelyEpisode, recorder: Recorder, *, api_key: ApiKey = "") -> None:
    """Play an episode into a recorder."""
    tasks.play(episode.task, recorder, api_key=api_key)


def plan(episodes: Sequence[Any], options: Collection[str]) -> Iterable[Any]:
    """Complete the episodes of a sweep: cases, the sandbox, calls, transcripts and budgets.

    Raises:
        SettingsError: If a case or a player is unknown, or the settings do not fit together.
    """
    first = episodes[0]
    cases = tuple(dict.fromkeys(episode.case for episode in episodes))
    if first.family == "reasoning":
        sets = () if first.problems and "case" not in options else cases
        has_code = any(name.startswith(GYM) for name in sets)
        episodes = [replace(episode, sets=sets) for episode in episodes]
    else:
        has_code = first.family == "coding"
    sandbox = process_library().backend(first.unsafe).name if has_code else ""
    has_model = any(not episode.player.is_stand_in for episode in episodes)
    is_plain = first.source.is_private or not has_model
    players = dict.fromkeys(episode.player.spec for episode in episodes)
    if first.source.is_private and any(
        e.player.choice and e.player.choice.record for e in episodes
    ):
        raise SettingsError("a cassette must not hold private problems: no --record")
    episodes = [
        replace(
            episode,
            sandbox=sandbox,
            calls=episode.calls or ("native" if has_model else "text"),
            transcripts=episode.transcripts or ("answers" if is_plain else "full"),
            budget=_own_steps(episode.budget, players, is_chosen="budget" in options),
        )
        for episode in episodes
    ]
    first = episodes[0]
    cases = process_library().select(first.family, cases, first.source, seed=first.seed)
    if first.family != "reasoning":
        return episodes
    templates = dict.fromkeys(replace(episode, case="") for episode in episodes)
    return [replace(episode, case=case) for episode in templates for case in cases]


def _own_steps(budget: Budget, players: Collection[str], *, is_chosen: bool) -> Budget:
    """A budget in steps of a player who does not take part is in own steps, if a preset has it."""
    if not budget.player or budget.player in players:
        return budget
    if is_chosen:
        check_known(f"player of the run in the budget {budget}:", budget.player, players)
    return replace(budget, player="")


def check(episodes: Sequence[TimelyEpisode]) -> None:
    """Find what would make a run fail, before anything runs.

    Raises:
        SettingsError: If a model cannot be made, a stand-in cannot work on these cases, or a
            latency is for an unknown tool.
        RecordError: If a cassette cannot be read.
    """
    for role in {episode.player for episode in episodes}:
        role.check(pace=TOKEN_TIME)
    library = process_library()
    groups = {(episode.player, episode.task.group): episode for episode in episodes}
    for episode in groups.values():
        if episode.family == "reasoning" and episode.player.is_stand_in:
            case = library.open(episode.task)
            case.rule(FAMILY_SPECS[episode.family].players[episode.player.stand_in])
            case.close()
    if episodes[0].tool_latencies:
        case = library.open(episodes[0].task)
        tools = (*names(case.task.tools), TIMER.name)
        case.close()
        for tool, _ in episodes[0].tool_latencies:
            check_known("tool", tool, tools)
