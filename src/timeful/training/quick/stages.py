"""The stages of the embedded run, each in a folder of its own, each done once.

    seed-11/base/                     the cold start's decoder
    seed-11/EP-aware/                 a training by reinforcement, with its checkpoints and metrics
    seed-11/EP-aware/policy/          what came of it
    seed-11/graded/EP-aware.jsonl     a row for each graded problem

A stage that is done leaves what the next ones need under its final name; one that was killed is
done again, or goes on from its last checkpoint. So a run that was killed comes to the same numbers.
"""

import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from timeful.rewards.names import Reward
from timeful.seeding import child, child_seed
from timeful.training.config import (
    CasesPart,
    Config,
    ModelPart,
    OptimiserPart,
    RewardPart,
    RolloutPart,
    RunPart,
)
from timeful.training.quick.cases import lessons, scenes
from timeful.training.quick.recipe import BASE, Arm, Recipe
from timeful.training.rewarding import by_record

POLICY = "policy"
GRADED = "graded"

Tell = Callable[[float], None]
"""Told now and then which share of a stage is done."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Stage:
    """One stage of one seed: the cold start (`arm` is None, not graded), an arm, or a grading."""

    recipe: Recipe
    seed: int
    out: Path
    arm: Arm | None = None
    is_grading: bool = False

    @property
    def name(self) -> str:
        """The model that comes of it, or is graded."""
        return BASE if self.arm is None else self.arm.name

    @property
    def folder(self) -> Path:
        """The seed's folder."""
        return self.out / f"seed-{self.seed}"

    @property
    def model(self) -> Path:
        """The checkpoint that comes of it, or is graded."""
        return self.folder / BASE if self.arm is None else self.folder / self.name / POLICY

    @property
    def result(self) -> Path:
        """What is there when it is done."""
        return self.folder / GRADED / f"{self.name}.jsonl" if self.is_grading else self.model

    @property
    def is_done(self) -> bool:
        """Whether it is."""
        return self.result.exists()

    @property
    def work(self) -> float:
        """How much there is to do, in updates of a training; measured, and good for a forecast."""
        if self.is_grading:
            return 0.02 * self.recipe.problems * len(self.recipe.language.budgets)
        if self.arm is None:
            return 0.15 * sum(phase.steps for phase in self.recipe.phases)
        return float(self.recipe.updates) * (1.3 if self.arm.cap > self.recipe.limit / 2 else 1.0)


def perform(stage: Stage, tell: Tell = lambda share: None) -> None:
    """Do a stage, unless it is done."""
    if stage.is_done:
        return
    if stage.is_grading:
        _grade(stage)
    elif stage.arm is None:
        _teach(stage, tell)
    else:
        _learn(stage, stage.arm, tell)
    tell(1.0)


def _teach(stage: Stage, tell: Tell) -> None:
    import torch  # noqa: PLC0415 - heavy, and only who trains needs it

    from timeful.training.tiny.decoder import make_decoder  # noqa: PLC0415 - needs torch
    from timeful.training.tiny.teaching import teach  # noqa: PLC0415

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
    partial = stage.model.with_suffix(".part")
    shutil.rmtree(partial, ignore_errors=True)
    tokenizer.save_pretrained(partial)
    decoder.save_pretrained(partial)
    partial.rename(stage.model)


def _learn(stage: Stage, arm: Arm, tell: Tell) -> None:
    from timeful.training.learning import learn  # noqa: PLC0415 - needs torch and TRL

    recipe, base = stage.recipe, stage.folder / BASE
    cases = scenes(
        recipe,
        "train",
        count=recipe.cases * recipe.updates,
        budgets=recipe.language.budgets,
        model=base,
        seed=stage.seed,
        cap=arm.cap,
    )
    learn(
        config_of(recipe, arm, base, stage.folder / arm.name, seed=stage.seed),
        {scene.key: scene for scene in cases},
        by_record(Reward(name=arm.reward)),
        progress=lambda done, of: tell(done / of),
    )


def config_of(recipe: Recipe, arm: Arm, base: Path, out: Path, *, seed: int) -> Config:
    """The settings of an arm, as `timeful train` would have them in a file."""
    return Config(
        model=ModelPart(path=str(base), adapter="full", dtype="float32"),
        cases=CasesPart(
            sets=(f"levels:{recipe.language.events}",),
            budgets=tuple(recipe.budget(tokens) for tokens in recipe.language.budgets),
            soft=True,
            token_seconds=recipe.language.pace.per_token / 1e9,
        ),
        reward=RewardPart(name=arm.reward),
        rollout=RolloutPart(samples=recipe.samples, cases=recipe.cases, max_tokens=arm.cap),
        optimiser=OptimiserPart(
            steps=recipe.updates, learning_rate=recipe.rate, entropy=recipe.entropy
        ),
        run=RunPart(out=str(out), seed=seed, save_every=recipe.save_every, threads=1),
    )


def _grade(stage: Stage) -> None:
    from timeful.models.local.checkpoint import load  # noqa: PLC0415 - needs torch
    from timeful.models.local.sampler import Sampler  # noqa: PLC0415
    from timeful.training.quick.grading import STYLE, grade  # noqa: PLC0415
    from timeful.training.rollouts import Player  # noqa: PLC0415

    recipe = stage.recipe
    budgets = recipe.language.budgets
    cases = scenes(
        recipe,
        "test",
        count=recipe.problems * len(budgets),
        budgets=budgets,
        model=stage.model,
        seed=stage.seed,
        cap=recipe.limit,
    )
    player = Player(Sampler(load(stage.model)), style=STYLE, pace=recipe.language.pace)
    grade(player, cases, seed=child_seed(stage.seed, "grading"), out=stage.result)
