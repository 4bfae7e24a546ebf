"""The steps of the embedded run, each with one result that is written whole.

    seed-11/base/                     the model after the cold start
    seed-11/unhurried/test.jsonl      its answers to each problem without a budget
    seed-11/EP-aware/                 a training by reinforcement, with checkpoints and metrics
    seed-11/EP-aware/policy/          the trained model
    seed-11/EP-aware/pace.json        the cost of its tokens, for `timeful run --pace`
    seed-11/graded/EP-aware.jsonl     a row for each graded problem
    seed-11/hurried/Timely-RL.jsonl   rows under multiples of the unhurried time
    seed-11/misled/Timely-RL.jsonl    rows with a wrong timer, in a run with a timer

A step is done when its result exists. A step that was killed is repeated; a training resumes from
its last checkpoint. So a run that was killed reaches the same numbers.
"""

import shutil
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import msgspec
from msgspec import structs

from timeful.environments.timed.stopwatch import TimerSettings
from timeful.models.local.request import GenerationConfig
from timeful.records.store import replace_atomically, write_atomically
from timeful.rewards.registry import Reward
from timeful.seeding import child, child_seed
from timeful.training.config import (
    CasesPart,
    Config,
    ModelPart,
    RewardPart,
    RolloutPart,
    RunPart,
)
from timeful.training.folder import CHECKPOINTS, PACE, POLICY, save_pace
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
from timeful.training.quick.rows import make_row, read_rows
from timeful.training.rollout_tasks import TimelyTask

if TYPE_CHECKING:
    from timeful.training.rollouts import Player

Kind = Literal["teach", "measure", "learn", "grade", "hurry", "mislead"]
Tracker = Literal["mlflow", "wandb"]

EXAMS: dict[Kind, str] = {"grade": "graded", "hurry": "hurried", "mislead": "misled"}
"""The folder of the rows of each kind of grading."""

STYLE = GenerationConfig(temperature=0.6, top_p=0.95, top_k=20)
"""How graded answers are sampled (Engagement Process, appendix F)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """One step of one seed.

    Attributes:
        kind: "teach": the cold start; "measure": its time without a budget; "learn": an arm;
            "grade": an exam under the steps of the budget; "hurry": under relative budgets;
            "mislead": with wrong timers.
        recipe: The settings.
        seed: The seed.
        out: The folder of the folders of the seeds.
        arm: The arm that is trained or graded; None for the cold start.
        fraction: The cold start fraction of an ablation.
        track: The service that metrics are sent to, in addition to the file.
        has_records: Whether the records of rollouts are kept.
    """

    kind: Kind
    recipe: Recipe
    seed: int
    out: Path
    arm: Arm | None = None
    fraction: float | None = None
    track: Tracker | None = None
    has_records: bool = False

    @property
    def model_name(self) -> str:
        """The name of the model that is trained or graded."""
        return BASE if self.arm is None else self.arm.name

    @property
    def name(self) -> str:
        """The name in progress and errors."""
        where = "" if self.fraction is None else f"fraction {self.fraction:g}, "
        names = {"teach": "cold start", "measure": "unhurried times", "learn": self.model_name}
        return f"{where}seed {self.seed}, {names.get(self.kind, f'grading {self.model_name}')}"

    @property
    def folder(self) -> Path:
        """The folder of the seed."""
        return self.out / f"seed-{self.seed}"

    @property
    def model(self) -> Path:
        """The checkpoint that is trained or graded."""
        return self.folder / (BASE if self.arm is None else f"{self.arm.folder}/{POLICY}")

    @property
    def result(self) -> Path:
        """The file or folder that exists when the step is done."""
        if self.kind in ("teach", "learn"):
            return self.model
        if self.kind == "measure":
            return self._unhurried(self.recipe.exam)
        name = BASE if self.arm is None else self.arm.folder
        return self.folder / EXAMS[self.kind] / f"{name}.jsonl"

    @property
    def needs(self) -> tuple[Path, ...]:
        """The results of other steps that this one needs."""
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
        """Whether the result exists."""
        return self.result.exists()

    @property
    def status(self) -> str:
        """How it ended, as rows of episodes say it."""
        return "ok" if self.is_done else "failed"

    def _unhurried(self, split: str) -> Path:
        return self.folder / "unhurried" / f"{split}.jsonl"

    def unhurried_tokens(self, split: Split) -> list[int]:
        """The number of tokens of the cold start for each problem without a budget."""
        rows = read_rows(self._unhurried(split))
        return [row.tokens if row.status == "ok" else self.recipe.limit for row in rows]


def perform(step: Step) -> None:
    """Do a step that is not done."""
    if not step.is_done:
        _PERFORM[step.kind](step)


# --- learning -------------------------------------------------------------------------------------


def _teach(step: Step) -> None:
    import torch  # noqa: PLC0415 - heavy

    from timeful.training.tiny.pretrain import make_decoder, teach  # noqa: PLC0415

    torch.set_num_threads(1)
    recipe, seed = step.recipe, step.seed
    tokenizer = recipe.language.tokenizer()
    decoder = make_decoder(recipe.shape, tokenizer, seed=child_seed(seed, "decoder") & 0x7FFFFFFF)
    problems = lessons(recipe, child(seed, "lessons"))
    teach(
        decoder,
        recipe.language,
        recipe.phases,
        draw=lambda count: [next(problems) for _ in range(count)],
        rng=child(seed, "teaching"),
    )
    # `timeful run` and `timeful serve` sample the model as it is graded.
    decoder.generation_config.update(
        do_sample=True, temperature=STYLE.temperature, top_p=STYLE.top_p, top_k=STYLE.top_k
    )
    with replace_atomically(step.model) as partial:
        tokenizer.save_pretrained(partial)
        decoder.save_pretrained(partial)
        save_pace(recipe.language.pace, partial / PACE)


def _learn(step: Step) -> None:
    from timeful.training.grpo import train_grpo  # noqa: PLC0415 - needs torch and TRL
    from timeful.training.reward_functions import RecordReward  # noqa: PLC0415

    arm, recipe, base = step.arm, step.recipe, step.folder / BASE
    assert arm is not None, "an arm learns"
    limits = in_turn(recipe, recipe.cases * recipe.updates)
    if arm.is_relative:
        limits = relative(recipe, step.unhurried_tokens("train"), recipe.factors)
    cases = scenes(recipe, "train", limits, model=base, seed=step.seed, cap=arm.cap)
    out = step.folder / arm.folder
    out.mkdir(exist_ok=True)
    config = make_config(recipe, arm, base, out, seed=step.seed, track=step.track)
    train_grpo(
        structs.replace(config, run=structs.replace(config.run, records=step.has_records)),
        {scene.key: scene for scene in cases},
        RecordReward(Reward(name=arm.reward)),
    )
    shutil.rmtree(out / CHECKPOINTS, ignore_errors=True)


def make_config(
    recipe: Recipe, arm: Arm, base: Path, out: Path, *, seed: int, track: Tracker | None = None
) -> Config:
    """The settings of an arm, as a settings file of `timeful train` has them."""
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
        rollout=RolloutPart(cases=recipe.cases),
        grpo={
            "num_generations": recipe.samples,
            "max_completion_length": arm.cap,
            "shuffle_dataset": False,  # they are in random order, with all budgets in each update
            "max_steps": recipe.updates,
            "learning_rate": recipe.rate,
            "entropy_coef": recipe.entropy,
        },
        run=RunPart(
            out=str(out), seed=seed, save_steps=recipe.save_every, threads=1, report_to=track
        ),
    )


# --- grading --------------------------------------------------------------------------------------


def _measure(step: Step) -> None:
    recipe = step.recipe
    splits: list[tuple[Split, int]] = [(recipe.exam, recipe.problems)]
    if any(arm.is_relative for arm in recipe.arms):
        splits.insert(0, ("train", recipe.cases * recipe.updates))
    for split, count in splits:  # the one that is the step's result comes last
        out = step.result.with_name(f"{split}.jsonl")
        _play(step, _exam(step, split, [UNHURRIED] * count), out=out)


def _sit(step: Step) -> None:
    """Play an exam."""
    recipe = step.recipe
    rooms = in_turn(recipe, recipe.problems * len(recipe.language.allowed))
    match step.kind:
        case "hurry":
            times = step.unhurried_tokens(recipe.exam)
            exams = [(relative(recipe, times, (factor,)), TRUE) for factor in recipe.factors]
        case "mislead":
            exams = [(rooms, TimerSettings(scale=scale)) for scale in recipe.lies]
        case _:
            exams = [(rooms, TRUE)]
    cases = [
        scene for limits, timer in exams for scene in _exam(step, recipe.exam, limits, timer=timer)
    ]
    _play(step, cases, out=step.result)


def _exam(
    step: Step, split: Split, limits: Sequence[Limit], *, timer: TimerSettings = TRUE
) -> list[TimelyTask]:
    recipe, cap = step.recipe, step.recipe.limit
    return scenes(recipe, split, limits, model=step.model, seed=step.seed, cap=cap, timer=timer)


def _play(step: Step, cases: Sequence[TimelyTask], *, out: Path) -> None:
    from timeful.models.local.checkpoint import load  # noqa: PLC0415 - needs torch
    from timeful.models.local.sampler import Sampler  # noqa: PLC0415
    from timeful.training.rollouts import Player  # noqa: PLC0415

    player = Player(Sampler(load(step.model)), generation=STYLE, pace=step.recipe.language.pace)
    write_rows(player, cases, seed=child_seed(step.seed, "grading"), out=out)


def write_rows(player: "Player", cases: Sequence[TimelyTask], *, seed: int, out: Path) -> None:
    """Play each case once and write its row; the file is written whole.

    Args:
        player: Plays the model that is graded.
        cases: The problems.
        seed: The seed of the sampling.
        out: A file of JSON lines.
    """
    from timeful.training.rollouts import sampling_seed  # noqa: PLC0415 - needs torch

    tasks = [(case, sampling_seed(seed, 0, case.key, 0)) for case in cases]
    rows = [make_row(rollout.events) for rollout in player.play(tasks)]
    write_atomically(out, b"".join(msgspec.json.encode(row) + b"\n" for row in rows))


_PERFORM: dict[Kind, Callable[[Step], None]] = {
    "teach": _teach,
    "measure": _measure,
    "learn": _learn,
    **dict.fromkeys(EXAMS, _sit),
}
