"""The folder of a training.

settings.json         all that makes the training what it is
metrics.jsonl         a line for each update
checkpoints/          where it goes on after it was stopped
episodes/             the records of its rollouts, if they are kept
ruler.jsonl           what a judge was asked, and answered
adapter/              what LoRA learnt
policy/               the trained model, as any checkpoint; there when the training is done
"""

import shutil
from pathlib import Path
from typing import Any

import msgspec

from timeful.errors import SettingsError
from timeful.models.request import address
from timeful.training.config import Config, SftConfig

SETTINGS = "settings.json"
METRICS = "metrics.jsonl"
CHECKPOINTS = "checkpoints"
EPISODES = "episodes"
RULER = "ruler.jsonl"
ADAPTER = "adapter"
POLICY = "policy"

_FOLDERS = (CHECKPOINTS, EPISODES, ADAPTER, POLICY)
_OPERATION = ("out", "threads", "keep", "track")
"""Settings of a run that change no number of it."""


def settings_of(config: Config | SftConfig) -> dict[str, Any]:
    """All that makes a training what it is, as plain JSON values, without credentials."""
    found: dict[str, Any] = msgspec.to_builtins(config)
    for name in _OPERATION:
        del found["run"][name]
    if isinstance(config, Config):
        if config.judge is not None:
            found["judge"]["base_url"] = address(config.judge.base_url)
        if config.rollout.server not in ("local", "vllm"):
            found["rollout"]["server"] = address(config.rollout.server)
    return found


def check_folder(config: Config | SftConfig) -> bool:
    """Find out whether there is something to go on with; nothing is written.

    Raises:
        SettingsError: If the folder holds another training, or something that is none.
    """
    out = Path(config.run.out)
    path = out / SETTINGS
    if path.exists():
        differences = _differences(path, settings_of(config))
        if differences:
            raise SettingsError(
                f"{out} holds a training with other settings ({differences}); give another "
                "run.out, or start it afresh with --replace"
            )
        return True
    if out.exists() and not out.is_dir():
        raise SettingsError(f"{out} is a file; give another run.out")
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
        clear(out)
    if check_folder(config):
        return True
    out.mkdir(parents=True, exist_ok=True)
    partial = out / f"{SETTINGS}.part"
    partial.write_bytes(msgspec.json.encode(settings_of(config)))
    partial.replace(out / SETTINGS)
    return False


def clear(out: Path) -> None:
    """Forget a training: what it wrote, and nothing else; its settings last."""
    for name in _FOLDERS:
        shutil.rmtree(out / name, ignore_errors=True)
        shutil.rmtree(out / f"{name}.part", ignore_errors=True)
    for path in (*out.glob("ruler*.jsonl"), out / METRICS, out / SETTINGS):
        path.unlink(missing_ok=True)


def done(out: Path) -> bool:
    """Whether the training has come to its end."""
    return (out / POLICY).is_dir()


def _differences(path: Path, settings: dict[str, Any]) -> str:
    """The fields that differ from those of a file, as `table.field`; empty if none do."""
    try:
        old = _flat(msgspec.json.decode(path.read_bytes()))
    except (msgspec.DecodeError, AttributeError):
        return "which cannot be read"
    new = _flat(msgspec.json.decode(msgspec.json.encode(settings)))
    return ", ".join(sorted(k for k in {*old, *new} if old.get(k) != new.get(k)))


def _flat(settings: dict[str, Any]) -> dict[str, Any]:
    return {
        f"{table}.{field}": value
        for table, fields in settings.items()
        for field, value in (fields or {}).items()
    }
