"""Files of settings, JSON and YAML, read into types; an error names the file, the entry, the field.

YAML is read with its safe loader: a file of settings cannot run anything.
"""

import json
from collections.abc import Mapping
from difflib import get_close_matches
from importlib import import_module
from pathlib import Path
from re import findall, search
from types import ModuleType
from typing import Any, TypeVar

import msgspec

from timeful.dialogues.explaining import instead
from timeful.dialogues.files import read_bytes
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
    """Read a .json, .yaml or .yml file, packed with gzip or not (.json.gz).

    Raises:
        SettingsError: If it is missing, or is not what its name says.
    """
    try:
        text = read_bytes(path).decode()
    except UnicodeDecodeError as error:
        raise SettingsError(f"{path} is no text: {error}") from None
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
        # Strictly: YAML reads 12 as a number where a text was meant, and only its writer knows.
        return msgspec.convert(data, kind)
    except (msgspec.ValidationError, RecursionError) as error:
        raise SettingsError(f"{name}: {_explain(str(error), data, kind)}") from None


def read_as(path: Path, kind: type[T]) -> T:
    """Read a file into a type.

    Raises:
        SettingsError: If it cannot be read, or does not fit.
    """
    return convert(read_data(path), kind, str(path))


def _explain(said: str, data: Any, kind: Any) -> str:
    """The words of msgspec, after the place and the name of its entry, and what there is."""
    found = search(r" - at (?:`key` in )?`\$(.*)`$", said)
    if not found:
        return said + instead(said, kind)
    way: list[str | int] = []
    entry, there = "", data
    for part in findall(r"\.\w+|\[\d+\]|\[\.\.\.\]", found.group(1)):
        if part == "[...]" and isinstance(there, Mapping):
            way.append(_culprit(way, data, kind, said))
        else:
            way.append(int(part[1:-1]) if part[1:-1].isdigit() else part[1:])
        try:
            there = there[way[-1]]
        except (KeyError, IndexError, TypeError):
            break
        if isinstance(there, Mapping) and isinstance(there.get("name"), str):
            entry = there["name"]
    place = "".join(f"[{one}]" if isinstance(one, int) else f".{one}" for one in way).lstrip(".")
    text = said[: found.start()] + instead(said, kind)
    return f"{place}{f' ({entry!r})' if entry else ''}: {text}" if place else text


def _culprit(way: list[str | int], data: Any, kind: Any, said: str) -> str:
    """The key of a mapping that msgspec does not name: alone, it is refused for the same reason."""

    def only(there: Any, way: list[str | int], key: str) -> Any:
        if not way:
            return {key: there[key]}
        copy: Any = dict(there) if isinstance(there, Mapping) else list(there)
        copy[way[0]] = only(there[way[0]], way[1:], key)
        return copy

    there = data
    for part in way:
        there = there[part]
    for key in there:
        try:
            msgspec.convert(only(data, way, key), kind)
        except msgspec.ValidationError as error:
            if str(error) == said:
                return str(key)
    return "[...]"


def nearest(given: str, known: Any) -> str:
    """The end of a message about a name that is not known: what there is, and what is near."""
    names = sorted(str(one) for one in known)
    near = get_close_matches(given, names, n=1)
    there = f"there are: {', '.join(names)}" if names else "there are none"
    return there + (f". Did you mean {near[0]!r}?" if near else "")
