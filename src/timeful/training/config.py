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

What is left out has the value of its field below. TOML has no null: where a field may be null, that
is "none". Cases of `kind = "turns"` are single turns of dialogues, a table `[judge]` says who
judges where a reward needs that, and a table `[sft]` in place of cases, reward, rollout and
optimiser is a training by examples. `timeful train CONFIG.toml --dry-run` says what would run.
"""

from typing import Annotated, Any, Literal

import msgspec

from timeful.agents.tool_user import Calls
from timeful.domains.dialogue_set import DialogueSource
from timeful.environments.timed.latency import read_latency
from timeful.environments.timed.stopwatch import TimerSettings
from timeful.errors import SettingsError
from timeful.judges.ruler_settings import RulerJudge
from timeful.models.request import address
from timeful.tasks.budgets import Budget, read_budget

AtLeast0 = Annotated[int, msgspec.Meta(ge=0)]
AtLeast1 = Annotated[int, msgspec.Meta(ge=1)]
AtLeast2 = Annotated[int, msgspec.Meta(ge=2)]
Above0 = Annotated[float, msgspec.Meta(gt=0, lt=1e9)]
"""And finite."""
Tick = Annotated[float, msgspec.Meta(ge=1e-9, lt=1e9)]
"""A span in seconds, of a nanosecond at least: where a token costs nothing, no budget is felt."""
Least0 = Annotated[float, msgspec.Meta(ge=0, lt=1e9)]
Seed = Annotated[int, msgspec.Meta(ge=0, lt=2**32)]
"""As wide as numpy's."""
Share = Annotated[float, msgspec.Meta(ge=0, le=1)]

MOST = 100_000
"""So many problems of a set are made at most; that takes seconds, and far more are not there."""


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
        dtype: Of the weights, and in what GPUs compute: "float32", "bfloat16", "float16"; with
            "full" they are held in float32 while they learn.
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
        if self.adapter == "lora" and not self.targets:
            raise ValueError("targets must not be empty: LoRA changes the layers that they name")


class CasesPart(_Part, frozen=True, kw_only=True, tag_field="kind", tag="timely"):
    """What it learns from: episodes of Timely-Eval, each case under each budget.

    Attributes:
        family: "reasoning", "fiction" or "coding".
        sets: Sets of problems, games or ML tasks, as `timeful run timely/...` names them.
        size: How many problems of each set, or of the file; "none" is 28 of a set, or all.
        split: On which side problems are, by a hash of their words: "train", "validation", "test";
            `size` counts those on it. "all" takes every one, and leaves nothing to test on. Games
            and ML tasks have no sides.
        problems: A file of problems, in place of sets: see docs/reasoning.md.
        budgets: As `timeful run timely` writes them, in seconds.
        soft: Whether a budget is told and measured but cuts nobody off.
        alphas: How much thinking counts; each case draws one of them (Timely Machine, 4.3).
        timer_scales: By what factor its timer is wrong; each case draws one.
        timer_jitter: And by what noise, in seconds (a standard deviation).
        latencies: How long tools take, as `--latency` of `timeful run` has it; each case draws one.
        token_seconds: What a token costs, in seconds: with alpha, how many tokens a budget is.
        calls: How tools are offered: "text" in words, as in our traces, or "native" by the chat
            template; `timeful run` must be told the same, `--calls`.
        unsafe: Whether code of the model may run without a sandbox.
    """

    family: Literal["reasoning", "fiction", "coding"] = "reasoning"
    sets: tuple[str, ...] = ("mixed",)
    size: AtLeast1 | None = None
    split: Literal["train", "validation", "test", "all"] = "train"
    problems: str | None = None
    budgets: tuple[str, ...]
    soft: bool = False
    alphas: tuple[Above0, ...] = (1.0,)
    timer_scales: tuple[Above0, ...] = (1.0,)
    timer_jitter: Least0 = 0.0
    latencies: tuple[str, ...] = ("none",)
    token_seconds: Tick = 0.001
    calls: Calls = "text"
    unsafe: bool = False

    def __post_init__(self) -> None:
        for name in ("sets", "budgets", "alphas", "timer_scales", "latencies"):
            if not getattr(self, name):
                raise ValueError(f"{name} must not be empty")
        if self.family != "reasoning" and (self.problems or self.split != "train"):
            raise ValueError(
                f"problems and split are for problems, family = 'reasoning'; {self.family} has none"
            )
        if self.problems is None and self.family == "reasoning" and (self.size or 0) > MOST:
            raise ValueError(
                f"a set has hardly more than {MOST:,} different problems, got size = {self.size:,}"
            )
        try:
            budgets = [_in_seconds(text) for text in self.budgets]
            for name, given in (("sets", self.sets), ("budgets", budgets)):
                if len(set(given)) < len(given):
                    raise ValueError(f"{name} has one of them twice: {', '.join(map(str, given))}")
            for law in self.latencies:
                read_latency(law)
            TimerSettings(jitter=self.timer_jitter)
        except SettingsError as error:
            raise ValueError(str(error)) from None


def _in_seconds(text: str) -> Budget:
    budget = read_budget(text)
    if budget.kind != "seconds":
        raise ValueError(
            f"a budget to learn under is in seconds, such as '2s', got {str(budget)!r}"
        )
    return budget


class TurnsPart(_Part, frozen=True, kw_only=True, tag_field="kind", tag="turns"):
    """What it learns from: single turns of dialogues, each a prompt with candidates (ProActor).

    Attributes:
        agent: How it is asked: an agent of the package, or a file of one.
        domain: Whose dialogues and catalog, or the folder of a domain.
        data: A file of annotated dialogues; without one, dialogues are made of the domain.
        abcd: The folder of ABCD's ontology, workflows and guidelines, in place of a domain's.
        catalog: A file with a catalog of actions, in place of a domain's.
        ontology: The workflows of that catalog.
        split: Which split of the dialogues; "" for all.
        size: How many dialogues; "none" for all of a file.
        longest: Dialogues of more turns are left out.
        each: How many turns of a dialogue, drawn from the seed; "none" for all.
        patience: How long a turn is open, in seconds.
        timing: "timestamps" has a turn open until the next one began in the data, "by-turn" for
            the `patience`.
        asks: Whether the agent raises questions as well.
        token_seconds: What a token costs, in seconds.
    """

    agent: str = "reasoning"
    domain: str = "shop"
    data: str | None = None
    abcd: str | None = None
    catalog: str | None = None
    ontology: str | None = None
    split: str = "train"
    size: AtLeast1 | None = 20
    longest: AtLeast1 = 50
    each: AtLeast1 | None = None
    patience: Above0 = 600.0
    timing: Literal["by-turn", "timestamps"] = "by-turn"
    asks: bool = False
    token_seconds: Tick = 0.001

    def __post_init__(self) -> None:
        try:
            self.source(0)
        except SettingsError as error:
            raise ValueError(str(error)) from None

    def source(self, seed: int) -> DialogueSource:
        """The dialogues, as a run of ProActor names them."""
        return DialogueSource(
            domain=self.domain,
            data=self.data,
            abcd=self.abcd,
            catalog=self.catalog,
            ontology=self.ontology,
            split=self.split,
            size=self.size,
            seed=seed,
        )


class RewardPart(_Part, frozen=True, kw_only=True):
    """What is rewarded: a name of `timeful.rewards`, and its parameters.

    Attributes:
        name: Such as "ep_aware" or "timely", or "FILE.py:FUNCTION" for one of your own.
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
        shuffle: Whether cases come in an order of chance, else as they are listed.
        at_once: The most episodes at once.
        server: "local" samples in this process, "vllm" by vLLM beside the trainer, and an address
            such as "http://localhost:8000/v1" asks a server that takes and gives token ids.
        served: What that server calls the model.
        push: How that server gets new weights: "lora" has it load the adapter of each update from
            the training's folder, "none" leaves it as it is.
        api_key_name: The environment variable that holds the key of that server.
    """

    samples: AtLeast2 = 8
    cases: AtLeast1 = 16
    max_tokens: AtLeast1 = 1024
    temperature: Above0 = 1.0
    shuffle: bool = True
    at_once: AtLeast1 = 256
    server: str = "local"
    served: str = "policy"
    push: Literal["none", "lora"] = "none"
    api_key_name: str = "OPENAI_API_KEY"

    def __post_init__(self) -> None:
        if self.server not in ("local", "vllm"):
            try:
                address(self.server)
            except SettingsError as error:
                raise ValueError(f'server is "local", "vllm" or an address: {error}') from None
        if self.push != "none" and self.server in ("local", "vllm"):
            raise ValueError("push is for a server with an address; this one has the weights")


class OptimiserPart(_Part, frozen=True, kw_only=True):
    """How it learns: the settings of TRL's GRPO by plain names.

    Attributes:
        steps: Updates.
        learning_rate: Of AdamW.
        warmup: Updates in which it rises from 0.
        schedule: What becomes of it then: "constant", "linear", "cosine".
        clip_low: The ratio is clipped below 1 - this.
        clip_high: And above 1 + this.
        ratio_cap: And at this where the advantage is negative; "none" for no cap.
        ratio: Against whose log-probabilities it is taken: the "trainer"'s own before the update,
            or the "sampler"'s, which may be older.
        kl: The weight of the divergence from the start; 0 loads no reference model.
        scale: By what advantages are divided: the deviation of the "group", of the "batch", "none".
        loss: How tokens are averaged, TRL's `loss_type`: "dapo", "grpo", "dr_grpo", "bnpo" or
            "cispo".
        entropy: The weight of an entropy bonus.
        epochs: How often a batch of rollouts is learnt from.
        micro_batch: Rows that are computed at once on one device; "none" for all.
        max_grad_norm: Gradients are cut to this length.
        recompute: Whether activations are computed again for the gradient, and not kept.
    """

    steps: AtLeast1 = 100
    learning_rate: Above0 = 1e-6
    warmup: AtLeast0 = 0
    schedule: Literal["constant", "linear", "cosine"] = "constant"
    clip_low: Annotated[float, msgspec.Meta(gt=0, le=1)] = 0.2
    clip_high: Above0 = 0.28
    ratio_cap: Above0 | None = 10.0
    ratio: Literal["trainer", "sampler"] = "trainer"
    kl: Least0 = 0.0
    scale: Literal["group", "batch", "none"] = "group"
    loss: Literal["dapo", "grpo", "dr_grpo", "bnpo", "cispo"] = "dapo"
    entropy: Least0 = 0.0
    epochs: AtLeast1 = 1
    micro_batch: AtLeast1 | None = None
    max_grad_norm: Above0 = 1.0
    recompute: bool = False

    def __post_init__(self) -> None:
        if self.warmup >= self.steps:
            raise ValueError(f"a warmup of {self.warmup} updates is all of {self.steps}, or more")
        if self.ratio_cap is not None and self.ratio_cap <= 1 + self.clip_high:
            raise ValueError(
                f"ratio_cap is for what clipping leaves, above 1 + clip_high = "
                f"{1 + self.clip_high:g}; got {self.ratio_cap:g}"
            )


class RunPart(_Part, frozen=True, kw_only=True):
    """Where and how.

    Attributes:
        out: The folder.
        seed: Of all chance.
        save_every: Updates between two checkpoints.
        keep: Checkpoints that are kept.
        records: Whether the record of each rollout is kept.
        track: Where metrics go, beside `metrics.jsonl`: "mlflow", "wandb" or "none".
        threads: Of torch; "none" leaves it to torch.
    """

    out: str
    seed: Seed = 0
    save_every: AtLeast1 = 10
    keep: AtLeast1 = 2
    records: bool = False
    track: Literal["mlflow", "wandb"] | None = None
    threads: AtLeast1 | None = None


class SftPart(_Part, frozen=True, kw_only=True):
    """A training by examples, as `timeful traces` and `timeful export` write them.

    Attributes:
        data: Files of JSON lines, each with `messages`, or with `prompt` and `completion`.
        epochs: How often each example is seen.
        learning_rate: Of AdamW.
        warmup: Updates in which it rises from 0.
        schedule: What becomes of it then: "constant", "linear", "cosine".
        batch: Examples of an update.
        micro_batch: Examples that are computed at once on one device; "none" for all.
        longest: Examples are cut to so many tokens; "none" leaves them whole.
        answers_only: Whether the loss is that of what the model says alone.
        max_grad_norm: Gradients are cut to this length.
    """

    data: tuple[str, ...]
    epochs: AtLeast1 = 2
    learning_rate: Above0 = 1e-5
    warmup: AtLeast0 = 0
    schedule: Literal["constant", "linear", "cosine"] = "cosine"
    batch: AtLeast1 = 32
    micro_batch: AtLeast1 | None = None
    longest: AtLeast1 | None = None
    answers_only: bool = True
    max_grad_norm: Above0 = 1.0

    def __post_init__(self) -> None:
        if not self.data:
            raise ValueError("data: there is no file")


class Config(_Part, frozen=True, kw_only=True):
    """A training by reinforcement."""

    model: ModelPart
    cases: CasesPart | TurnsPart
    reward: RewardPart
    judge: RulerJudge | None = None
    rollout: RolloutPart = RolloutPart()
    optimiser: OptimiserPart = OptimiserPart()
    run: RunPart


class SftConfig(_Part, frozen=True, kw_only=True):
    """A training by examples."""

    model: ModelPart
    sft: SftPart
    run: RunPart
