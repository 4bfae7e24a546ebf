"""Files of settings, JSON and YAML, read into types; an error names the file, the entry, the field.

YAML is read with its safe loader: a file of settings cannot run anything.
"""

import gzip
import json
from collections.abc import Mapping
from difflib import get_close_matches
from importlib import import_module
from pathlib import Path
from re import search
from types import ModuleType
from typing import Any, TypeVar

import msgspec

from timeful.errors import SettingsError

T = TypeVar("T")


def extra(module: str) -> ModuleType:
    """Import a module that the extra `proactor` brings.

    Raises:
        SettingsError: If it is not installed; the message has the line to type.
    """
    try:
        return import_module(module)
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] != module.partition(".")[0]:
            raise  # it is there, and what it needs is not: another matter
        raise SettingsError(
            f"this needs {module.partition('.')[0]}: pip install 'timeful[proactor]'"
        ) from None


def read_data(path: Path) -> Any:
    """Read a .json, .yaml or .yml file, also one that gzip has packed (.gz).

    Raises:
        SettingsError: If it is missing, or is not what its name says.
    """
    try:
        raw = path.read_bytes()
        text = (gzip.decompress(raw) if path.suffix == ".gz" else raw).decode()
    except FileNotFoundError:
        raise SettingsError(f"there is no file {path}") from None
    except (OSError, EOFError, UnicodeDecodeError) as error:
        raise SettingsError(f"{path} cannot be read: {error}") from None
    return parse(text, str(path).removesuffix(".gz"))


def parse(text: str, name: str) -> Any:
    """Parse the text of a file called `name`: YAML if it is called so, else JSON.

    Raises:
        SettingsError: If it is neither; the message says the line.
    """
    if name.endswith((".yaml", ".yml")):
        yaml = extra("yaml")
        try:
            return yaml.load(text, Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader))
        except yaml.YAMLError as error:
            said = " ".join(str(error).split())
            raise SettingsError(f"{name} is no valid YAML: {said}") from None
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        raise SettingsError(f"{name} is no valid JSON: {error}") from None


def convert(data: object, kind: type[T], name: str) -> T:
    """Convert what a file holds to a type.

    Args:
        data: What JSON or YAML was parsed to.
        kind: A type that msgspec knows: a `Struct`, or `dict[str, ...]`.
        name: What the data is called in errors: the file, or a part of it.

    Raises:
        SettingsError: If it does not fit.
    """
    try:
        # YAML reads 12 as a number where a text was meant, and only a text may be meant.
        return msgspec.convert(data, kind, strict=True)
    except (msgspec.ValidationError, RecursionError) as error:
        raise SettingsError(f"{name}: {_explain(str(error), data)}") from None


def read_as(path: Path, kind: type[T]) -> T:
    """Read a file into a type.

    Raises:
        SettingsError: If it cannot be read, or does not fit.
    """
    return convert(read_data(path), kind, str(path))


def _explain(said: str, data: object) -> str:
    """The words of msgspec, with the entry by its name where it has one, and the nearest field."""
    found = search(r" - at `(key in )?\$(.*)`$", said)
    if not found:
        return said
    where, text = found.group(2).lstrip("."), said[: found.start()]
    if entry := _entry_name(where, data):
        where = f"{where} ({entry!r})"
    return f"{where}: {text}" if where else text


def _entry_name(where: str, data: object) -> str:
    """The name of the innermost entry on a path such as `mcp_tools[3].description`."""
    name = ""
    for part in where.replace("[", ".[").split("."):
        if part.startswith("[") and isinstance(data, list) and part[1:-1].isdigit():
            data = data[int(part[1:-1])]
        elif isinstance(data, Mapping) and part in data:
            data = data[part]
        elif part:
            break
        if isinstance(data, Mapping) and isinstance(data.get("name"), str):
            name = data["name"]
    return name


def nearest(given: str, known: Any) -> str:
    """The end of a message about a name that is not known: what there is, and what is near."""
    names = sorted(str(one) for one in known)
    near = get_close_matches(given, names, n=1)
    there = f"there are: {', '.join(names)}" if names else "there are none"
    return there + (f". Did you mean {near[0]!r}?" if near else "")
