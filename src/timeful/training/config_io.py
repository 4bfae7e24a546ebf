"""The settings of a training, read from a TOML file."""

import tomllib
from collections.abc import Mapping, Sequence
from difflib import get_close_matches
from importlib.resources import files
from pathlib import Path
from typing import Any, TypeVar, get_args

import msgspec

from timeful.catalogs.reading import convert
from timeful.errors import SettingsError, check_known
from timeful.rewards.custom import is_custom
from timeful.training.config import (
    CasesPart,
    Config,
    ModelPart,
    RewardPart,
    RunPart,
    SftConfig,
    TurnsPart,
)

_KINDS: Mapping[str, type[CasesPart | TurnsPart]] = {"timely": CasesPart, "turns": TurnsPart}

T = TypeVar("T")

NONE = "none"
"""Says in a file that there is none, where a field may be null."""


def recipes() -> tuple[str, ...]:
    """The files of settings in the package, by their names."""
    folder = files("timeful.training") / "recipes"
    return tuple(sorted(one.name.removesuffix(".toml") for one in folder.iterdir()))


def recipe(name: str) -> str:
    """The text of one of them."""
    return (files("timeful.training") / "recipes" / f"{name}.toml").read_text(encoding="utf-8")


def read_config(
    path: Path, changes: Sequence[str] = (), *, named: Sequence[str] = ()
) -> Config | SftConfig:
    """Read the settings of a training, with its paths made whole.

    Args:
        path: The file; paths in it start at its folder. Where there is none by this name, one in
            the package by it (`recipes`), whose paths start here.
        changes: Fields that are to be other than the file has them, as `table.field=value` with a
            value as TOML has it; what is no such value is a text.
        named: Trainings with commands of their own, to be offered where there is no such file.

    Raises:
        SettingsError: If there is no such file, it is no TOML, or a field is unknown or wrong; the
            message names the field.
    """
    is_named = str(path) in recipes() and not path.exists()
    try:
        data = tomllib.loads(recipe(str(path)) if is_named else path.read_text(encoding="utf-8"))
    except OSError as error:
        known = sorted({*recipes(), *named})
        near = get_close_matches(path.stem, known, n=1)
        raise SettingsError(
            f"{path} cannot be read: {error.strerror}; give a TOML file, or one of "
            f"{', '.join(known)}" + (f". Did you mean {near[0]!r}?" if near else "")
        ) from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise SettingsError(f"{path} is no TOML: {error}") from None
    for change in changes:
        _change(data, change)
    folder = Path() if is_named else path.parent
    if "sft" in data:
        return _settled_sft(_converted(data, SftConfig, str(path)), folder)
    if isinstance(cases := data.get("cases"), dict):
        kind = cases.setdefault("kind", "timely")
        check_known("kind of cases", kind, _KINDS)
        # Alone, since of a union an error would name the fields of both.
        _converted(cases, _KINDS[kind], f"{path}: cases")
    return _settled(_converted(data, Config, str(path)), folder)


def _converted(data: dict[str, Any], kind: type[T], name: str) -> T:
    """As `convert`, where "none" is what TOML lacks: null."""
    _nulled(data, kind)
    try:
        return convert(data, kind, name)
    except SettingsError as error:
        raise SettingsError(str(error).replace("| null`", '| "none"`')) from None


def _nulled(data: dict[str, Any], kind: Any) -> None:
    """Put null for "none" in the tables of a file, where a field may be null."""
    for field in msgspec.structs.fields(kind):
        kinds, value = get_args(field.type) or (field.type,), data.get(field.name)
        if isinstance(value, dict):
            for one in kinds:
                if isinstance(one, type) and issubclass(one, msgspec.Struct):
                    _nulled(value, one)
        elif value == NONE and type(None) in kinds:
            data[field.name] = None


def _change(data: dict[str, Any], change: str) -> None:
    name, equals, value = change.partition("=")
    table, dot, field = name.strip().partition(".")
    if not (equals and dot and field):
        raise SettingsError(f"a change is table.field=value, as in run.seed=1; got {change!r}")
    try:
        found = tomllib.loads(f"it = {value}")["it"]
    except tomllib.TOMLDecodeError:
        found = value.strip()
    there = data.setdefault(table, {})
    if not isinstance(there, dict):
        raise SettingsError(f"{table} is no table, so it has no field {field}")
    there[field] = found


def _settled(config: Config, folder: Path) -> Config:
    cases = config.cases
    paths: Mapping[str, str | None]
    if isinstance(cases, CasesPart):
        paths = {"problems": cases.problems}
    else:
        names = ("data", "abcd", "catalog", "ontology")
        paths = {name: getattr(cases, name) for name in names}
        if (folder / cases.agent).is_file():
            paths["agent"] = cases.agent
        if (folder / cases.domain).is_dir():
            paths["domain"] = cases.domain
    whole = {name: str(folder / path) for name, path in paths.items() if path is not None}
    return msgspec.structs.replace(
        config,
        model=_model(config.model, folder),
        cases=msgspec.structs.replace(cases, **whole),
        reward=_reward(config.reward, folder),
        run=_run(config.run, folder),
    )


def _settled_sft(config: SftConfig, folder: Path) -> SftConfig:
    files = tuple(str(folder / one) for one in config.sft.data)
    return msgspec.structs.replace(
        config,
        model=_model(config.model, folder),
        sft=msgspec.structs.replace(config.sft, data=files),
        run=_run(config.run, folder),
    )


def _model(part: ModelPart, folder: Path) -> ModelPart:
    """A path from the folder of the file; one that is no folder there is the hub's."""
    here = folder / part.path
    return msgspec.structs.replace(part, path=str(here)) if here.is_dir() else part


def _reward(part: RewardPart, folder: Path) -> RewardPart:
    """With the file of a reward of one's own made whole."""
    if not is_custom(part.name):
        return part
    return msgspec.structs.replace(part, name=str(folder / part.name))


def _run(part: RunPart, folder: Path) -> RunPart:
    return msgspec.structs.replace(part, out=str(folder / part.out))
