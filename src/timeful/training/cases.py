"""The scenes of a training, as its settings name them."""

from collections.abc import Mapping
from itertools import product

from timeful.agents.session import Transcripts
from timeful.core.units import seconds
from timeful.environments.timed.stopwatch import TimerSettings
from timeful.errors import SettingsError
from timeful.models.pace import Pace
from timeful.models.role import ModelRole
from timeful.rewards.registry import find_spec
from timeful.seeding import child
from timeful.tasks.budgets import read_budget
from timeful.tasks.episode import SharedSettings, TaskEpisode, TaskSource
from timeful.tasks.library import process_library
from timeful.training.config import CasesPart, Config
from timeful.training.folder import POLICY
from timeful.training.rollout_tasks import RolloutTask, TimelyTask
from timeful.training.turns import turn_tasks


def make_rollout_tasks(config: Config) -> Mapping[str, RolloutTask]:
    """The scenes of a training by their keys.

    Raises:
        SettingsError: If there are no such cases, or a reward needs what is not known of them.
    """
    seed = config.run.seed
    if isinstance(config.cases, CasesPart):
        return timely_tasks(
            config.cases,
            max_tokens=config.rollout.max_tokens,
            seed=seed,
            # A judge reads what was asked and said, and so does who makes data of records.
            transcripts="full" if config.judge is not None or config.run.records else "answers",
        )
    found = turn_tasks(config.cases, seed=seed, max_tokens=config.rollout.max_tokens)
    dialogues = [scene.dialogue for scene in found.values()]
    bare = [one.id for one in dialogues if one.ready_ranges and not one.references]
    if bare and find_spec(config.reward.name).of == "turn":
        raise SettingsError(
            f"of dialogue {bare[0]} only ready ranges are known, and {config.reward.name} needs "
            "its references: annotate it (docs/annotation.md), or take the reward ruler"
        )
    return found


def timely_tasks(
    part: CasesPart,
    *,
    max_tokens: int,
    seed: int,
    transcripts: Transcripts = "answers",
) -> dict[str, RolloutTask]:
    """The scenes by their keys: each case under each budget, with a device of its own.

    Args:
        part: What the settings say.
        max_tokens: The most tokens of a thought.
        seed: Of the problems, and of which device a case draws.
        transcripts: What records keep of thoughts.

    Raises:
        SettingsError: If there are no such cases.
    """
    source = TaskSource(
        sets=part.sets if part.problems is None else (),
        size=part.size,
        split=None if part.split == "all" else part.split,
        problems=part.problems,
        is_unsafe=part.unsafe,
    )
    names = process_library().select(part.family, source.sets, source, seed=seed)
    voice = ModelRole(stand_in="policy", supplied=f"local:{POLICY}")
    found: dict[str, RolloutTask] = {}
    for name, written in product(names, part.budgets):
        rng = child(seed, "device", name, written)
        budget = read_budget(written)
        rig = SharedSettings(
            source=source,
            is_soft=part.soft,
            alpha=float(rng.choice(part.alphas)),
            timer=TimerSettings(
                scale=float(rng.choice(part.timer_scales)), jitter=part.timer_jitter
            ),
            calls=part.calls,
            most_tokens=max_tokens,
            pace=Pace(per_token=seconds(part.token_seconds)),
            seed=seed,
            transcripts=transcripts,
        )
        spec = TaskEpisode(
            family=part.family,
            case=name,
            role=voice,
            run=0,
            latency=str(rng.choice(part.latencies)),
            shared=rig,
            budget=budget,
            span=budget.span(None),
        )
        found[spec.key] = TimelyTask(spec)
    return found
