"""Catalogs: what is read is what was written, and what is wrong is named."""

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from timeful.catalogs.catalog import Action, catalog_of, read_catalog, write_catalog
from timeful.catalogs.schema import Parameter, parameters_of, schema_of
from timeful.domains.library import load_domain
from timeful.errors import SettingsError

FIND = {
    "name": "find",
    "description": "Find.",
    "inputSchema": {
        "type": "object",
        "properties": {"name": {"type": "string"}, "number": {"type": "string"}},
        "required": [],
        "minProperties": 1,
    },
}
TRACK = {
    "name": "track",
    "method": "GET",
    "path": "/parcels/{id}",
    "headers": {"Accept": "application/json"},
    "parameters": [{"name": "id", "in": "path", "required": True}],
}
WRITE = {"name": "write", "description": "Write.", "steps": ["think", "write"]}


def a_catalog(**fields: Any) -> dict[str, Any]:
    return {
        "catalog_metadata": {"name": "desk", "version": "1.0.0", "domain": "retail"},
        "mcp_tools": [FIND],
        "api_definitions": [TRACK],
        "custom_agents": [WRITE],
        **fields,
    }


def test_a_catalog_has_the_actions_of_all_three_kinds() -> None:
    found = catalog_of(a_catalog(), "desk.json").actions
    assert {name: one.kind for name, one in found.items()} == {
        "find": "mcp",
        "track": "api",
        "write": "agent",
    }
    assert found["track"].parameters == (Parameter(name="id", required=True, location="path"),)
    assert (found["find"].at_least, found["track"].at_least, found["write"].at_least) == (1, 1, 0)


def test_what_is_written_is_read_back(tmp_path: Path) -> None:
    catalog = catalog_of(a_catalog(), "desk.json")
    write_catalog(catalog, tmp_path / "new" / "desk.json")
    assert read_catalog(tmp_path / "new" / "desk.json") == catalog


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({"mcp_tool": []}, "unknown field `mcp_tool`"),
        ({"catalog_metadata": {}}, "catalog_metadata: .*`name`"),
        (
            {"custom_agents": [{"name": "find"}]},
            r"custom_agents\[0\] \('find'\): name: there is an",
        ),
        (
            {"api_definitions": [TRACK | {"method": "FETCH"}]},
            r"api_definitions\[0\]\.method \('track'\): Invalid",
        ),
        (
            {"api_definitions": [TRACK | {"path": "parcels"}]},
            r"api_definitions\[0\] \('track'\): path: must begin with '/'",
        ),
        (
            {"custom_agents": [WRITE, {"name": "sew", "parameters": [{"name": " "}]}]},
            r"custom_agents\[1\]\.parameters\[0\] \(' '\): a parameter needs a name",
        ),
        (
            {
                "mcp_tools": [
                    FIND | {"inputSchema": {"properties": {"city": {}}, "required": ["cty"]}}
                ]
            },
            r"mcp_tools\[0\] \('find'\): inputSchema: 'required' names 'cty'.*'city'\?",
        ),
        (
            {"mcp_tools": [FIND | {"inputSchema": {"type": "array"}}]},
            r"mcp_tools\[0\] \('find'\): inputSchema: .*'object', got 'array'",
        ),
        ({"custom_agents": [WRITE | {"at_least": 2}]}, r"\('write'\): at_least: must be 0 to 0"),
    ],
)
def test_an_error_names_the_file_the_entry_and_the_field(
    tmp_path: Path, fields: dict[str, Any], said: str
) -> None:
    path = tmp_path / "desk.json"
    path.write_text(json.dumps(a_catalog(**fields)))
    with pytest.raises(SettingsError, match=f"desk.json: .*{said}"):
        read_catalog(path)


def test_names_that_are_no_action_are_said_once_with_the_nearest() -> None:
    catalog = load_domain("shop").knowledge.catalog
    assert catalog.missing(["find-account", "open-order"]) == ""
    names = ["find_account", "find-account", "find_account", "zzz"]
    assert catalog.missing(names) == (
        "2 actions that the catalog lacks: 'find_account' (did you mean 'find-account'?), 'zzz'"
    )
    assert catalog.missing(map(str, range(9))).endswith("'4' and 4 more")


def test_an_unknown_action_has_a_near_name() -> None:
    with pytest.raises(SettingsError, match=r"unknown action 'trak'.*Did you mean 'track'"):
        catalog_of(a_catalog(), "desk.json").find("trak")


NAMES = st.text("abcdefgh_", min_size=1, max_size=6)
PARAMETERS = st.lists(
    st.builds(
        Parameter,
        name=NAMES,
        type=st.sampled_from(["string", "integer", "number", "boolean", "array", "object"]),
        description=st.text(max_size=5),
        required=st.booleans(),
        enum=st.lists(st.text(max_size=3), max_size=3, unique=True).map(tuple),
    ),
    max_size=5,
    unique_by=lambda one: one.name,
)


@given(PARAMETERS)
def test_a_schema_gives_its_parameters_back(parameters: list[Parameter]) -> None:
    assert parameters_of(schema_of(parameters)) == tuple(parameters)


@pytest.mark.parametrize(
    ("schema", "wanted"),
    [
        ({"anyOf": [{"type": "integer"}, {"type": "null"}]}, Parameter(name="x", type="integer")),
        ({"type": ["null", "number"]}, Parameter(name="x", type="number")),
        ({"$ref": "#/$defs/Kind"}, Parameter(name="x", enum=("a", "b"), description="A kind.")),
        ({"allOf": [{"$ref": "#/$defs/Kind"}], "description": "Mine."},
         Parameter(name="x", enum=("a", "b"), description="Mine.")),
        ({"const": 3, "type": "integer"}, Parameter(name="x", type="integer", enum=(3,))),
        ({"properties": {"y": {}}}, Parameter(name="x", type="object")),
        ({"items": {}}, Parameter(name="x", type="array")),
        (True, Parameter(name="x")),
    ],
)  # fmt: skip
def test_json_schema_has_many_ways_to_say_a_field(schema: Any, wanted: Parameter) -> None:
    kind = {"enum": ["a", "b"], "description": "A kind."}
    assert parameters_of({"properties": {"x": schema}, "$defs": {"Kind": kind}}) == (wanted,)


@pytest.mark.parametrize(
    ("schema", "said"),
    [
        ({"$ref": "#/$defs/Loop"}, "cyclic"),
        ({"$ref": "#/$defs/Nothing"}, "points at nothing"),
        ({"$ref": "other.json#/Kind"}, "other.json"),
        ({"type": "text"}, "'x' has the type 'text'"),
        ({"enum": "a"}, "'x': 'enum' must be a list"),
        (7, "the schema of 'x' must be an object"),
    ],
)
def test_a_schema_that_says_nothing_is_refused(schema: Any, said: str) -> None:
    with pytest.raises(ValueError, match=said):
        parameters_of({"properties": {"x": schema}, "$defs": {"Loop": {"$ref": "#/$defs/Loop"}}})


@given(PARAMETERS, st.sets(NAMES), st.integers(0, 5))
def test_an_action_is_complete_with_all_that_it_requires_and_enough(
    parameters: list[Parameter], known: set[str], at_least: int
) -> None:
    action = Action(
        name="a", kind="mcp", description="", parameters=tuple(parameters), at_least=at_least
    )
    have = [one.name for one in parameters if one.name in known]
    lacks = any(one.required and one.name not in known for one in parameters)
    assert action.is_complete(known) == (not lacks and len(have) >= at_least)
    inputs = action.inputs(dict.fromkeys(known, "v"))
    assert [one.name for one in inputs.all() if one.provided] == [
        one.name
        for one in sorted(parameters, key=lambda one: not one.required)
        if one.name in known
    ]
