"""Reads settings files, JSON and YAML; an error names the file, the entry and the field.

YAML is read with its safe loader, so a settings file cannot run code.
"""

import json
from collections.abc import Iterable, Mapping
from importlib import import_module
from pathlib import Path
from re import findall, search
from types import ModuleType
from typing import Any, TypeVar

import msgspec

from timeful.dialogues.explaining import instead
from timeful.errors import SettingsError
from timeful.files import read_text

T = TypeVar("T")

_DEEPEST = 100
_MOST_NODES = 5_000_000


def extra(module: str) -> ModuleType:
    """Import a module of the extra `proactor`.

    Raises:
        SettingsError: If it is not installed; contains the command to install it.
    """
    try:
        return import_module(module)
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] != module.partition(".")[0]:
            raise  # a dependency of the module is missing
        raise SettingsError(
            f"this needs {module.partition('.')[0]}: pip install 'timeful[proactor]'"
        ) from None


def read_data(path: Path) -> Any:
    """Read a .json, .yaml or .yml file, compressed with gzip or not (.json.gz).

    Raises:
        SettingsError: If it is missing or invalid.
    """
    return parse(read_text(path), str(path).removesuffix(".gz"))


def parse(text: str, name: str) -> Any:
    """Parse the text of a file: YAML or JSON, by its name.

    Raises:
        SettingsError: If the text is invalid; names the line.
    """
    if name.endswith((".yaml", ".yml")):
        yaml = extra("yaml")
        loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
        try:
            _check_nesting(yaml, yaml.parse(text, Loader=loader))
            return yaml.load(text, Loader=loader)
        except Exception as error:  # noqa: BLE001 - a wrong tag, as in `!!int x`, raises anything
            reason = " ".join(str(error).split()) or type(error).__name__
            raise SettingsError(f"{name} is not valid YAML: {reason}") from None
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        raise SettingsError(f"{name} is not valid JSON: {error}") from None


def _check_nesting(yaml: ModuleType, events: Iterable[Any]) -> None:
    """Refuse YAML that would end the process (libyaml nests calls), or is vast with its aliases."""
    sizes: dict[str, int] = {}
    nodes: list[tuple[str | None, int]] = [(None, 0)]
    for event in events:
        name, size = getattr(event, "anchor", None), 1
        if isinstance(event, yaml.CollectionStartEvent):
            nodes.append((name, 1))
            if len(nodes) > _DEEPEST:
                raise ValueError(f"it is nested more than {_DEEPEST} deep")
            continue
        if isinstance(event, yaml.CollectionEndEvent):
            name, size = nodes.pop()
        elif isinstance(event, yaml.AliasEvent):
            size = sizes.get(event.anchor, 1)
        elif not isinstance(event, yaml.ScalarEvent):
            continue
        if name is not None and not isinstance(event, yaml.AliasEvent):
            sizes[name] = size
        nodes[-1] = (nodes[-1][0], nodes[-1][1] + size)
        if nodes[-1][1] > _MOST_NODES:
            raise ValueError(f"it has more than {_MOST_NODES} values")


def convert(data: object, kind: type[T], name: str) -> T:
    """Convert the data of a file to a type.

    Args:
        data: Parsed JSON or YAML.
        kind: A type that msgspec supports: a `Struct`, or `dict[str, ...]`.
        name: The name of the data in errors: the file, or a part of it.

    Raises:
        SettingsError: If the data does not have the type.
    """
    try:
        # Without coercion: whether 12 in YAML means a number or text is up to its author.
        return msgspec.convert(data, kind)
    except (msgspec.ValidationError, RecursionError) as error:
        raise SettingsError(f"{name}: {_explain(str(error), data, kind)}") from None


def read_as(path: Path, kind: type[T]) -> T:
    """Read a file into a type.

    Raises:
        SettingsError: If the file cannot be read or does not have the type.
    """
    return convert(read_data(path), kind, str(path))


def _explain(message: str, data: Any, kind: Any) -> str:
    """The message of msgspec after the location and the entry's name, with valid values."""
    path = search(r" - at (?:`key` in )?`\$(.*)`$", message)
    if not path:
        return message + instead(message, kind)
    keys: list[str | int] = []
    entry, value = "", data
    for key_text in findall(r"\.\w+|\[\d+\]|\[\.\.\.\]", path.group(1)):
        if key_text == "[...]" and isinstance(value, Mapping):
            keys.append(_culprit(keys, data, kind, message))
        else:
            keys.append(int(key_text[1:-1]) if key_text[1:-1].isdigit() else key_text[1:])
        try:
            value = value[keys[-1]]
        except (KeyError, IndexError, TypeError):
            break
        if isinstance(value, Mapping) and isinstance(value.get("name"), str):
            entry = value["name"]
    location = "".join(f"[{key}]" if isinstance(key, int) else f".{key}" for key in keys).lstrip(
        "."
    )
    text = message[: path.start()] + instead(message, kind)
    return f"{location}{f' ({entry!r})' if entry else ''}: {text}" if location else text


def _culprit(keys: list[str | int], data: Any, kind: Any, message: str) -> str:
    """The key of an invalid entry, which msgspec does not name: alone it gives the same error."""

    def only(mapping: Any, keys: list[str | int], key: str) -> Any:
        if not keys:
            return {key: mapping[key]}
        copy: Any = dict(mapping) if isinstance(mapping, Mapping) else list(mapping)
        copy[keys[0]] = only(mapping[keys[0]], keys[1:], key)
        return copy

    mapping = data
    for key_or_index in keys:
        mapping = mapping[key_or_index]
    for key in mapping:
        try:
            msgspec.convert(only(data, keys, key), kind)
        except msgspec.ValidationError as error:
            if str(error) == message:
                return str(key)
    return "[...]"
