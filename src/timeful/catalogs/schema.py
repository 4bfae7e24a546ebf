"""Parameters of actions, and JSON schemas of inputs: one from the other.

Only what a dialogue can fill is kept of a schema: names, types, descriptions, closed lists, and
which must be given. What is nested stays one parameter of type object or array.
"""

from collections.abc import Iterable, Mapping
from typing import Any, Literal, get_args

import msgspec

from timeful.catalogs.reading import nearest

Type = Literal["string", "integer", "number", "boolean", "array", "object"]
Place = Literal["", "path", "query", "header", "cookie", "body"]
Scalar = str | int | float | bool

_TYPES: tuple[Type, ...] = get_args(Type)
_DEPTH = 20
"""References that lead to references: more are a circle."""


class Parameter(
    msgspec.Struct, frozen=True, kw_only=True, rename={"place": "in"}, omit_defaults=True
):
    """An input of an action.

    Attributes:
        name: Its name, once an action.
        type: What JSON calls it.
        description: What it is, in words.
        required: Whether a call must have it.
        enum: The closed list of its values; empty where it is open.
        place: Where a REST call puts it; empty elsewhere. In JSON it is called `in`.
    """

    name: str
    type: Type = "string"
    description: str = ""
    required: bool = False
    enum: tuple[Scalar, ...] = ()
    place: Place = ""

    def __post_init__(self) -> None:
        if not self.name.strip():
            raise ValueError("a parameter needs a name")


def parameters_of(
    schema: Mapping[str, Any], root: Mapping[str, Any] | None = None
) -> tuple[Parameter, ...]:
    """The parameters that a JSON schema of an object says.

    Args:
        schema: A schema of type object, as the `inputSchema` of an MCP tool or a body in OpenAPI.
        root: The document that `$ref` points into; the schema itself by default.

    Raises:
        ValueError: If it is no schema of an object; the message names the field.
    """
    root = schema if root is None else root
    schema = merged(schema, root)
    if schema.get("type", "object") != "object":
        raise ValueError(f"an input must be of type 'object', got {schema.get('type')!r}")
    properties = schema.get("properties", {})
    if not isinstance(properties, Mapping):
        raise ValueError(f"'properties' must be an object, got {type(properties).__name__}")
    required = schema.get("required", [])
    if not isinstance(required, list) or not all(isinstance(one, str) for one in required):
        raise ValueError("'required' must be a list of names")
    for one in required:
        if one not in properties:
            raise ValueError(
                f"'required' names {one!r}, which is no property; {nearest(one, properties)}"
            )
    return tuple(
        parameter_of(str(name), field, root, required=name in required)
        for name, field in properties.items()
    )


def parameter_of(
    name: str, schema: object, root: Mapping[str, Any], *, required: bool, place: Place = ""
) -> Parameter:
    """The parameter that the schema of one field says.

    Raises:
        ValueError: If it is no schema; the message names the field.
    """
    if schema is True:  # any value will do
        schema = {}
    if not isinstance(schema, Mapping):
        raise ValueError(f"the schema of {name!r} must be an object, got {schema!r}")
    try:
        schema = merged(schema, root)
    except ValueError as error:
        raise ValueError(f"{name!r}: {error}") from None
    enum = [schema["const"]] if "const" in schema else schema.get("enum", [])
    if not isinstance(enum, list):
        raise ValueError(f"{name!r}: 'enum' must be a list, got {enum!r}")
    return Parameter(
        name=name,
        type=_type(name, schema),
        description=str(schema.get("description") or ""),
        required=required,
        enum=tuple(one for one in enum if isinstance(one, Scalar)),
        place=place,
    )


def merged(schema: Mapping[str, Any], root: Mapping[str, Any]) -> Mapping[str, Any]:
    """A schema with what it refers to and what it is all of, in one; of "this or null", this.

    Raises:
        ValueError: If a reference leads nowhere, in a circle, or out of the document.
    """
    for _ in range(_DEPTH):
        if "$ref" in schema:
            rest = {key: value for key, value in schema.items() if key != "$ref"}
            schema = {**resolve(schema["$ref"], root), **rest}
        elif parts := schema.get("allOf"):
            rest = {key: value for key, value in schema.items() if key != "allOf"}
            schema = _all_of([merged(part, root) for part in parts], rest)
        elif len(some := _not_null(schema)) == 1:
            rest = {key: value for key, value in schema.items() if key not in ("anyOf", "oneOf")}
            schema = {**some[0], **rest}
        else:
            return schema
    raise ValueError("its $ref leads in a circle")


def resolve(pointer: object, root: Mapping[str, Any]) -> Mapping[str, Any]:
    """What a `$ref` into the same document points at.

    Raises:
        ValueError: If it points elsewhere, or at nothing.
    """
    if not isinstance(pointer, str) or not pointer.startswith("#"):
        raise ValueError(f"only references into the same file are followed, got $ref {pointer!r}")
    found: Any = root
    for part in pointer.removeprefix("#").strip("/").split("/"):
        key = part.replace("~1", "/").replace("~0", "~")
        if not isinstance(found, Mapping) or key not in found:
            raise ValueError(f"$ref {pointer!r} points at nothing")
        found = found[key]
    if not isinstance(found, Mapping):
        raise ValueError(f"$ref {pointer!r} points at no object")
    return found


def schema_of(parameters: Iterable[Parameter], at_least: int = 0) -> dict[str, Any]:
    """The JSON schema of an input with some parameters; `parameters_of` gives them back.

    Args:
        parameters: The parameters; where REST puts them is not said.
        at_least: How many of them a call needs, whichever they are; 0 where that is open.
    """
    properties: dict[str, Any] = {}
    required = []
    for one in parameters:
        field: dict[str, Any] = {"type": one.type}
        if one.description:
            field["description"] = one.description
        if one.enum:
            field["enum"] = list(one.enum)
        properties[one.name] = field
        if one.required:
            required.append(one.name)
    schema: dict[str, Any] = {"type": "object", "properties": properties, "required": required}
    if at_least > len(required):
        schema["minProperties"] = at_least
    return schema


def _type(name: str, schema: Mapping[str, Any]) -> Type:
    """The type of a field; string where it is open, as words are what a dialogue has."""
    said = schema.get("type")
    if isinstance(said, list):  # JSON schema: any of these, often "or null"
        said = next((one for one in said if one != "null"), "string")
    if said is None:
        said = "object" if "properties" in schema else "array" if "items" in schema else "string"
    for one in _TYPES:
        if one == said:
            return one
    raise ValueError(f"{name!r} has the type {said!r}; {nearest(str(said), _TYPES)}")


def _not_null(schema: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """What a field may be besides null; several, or none, where it is no such choice."""
    choices = schema.get("anyOf") or schema.get("oneOf") or []
    return [one for one in choices if isinstance(one, Mapping) and one.get("type") != "null"]


def _all_of(parts: list[Mapping[str, Any]], rest: Mapping[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for part in (*parts, rest):
        properties = {**found.get("properties", {}), **part.get("properties", {})}
        required = [*found.get("required", []), *part.get("required", [])]
        found |= part
        if properties:
            found["properties"] = properties
        if required:
            found["required"] = list(dict.fromkeys(required))
    return found
