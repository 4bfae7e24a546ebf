"""Catalogs from OpenAPI files: what an operation takes, and what is wrong with a file."""

import json
from pathlib import Path
from typing import Any

import pytest

from timeful.catalogs.openapi import OpenApiSource, openapi_types
from timeful.catalogs.schema import Parameter
from timeful.errors import SettingsError

SHOP = """
openapi: 3.1.0
info: {title: Orders, version: "1"}
servers: [{url: "https://orders.example/v1"}]
security: [{key: []}]
components:
  securitySchemes:
    key: {type: apiKey, in: header, name: X-Key}
    token: {type: http, scheme: bearer}
  parameters:
    Order: {name: id, in: path, required: true, schema: {type: string}, description: The number.}
  schemas:
    Reason: {type: string, enum: [late, broken], description: Why.}
    Return:
      allOf:
        - type: object
          required: [reason]
          properties: {reason: {$ref: "#/components/schemas/Reason"}}
        - properties: {id: {type: integer}, photos: {type: array, items: {type: string}}}
  requestBodies:
    Return:
      required: true
      content: {application/json: {schema: {$ref: "#/components/schemas/Return"}}}
paths:
  /orders/{id}:
    parameters: [{$ref: "#/components/parameters/Order"}]
    get:
      operationId: getOrder
      summary: Open an order.
      parameters:
        - {name: full, in: query, schema: {type: boolean}}
        - {name: X-Trace, in: header, required: true, schema: {type: string}}
    post:
      operationId: returnOrder
      description: Send an order back.
      security: [{token: []}]
      requestBody: {$ref: "#/components/requestBodies/Return"}
  /notes:
    post:
      requestBody: {content: {text/plain: {schema: {type: string}}}}
"""


def read(folder: Path, text: str, **fields: Any) -> Any:
    (folder / "api.yaml").write_text(text)
    return openapi_types(OpenApiSource(file="api.yaml", **fields), folder)


@pytest.fixture(autouse=True)
def _yaml() -> None:
    pytest.importorskip("yaml")


def test_an_operation_takes_what_its_path_query_headers_and_body_say(tmp_path: Path) -> None:
    found = read(tmp_path, SHOP)
    assert list(found) == ["getOrder", "returnOrder", "post-notes"]
    order = Parameter(name="id", description="The number.", required=True, location="path")
    get, back, note = found.values()
    assert (get.method, get.path, get.server) == (
        "GET",
        "/orders/{id}",
        "https://orders.example/v1",
    )
    assert get.description == "Open an order."
    assert get.headers == {"X-Key": "{key}"}
    assert get.parameters == (
        order,
        Parameter(name="full", type="boolean", location="query"),
        Parameter(name="X-Trace", required=True, location="header"),
    )
    assert back.headers == {"Content-Type": "application/json", "Authorization": "Bearer {token}"}
    assert back.parameters == (
        order,
        Parameter(
            name="reason",
            required=True,
            enum=("late", "broken"),
            description="Why.",
            location="body",
        ),
        Parameter(name="body.id", type="integer", location="body"),  # the path has an id, too
        Parameter(name="photos", type="array", location="body"),
    )
    assert note.parameters == (Parameter(name="body", location="body"),)


def test_json_is_read_as_yaml_is(tmp_path: Path) -> None:
    import yaml

    path = tmp_path / "api.json"
    path.write_text(json.dumps(yaml.safe_load(SHOP)))
    assert openapi_types(OpenApiSource(file="api.json"), tmp_path) == read(tmp_path, SHOP)


def test_only_what_is_wanted_is_taken_in_the_wanted_order(tmp_path: Path) -> None:
    found = read(tmp_path, SHOP, include=("returnOrder", "getOrder"), prefix="o-")
    assert list(found) == ["o-returnOrder", "o-getOrder"]


def test_nobody_must_send_what_is_in_a_body_that_nobody_must_send(tmp_path: Path) -> None:
    found = read(tmp_path, SHOP.replace("      required: true\n", ""))
    assert not any(
        one.required for one in found["returnOrder"].parameters if one.location == "body"
    )


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("openapi: 3.1.0", "swagger: '2.0'", "swagger: version 2.0"),
        ("openapi: 3.1.0", "openapi: 4.0.0", "openapi: must be a version 3.x, got '4.0.0'"),
        ("openapi: 3.1.0", "openapi: [", "is not valid YAML"),
        (SHOP, "- 1", "has no object"),
        (SHOP, "openapi: 3.0.0", "paths: there are no operations"),
        ("schemas/Reason", "schemas/Raison", r"POST /orders/{id} \('returnOrder'\): .*Raison"),
        ("in: query", "in: qeury", r"GET /orders/{id} \('getOrder'\): .*Did you mean 'query'"),
        ("{type: boolean}", "{type: bool}", r"\('getOrder'\): 'full' has the type 'bool'"),
        ("operationId: returnOrder", "operationId: getOrder", "another operation is called"),
        (
            "content: {text/plain: {schema: {type: string}}}",
            "description: x",
            "requestBody: content",
        ),
    ],
)
def test_an_error_names_the_file_and_the_operation(
    tmp_path: Path, old: str, new: str, said: str
) -> None:
    assert old in SHOP
    with pytest.raises(SettingsError, match=f"api.yaml.*{said}"):
        read(tmp_path, SHOP.replace(old, new))


def test_an_operation_that_is_not_there_has_a_near_name(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match=r"include: no operation 'getOder'.*'getOrder'\?"):
        read(tmp_path, SHOP, include=("getOder",))


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match=r"cannot read .*none\.yaml"):
        openapi_types(OpenApiSource(file="none.yaml"), tmp_path)
