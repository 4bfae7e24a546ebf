"""The settings of a training: a TOML file. Paths start at the folder of the file.

    [model]                       # what learns
    path = "Qwen/Qwen3-8B"        # a folder, or a name at the hub
    adapter = "lora"              # or "full"

    [cases]                       # what it learns from: episodes of Timely-Eval ...
    family = "reasoning"
    sets = ["mixed"]
    budgets = ["0.5s", "1s", "2s", "4s"]
    soft = true

    [reward]
    name = "ep_aware"

    [rollout]
    samples = 8                   # of each case: a group
    max_tokens = 8000

    [optimiser]
    steps = 90
    learning_rate = 1e-6

    [run]
    out = "runs/ep"

What is left out has the value of its field below. `timeful train CONFIG.toml --dry-run` says what
would run.
"""

import tomllib
from pathlib import Path
from typing import Annotated, Any, Literal

import msgspec

from timeful.catalogs.reading import convert
from timeful.environments.timed.latency import read_latency
from timeful.environments.timed.stopwatch import TimerSettings
from timeful.errors import SettingsError
from timeful.suites.timely.budgets import read_budget

AtLeast0 = Annotated[int, msgspec.Meta(ge=0)]
AtLeast1 = Annotated[int, msgspec.Meta(ge=1)]
AtLeast2 = Annotated[int, msgspec.Meta(ge=2)]
Above0 = Annotated[float, msgspec.Meta(gt=0)]
Share = Annotated[float, msgspec.Meta(ge=0, le=1)]


class _Part(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A table of the file."""


class ModelPart(_Part, frozen=True, kw_only=True):
    """What learns.

    Attributes:
        path: A folder with a checkpoint, or a name at the hub.
        adapter: "lora" learns small matrices beside the weights, "full" the weights.
        rank: Of LoRA's matrices.
        alpha: LoRA's factor, over the rank.
        targets: The layers that get them; by default all projections of attention and MLP.
        quantise: "nf4" holds the frozen weights in 4 bits (QLoRA); only with "lora".
        dtype: Of the weights.
    """

    path: str
    adapter: Literal["lora", "full"] = "lora"
    rank: AtLeast1 = 8
    alpha: Above0 = 16.0
    targets: tuple[str, ...] = (
        "q_proj",
        "k_proj",
        "v_proj",
        "o_proj",
        "gate_proj",
        "up_proj",
        "down_proj",
    )
    quantise: Literal["none", "nf4"] = "none"
    dtype: Literal["float32", "bfloat16", "float16"] = "bfloat16"

    def __post_init__(self) -> None:
        if self.quantise != "none" and self.adapter != "lora":
            raise ValueError("weights of 4 bits do not learn: quantise needs adapter = 'lora'")


class CasesPart(_Part, frozen=True, kw_only=True):
    """What it learns from: episodes of Timely-Eval, each case under each budget.

    Attributes:
        family: "reasoning", "fiction" or "coding".
        sets: Sets of problems, games or ML tasks, as `timeful run timely/...` names them.
        size: How many problems of each set, or of the file.
        problems: A file of problems.
        budgets: As `timeful run timely` writes them, in seconds.
        soft: Whether a budget is told and measured but cuts nobody off.
        alphas: How much thinking counts; each case draws one of them (Timely Machine, 4.3).
        timer_scales: By what factor its timer is wrong; each case draws one.
        timer_jitter: And by what noise.
        latencies: How long tools take; each case draws one.
        token_seconds: What a token costs, in seconds.
    """

    family: Literal["reasoning", "fiction", "coding"] = "reasoning"
    sets: tuple[str, ...] = ("mixed",)
    size: AtLeast1 | None = None
    problems: str | None = None
    budgets: tuple[str, ...]
    soft: bool = False
    alphas: tuple[Above0, ...] = (1.0,)
    timer_scales: tuple[Above0, ...] = (1.0,)
    timer_jitter: Annotated[float, msgspec.Meta(ge=0)] = 0.0
    latencies: tuple[str, ...] = ("none",)
    token_seconds: Above0 = 0.001

    def __post_init__(self) -> None:
        for name in ("budgets", "alphas", "timer_scales", "latencies"):
            if not getattr(self, name):
                raise ValueError(f"{name} must not be empty")
        try:
            for text in self.budgets:
                if read_budget(text).is_relative:
                    raise ValueError(f"a budget to learn under is in seconds, got {text!r}")
            for law in self.latencies:
                read_latency(law)
            TimerSettings(jitter=self.timer_jitter)
        except SettingsError as error:
            raise ValueError(str(error)) from None


class RewardPart(_Part, frozen=True, kw_only=True):
    """What is rewarded: a name of `timeful.rewards`, and its parameters.

    Attributes:
        name: Such as "ep_aware", "correctness" or "timely".
        parameters: Those of the reward, by name.
        credit: "episode" gives each token the episode's advantage, "turn" that of its turn.
        discount: Of what came later, a turn.
    """

    name: str
    parameters: dict[str, Any] = {}
    credit: Literal["episode", "turn"] = "episode"
    discount: Share = 1.0


class RolloutPart(_Part, frozen=True, kw_only=True):
    """How it is played.

    Attributes:
        samples: Episodes of a case: a group.
        cases: Cases of an update.
        max_tokens: The most tokens of a thought.
        temperature: Of sampling.
        at_once: The most episodes at once.
        server: "local" samples in this process, "vllm" by vLLM beside the trainer, and an address
            asks a server that takes token ids.
    """

    samples: AtLeast2 = 8
    cases: AtLeast1 = 16
    max_tokens: AtLeast1 = 1024
    temperature: Above0 = 1.0
    at_once: AtLeast1 = 256
    server: str = "local"


class OptimiserPart(_Part, frozen=True, kw_only=True):
    """How it learns: the settings of TRL's GRPO by plain names.

    Attributes:
        steps: Updates.
        learning_rate: Of AdamW.
        warmup: Updates in which it rises from 0.
        schedule: What becomes of it then.
        clip_low: The ratio is clipped below 1 - this.
        clip_high: And above 1 + this.
        ratio_cap: And at this where the advantage is negative; null for none.
        ratio: Whose log-probabilities it is taken against: see `adapter.Ratio`.
        kl: The weight of the divergence from the start; 0 loads no reference model.
        scale: By what advantages are divided: the group's deviation, the batch's, or nothing.
        loss: How tokens are averaged: TRL's `loss_type`.
        entropy: The weight of an entropy bonus.
        epochs: How often a batch of rollouts is learnt from.
        micro_batch: Rows that are computed at once on one device; null for all.
        max_grad_norm: Gradients are cut to this length.
    """

    steps: AtLeast1 = 100
    learning_rate: Above0 = 1e-6
    warmup: AtLeast0 = 0
    schedule: Literal["constant", "linear", "cosine"] = "constant"
    clip_low: Above0 = 0.2
    clip_high: Above0 = 0.28
    ratio_cap: Above0 | None = 10.0
    ratio: Literal["trainer", "sampler"] = "trainer"
    kl: Annotated[float, msgspec.Meta(ge=0)] = 0.0
    scale: Literal["group", "batch", "none"] = "group"
    loss: Literal["dapo", "grpo", "dr_grpo", "bnpo", "cispo"] = "dapo"
    entropy: Annotated[float, msgspec.Meta(ge=0)] = 0.0
    epochs: AtLeast1 = 1
    micro_batch: AtLeast1 | None = None
    max_grad_norm: Above0 = 1.0


class RunPart(_Part, frozen=True, kw_only=True):
    """Where and how.

    Attributes:
        out: The folder.
        seed: Of all chance.
        save_every: Updates between two checkpoints.
        keep: Checkpoints that are kept.
        records: Whether the record of each rollout is kept.
        track: Where metrics go, beside `metrics.jsonl`: "mlflow" or "wandb".
        threads: Of torch; None leaves it to torch.
    """

    out: str
    seed: int = 0
    save_every: AtLeast1 = 10
    keep: AtLeast1 = 2
    records: bool = False
    track: Literal["mlflow", "wandb"] | None = None
    threads: AtLeast1 | None = None


class Config(_Part, frozen=True, kw_only=True):
    """A training."""

    model: ModelPart
    cases: CasesPart
    reward: RewardPart
    rollout: RolloutPart = RolloutPart()
    optimiser: OptimiserPart = OptimiserPart()
    run: RunPart


def read_config(path: Path) -> Config:
    """Read the settings of a training, with its paths made whole.

    Raises:
        SettingsError: If there is no such file, it is no TOML, or a field is unknown or wrong; the
            message names the field.
    """
    try:
        data = tomllib.loads(path.read_text())
    except OSError as error:
        raise SettingsError(f"{path} cannot be read: {error.strerror}") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise SettingsError(f"{path} is no TOML: {error}") from None
    return _settled(convert(data, Config, str(path)), path.parent)


def _settled(config: Config, folder: Path) -> Config:
    """Paths from the folder of the file; a model's path that is no folder there is the hub's."""
    replace = msgspec.structs.replace
    here = folder / config.model.path
    cases = config.cases
    if cases.problems is not None:
        cases = replace(cases, problems=str(folder / cases.problems))
    return replace(
        config,
        model=replace(config.model, path=str(here)) if here.is_dir() else config.model,
        cases=cases,
        run=replace(config.run, out=str(folder / config.run.out)),
    )
