"""The operations of a REST interface, from its OpenAPI 3 file (JSON or YAML).

Each operation is an action: its inputs are those of the path, the query, headers and cookies, and
the fields of its body. References are followed within the file.
"""

from collections.abc import Iterator, Mapping
from pathlib import Path
from re import sub
from typing import Any, get_args

import msgspec

from timeful.catalogs.catalog import Method
from timeful.catalogs.ontology import ActionType
from timeful.catalogs.reading import convert, nearest, read_data
from timeful.catalogs.schema import Parameter, Place, merged, parameter_of, parameters_of, resolve
from timeful.errors import SettingsError

_METHODS: tuple[Method, ...] = get_args(Method)
_PLACES: tuple[Place, ...] = ("path", "query", "header", "cookie")
_BODIES = ("application/json", "application/x-www-form-urlencoded", "multipart/form-data")
"""The forms of a body whose fields are read, the best first."""


class OpenApiSource(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """An OpenAPI file.

    Attributes:
        file: Where it is.
        include: The operations that are wanted, by name; all if empty.
        prefix: Put before the name of each operation.
    """

    file: str
    include: tuple[str, ...] = ()
    prefix: str = ""


def openapi_types(source: OpenApiSource, folder: Path) -> dict[str, ActionType]:
    """Read the operations of an OpenAPI file.

    Args:
        source: The file, and what is wanted of it.
        folder: Where a relative path starts.

    Raises:
        SettingsError: If it is no such file; the message names the file, the operation, the field.
    """
    path = folder / source.file
    root = read_data(path)
    _check_version(root, path)
    found: dict[str, ActionType] = {}
    for where, method, item, operation in _operations(root, path):
        name = operation.get("operationId") or _slug(method, where)
        try:
            action = _action(root, where, method, item, operation)
        except (ValueError, msgspec.ValidationError) as error:
            raise SettingsError(f"{path}: {method} {where} ({name!r}): {error}") from None
        if name in found:
            raise SettingsError(f"{path}: {method} {where}: another operation is called {name!r}")
        found[name] = action
    for one in source.include:
        if one not in found:
            raise SettingsError(f"{path}: include: no operation {one!r}; {nearest(one, found)}")
    if not found:
        raise SettingsError(f"{path}: paths: there are no operations")
    wanted = source.include or tuple(found)
    return {source.prefix + name: found[name] for name in wanted}


def _check_version(root: Any, path: Path) -> None:
    if not isinstance(root, Mapping):
        raise SettingsError(f"{path} is no OpenAPI file: it holds no object")
    if "swagger" in root:
        raise SettingsError(
            f"{path}: swagger: version {root['swagger']} is not read, only OpenAPI 3; convert it"
        )
    if not str(root.get("openapi", "")).startswith("3."):
        raise SettingsError(f"{path}: openapi: must be a version 3.x, got {root.get('openapi')!r}")


def _operations(
    root: Mapping[str, Any], path: Path
) -> Iterator[tuple[str, Method, Mapping[str, Any], Mapping[str, Any]]]:
    """Path, method, item and operation of each operation, in the order of the file."""
    paths = convert(root.get("paths", {}), dict[str, dict[str, Any]], f"{path}: paths")
    for where, item in paths.items():
        try:
            item = {**resolve(item["$ref"], root), **item} if "$ref" in item else item
        except ValueError as error:
            raise SettingsError(f"{path}: {where}: {error}") from None
        for method in _METHODS:
            operation = item.get(method.lower())
            if operation is None:
                continue
            if not isinstance(operation, Mapping):
                raise SettingsError(f"{path}: {method} {where}: must be an object")
            yield where, method, item, operation


def _action(
    root: Mapping[str, Any],
    where: str,
    method: Method,
    item: Mapping[str, Any],
    operation: Mapping[str, Any],
) -> ActionType:
    parameters = {
        (one.place, one.name): one
        for data in (*_list(item, "parameters"), *_list(operation, "parameters"))
        if (one := _parameter(data, root))
    }
    kind, fields = _body(operation, root)
    taken = {name for _, name in parameters}
    for one in fields:
        # A field may be called as a part of the path is: then it says where it belongs.
        name = f"body.{one.name}" if one.name in taken else one.name
        parameters["body", name] = msgspec.structs.replace(one, name=name, place="body")
    headers = {"Content-Type": kind} if kind else {}
    return ActionType(
        kind="api",
        method=method,
        path=where,
        server=_server(root, operation),
        headers=headers | _credentials(root, operation),
        description=str(operation.get("summary") or operation.get("description") or "").strip(),
        parameters=tuple(parameters.values()),
    )


def _parameter(data: Any, root: Mapping[str, Any]) -> Parameter:
    """An input outside of the body."""
    if isinstance(data, Mapping) and "$ref" in data:
        data = resolve(data["$ref"], root)
    if not isinstance(data, Mapping) or not isinstance(data.get("name"), str):
        raise ValueError("parameters: each needs a name")
    name = data["name"]
    place = next((one for one in _PLACES if one == data.get("in")), None)
    if place is None:
        raise ValueError(f"parameters: {name!r}: in: {nearest(str(data.get('in')), _PLACES)}")
    schema = data.get("schema")
    if schema is None:  # a parameter may have a content in its place, of one form
        schema = next(iter(data.get("content", {"": {}}).values())).get("schema", {})
    required = place == "path" or data.get("required") is True
    found = parameter_of(name, schema, root, required=required, place=place)
    said = str(data.get("description") or found.description)
    return msgspec.structs.replace(found, description=said)


def _body(
    operation: Mapping[str, Any], root: Mapping[str, Any]
) -> tuple[str, tuple[Parameter, ...]]:
    """The form of the body and its fields; both empty where there is none."""
    body = operation.get("requestBody")
    if body is None:
        return "", ()
    if "$ref" in body:
        body = resolve(body["$ref"], root)
    content = body.get("content")
    if not isinstance(content, Mapping) or not content:
        raise ValueError("requestBody: content: there is none")
    kind = next((one for one in _BODIES if one in content), next(iter(content)))
    schema = merged(content[kind].get("schema", {}), root)
    is_required = body.get("required") is True
    if schema.get("type", "object") != "object" or not schema.get("properties"):
        return kind, (parameter_of("body", schema, root, required=is_required, place="body"),)
    try:
        fields = parameters_of(schema, root)
    except ValueError as error:
        raise ValueError(f"requestBody: {error}") from None
    if not is_required:  # what a body must have, nobody must who sends none
        fields = tuple(msgspec.structs.replace(one, required=False) for one in fields)
    return kind, fields


def _credentials(root: Mapping[str, Any], operation: Mapping[str, Any]) -> dict[str, str]:
    """Headers that a call needs to be let in, with the name of the secret in their place."""
    schemes = root.get("components", {}).get("securitySchemes", {})
    wanted = operation.get("security", root.get("security", []))
    found = {}
    for name in wanted[0] if wanted else ():  # any one of the list is enough
        scheme = schemes.get(name, {})
        if scheme.get("type") == "apiKey" and scheme.get("in") == "header":
            found[str(scheme.get("name"))] = f"{{{name}}}"
        elif scheme.get("type") == "http":
            found["Authorization"] = f"{str(scheme.get('scheme')).capitalize()} {{{name}}}"
        elif scheme.get("type") in ("oauth2", "openIdConnect"):
            found["Authorization"] = f"Bearer {{{name}}}"
    return found


def _server(root: Mapping[str, Any], operation: Mapping[str, Any]) -> str:
    servers = operation.get("servers") or root.get("servers") or [{}]
    return str(servers[0].get("url", ""))


def _list(data: Mapping[str, Any], field: str) -> list[Any]:
    found = data.get(field, [])
    if not isinstance(found, list):
        raise ValueError(f"{field}: must be a list")
    return found


def _slug(method: str, where: str) -> str:
    """A name for an operation without one: `get-orders-id` for GET /orders/{id}."""
    return sub(r"[^a-z0-9]+", "-", f"{method} {where}".lower()).strip("-")
