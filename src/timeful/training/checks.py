"""What would keep a training from working, found before anything heavy is loaded."""

import json
from collections.abc import Callable, Collection, Mapping, Sequence
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from re import search

from timeful.errors import SandboxError, SettingsError
from timeful.models.local.checkpoint import check as check_checkpoint
from timeful.models.local.checkpoint import weights
from timeful.rewards.registry import Reward
from timeful.sandbox.workspace import choose_backend
from timeful.training.config import CasesPart, Config, ModelPart, SftConfig
from timeful.training.hub import check_hub, file_of, is_at_hub

_NEEDED = ("torch", "transformers", "trl", "peft", "accelerate", "datasets")
_TRACKERS = {"mlflow": "mlflow", "wandb": "wandb"}


def check(config: Config | SftConfig, *, processes: int = 1, is_offline: bool = False) -> None:
    """Check settings.

    Args:
        config: The settings.
        processes: How many processes train together.
        is_offline: Whether nothing may be fetched from a hub.

    Raises:
        SettingsError: If an extra is missing, the checkpoint or a file is not there or is wrong,
            or settings do not go together.
    """
    check_settings(config, processes=processes)
    for lack in lacks(config, is_offline=is_offline).values():
        raise lack


def check_settings(config: Config | SftConfig, *, processes: int = 1) -> None:
    """Check what no other machine would mend, and what nothing can be said without.

    Raises:
        SettingsError: If settings do not go together, a data set is not there or is wrong, or
            what every training needs is not installed.
    """
    if isinstance(config, Config):
        _check_reward(config)
        _check_batches(config, processes)
        _check_server(config)
    else:
        _check_data(config, processes)
    require()


def lacks(config: Config | SftConfig, *, is_offline: bool = False) -> dict[str, SettingsError]:
    """What this machine lacks for a training: under "extra", "sandbox", "model" and "calls"."""
    looks: Mapping[str, Callable[[], None]] = {
        "extra": partial(_check_extras, config),
        "sandbox": partial(_check_sandbox, config),
        "model": partial(_check_model, config.model, is_offline=is_offline),
        "calls": partial(_check_calls, config),
    }
    found = {}
    for what, look in looks.items():
        try:
            look()
        except SettingsError as error:
            found[what] = error
    return found


def check_task_count(config: Config, count: int) -> None:
    """Find out whether there are cases enough for an update.

    Raises:
        SettingsError: If there are not.
    """
    if count < config.rollout.cases:
        raise SettingsError(
            f"an update has {config.rollout.cases} different cases, and there are only {count}: "
            "lower rollout.cases, or take more cases"
        )


# --- what goes together ---------------------------------------------------------------------------


def _check_reward(config: Config) -> None:
    reward = Reward(name=config.reward.name, parameters=config.reward.parameters)
    on_turns = not isinstance(config.cases, CasesPart)
    if on_turns and reward.spec.of == "task":
        raise SettingsError(
            f"{reward.name} is a reward of a task, and the cases are turns of dialogues; take one "
            "such as rac_score, or other cases"
        )
    if not on_turns and reward.spec.of == "turn":
        raise SettingsError(
            f"{reward.name} is a reward of a turn of a dialogue; take cases of kind = 'turns', or "
            "a reward such as ep_aware"
        )
    cases, wants = config.cases, reward.spec.needs_answer
    if isinstance(cases, CasesPart) and wants and cases.family != "reasoning":
        raise SettingsError(
            f"{reward.name} wants right answers, and {cases.family} has none; take timely"
        )
    if reward.spec.needs_judge and config.judge is None:
        raise SettingsError(f"{reward.name} needs a judge: give a table [judge]")
    if config.judge is not None and not reward.spec.needs_judge:
        raise SettingsError(f"{reward.name} needs no judge: leave the table [judge] out")


def _check_batches(config: Config, processes: int) -> None:
    samples, cases = config.rollout.samples, config.rollout.cases
    _check_divides(samples * cases, config.optimiser.micro_batch, processes, "samples * cases")
    if config.reward.credit == "turn" and config.optimiser.scale == "batch":
        raise SettingsError(
            "credit by turn compares the turns of a group: take optimiser.scale = 'group' or 'none'"
        )
    sees_groups = [
        why
        for why, is_so in (
            ("credit by turn", config.reward.credit == "turn"),
            ("a judge", config.judge is not None),
        )
        if is_so
    ]
    if sees_groups and cases % processes:
        raise SettingsError(
            f"{sees_groups[0]} needs whole groups, and {cases} groups on {processes} processes "
            "are cut; make rollout.cases a multiple of the processes"
        )


def _check_divides(whole: int, micro: int | None, processes: int, what: str) -> None:
    share, left = divmod(whole, processes)
    if left:
        raise SettingsError(
            f"an update has {what} = {whole} rows, which {processes} processes cannot share out"
        )
    if micro is not None and share % micro:
        raise SettingsError(
            f"micro_batch must divide the {share} rows that a process has of an update, got {micro}"
        )


def _check_server(config: Config) -> None:
    rollout = config.rollout
    if rollout.server == "vllm" and config.model.quantise != "none":
        raise SettingsError(
            "vllm beside the trainer takes the adapter merged, and merging into 4 bits rounds it "
            "away: give quantise = 'none', or rollout.server = 'local' or an address"
        )
    if rollout.server in ("local", "vllm"):
        return
    if rollout.push == "lora" and config.model.adapter != "lora":
        raise SettingsError(
            "push = 'lora' needs adapter = 'lora': there is no other way to a server"
        )
    if rollout.push == "none" and config.optimiser.ratio != "sampler":
        raise SettingsError(
            "a server whose weights stay as they are samples from an older policy: give "
            "ratio = 'sampler', so that its own probabilities count, or push = 'lora'"
        )


def _check_data(config: SftConfig, processes: int) -> None:
    _check_divides(config.sft.batch, config.sft.micro_batch, processes, "batch")
    for name in config.sft.data:
        path = Path(name)
        if not path.is_file():
            raise SettingsError(f"there is no data set {name}; `timeful traces` makes one")
        with path.open("rb") as file:
            line = file.readline()
        try:
            columns = json.loads(line)
        except ValueError:
            columns = None
        if not isinstance(columns, dict) or not (
            "messages" in columns or {"prompt", "completion"} <= columns.keys()
        ):
            raise SettingsError(
                f"{name}: its first line is no JSON object with `messages`, or with `prompt` and "
                "`completion`"
            )


# --- what is installed ----------------------------------------------------------------------------


def _check_extras(config: Config | SftConfig) -> None:
    require(config.run.track)
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


def _check_sandbox(config: Config | SftConfig) -> None:
    part = config.cases if isinstance(config, Config) else None
    if isinstance(part, CasesPart) and part.family == "coding":
        try:
            choose_backend(unsafe=part.unsafe)
        except SandboxError as error:
            raise SettingsError(f"{error}: in this file, cases.unsafe = true") from None


def require(tracker: str | None = None) -> None:
    """Find out whether what every training needs is there.

    Args:
        tracker: Where metrics go, beside the file.

    Raises:
        SettingsError: If it is not.
    """
    if missing := _missing(_NEEDED):
        raise SettingsError(f"training needs {' and '.join(missing)}: pip install 'timeful[train]'")
    if tracker is not None and _missing((_TRACKERS[tracker],)):
        raise SettingsError(f"tracking by {tracker!r} needs it installed: pip install {tracker}")


def _missing(names: Sequence[str]) -> list[str]:
    return [name for name in names if find_spec(name) is None]


# --- the checkpoint -------------------------------------------------------------------------------


def _check_model(part: ModelPart, *, is_offline: bool) -> None:
    if is_at_hub(part):
        is_path = part.path.startswith((".", "/", "~")) or part.path.count("/") > 1
        if is_path or Path(part.path).exists():
            check_checkpoint(Path(part.path))  # it says what is wrong
        if file_of(part, "config.json") is None:
            check_hub(part.path, is_offline=is_offline)
        return
    check_checkpoint(Path(part.path))
    if part.adapter == "lora":
        check_targets(part, layers(Path(part.path)))


def check_targets(part: ModelPart, found: Collection[str]) -> None:
    """Find out whether a model has the layers that LoRA is to change.

    Args:
        part: The model.
        found: The names of its layers; none if they are not known.

    Raises:
        SettingsError: If one of the targets is none of them.
    """
    lacking = [one for one in part.targets if one not in found]
    if found and lacking:
        raise SettingsError(
            f"the model has no layers {', '.join(lacking)} for LoRA; it has: "
            f"{', '.join(sorted(found))}. Name some of them in model.targets"
        )


def layers(path: Path) -> frozenset[str]:
    """The last names of the matrices of a checkpoint's weights; none if they cannot be told."""
    inner = [name.split(".") for name in weights(path) if name.endswith(".weight")]
    # Of a layer within a list, so no table of tokens, no head, and no norm of the whole.
    return frozenset(
        parts[-2] for parts in inner if any(one.isdigit() for one in parts) and _is_matrix(parts)
    )


def _is_matrix(parts: Sequence[str]) -> bool:
    return not ("norm" in parts[-2] or parts[-2].startswith("ln_"))


def _check_calls(config: Config | SftConfig) -> None:
    """Find out whether a chat template can offer tools, where it is to."""
    part = config.cases if isinstance(config, Config) else None
    if not isinstance(part, CasesPart) or part.calls == "text":
        return
    text = _template(config.model)
    if text and not (search(r"\btools\b", text) and "<tool_call>" in text):
        raise SettingsError(
            f"the chat template of {config.model.path} does not offer tools with calls between "
            "<tool_call> and </tool_call>, which cases.calls = 'native' leaves to it; take "
            "calls = 'text'"
        )


def _template(part: ModelPart) -> str:
    """The chat template of a model; empty if it cannot be told."""
    if path := file_of(part, "chat_template.jinja"):
        return path.read_text(encoding="utf-8")
    for name in ("chat_template.json", "tokenizer_config.json"):
        path = file_of(part, name)
        if path and (found := json.loads(path.read_bytes()).get("chat_template")):
            return json.dumps(found)  # one, or several by names
    return ""
