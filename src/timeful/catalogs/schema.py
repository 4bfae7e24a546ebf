"""Converts between parameters of actions and JSON schemas of inputs.

A parameter has the name, type, description and closed list of a field, and whether it is required.
A nested field becomes one parameter of type object or array.
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Literal, get_args

import msgspec

from timeful.errors import nearest

Type = Literal["string", "integer", "number", "boolean", "array", "object"]
Location = Literal["", "path", "query", "header", "cookie", "body"]
Scalar = str | int | float | bool

_TYPES: tuple[Type, ...] = get_args(Type)
_STEPS = 200
"""The most references and parts of one schema; more are a cycle, or doubled without end."""


class Parameter(
    msgspec.Struct, frozen=True, kw_only=True, rename={"location": "in"}, omit_defaults=True
):
    """An input of an action.

    Attributes:
        name: Its name, unique in an action.
        type: Its type in JSON.
        description: Its meaning, in words.
        required: Whether a call must have it.
        enum: The closed list of its values; empty for any value.
        location: Its location in a REST call, `in` in JSON; empty for other calls.
    """

    name: str
    type: Type = "string"
    description: str = ""
    required: bool = False
    enum: tuple[Scalar, ...] = ()
    location: Location = ""

    def __post_init__(self) -> None:
        if not self.name.strip():
            raise ValueError("a parameter needs a name")


def parameters_of(
    schema: Mapping[str, Any], root: Mapping[str, Any] | None = None
) -> tuple[Parameter, ...]:
    """The parameters of a JSON schema.

    Args:
        schema: A schema of type object, as the `inputSchema` of an MCP tool or a body in OpenAPI.
        root: The document of its references; by default the schema itself.

    Raises:
        ValueError: If it is not a schema of an object; names the field.
    """
    root = schema if root is None else root
    schema = merge(schema, root)
    if schema.get("type", "object") != "object":
        raise ValueError(f"an input must be of type 'object', got {schema.get('type')!r}")
    properties = schema.get("properties", {})
    if not isinstance(properties, Mapping):
        raise ValueError(f"'properties' must be an object, got {type(properties).__name__}")
    required_names = schema.get("required", [])
    if not isinstance(required_names, list) or not all(
        isinstance(name, str) for name in required_names
    ):
        raise ValueError("'required' must be a list of names")
    for name in required_names:
        if name not in properties:
            raise ValueError(
                f"'required' names {name!r}, which is not a property; {nearest(name, properties)}"
            )
    return tuple(
        parameter_of(str(name), field, root, required=name in required_names)
        for name, field in properties.items()
    )


def parameter_of(
    name: str, schema: object, root: Mapping[str, Any], *, required: bool, location: Location = ""
) -> Parameter:
    """The parameter of the schema of one field.

    Raises:
        ValueError: If it is not a schema; names the field.
    """
    if schema is True:  # any value is valid
        schema = {}
    if not isinstance(schema, Mapping):
        raise ValueError(f"the schema of {name!r} must be an object, got {schema!r}")
    try:
        schema = merge(schema, root)
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
        enum=tuple(value for value in enum if isinstance(value, Scalar)),
        location=location,
    )


def merge(schema: Mapping[str, Any], root: Mapping[str, Any]) -> Mapping[str, Any]:
    """Merge a schema with its `$ref`, its `allOf`, and the only `anyOf` other than null.

    Raises:
        ValueError: If a reference is unknown, cyclic, or leaves the document.
    """
    return _merge(schema, root, iter(range(_STEPS)))


def as_object(value: object, field: str) -> Mapping[str, Any]:
    """The value of a field that must be an object.

    Raises:
        ValueError: If it is none.
    """
    if not isinstance(value, Mapping):
        raise ValueError(f"{field}: must be an object, got {type(value).__name__}")
    return value


def as_list(data: Mapping[str, Any], field: str) -> list[Any]:
    """The list in a field; empty if the field is missing.

    Raises:
        ValueError: If it is not a list.
    """
    items = data.get(field, [])
    if not isinstance(items, list):
        raise ValueError(f"{field}: must be a list")
    return items


def _merge(
    schema: Mapping[str, Any], root: Mapping[str, Any], steps: Iterator[int]
) -> Mapping[str, Any]:
    for _ in steps:
        if "$ref" in schema:
            siblings = {key: value for key, value in schema.items() if key != "$ref"}
            schema = {**resolve(schema["$ref"], root), **siblings}
        elif subschemas := as_list(schema, "allOf"):
            siblings = {key: value for key, value in schema.items() if key != "allOf"}
            schema = _all_of(
                [_merge(as_object(part, "allOf"), root, steps) for part in subschemas], siblings
            )
        elif len(choices := _not_null(schema)) == 1:
            siblings = {
                key: value for key, value in schema.items() if key not in ("anyOf", "oneOf")
            }
            schema = {**choices[0], **siblings}
        else:
            return schema
    raise ValueError(f"its $ref or allOf is cyclic, or has more than {_STEPS} parts")


def resolve(pointer: object, root: Mapping[str, Any]) -> Mapping[str, Any]:
    """Resolve a `$ref` within the document.

    Raises:
        ValueError: If it is unknown or leaves the document.
    """
    if not isinstance(pointer, str) or not pointer.startswith("#"):
        raise ValueError(f"only references within the file are supported, got $ref {pointer!r}")
    node: Any = root
    for token in pointer.removeprefix("#").strip("/").split("/"):
        key = token.replace("~1", "/").replace("~0", "~")
        if not isinstance(node, Mapping) or key not in node:
            raise ValueError(f"$ref {pointer!r} points at nothing")
        node = node[key]
    if not isinstance(node, Mapping):
        raise ValueError(f"$ref {pointer!r} does not point at an object")
    return node


def schema_of(parameters: Iterable[Parameter], at_least: int = 0) -> dict[str, Any]:
    """The JSON schema of parameters, the inverse of `parameters_of` without locations.

    Args:
        parameters: The parameters.
        at_least: The minimum number of inputs of a call.
    """
    properties: dict[str, Any] = {}
    required = []
    for parameter in parameters:
        field: dict[str, Any] = {"type": parameter.type}
        if parameter.description:
            field["description"] = parameter.description
        if parameter.enum:
            field["enum"] = list(parameter.enum)
        properties[parameter.name] = field
        if parameter.required:
            required.append(parameter.name)
    schema: dict[str, Any] = {"type": "object", "properties": properties, "required": required}
    if at_least > len(required):
        schema["minProperties"] = at_least
    return schema


def _type(name: str, schema: Mapping[str, Any]) -> Type:
    """The type of a field; string by default, since a dialogue is text."""
    kind = schema.get("type")
    if isinstance(kind, list):  # alternatives, often with null
        kind = next((option for option in kind if option != "null"), "string")
    if kind is None:
        kind = "object" if "properties" in schema else "array" if "items" in schema else "string"
    for json_type in _TYPES:
        if json_type == kind:
            return json_type
    raise ValueError(f"{name!r} has the type {kind!r}; {nearest(str(kind), _TYPES)}")


def _not_null(schema: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """The alternatives of a field other than null; empty without alternatives."""
    choices = as_list(schema, "anyOf") or as_list(schema, "oneOf")
    return [c for c in choices if isinstance(c, Mapping) and c.get("type") != "null"]


def _all_of(subschemas: list[Mapping[str, Any]], siblings: Mapping[str, Any]) -> dict[str, Any]:
    merged_schema: dict[str, Any] = {}
    for subschema in (*subschemas, siblings):
        more = as_object(subschema.get("properties", {}), "properties")
        properties = {**merged_schema.get("properties", {}), **more}
        required = [*merged_schema.get("required", []), *as_list(subschema, "required")]
        merged_schema |= subschema
        if properties:
            merged_schema["properties"] = properties
        if required:
            merged_schema["required"] = list(dict.fromkeys(map(str, required)))
    return merged_schema
