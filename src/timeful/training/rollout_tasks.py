"""Tasks of a training: ordinary episodes that the learning model plays again and again."""

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import product
from typing import Protocol

from timeful.agents.session import Transcripts
from timeful.core.units import seconds
from timeful.environments.timed.stopwatch import TimerSettings
from timeful.errors import SettingsError
from timeful.models.model import Model
from timeful.models.pace import Pace
from timeful.models.role import ModelRole
from timeful.records.recorder import Recorder
from timeful.rewards.registry import find_spec
from timeful.seeding import child
from timeful.tasks.budgets import read_budget
from timeful.tasks.episode import SharedSettings, TaskEpisode, TaskSource
from timeful.tasks.library import process_library
from timeful.tasks.play import play
from timeful.training.config import CasesPart, Config
from timeful.training.folder import POLICY
from timeful.training.turns import turn_tasks


class RolloutTask(Protocol):
    """A case with its budget and its seeds. The world behaves the same in each episode of it."""

    @property
    def key(self) -> str:
        """The name of the task, unique in a training."""
        ...

    @property
    def turn(self) -> int | None:
        """The turn of the conversation; None for a whole episode."""
        ...

    def play(self, model: Model, recorder: Recorder, *, sampling: int) -> bool:
        """Play an episode and write its whole record.

        Args:
            model: The model that acts.
            recorder: Where the record is written.
            sampling: The seed of what the model samples; the world has its own.

        Returns:
            Whether the episode came to its end; False if it failed.
        """
        ...


@dataclass(frozen=True, slots=True)
class TimelyTask:
    """A game, a problem or an ML task with tools under a budget of time."""

    spec: TaskEpisode

    @property
    def key(self) -> str:
        """The episode without its model, so that another folder samples the same."""
        return self.spec.scope

    @property
    def turn(self) -> None:
        """The whole episode."""

    def play(self, model: Model, recorder: Recorder, *, sampling: int) -> bool:
        """Play an episode."""
        return play(self.spec, recorder, model=model, sampling=sampling)


def make_rollout_tasks(config: Config) -> Mapping[str, RolloutTask]:
    """The tasks of a training by their keys.

    Raises:
        SettingsError: If the cases are unknown, or the reward needs references that they lack.
    """
    seed, max_tokens = config.run.seed, config.grpo["max_completion_length"]
    if isinstance(config.cases, CasesPart):
        # A judge reads the prompts, and so do data sets that are made of the records.
        transcripts: Transcripts = "full" if config.judge or config.run.records else "answers"
        return timely_tasks(config.cases, max_tokens=max_tokens, seed=seed, transcripts=transcripts)
    tasks = turn_tasks(config.cases, seed=seed, max_tokens=max_tokens)
    dialogues = [task.dialogue for task in tasks.values()]
    bare = [d.id for d in dialogues if d.ready_ranges and not d.references]
    if bare and find_spec(config.reward.name).of == "turn":
        raise SettingsError(
            f"dialogue {bare[0]} has ready ranges but no references, which {config.reward.name} "
            "needs: annotate it (docs/annotation.md), or take the reward ruler"
        )
    return tasks


def timely_tasks(
    cases: CasesPart, *, max_tokens: int, seed: int, transcripts: Transcripts = "answers"
) -> dict[str, RolloutTask]:
    """Tasks of Timely-Eval by their keys: each case under each budget, with a device of its own.

    Args:
        cases: The cases.
        max_tokens: The most tokens of a thought.
        seed: The seed of the problems and of the devices that cases draw.
        transcripts: What records keep of thoughts.

    Raises:
        SettingsError: If the cases are unknown.
    """
    source = TaskSource(
        sets=cases.sets if cases.problems is None else (),
        size=cases.size,
        split=None if cases.split == "all" else cases.split,
        problems=cases.problems,
        is_unsafe=cases.unsafe,
    )
    names = process_library().select(cases.family, source.sets, source, seed=seed)
    policy = ModelRole(stand_in="policy", supplied=f"local:{POLICY}")
    tasks: dict[str, RolloutTask] = {}
    for name, text in product(names, cases.budgets):
        rng = child(seed, "device", name, text)
        budget = read_budget(text)
        shared = SharedSettings(
            source=source,
            is_soft=cases.soft,
            alpha=float(rng.choice(cases.alphas)),
            timer=TimerSettings(
                scale=float(rng.choice(cases.timer_scales)), jitter=cases.timer_jitter
            ),
            calls=cases.calls,
            most_tokens=max_tokens,
            pace=Pace(per_token=seconds(cases.token_seconds)),
            seed=seed,
            transcripts=transcripts,
        )
        spec = TaskEpisode(
            family=cases.family,
            case=name,
            role=policy,
            run=0,
            latency=str(rng.choice(cases.latencies)),
            shared=shared,
            budget=budget,
            span=budget.span(None),
        )
        tasks[spec.key] = TimelyTask(spec)
    return tasks
