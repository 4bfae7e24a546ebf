"""The folder of a training.

settings.json         the settings that a training must equal to resume here
metrics.jsonl         a line for each update
checkpoints/          the states that it resumes from
episodes/             the records of its rollouts, if they are kept
ruler.jsonl           requests to a judge, and its answers
spending.jsonl        what the requests to a judge cost
adapter/              the weights of LoRA
pushed/               the adapter that a rollout server loaded last
pace.json             the cost of a token in time, for `timeful run --pace`
report.html           the report, with its figure in curves.svg
policy/               the trained model as a checkpoint; it exists when the training is done
"""

from collections.abc import Iterator
from contextlib import AbstractContextManager
from hashlib import file_digest, sha256
from pathlib import Path
from typing import Any

import msgspec

from timeful.domains.library import domain_names
from timeful.errors import SettingsError
from timeful.models.calibrate import Calibration
from timeful.models.ledger import LEDGER
from timeful.models.pace import Pace
from timeful.models.request import address
from timeful.records.folder import FolderKind, check_folder, open_folder
from timeful.reports.page import MODEL
from timeful.rewards.custom import is_custom, split
from timeful.training.config import Config, SftConfig

METRICS = "metrics.jsonl"
CHECKPOINTS = "checkpoints"
EPISODES = "episodes"
RULER = "ruler.jsonl"
ADAPTER = "adapter"
PUSHED = "pushed"
POLICY = "policy"
PACE = "pace.json"
REPORT = "report.html"
CURVES = "curves.svg"

_DIGESTS = "sha256"

TRAINING = FolderKind(
    noun="training",
    contents=(
        *(CHECKPOINTS, EPISODES, ADAPTER, PUSHED, POLICY),
        *(METRICS, "ruler*.jsonl", LEDGER, PACE, REPORT, MODEL, CURVES),
    ),
    fields=("model", "run"),
    option="run.out",
    is_always_replaced=True,
)

_OPERATION = ("out", "threads", "save_total_limit", "report_to")
"""Settings of a run that change no number of it."""


def settings_of(config: Config | SftConfig) -> dict[str, Any]:
    """All that makes a training what it is, as plain JSON values, without credentials.

    Of the files that it learns from there are digests, by the fields that name them.

    Raises:
        SettingsError: If such a file cannot be read.
    """
    settings: dict[str, Any] = msgspec.to_builtins(config)
    settings[_DIGESTS] = {name: _digest(path) for name, path in _read(config)}
    for name in _OPERATION:
        del settings["run"][name]
    if isinstance(config, Config):
        # Left unsaid where it is as it was before there was a choice: such trainings go on.
        if getattr(config.cases, "calls", "") == "text":
            del settings["cases"]["calls"]
        if config.judge is not None:
            settings["judge"]["base_url"] = address(config.judge.base_url)
        if config.rollout.server not in ("local", "vllm"):
            settings["rollout"]["server"] = address(config.rollout.server)
    return settings


def _read(config: Config | SftConfig) -> Iterator[tuple[str, Path]]:
    """What a training learns from on disk, by the fields that name it."""
    if isinstance(config, SftConfig):
        for number, name in enumerate(config.examples.data, 1):
            yield f"examples.data {number}", Path(name)
        return
    if is_custom(config.reward.name):
        yield "reward.name", Path(split(config.reward.name)[0])
    for field in ("problems", "data", "abcd", "catalog", "ontology", "domain", "agent"):
        value = getattr(config.cases, field, None)
        if value is None or value in domain_names():
            continue
        # An agent may also be the name of one in the package.
        if field != "agent" or Path(value).is_file():
            yield f"cases.{field}", Path(value)


def _digest(path: Path) -> str:
    """The SHA-256 of a file; of a folder, that of the names and digests of its files."""
    try:
        if path.is_dir():
            files = sorted(entry for entry in path.rglob("*") if entry.is_file())
            lines = "".join(f"{entry.relative_to(path)} {_digest(entry)}\n" for entry in files)
            return sha256(lines.encode()).hexdigest()
        with path.open("rb") as file:
            return file_digest(file, "sha256").hexdigest()
    except OSError as error:
        raise SettingsError(f"{path} cannot be read: {error.strerror}") from None


def check_training(config: Config | SftConfig) -> None:
    """Check that the folder of a training is new, empty, or has the same training.

    Raises:
        SettingsError: If it is not, or cannot be written to; nothing is written.
    """
    check_folder(Path(config.run.out), settings_of(config), TRAINING)


def open_training(
    config: Config | SftConfig, *, replace: bool = False
) -> AbstractContextManager[bool]:
    """Lock the folder of a training, and tell whether it has this training to resume.

    Args:
        config: The settings.
        replace: Delete the training in the folder, also one with the same settings.

    Raises (on entry):
        SettingsError: As `check_training`, or if another process uses the folder.
    """
    return open_folder(Path(config.run.out), settings_of(config), TRAINING, replace=replace)


def save_pace(pace: Pace, path: Path) -> None:
    """Write what a token costs, as `timeful calibrate` does of an endpoint that was timed."""
    Calibration(
        model=POLICY,
        endpoint="",
        alpha_s_per_token=pace.per_token / 1e9,
        beta_s=pace.first / 1e9,
        r_squared=1.0,
        first_token_s=pace(1) / 1e9,
        timings=(),
    ).save(path)


def find_logs(out: Path) -> list[Path]:
    """The logs of the judge: one for each process."""
    return sorted(out.glob(RULER.replace(".", "*.")))


def done(out: Path) -> bool:
    """Whether the training has come to its end."""
    return (out / POLICY).is_dir()
