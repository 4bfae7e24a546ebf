"""Checks of a training's settings and of this machine; nothing heavy is loaded."""

import json
from collections.abc import Collection, Iterator, Sequence
from fractions import Fraction
from importlib.util import find_spec
from pathlib import Path
from re import search

from timeful.core.units import seconds
from timeful.errors import SandboxError, SettingsError
from timeful.models.local.checkpoint import check as check_checkpoint
from timeful.models.local.checkpoint import weights
from timeful.rewards.registry import Reward
from timeful.sandbox.workspace import choose_backend
from timeful.tasks.budgets import Budget, read_budget
from timeful.training.config import CasesPart, Config, ModelPart, SftConfig

_NEEDED = ("torch", "transformers", "trl", "peft", "accelerate", "datasets")


def check(config: Config | SftConfig, *, processes: int = 1, is_offline: bool = False) -> None:
    """Check settings and this machine.

    Args:
        config: The settings.
        processes: How many processes train together.
        is_offline: Whether nothing may be fetched from a hub.

    Raises:
        SettingsError: If an extra, the checkpoint or a file is missing or wrong, or settings
            contradict each other.
    """
    check_settings(config, processes=processes)
    check_machine(config, is_offline=is_offline)


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


def check_machine(config: Config | SftConfig, *, is_offline: bool = False) -> None:
    """Check extras, the sandbox and the checkpoint.

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
    _check_model(config.model, is_offline=is_offline)
    if isinstance(cases, CasesPart) and cases.calls == "native":
        _check_template(config.model)


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
        with path.open("rb") as file:
            line = file.readline()
        try:
            row = json.loads(line)
        except ValueError:
            row = None
        if not isinstance(row, dict) or not (
            "messages" in row or {"prompt", "completion"} <= row.keys()
        ):
            raise SettingsError(
                f"{name}: its first line is not a JSON object with `messages`, or with `prompt` "
                "and `completion`"
            )


# --- extras ---------------------------------------------------------------------------------------


def _check_extras(config: Config | SftConfig) -> None:
    require(config.run.report_to)
    if config.model.quantise != "none" and _missing(("bitsandbytes",)):
        raise SettingsError("weights of 4 bits need bitsandbytes: pip install 'timeful[quant]'")
    if not isinstance(config, Config):
        return
    server = config.rollout.server
    if server == "vllm" and _missing(("vllm",)):
        raise SettingsError("rollout.server = 'vllm' needs vllm: pip install vllm")
    if (config.judge is not None or "://" in server) and _missing(("openai",)):
        raise SettingsError(
            "a judge or a server needs the openai client: pip install 'timeful[openai]'"
        )


def require(tracker: str | None = None) -> None:
    """Check that the extra of every training is installed, and a tracker of metrics.

    Raises:
        SettingsError: If it is not.
    """
    if missing := _missing(_NEEDED):
        raise SettingsError(f"training needs {' and '.join(missing)}: pip install 'timeful[train]'")
    if tracker is not None and _missing((tracker,)):
        raise SettingsError(f"metrics for {tracker!r} need it installed: pip install {tracker}")


def _missing(names: Sequence[str]) -> list[str]:
    return [name for name in names if find_spec(name) is None]


# --- the checkpoint -------------------------------------------------------------------------------


def is_at_hub(model: ModelPart) -> bool:
    """Whether the model is a name at the hub, which transformers fetches or has fetched."""
    return not Path(model.path).is_dir()


def find_file(model: ModelPart, name: str) -> Path | None:
    """A file of a model, in its folder or in the hub's cache."""
    if not is_at_hub(model):
        path = Path(model.path, name)
        return path if path.is_file() else None
    import huggingface_hub as hub  # noqa: PLC0415 - an extra, and light

    try:
        cached = hub.try_to_load_from_cache(model.path, name)
    except hub.errors.HFValidationError:
        return None
    return Path(cached) if isinstance(cached, str) else None


def check_hub(name: str, *, is_offline: bool) -> None:
    """Ask the hub for a model; its weights are fetched later.

    Raises:
        SettingsError: If the hub may not be asked, cannot be reached, or has no such model.
    """
    import huggingface_hub as hub  # noqa: PLC0415 - as above

    if is_offline:
        raise SettingsError(
            f"{name} is not a folder, and HF_HUB_OFFLINE forbids fetching it from the hub: give a "
            "folder as model.path, or fetch it before"
        )
    try:
        hub.HfApi().model_info(name, timeout=10)
    except (hub.errors.RepositoryNotFoundError, hub.errors.HFValidationError):
        raise SettingsError(
            f"{name} is not a folder, and the hub has no model of this name that you may read: "
            "give a folder, or a name at the hub"
        ) from None
    # Its client's error: that of httpx or of httpx2, whichever it came with.
    except (hub.errors.HTTPError, OSError) as error:  # type: ignore[attr-defined]
        raise SettingsError(
            f"{name} is not a folder, and the hub cannot be asked for it "
            f"({str(error).partition(chr(10))[0]}): give a folder as model.path"
        ) from None


def _check_model(model: ModelPart, *, is_offline: bool) -> None:
    if is_at_hub(model):
        is_path = model.path.startswith((".", "/", "~")) or model.path.count("/") > 1
        if is_path or Path(model.path).exists():
            check_checkpoint(Path(model.path))  # it names the error
        if find_file(model, "config.json") is None:
            check_hub(model.path, is_offline=is_offline)
        return
    check_checkpoint(Path(model.path))
    if model.adapter == "lora":
        check_targets(model, find_layers(Path(model.path)))


def check_targets(model: ModelPart, layers: Collection[str]) -> None:
    """Check that a model has the layers that LoRA changes.

    Args:
        model: The model.
        layers: The names of its layers; none if they are unknown.

    Raises:
        SettingsError: If it lacks one of the targets.
    """
    lacking = [target for target in model.targets if target not in layers]
    if layers and lacking:
        raise SettingsError(
            f"the model has no layers {', '.join(lacking)} for LoRA; it has: "
            f"{', '.join(sorted(layers))}. Name some of them in model.targets"
        )


def find_layers(path: Path) -> frozenset[str]:
    """The last names of the matrices of a checkpoint's weights; none if they are unknown."""
    names = [name.split(".") for name in weights(path) if name.endswith(".weight")]
    # Of a layer within a list: not the table of tokens, the head, or the last norm.
    return frozenset(
        path_names[-2]
        for path_names in names
        if any(word.isdigit() for word in path_names)
        and "norm" not in path_names[-2]
        and not path_names[-2].startswith("ln_")
    )


def _check_template(model: ModelPart) -> None:
    """Check that a chat template can offer tools."""
    text = _template(model)
    if text and not (search(r"\btools\b", text) and "<tool_call>" in text):
        raise SettingsError(
            f"the chat template of {model.path} does not offer tools with calls between "
            "<tool_call> and </tool_call>, which cases.calls = 'native' needs: take calls = 'text'"
        )


def _template(model: ModelPart) -> str:
    """The chat template of a model; empty if it is unknown."""
    if path := find_file(model, "chat_template.jinja"):
        return path.read_text(encoding="utf-8")
    for name in ("chat_template.json", "tokenizer_config.json"):
        path = find_file(model, name)
        if path and (template := json.loads(path.read_bytes()).get("chat_template")):
            return json.dumps(template)  # one, or several by names
    return ""
