"""The operations of a REST interface, from its OpenAPI 3 file (JSON or YAML).

Each operation is an action. Its inputs are the parameters of the path, the query, headers and
cookies, and the fields of its body. References within the file are resolved.
"""

from collections.abc import Iterator, Mapping
from pathlib import Path
from re import sub
from typing import Any, get_args

import msgspec

from timeful.catalogs.catalog import Method
from timeful.catalogs.ontology import ActionType
from timeful.catalogs.reading import convert, read_data
from timeful.catalogs.schema import (
    Location,
    Parameter,
    as_list,
    as_object,
    merge,
    parameter_of,
    parameters_of,
    resolve,
)
from timeful.errors import SettingsError, nearest

_METHODS: tuple[Method, ...] = get_args(Method)
_LOCATIONS: tuple[Location, ...] = ("path", "query", "header", "cookie")
_BODIES = ("application/json", "application/x-www-form-urlencoded", "multipart/form-data")
"""The supported content types of a body, in order of preference."""


class OpenApiSource(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """An OpenAPI file.

    Attributes:
        file: Its path.
        include: The names of the operations to read; all if empty.
        prefix: A prefix for the name of each operation.
    """

    file: str
    include: tuple[str, ...] = ()
    prefix: str = ""


def openapi_types(source: OpenApiSource, folder: Path) -> dict[str, ActionType]:
    """Read the operations of an OpenAPI file.

    Args:
        source: The file and its operations.
        folder: The folder of relative paths.

    Raises:
        SettingsError: If the file is invalid; names the file, the operation and the field.
    """
    path = folder / source.file
    root = read_data(path)
    _check_version(root, path)
    types: dict[str, ActionType] = {}
    for route, method, item, operation in _operations(root, path):
        name = str(operation.get("operationId") or _slug(method, route))
        try:
            action = _action(root, route, method, item, operation)
        except (ValueError, msgspec.ValidationError) as error:
            raise SettingsError(f"{path}: {method} {route} ({name!r}): {error}") from None
        if name in types:
            raise SettingsError(f"{path}: {method} {route}: another operation is called {name!r}")
        types[name] = action
    for name in source.include:
        if name not in types:
            raise SettingsError(f"{path}: include: no operation {name!r}; {nearest(name, types)}")
    if not types:
        raise SettingsError(f"{path}: paths: there are no operations")
    names = source.include or tuple(types)
    return {source.prefix + name: types[name] for name in names}


def _check_version(root: Any, path: Path) -> None:
    if not isinstance(root, Mapping):
        raise SettingsError(f"{path} is not an OpenAPI file: it has no object")
    if "swagger" in root:
        raise SettingsError(
            f"{path}: swagger: version {root['swagger']} is not supported; convert it to OpenAPI 3"
        )
    if not str(root.get("openapi", "")).startswith("3."):
        raise SettingsError(f"{path}: openapi: must be a version 3.x, got {root.get('openapi')!r}")


def _operations(
    root: Mapping[str, Any], path: Path
) -> Iterator[tuple[str, Method, Mapping[str, Any], Mapping[str, Any]]]:
    """Path, method, item and operation of each operation, in the order of the file."""
    paths = convert(root.get("paths", {}), dict[str, dict[str, Any]], f"{path}: paths")
    for route, item in paths.items():
        try:
            item = {**resolve(item["$ref"], root), **item} if "$ref" in item else item
        except ValueError as error:
            raise SettingsError(f"{path}: {route}: {error}") from None
        for method in _METHODS:
            operation = item.get(method.lower())
            if operation is None:
                continue
            if not isinstance(operation, Mapping):
                raise SettingsError(f"{path}: {method} {route}: must be an object")
            yield route, method, item, operation


def _action(
    root: Mapping[str, Any],
    route: str,
    method: Method,
    item: Mapping[str, Any],
    operation: Mapping[str, Any],
) -> ActionType:
    parameters = {
        (parameter.location, parameter.name): parameter
        for data in (*as_list(item, "parameters"), *as_list(operation, "parameters"))
        if (parameter := _parameter(data, root))
    }
    kind, fields = _body(operation, root)
    names = {name for _, name in parameters}
    for field in fields:
        # A field with the name of another parameter gets a prefix.
        name = f"body.{field.name}" if field.name in names else field.name
        parameters["body", name] = msgspec.structs.replace(field, name=name, location="body")
    headers = {"Content-Type": kind} if kind else {}
    return ActionType(
        kind="api",
        method=method,
        path=route,
        server=_server(root, operation),
        headers=headers | _credentials(root, operation),
        description=str(operation.get("summary") or operation.get("description") or "").strip(),
        parameters=tuple(parameters.values()),
    )


def _parameter(data: Any, root: Mapping[str, Any]) -> Parameter:
    """A parameter outside the body."""
    if isinstance(data, Mapping) and "$ref" in data:
        data = resolve(data["$ref"], root)
    if not isinstance(data, Mapping) or not isinstance(data.get("name"), str):
        raise ValueError("parameters: each needs a name")
    name = data["name"]
    location = next((name for name in _LOCATIONS if name == data.get("in")), None)
    if location is None:
        raise ValueError(f"parameters: {name!r}: in: {nearest(str(data.get('in')), _LOCATIONS)}")
    schema = data.get("schema")
    if schema is None:  # `content` with one media type replaces `schema`
        content = as_object(data.get("content", {}), f"parameters: {name!r}: content")
        media = as_object(next(iter(content.values()), {}), f"parameters: {name!r}: content")
        schema = media.get("schema", {})
    required = location == "path" or data.get("required") is True
    parameter = parameter_of(name, schema, root, required=required, location=location)
    description = str(data.get("description") or parameter.description)
    return msgspec.structs.replace(parameter, description=description)


def _body(
    operation: Mapping[str, Any], root: Mapping[str, Any]
) -> tuple[str, tuple[Parameter, ...]]:
    """The content type of the body and its fields; both empty without a body."""
    if operation.get("requestBody") is None:
        return "", ()
    body = as_object(operation["requestBody"], "requestBody")
    if "$ref" in body:
        body = resolve(body["$ref"], root)
    content = body.get("content")
    if not isinstance(content, Mapping) or not content:
        raise ValueError("requestBody: content is missing")
    kind = next((name for name in _BODIES if name in content), next(iter(content)))
    media = as_object(content[kind], f"requestBody: {kind}")
    schema = merge(as_object(media.get("schema", {}), "requestBody: schema"), root)
    is_body_required = body.get("required") is True
    if schema.get("type", "object") != "object" or not schema.get("properties"):
        return kind, (
            parameter_of("body", schema, root, required=is_body_required, location="body"),
        )
    try:
        fields = parameters_of(schema, root)
    except ValueError as error:
        raise ValueError(f"requestBody: {error}") from None
    if not is_body_required:  # the fields of an optional body are optional
        fields = tuple(msgspec.structs.replace(field, required=False) for field in fields)
    return kind, fields


def _credentials(root: Mapping[str, Any], operation: Mapping[str, Any]) -> dict[str, str]:
    """The headers of authentication, with a placeholder for the secret."""
    components = as_object(root.get("components", {}), "components")
    schemes = as_object(components.get("securitySchemes", {}), "securitySchemes")
    requirements = as_list(operation if "security" in operation else root, "security")
    headers = {}
    # One requirement of the list is enough.
    for name in as_object(requirements[0], "security") if requirements else ():
        scheme = as_object(schemes.get(name, {}), f"securitySchemes: {name}")
        if scheme.get("type") == "apiKey" and scheme.get("in") == "header":
            headers[str(scheme.get("name"))] = f"{{{name}}}"
        elif scheme.get("type") == "http":
            headers["Authorization"] = f"{str(scheme.get('scheme')).capitalize()} {{{name}}}"
        elif scheme.get("type") in ("oauth2", "openIdConnect"):
            headers["Authorization"] = f"Bearer {{{name}}}"
    return headers


def _server(root: Mapping[str, Any], operation: Mapping[str, Any]) -> str:
    servers = as_list(operation, "servers") or as_list(root, "servers") or [{}]
    return str(as_object(servers[0], "servers").get("url", ""))


def _slug(method: str, route: str) -> str:
    """A name for an operation without one: `get-orders-id` for GET /orders/{id}."""
    return sub(r"[^a-z0-9]+", "-", f"{method} {route}".lower()).strip("-")
