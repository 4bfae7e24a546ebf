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
    cases = 16                    # of an update

    [grpo]                        # fields of TRL's GRPOConfig
    num_generations = 8           # episodes of each case: a group
    max_completion_length = 8000  # of a thought
    max_steps = 90
    learning_rate = 1e-6

    [run]
    out = "runs/ep"

Fields that are left out have the defaults below. TOML has no null: "none" stands for it. Cases of
`kind = "turns"` are single turns of dialogues. A table `[judge]` names the judge of rewards that
need one. Tables `[examples]` and `[sft]` in place of cases, reward, rollout and grpo make a
supervised training. The tables `[grpo]` and `[sft]` have the names of TRL's `GRPOConfig`
and `SFTConfig` (`trainer_arguments.py`). `timeful train CONFIG.toml --dry-run` describes
the training.
"""

from collections.abc import Mapping
from typing import Annotated, Any, Literal

import msgspec

from timeful.agents.prompts.timely import Calls
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
"""Above 0 and finite."""
Tick = Annotated[float, msgspec.Meta(ge=1e-9, lt=1e9)]
"""A span in seconds, at least a nanosecond: tokens that cost nothing make budgets void."""
Least0 = Annotated[float, msgspec.Meta(ge=0, lt=1e9)]
Seed = Annotated[int, msgspec.Meta(ge=0, lt=2**32)]
"""The range of numpy's seeds."""
Share = Annotated[float, msgspec.Meta(ge=0, le=1)]

MOST = 100_000
"""The most problems of a set."""


GRPO_DEFAULTS: Mapping[str, Any] = {
    "max_steps": 100,
    "learning_rate": 1e-6,
    "lr_scheduler_type": "constant",
    "num_generations": 8,
    "max_completion_length": 1024,
    "temperature": 1.0,
    "shuffle_dataset": True,
    "epsilon": 0.2,
    "epsilon_high": 0.28,
    "delta": 10.0,
    "beta": 0.0,
    "scale_rewards": "group",
    "loss_type": "dapo",
    "num_iterations": 1,
    "gradient_checkpointing": False,
}
"""Defaults of `[grpo]`; other fields have those of TRL's `GRPOConfig`."""

SFT_DEFAULTS: Mapping[str, Any] = {
    "num_train_epochs": 2,
    "learning_rate": 1e-5,
    "lr_scheduler_type": "cosine",
    "max_length": None,
    "completion_only_loss": True,
}
"""Defaults of `[sft]`; other fields have those of TRL's `SFTConfig`."""


class _Part(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A table of the file."""


class ModelPart(_Part, frozen=True, kw_only=True):
    """The model that learns.

    Attributes:
        path: A folder with a checkpoint, or a name at the hub.
        adapter: "lora" trains small matrices next to the weights, "full" the weights.
        rank: The rank of LoRA's matrices.
        alpha: LoRA's factor, divided by the rank.
        targets: The layers with such matrices; by default all projections of attention and MLP.
        quantise: "nf4" holds the frozen weights in 4 bits (QLoRA); only with "lora".
        dtype: The type of the weights, and of computation on GPUs: "float32", "bfloat16",
            "float16"; with "full" the weights are float32 during the training.
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
            raise ValueError("weights of 4 bits cannot be trained: quantise needs adapter = 'lora'")
        if self.adapter == "lora" and not self.targets:
            raise ValueError("targets must not be empty: LoRA changes the layers that they name")


class CasesPart(_Part, frozen=True, kw_only=True, tag_field="kind", tag="timely"):
    """The cases: episodes of Timely-Eval, each case under each budget.

    Attributes:
        family: "reasoning", "fiction" or "coding".
        sets: Sets of problems, games or ML tasks, as `timeful run timely/...` names them.
        size: The number of problems of each set, or of the file; "none" is 28 of a set, or all.
        split: The split of problems, by a hash of their words: "train", "validation", "test";
            `size` counts those in it. "all" takes all of them, and leaves none to test on. Games
            and ML tasks have no splits.
        problems: A file of problems, in place of sets: see docs/reasoning.md.
        budgets: As `timeful run timely` writes them, in seconds.
        soft: Whether late answers are measured and not cut off.
        alphas: Factors of the time of thinking; each case draws one (Timely Machine, 4.3).
        timer_scales: Factors of the timer's readings; each case draws one.
        timer_jitter: The standard deviation of the timer's readings, in seconds.
        latencies: Latencies of tools, as `--latency` of `timeful run`; each case draws one.
        token_seconds: The time of a token, in seconds; with alpha, the tokens of a budget.
        calls: How tools are offered: "text" in the prompt, as in our traces, or "native" by the
            chat template; `timeful run` needs the same `--calls`.
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
            for name, values in (("sets", self.sets), ("budgets", budgets)):
                if len(set(values)) < len(values):
                    raise ValueError(f"{name} has one of them twice: {', '.join(map(str, values))}")
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
    """The cases: single turns of dialogues, each a prompt with candidates (ProActor).

    Attributes:
        agent: An agent of the package, or the file of one.
        domain: The domain of the dialogues and the catalog, or the folder of a domain.
        data: A file of annotated dialogues; without one, the domain generates dialogues.
        abcd: The folder of ABCD's ontology, workflows and guidelines, in place of a domain's.
        catalog: A file with a catalog of actions, in place of a domain's.
        ontology: The workflows of that catalog.
        split: The split of the dialogues; "" for all.
        size: The number of dialogues; "none" for all of a file.
        longest: Dialogues of more turns are left out.
        each: The number of turns of a dialogue, drawn by the seed; "none" for all.
        patience: The time a turn is open, in seconds.
        timing: "timestamps" has a turn open until the next one began in the data, "by-turn" for
            the `patience`.
        asks: Whether the agent raises questions as well.
        token_seconds: The time of a token, in seconds.
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
    """The reward, as `timeful rewards` names it, with its parameters.

    Attributes:
        name: Such as "ep_aware" or "timely", or "FILE.py:FUNCTION" for a function of yours.
        parameters: Its parameters, by name.
        credit: "episode" gives each token the episode's advantage, "turn" that of its turn.
        discount: The discount of later rewards, a turn.
    """

    name: str
    parameters: dict[str, Any] = {}
    credit: Literal["episode", "turn"] = "episode"
    discount: Share = 1.0


class RolloutPart(_Part, frozen=True, kw_only=True):
    """How episodes are sampled.

    Attributes:
        cases: Cases of an update; each has `grpo.num_generations` episodes.
        at_once: The most episodes at once.
        server: "local" samples in this process, "vllm" by vLLM next to the trainer; an address such
            as "http://localhost:8000/v1" names a server that takes and returns token ids.
        served: The model's name on that server.
        push: How that server gets new weights: "lora" loads the adapter of each update from the
            training's folder, "none" never updates the server.
        api_key_name: The environment variable that holds the key of that server.
        old_logprobs: The log-probabilities in the denominator of the importance ratio: the
            "trainer"'s own before the update, or the "sampler"'s, which may be older.
    """

    cases: AtLeast1 = 16
    at_once: AtLeast1 = 256
    server: str = "local"
    served: str = "policy"
    push: Literal["none", "lora"] = "none"
    api_key_name: str = "OPENAI_API_KEY"
    old_logprobs: Literal["trainer", "sampler"] = "trainer"

    def __post_init__(self) -> None:
        if self.server not in ("local", "vllm"):
            try:
                address(self.server)
            except SettingsError as error:
                raise ValueError(f'server is "local", "vllm" or an address: {error}') from None
        if self.push != "none" and self.server in ("local", "vllm"):
            raise ValueError("push is for a server with an address; this one has the weights")


class RunPart(_Part, frozen=True, kw_only=True):
    """The folder, the seed and the checkpoints.

    Attributes:
        out: The folder.
        seed: The seed of all random choices.
        save_steps: Updates between two checkpoints.
        save_total_limit: Checkpoints that are kept.
        records: Whether the record of each rollout is kept.
        report_to: A tracker of metrics in addition to `metrics.jsonl`: "mlflow", "wandb" or "none".
        threads: Threads of torch; "none" leaves the number to torch.
    """

    out: str
    seed: Seed = 0
    save_steps: AtLeast1 = 10
    save_total_limit: AtLeast1 = 2
    records: bool = False
    report_to: Literal["mlflow", "wandb"] | None = None
    threads: AtLeast1 | None = None


class ExamplesPart(_Part, frozen=True, kw_only=True):
    """Conversations to imitate, as `timeful traces` and `timeful export` write them.

    Attributes:
        data: Files of JSON lines, each with `messages`, or with `prompt` and `completion`.
        batch: Examples of an update, on all devices together.
    """

    data: tuple[str, ...]
    batch: AtLeast1 = 32

    def __post_init__(self) -> None:
        if not self.data:
            raise ValueError("data must name a file")


class _Checked(msgspec.Struct, frozen=True):
    """The trainer's fields that timeful reads itself; TRL checks the others."""

    max_steps: AtLeast1 = 1
    num_generations: AtLeast2 = 2
    max_completion_length: AtLeast1 = 1
    num_iterations: AtLeast1 = 1
    temperature: Above0 = 1.0
    learning_rate: Above0 = 1.0
    shuffle_dataset: bool = True
    num_train_epochs: Above0 = 1.0
    completion_only_loss: bool = True
    per_device_train_batch_size: AtLeast1 | None = None
    max_length: AtLeast1 | Literal["none"] | None = None


def _complete(table: Mapping[str, Any], defaults: Mapping[str, Any]) -> dict[str, Any]:
    try:
        msgspec.convert(table, _Checked)
    except msgspec.ValidationError as error:
        raise ValueError(str(error)) from None
    return {**defaults, **table}


class Config(_Part, frozen=True, kw_only=True):
    """A training by reinforcement.

    Attributes:
        grpo: Fields of TRL's `GRPOConfig`; complete with `GRPO_DEFAULTS` once the value exists.
    """

    model: ModelPart
    cases: CasesPart | TurnsPart
    reward: RewardPart
    judge: RulerJudge | None = None
    rollout: RolloutPart = RolloutPart()
    grpo: dict[str, Any] = {}
    run: RunPart

    def __post_init__(self) -> None:
        msgspec.structs.force_setattr(self, "grpo", _complete(self.grpo, GRPO_DEFAULTS))


class SftConfig(_Part, frozen=True, kw_only=True):
    """A training by examples.

    Attributes:
        sft: Fields of TRL's `SFTConfig`; complete with `SFT_DEFAULTS` once the value exists.
    """

    model: ModelPart
    examples: ExamplesPart
    sft: dict[str, Any] = {}
    run: RunPart

    def __post_init__(self) -> None:
        msgspec.structs.force_setattr(self, "sft", _complete(self.sft, SFT_DEFAULTS))
