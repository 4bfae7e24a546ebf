"""What msgspec finds wrong, with what would have been right: the fields, words or shape."""

from collections.abc import Iterator, Sequence
from difflib import get_close_matches
from re import findall, search
from typing import Any

from msgspec import inspect


def explain(error: Exception, kind: Any) -> str:
    """What is wrong in the words of msgspec, and what there is instead.

    Args:
        error: What reading something as a `kind` raised.
        kind: A type that msgspec knows.
    """
    return f"{error}{instead(str(error), kind)}"


def instead(said: str, kind: Any) -> str:
    """The fields or words that there are where one is unknown, the shape where it is another."""
    found = search(
        r"unknown field `(.+?)`|Invalid enum value '(.*?)'|Expected `(?:object|array).*`, got", said
    )
    if found is None:
        return ""
    place = search(r" - at (`key` in )?`\$(.*)`$", said)
    way = findall(r"\.\w+|\[(?:\d+|\.\.\.)\]", place[2]) if place else []
    if place and place[1]:
        way.append("key")
    if found[0].startswith("Expected"):
        shapes = dict.fromkeys(_shape(there) for there in _at(inspect.type_info(kind), way))
        return "".join(f"; it looks like {one}" for one in shapes if "{" in one)
    known = sorted({name for there in _at(inspect.type_info(kind), way) for name in _names(there)})
    if not known:
        return ""
    near = get_close_matches(found[1] or found[2], known, n=1)
    hint = f". Did you mean {near[0]!r}?" if near else ""
    return f"; {'there are' if found[1] else 'one of'} {', '.join(known)}{hint}"


def _names(there: inspect.Type) -> Iterator[str]:
    """The fields of an object, or the words that a value may be."""
    if isinstance(there, inspect.StructType):
        yield from (field.encode_name for field in there.fields)
    elif isinstance(there, inspect.LiteralType):
        yield from map(str, there.values)


def _shape(there: inspect.Type) -> str:
    """What something looks like, as YAML or JSON would have it; of an object, its fields."""
    match there:
        case inspect.StructType():
            return "{" + ", ".join(field.encode_name for field in there.fields) + "}"
        case inspect.DictType():
            return f"{{NAME: {_shape(there.value_type)}}}"
        case inspect.ListType() | inspect.VarTupleType() | inspect.FrozenSetType():
            return f"[{_shape(there.item_type)}, ...]"
    return "..."


def _at(there: inspect.Type, way: Sequence[str]) -> Iterator[inspect.Type]:
    """The types that may stand at a place of something: a path as msgspec writes it."""
    match there:
        case inspect.UnionType():
            for one in there.types:
                yield from _at(one, way)
        case inspect.Metadata():
            yield from _at(there.type, way)
        case _ if not way:
            yield there
        case inspect.StructType():
            for field in there.fields:
                if way[0] == f".{field.encode_name}":
                    yield from _at(field.type, way[1:])
        case inspect.DictType():
            yield from _at(there.key_type if way[0] == "key" else there.value_type, way[1:])
        case inspect.ListType() | inspect.VarTupleType() | inspect.FrozenSetType():
            yield from _at(there.item_type, way[1:])
