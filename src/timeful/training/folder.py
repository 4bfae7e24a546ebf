"""The folder of a training.

settings.json         all that makes the training what it is
metrics.jsonl         a line for each update
checkpoints/          where it goes on after it was stopped
episodes/             the records of its rollouts, if they are kept
ruler.jsonl           what a judge was asked, and answered
adapter/              what LoRA learnt
pushed/               the adapter that a rollout server was given last
pace.json             what its tokens cost, for `timeful run --pace`
report.html           what came of it, with curves.svg beside it
policy/               the trained model, as any checkpoint; there when the training is done
"""

import shutil
from collections.abc import Iterator
from hashlib import file_digest, sha256
from os import W_OK, X_OK, access
from pathlib import Path
from typing import Any

import msgspec

from timeful.domains.library import domain_names
from timeful.errors import SettingsError
from timeful.models.calibrate import Calibration
from timeful.models.pace import Pace
from timeful.models.request import address
from timeful.rewards.custom import is_custom, split
from timeful.training.config import Config, SftConfig

SETTINGS = "settings.json"
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

_FOLDERS = (CHECKPOINTS, EPISODES, ADAPTER, PUSHED, POLICY)
_OPERATION = ("out", "threads", "save_total_limit", "report_to")
"""Settings of a run that change no number of it."""


def settings_of(config: Config | SftConfig) -> dict[str, Any]:
    """All that makes a training what it is, as plain JSON values, without credentials.

    Of the files that it learns from there are digests, by the fields that name them.

    Raises:
        SettingsError: If such a file cannot be read.
    """
    found: dict[str, Any] = msgspec.to_builtins(config)
    found[_DIGESTS] = {name: _digest(path) for name, path in _read(config)}
    for name in _OPERATION:
        del found["run"][name]
    if isinstance(config, Config):
        # Left unsaid where it is as it was before there was a choice: such trainings go on.
        if getattr(config.cases, "calls", "") == "text":
            del found["cases"]["calls"]
        if config.judge is not None:
            found["judge"]["base_url"] = address(config.judge.base_url)
        if config.rollout.server not in ("local", "vllm"):
            found["rollout"]["server"] = address(config.rollout.server)
    return found


def _read(config: Config | SftConfig) -> Iterator[tuple[str, Path]]:
    """What a training learns from on disk, by the fields that name it."""
    if isinstance(config, SftConfig):
        yield from (
            (f"examples.data {n}", Path(one)) for n, one in enumerate(config.examples.data, 1)
        )
        return
    if is_custom(config.reward.name):
        yield "reward.name", Path(split(config.reward.name)[0])
    for field in ("problems", "data", "abcd", "catalog", "ontology", "domain", "agent"):
        given = getattr(config.cases, field, None)
        if given is None or given in domain_names():
            continue
        # The name of an agent of the package is no file.
        if field != "agent" or Path(given).is_file():
            yield f"cases.{field}", Path(given)


def _digest(path: Path) -> str:
    """The SHA-256 of a file; of a folder, that of the names and digests of its files."""
    try:
        if path.is_dir():
            files = sorted(one for one in path.rglob("*") if one.is_file())
            lines = "".join(f"{one.relative_to(path)} {_digest(one)}\n" for one in files)
            return sha256(lines.encode()).hexdigest()
        with path.open("rb") as file:
            return file_digest(file, "sha256").hexdigest()
    except OSError as error:
        raise SettingsError(f"{path} cannot be read: {error.strerror}") from None


def check_folder(config: Config | SftConfig) -> bool:
    """Find out whether there is something to go on with; nothing is written.

    Raises:
        SettingsError: If the folder holds another training, or something that is none.
    """
    out = Path(config.run.out)
    path = out / SETTINGS
    if path.exists():
        _check_training(out)
        differences = _differences(path, settings_of(config))
        fields = [one for one in differences if not one.startswith(f"{_DIGESTS}.")]
        if fields:
            raise SettingsError(
                f"{out} holds a training with other settings ({', '.join(fields)}); give another "
                "run.out, or start it afresh with --replace"
            )
        if differences:
            names = ", ".join(one.removeprefix(f"{_DIGESTS}.") for one in differences)
            raise SettingsError(
                f"{out} holds a training from other data: what {names} names has changed since it "
                "began. Put it back, give another run.out, or start it afresh with --replace"
            )
        return True
    there = next(one for one in (out, *out.absolute().parents) if one.exists())
    if not there.is_dir():
        raise SettingsError(f"{there} is a file; give another run.out")
    if not access(there, W_OK | X_OK):
        raise SettingsError(f"{there} may not be written to; give another run.out")
    if out.is_dir() and any(out.iterdir()):
        raise SettingsError(f"{out} is not empty and holds no training; give another run.out")
    return False


def open_folder(config: Config | SftConfig, *, replace: bool = False) -> bool:
    """Begin a training in its folder, or find the same one in it to go on with.

    Whoever opens it should hold the folder's lock until the training is over.

    Args:
        config: The settings.
        replace: Forget the training that the folder holds, whichever it is.

    Returns:
        Whether there is something to go on with.

    Raises:
        SettingsError: As `check_folder`.
    """
    out = Path(config.run.out)
    if replace and (out / SETTINGS).exists():
        _check_training(out)
        clear(out)
    if check_folder(config):
        return True
    out.mkdir(parents=True, exist_ok=True)
    partial = out / f"{SETTINGS}.part"
    partial.write_bytes(msgspec.json.encode(settings_of(config)))
    partial.replace(out / SETTINGS)
    return False


def _check_training(out: Path) -> None:
    """Find out whether the settings of a folder are those of a training.

    Raises:
        SettingsError: If they are not; what is there may have been paid for.
    """
    try:
        settings = msgspec.json.decode((out / SETTINGS).read_bytes(), type=dict[str, Any])
    except msgspec.DecodeError:
        settings = {}
    if "suite" in settings or not settings.keys() >= {"model", "run"}:
        raise SettingsError(
            f"{out} holds something else than a training, which --replace does not touch; give "
            "another run.out"
        )


def clear(out: Path) -> None:
    """Forget a training: what it wrote, and nothing else; its settings last."""
    for name in _FOLDERS:
        shutil.rmtree(out / name, ignore_errors=True)
        shutil.rmtree(out / f"{name}.part", ignore_errors=True)
    written = (out / name for name in (PACE, REPORT, CURVES, METRICS, SETTINGS))
    for path in (*out.glob("ruler*.jsonl"), *written):
        path.unlink(missing_ok=True)


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


def done(out: Path) -> bool:
    """Whether the training has come to its end."""
    return (out / POLICY).is_dir()


def _differences(path: Path, settings: dict[str, Any]) -> list[str]:
    """The fields that differ from those of a file, as `table.field`."""
    old = _flat(msgspec.json.decode(path.read_bytes()))
    new = _flat(msgspec.json.decode(msgspec.json.encode(settings)))
    return sorted(k for k in {*old, *new} if old.get(k) != new.get(k))


def _flat(settings: dict[str, Any]) -> dict[str, Any]:
    return {
        f"{table}.{field}": value
        for table, fields in settings.items()
        for field, value in (fields or {}).items()
    }
