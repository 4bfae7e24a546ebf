"""The settings of a training, read from a TOML file."""

from collections.abc import Mapping, Sequence
from difflib import get_close_matches
from importlib.resources import files
from pathlib import Path
from typing import Any, TypeVar, get_args

import msgspec

from timeful.catalogs.reading import convert
from timeful.errors import SettingsError, check_known
from timeful.files import parse_toml, read_toml
from timeful.rewards.custom import is_custom
from timeful.training.config import CasesPart, Config, SftConfig, TurnsPart

_KINDS: Mapping[str, type[CasesPart | TurnsPart]] = {"timely": CasesPart, "turns": TurnsPart}
_RECIPES = files("timeful.training") / "recipes"

T = TypeVar("T")

NONE = "none"
"""Null in a file, where a field may be null."""


def recipes() -> tuple[str, ...]:
    """The names of the settings in the package."""
    return tuple(sorted(file.name.removesuffix(".toml") for file in _RECIPES.iterdir()))


def recipe(name: str) -> str:
    """The text of settings in the package."""
    return (_RECIPES / f"{name}.toml").read_text(encoding="utf-8")


def read_config(
    path: Path, changes: Sequence[str] = (), *, commands: Sequence[str] = ()
) -> Config | SftConfig:
    """Read the settings of a training, with absolute or current-folder paths.

    Args:
        path: The file; paths in it start at its folder. If it does not exist, the name of settings
            in the package (`recipes`), whose paths start at the current folder.
        changes: Other values of fields, as `table.field=value` with a value of TOML; a value that
            is not TOML is a text.
        commands: Trainings with commands of their own, offered where the file does not exist.

    Raises:
        SettingsError: If the file cannot be read, is not TOML, or has an unknown or wrong field;
            the message names the field.
    """
    is_recipe = str(path) in recipes() and not path.exists()
    if not is_recipe and not path.is_file():
        names = sorted({*recipes(), *commands})
        near = get_close_matches(path.stem, names, n=1)
        raise SettingsError(
            f"{path} is not a file; give a TOML file, or one of {', '.join(names)}"
            + (f". Did you mean {near[0]!r}?" if near else "")
        )
    data = parse_toml(recipe(str(path))) if is_recipe else read_toml(path)
    for change in changes:
        _change(data, change)
    folder = Path() if is_recipe else path.parent
    if "examples" in data or "sft" in data:
        return _resolve(_convert(data, SftConfig, str(path)), folder)
    if isinstance(cases := data.get("cases"), dict):
        kind = cases.setdefault("kind", "timely")
        check_known("kind of cases", kind, _KINDS)
        # Alone, since of a union an error would name the fields of both.
        _convert(cases, _KINDS[kind], f"{path}: cases")
    return _resolve(_convert(data, Config, str(path)), folder)


def _convert(data: dict[str, Any], kind: type[T], name: str) -> T:
    _replace_none(data, kind)
    try:
        return convert(data, kind, name)
    except SettingsError as error:
        raise SettingsError(str(error).replace("| null`", '| "none"`')) from None


def _replace_none(data: dict[str, Any], kind: Any) -> None:
    """Put null for "none" in the tables of a file, where a field may be null."""
    for field in msgspec.structs.fields(kind):
        kinds, value = get_args(field.type) or (field.type,), data.get(field.name)
        if isinstance(value, dict):
            for table in kinds:
                if isinstance(table, type) and issubclass(table, msgspec.Struct):
                    _replace_none(value, table)
        elif value == NONE and type(None) in kinds:
            data[field.name] = None


def _change(data: dict[str, Any], change: str) -> None:
    name, equals, text = change.partition("=")
    table, dot, field = name.strip().partition(".")
    if not (equals and dot and field):
        raise SettingsError(f"a change is table.field=value, as in run.seed=1; got {change!r}")
    try:
        value = parse_toml(f"value = {text}")["value"]
    except ValueError:
        value = text.strip()
    fields = data.setdefault(table, {})
    if not isinstance(fields, dict):
        raise SettingsError(f"{table} is not a table, so it has no field {field}")
    fields[field] = value


C = TypeVar("C", Config, SftConfig)


def _resolve(config: C, folder: Path) -> C:
    def resolve(table: Any, *names: str) -> Any:
        paths = {name: getattr(table, name) for name in names}
        whole = {name: str(folder / path) for name, path in paths.items() if path is not None}
        return msgspec.structs.replace(table, **whole)

    # A model that is not a folder here is a name at the hub.
    is_folder = (folder / config.model.path).is_dir()
    tables = {
        "model": resolve(config.model, *["path"] * is_folder),
        "run": resolve(config.run, "out"),
    }
    if isinstance(config, SftConfig):
        data = tuple(str(folder / path) for path in config.examples.data)
        tables["examples"] = msgspec.structs.replace(config.examples, data=data)
        return msgspec.structs.replace(config, **tables)
    tables["reward"] = resolve(config.reward, *["name"] * is_custom(config.reward.name))
    cases = config.cases
    if isinstance(cases, CasesPart):
        tables["cases"] = resolve(cases, "problems")
    else:
        names = ["data", "abcd", "catalog", "ontology"]
        names += ["agent"] * (folder / cases.agent).is_file()
        names += ["domain"] * (folder / cases.domain).is_dir()
        tables["cases"] = resolve(cases, *names)
    return msgspec.structs.replace(config, **tables)
