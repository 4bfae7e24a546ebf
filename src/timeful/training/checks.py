"""Checks of a training's settings and of this machine; nothing heavy is loaded."""

from collections.abc import Iterator
from fractions import Fraction
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from timeful.core.units import seconds
from timeful.errors import SandboxError, SettingsError
from timeful.files import decode, read_lines
from timeful.models.local.checkpoint import check as check_checkpoint
from timeful.models.local.checkpoint import require as require_extra
from timeful.rewards.registry import Reward
from timeful.sandbox.workspace import choose_backend
from timeful.tasks.budgets import Budget, read_budget
from timeful.training.config import CasesPart, Config, SftConfig

_NEEDED = ("torch", "transformers", "trl", "peft", "accelerate", "datasets")


def check_settings(config: Config | SftConfig, *, processes: int = 1) -> None:
    """Check what no other machine would mend.

    Raises:
        SettingsError: If settings contradict each other, a data set is missing or wrong, or an
            extra that every training needs is not installed.
    """
    if isinstance(config, Config):
        _check_reward(config)
        _check_groups(config, processes)
        _check_server(config)
        _check_budgets(config)
    else:
        _check_data(config)
    require()


def check_machine(config: Config | SftConfig) -> None:
    """Check extras, the sandbox and the files of the checkpoint.

    Raises:
        SettingsError: If one is missing or wrong.
    """
    _check_extras(config)
    cases = config.cases if isinstance(config, Config) else None
    if isinstance(cases, CasesPart) and cases.family == "coding":
        try:
            choose_backend(unsafe=cases.unsafe)
        except SandboxError as error:
            raise SettingsError(f"{error}: in this file, cases.unsafe = true") from None
    path = config.model.path
    # Any other name that is not a folder is one at the hub.
    if Path(path).exists() or path.startswith((".", "/", "~")) or path.count("/") > 1:
        check_checkpoint(Path(path))


def check_task_count(config: Config, count: int) -> None:
    """Check that there are enough cases for an update.

    Raises:
        SettingsError: If there are not.
    """
    if count < config.rollout.cases:
        raise SettingsError(
            f"an update has {config.rollout.cases} different cases, and there are only {count}: "
            "lower rollout.cases, or take more cases"
        )


def budget_tokens(cases: CasesPart) -> Iterator[tuple[Budget, int, int]]:
    """Each budget with the fewest and the most tokens that fit into it, by alpha."""
    token = seconds(cases.token_seconds)
    bounds = max(cases.alphas), min(cases.alphas)
    for text in cases.budgets:
        budget = read_budget(text)
        span = budget.span(None) or 0
        fewest, most = (span // (token * Fraction(str(alpha))) for alpha in bounds)
        yield budget, fewest, most


# --- contradictions -------------------------------------------------------------------------------


def _check_reward(config: Config) -> None:
    reward = Reward(name=config.reward.name, parameters=config.reward.parameters)
    cases, spec = config.cases, reward.spec
    if isinstance(cases, CasesPart) and spec.of == "turn":
        raise SettingsError(
            f"{reward.name} rewards turns of dialogues: take cases of kind = 'turns', or a reward "
            "such as ep_aware"
        )
    if not isinstance(cases, CasesPart) and spec.of == "task":
        raise SettingsError(
            f"{reward.name} is a reward of a task, and the cases are turns of dialogues: take a "
            "reward such as rac_score, or other cases"
        )
    if isinstance(cases, CasesPart) and spec.needs_answer and cases.family != "reasoning":
        raise SettingsError(
            f"{reward.name} needs right answers, which {cases.family} has not: take timely"
        )
    if spec.needs_judge and config.judge is None:
        raise SettingsError(f"{reward.name} needs a judge: give a table [judge]")
    if config.judge is not None and not spec.needs_judge:
        raise SettingsError(f"{reward.name} has no judge: leave the table [judge] out")


def _check_groups(config: Config, processes: int) -> None:
    by_turn, cases = config.reward.credit == "turn", config.rollout.cases
    if by_turn and config.grpo["scale_rewards"] == "batch":
        raise SettingsError(
            "credit by turn compares the turns of a group: take grpo.scale_rewards = 'group' or "
            "'none'"
        )
    if (by_turn or config.judge is not None) and cases % processes:
        raise SettingsError(
            f"{'credit by turn' if by_turn else 'a judge'} needs whole groups, and {cases} groups "
            f"on {processes} processes are cut: make rollout.cases a multiple of the processes"
        )


def _check_server(config: Config) -> None:
    rollout = config.rollout
    if rollout.server == "vllm" and config.model.quantise != "none":
        raise SettingsError(
            "vllm next to the trainer takes the adapter merged, and merging into 4 bits rounds it "
            "away: take quantise = 'none', or rollout.server = 'local' or an address"
        )
    if rollout.server in ("local", "vllm"):
        return
    if rollout.push == "lora" and config.model.adapter != "lora":
        raise SettingsError("push = 'lora' needs adapter = 'lora': a server takes adapters only")
    if rollout.push == "none" and rollout.old_logprobs != "sampler":
        raise SettingsError(
            "a server that never gets new weights samples from an older policy: take "
            "old_logprobs = 'sampler', so that its own probabilities count, or push = 'lora'"
        )


def _check_budgets(config: Config) -> None:
    if isinstance(config.cases, CasesPart):
        for budget, _, most in budget_tokens(config.cases):
            if not most:
                raise SettingsError(
                    f"a budget of {budget} is shorter than a token (cases.token_seconds = "
                    f"{config.cases.token_seconds:g}): every answer would be late"
                )


def _check_data(config: SftConfig) -> None:
    for name in config.examples.data:
        path = Path(name)
        if not path.is_file():
            raise SettingsError(f"the data set {name} does not exist; `timeful traces` makes one")
        _, line = next(read_lines(path), (1, b""))
        try:
            row = decode(line, dict[str, Any])
        except ValueError:
            row = {}
        if not ("messages" in row or {"prompt", "completion"} <= row.keys()):
            raise SettingsError(
                f"{name}: its first line is not a JSON object with `messages`, or with `prompt` "
                "and `completion`"
            )


# --- extras ---------------------------------------------------------------------------------------


def _check_extras(config: Config | SftConfig) -> None:
    require(config.run.report_to)
    if config.model.quantise != "none":
        require_extra("quantise", ("bitsandbytes",), extra="quant")
    if not isinstance(config, Config):
        return
    server = config.rollout.server
    if server == "vllm":
        _require_library("rollout.server = 'vllm'", "vllm")
    if config.judge is not None or "://" in server:
        require_extra("a judge or a server", ("openai",), extra="openai")


def require(tracker: str | None = None) -> None:
    """Check that the extra of every training is installed, and a tracker of metrics.

    Raises:
        SettingsError: If it is not.
    """
    require_extra("training", _NEEDED, extra="train")
    if tracker is not None:
        _require_library("run.report_to", tracker)


def _require_library(feature: str, name: str) -> None:
    if find_spec(name) is None:
        raise SettingsError(f"{feature} needs {name}: pip install {name}")
