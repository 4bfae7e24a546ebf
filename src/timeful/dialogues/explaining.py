"""Error messages of msgspec, extended by the valid fields, words or shape."""

from collections.abc import Iterator, Sequence
from difflib import get_close_matches
from re import findall, search
from typing import Any

from msgspec import inspect


def explain(error: Exception, kind: Any) -> str:
    """The message of an error, with the valid fields, words or shape.

    Args:
        error: The error of decoding a value as a `kind`.
        kind: A type that msgspec supports.
    """
    return f"{error}{instead(str(error), kind)}"


def instead(message: str, kind: Any) -> str:
    """The valid fields or words after an unknown one, the valid shape after another."""
    cause = search(
        r"unknown field `(.+?)`|Invalid enum value '(.*?)'|Expected `(?:object|array).*`, got",
        message,
    )
    if cause is None:
        return ""
    location = search(r" - at (`key` in )?`\$(.*)`$", message)
    path = findall(r"\.\w+|\[(?:\d+|\.\.\.)\]", location[2]) if location else []
    if location and location[1]:
        path.append("key")
    if cause[0].startswith("Expected"):
        shapes = dict.fromkeys(_shape(node) for node in _at(inspect.type_info(kind), path))
        return "".join(f"; it looks like {shape}" for shape in shapes if "{" in shape)
    names = sorted({name for node in _at(inspect.type_info(kind), path) for name in _names(node)})
    if not names:
        return ""
    near = get_close_matches(cause[1] or cause[2], names, n=1)
    hint = f". Did you mean {near[0]!r}?" if near else ""
    return f"; {'there are' if cause[1] else 'one of'} {', '.join(names)}{hint}"


def _names(node: inspect.Type) -> Iterator[str]:
    """The fields of an object, or the words of an enumeration."""
    if isinstance(node, inspect.StructType):
        yield from (field.encode_name for field in node.fields)
    elif isinstance(node, inspect.LiteralType):
        yield from map(str, node.values)


def _shape(node: inspect.Type) -> str:
    """The shape of a type in YAML or JSON; of an object, its fields."""
    match node:
        case inspect.StructType():
            return "{" + ", ".join(field.encode_name for field in node.fields) + "}"
        case inspect.DictType():
            return f"{{NAME: {_shape(node.value_type)}}}"
        case inspect.ListType() | inspect.VarTupleType() | inspect.FrozenSetType():
            return f"[{_shape(node.item_type)}, ...]"
    return "..."


def _at(node: inspect.Type, path: Sequence[str]) -> Iterator[inspect.Type]:
    """The possible types at a path, which is in the notation of msgspec."""
    match node:
        case inspect.UnionType():
            for member in node.types:
                yield from _at(member, path)
        case inspect.Metadata():
            yield from _at(node.type, path)
        case _ if not path:
            yield node
        case inspect.StructType():
            for field in node.fields:
                if path[0] == f".{field.encode_name}":
                    yield from _at(field.type, path[1:])
        case inspect.DictType():
            yield from _at(node.key_type if path[0] == "key" else node.value_type, path[1:])
        case inspect.ListType() | inspect.VarTupleType() | inspect.FrozenSetType():
            yield from _at(node.item_type, path[1:])
