"""The stages of the embedded run, each in a folder of its own, each done once.

    seed-11/base/                     the cold start's decoder
    seed-11/unhurried/test.jsonl      what it does with each problem when no budget is named
    seed-11/EP-aware/                 a training by reinforcement, with its checkpoints and metrics
    seed-11/EP-aware/policy/          what came of it
    seed-11/EP-aware/pace.json        what its tokens cost, for `timeful run --pace`
    seed-11/graded/EP-aware.jsonl     a row for each graded problem
    seed-11/hurried/Timely-RL.jsonl   a row for each under multiples of the unhurried time
    seed-11/misled/Timely-RL.jsonl    a row for each whose timer is wrong, where there is a timer

A stage that is done leaves what the next ones need under its final name; one that was killed is
done again, or goes on from its last checkpoint. So a run that was killed comes to the same numbers.
"""

import shutil
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from timeful.environments.timed.stopwatch import TimerSettings
from timeful.models.local.request import GenerationConfig
from timeful.records.store import replace_atomically
from timeful.rewards.registry import Reward
from timeful.seeding import child, child_seed
from timeful.tasks.rows import summarize
from timeful.training.config import (
    CasesPart,
    Config,
    ModelPart,
    RewardPart,
    RolloutPart,
    RunPart,
)
from timeful.training.folder import CHECKPOINTS, PACE, POLICY, save_pace
from timeful.training.observer import NullObserver
from timeful.training.quick.cases import (
    TRUE,
    UNHURRIED,
    Limit,
    in_turn,
    lessons,
    relative,
    scenes,
)
from timeful.training.quick.recipe import BASE, Arm, Recipe, Split
from timeful.training.quick.rows import read_rows, with_clock
from timeful.training.rollout_tasks import TimelyTask

Kind = Literal["teach", "measure", "learn", "grade", "hurry", "mislead"]
Tracker = Literal["mlflow", "wandb"]

GRADED, HURRIED, MISLED, UNHURRIED_TIMES = "graded", "hurried", "misled", "unhurried"

STYLE = GenerationConfig(temperature=0.6, top_p=0.95, top_k=20)
"""How graded answers are sampled (Engagement Process, appendix F)."""

Tell = Callable[[float], None]
"""Told now and then which share of a stage is done."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Stage:
    """One stage of one seed.

    Attributes:
        kind: "teach" is the cold start, "measure" its unhurried times, "learn" an arm, "grade" an
            examination under the steps of the budget, "hurry" one under relative budgets,
            "mislead" one by timers that are wrong.
        recipe: The settings.
        seed: Of all chance.
        out: Where the folders of the seeds are.
        arm: What is learnt or graded; None for the cold start.
        track: Where metrics go, beside the file.
    """

    kind: Kind
    recipe: Recipe
    seed: int
    out: Path
    arm: Arm | None = None
    track: Tracker | None = None

    @property
    def name(self) -> str:
        """What it is called where somebody waits for it."""
        who = BASE if self.arm is None else self.arm.name
        told = {"teach": "cold start", "measure": "unhurried times", "learn": who}
        return f"seed {self.seed}, {told.get(self.kind, f'grading {who}')}"

    @property
    def folder(self) -> Path:
        """The seed's folder."""
        return self.out / f"seed-{self.seed}"

    @property
    def model(self) -> Path:
        """The checkpoint that comes of it, or is graded."""
        base = self.folder / BASE
        return base if self.arm is None else self.folder / self.arm.folder / POLICY

    @property
    def result(self) -> Path:
        """What is there when it is done."""
        who = BASE if self.arm is None else self.arm.folder
        match self.kind:
            case "teach" | "learn":
                return self.model
            case "measure":
                return self._unhurried(self.recipe.exam)
            case "grade":
                return self.folder / GRADED / f"{who}.jsonl"
            case "hurry":
                return self.folder / HURRIED / f"{who}.jsonl"
            case "mislead":
                return self.folder / MISLED / f"{who}.jsonl"

    @property
    def needs(self) -> tuple[Path, ...]:
        """What has to be there before it can begin."""
        base, times = self.folder / BASE, self._unhurried(self.recipe.exam)
        match self.kind:
            case "teach":
                return ()
            case "measure":
                return (base,)
            case "learn":
                return (base, times) if self.arm is not None and self.arm.is_relative else (base,)
            case "grade" | "mislead":
                return (self.model,)
            case "hurry":
                return (self.model, times)

    @property
    def is_done(self) -> bool:
        """Whether it is."""
        return self.result.exists()

    @property
    def work(self) -> float:
        """How much there is to do, in updates of a training; measured, and good for a forecast."""
        recipe = self.recipe
        budgets = len(recipe.language.allowed)
        match self.kind:
            case "teach":
                return 0.08 * sum(phase.steps for phase in recipe.phases)
            case "measure":
                return _GRADING * sum(count for _, count in self.sides)
            case "learn":
                is_long = self.arm is not None and self.arm.cap > recipe.limit / 2
                return float(recipe.updates) * (1.3 if is_long else 1.0)
            case "grade":
                return _GRADING * recipe.problems * budgets
            case "hurry":
                return _GRADING * recipe.problems * len(recipe.factors)
            case "mislead":
                return _GRADING * recipe.problems * budgets * len(recipe.lies)

    @property
    def sides(self) -> tuple[tuple[Split, int], ...]:
        """On which sides unhurried times are measured, and of how many problems.

        The one that says that it is done comes last.
        """
        recipe = self.recipe
        lessons = recipe.cases * recipe.updates
        is_learnt = any(arm.is_relative for arm in recipe.arms)
        return (*((("train", lessons),) if is_learnt else ()), (recipe.exam, recipe.problems))

    def _unhurried(self, split: str) -> Path:
        return self.folder / UNHURRIED_TIMES / f"{split}.jsonl"

    def took(self, split: Split) -> list[int]:
        """How many tokens the cold start takes for each problem when no budget is named."""
        rows = read_rows(self._unhurried(split))
        return [row.tokens if row.status == "ok" else self.recipe.limit for row in rows]


_GRADING = 0.007  # an episode beside an update of 128 episodes, with its share of loading


def perform(stage: Stage, tell: Tell = lambda share: None) -> None:
    """Do a stage, unless it is done."""
    if stage.is_done:
        return
    match stage.kind:
        case "teach":
            _teach(stage, tell)
        case "measure":
            _measure(stage)
        case "learn":
            assert stage.arm is not None
            _learn(stage, stage.arm, tell)
        case "grade":
            _grade(stage)
        case "hurry":
            _hurry(stage)
        case "mislead":
            _mislead(stage)
    tell(1.0)


# --- learning -------------------------------------------------------------------------------------


def _teach(stage: Stage, tell: Tell) -> None:
    import torch  # noqa: PLC0415 - heavy, and only who trains needs it

    from timeful.training.tiny.decoder import make_decoder  # noqa: PLC0415 - needs torch
    from timeful.training.tiny.pretrain import teach  # noqa: PLC0415

    torch.set_num_threads(1)
    recipe, seed = stage.recipe, stage.seed
    tokenizer = recipe.language.tokenizer()
    decoder = make_decoder(recipe.shape, tokenizer, seed=child_seed(seed, "decoder") & 0x7FFFFFFF)
    drawn = lessons(recipe, child(seed, "lessons"))
    steps = sum(phase.steps for phase in recipe.phases)
    teach(
        decoder,
        recipe.language,
        recipe.phases,
        draw=lambda count: [next(drawn) for _ in range(count)],
        rng=child(seed, "teaching"),
        progress=lambda done: tell(done / steps),
    )
    # Whoever samples it later, by `timeful run` or `serve`, does it as it is graded.
    decoder.generation_config.update(
        do_sample=True, temperature=STYLE.temperature, top_p=STYLE.top_p, top_k=STYLE.top_k
    )
    with replace_atomically(stage.model) as partial:
        tokenizer.save_pretrained(partial)
        decoder.save_pretrained(partial)
        save_pace(recipe.language.pace, partial / PACE)


def _learn(stage: Stage, arm: Arm, tell: Tell) -> None:
    from timeful.training.grpo import train_grpo  # noqa: PLC0415 - needs torch and TRL
    from timeful.training.reward_functions import RecordReward  # noqa: PLC0415

    recipe, base = stage.recipe, stage.folder / BASE
    limits = in_turn(recipe, recipe.cases * recipe.updates)
    if arm.is_relative:
        limits = relative(recipe, stage.took("train"), recipe.factors)
    cases = scenes(recipe, "train", limits, model=base, seed=stage.seed, cap=arm.cap)
    out = stage.folder / arm.folder
    out.mkdir(exist_ok=True)
    train_grpo(
        config_of(recipe, arm, base, out, seed=stage.seed, track=stage.track),
        {scene.key: scene for scene in cases},
        RecordReward(Reward(name=arm.reward)),
        observer=_StageObserver(tell),
    )
    shutil.rmtree(out / CHECKPOINTS, ignore_errors=True)


class _StageObserver(NullObserver):
    """Tells the share of a stage that is done."""

    def __init__(self, tell: Tell) -> None:
        self._tell = tell

    def advance(self, done: int, total: int) -> None:
        """Tell it."""
        self._tell(done / total)


def config_of(
    recipe: Recipe, arm: Arm, base: Path, out: Path, *, seed: int, track: Tracker | None = None
) -> Config:
    """The settings of an arm, as `timeful train` would have them in a file."""
    return Config(
        model=ModelPart(path=str(base), adapter="full", dtype="float32"),
        cases=CasesPart(
            sets=(f"levels:{recipe.language.events}",),
            budgets=tuple(recipe.budget(tokens) for tokens in recipe.language.budgets),
            soft=True,
            alphas=recipe.language.devices,
            token_seconds=recipe.language.pace.per_token / 1e9,
        ),
        reward=RewardPart(name=arm.reward),
        rollout=RolloutPart(
            cases=recipe.cases,
        ),
        grpo={
            "num_generations": recipe.samples,
            "max_completion_length": arm.cap,
            "shuffle_dataset": False,  # they are drawn by chance, with all budgets in each update
            "max_steps": recipe.updates,
            "learning_rate": recipe.rate,
            "entropy_coef": recipe.entropy,
        },
        run=RunPart(
            out=str(out), seed=seed, save_steps=recipe.save_every, threads=1, report_to=track
        ),
    )


# --- grading --------------------------------------------------------------------------------------


def _measure(stage: Stage) -> None:
    for split, count in stage.sides:
        cases = _exam(stage, split, [UNHURRIED] * count)
        _play(stage, cases, out=stage.result.with_name(f"{split}.jsonl"))


def _grade(stage: Stage) -> None:
    _play(stage, _exam(stage, stage.recipe.exam, _all_rooms(stage.recipe)), out=stage.result)


def _mislead(stage: Stage) -> None:
    limits = _all_rooms(stage.recipe)
    cases = [
        scene
        for scale in stage.recipe.lies
        for scene in _exam(stage, stage.recipe.exam, limits, timer=TimerSettings(scale=scale))
    ]
    _play(stage, cases, out=stage.result)


def _all_rooms(recipe: Recipe) -> list[Limit]:
    return in_turn(recipe, recipe.problems * len(recipe.language.allowed))


def _hurry(stage: Stage) -> None:
    recipe = stage.recipe
    times = stage.took(recipe.exam)
    cases = [
        scene
        for factor in recipe.factors
        for scene in _exam(stage, stage.recipe.exam, relative(recipe, times, (factor,)))
    ]
    _play(stage, cases, out=stage.result)


def _exam(
    stage: Stage,
    split: Split,
    limits: Sequence[Limit],
    *,
    timer: TimerSettings = TRUE,
) -> list[TimelyTask]:
    """Problems for whoever is graded, with more tokens than anything needs."""
    recipe, cap = stage.recipe, stage.recipe.limit
    return scenes(recipe, split, limits, model=stage.model, seed=stage.seed, cap=cap, timer=timer)


def _play(stage: Stage, cases: Sequence[TimelyTask], *, out: Path) -> None:
    from timeful.models.local.checkpoint import load  # noqa: PLC0415 - needs torch
    from timeful.models.local.sampler import Sampler  # noqa: PLC0415
    from timeful.training.quick.grading import grade  # noqa: PLC0415
    from timeful.training.rollouts import Player  # noqa: PLC0415

    player = Player(Sampler(load(stage.model)), generation=STYLE, pace=stage.recipe.language.pace)
    row = with_clock if stage.recipe.language.opening else summarize
    grade(player, cases, seed=child_seed(stage.seed, "grading"), out=out, row=row)
