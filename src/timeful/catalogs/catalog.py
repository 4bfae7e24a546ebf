"""The catalog of actions: MCP tools, REST calls and custom agents, in one JSON (Figure 8).

    {"catalog_metadata": {"name": "shop", "version": "1.0.0", "domain": "retail"},
     "mcp_tools":       [{"name", "description", "inputSchema", "server"}],
     "api_definitions": [{"name", "description", "method", "path", "headers", "parameters"}],
     "custom_agents":   [{"name", "description", "steps", "parameters"}]}

A reader of dialogues needs the `Action` of an entry: its name, description and parameters.
"""

from collections.abc import Iterable, Mapping
from difflib import get_close_matches
from functools import cached_property
from pathlib import Path
from typing import Any, Literal

import msgspec

from timeful.catalogs.reading import convert, read_data
from timeful.catalogs.schema import Parameter, parameters_of
from timeful.dialogues.opportunity import Input, Inputs, Value
from timeful.errors import SettingsError, nearest

Kind = Literal["mcp", "api", "agent"]
Method = Literal["GET", "POST", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS"]


class Action(msgspec.Struct, frozen=True, kw_only=True):
    """An entry of a catalog.

    Attributes:
        name: Its name, unique in a catalog.
        kind: Its executor: an MCP server, a REST interface or a custom agent.
        description: Its effect, in words.
        parameters: Its inputs.
        at_least: The minimum number of inputs of a call: an account is found by a name or by a
            number. At least the number of required parameters.
    """

    name: str
    kind: Kind
    description: str
    parameters: tuple[Parameter, ...] = ()
    at_least: int = 0

    def is_complete(self, names: Iterable[str]) -> bool:
        """Whether a call is possible with these parameters."""
        available = {parameter.name for parameter in self.parameters} & set(names)
        required = {parameter.name for parameter in self.parameters if parameter.required}
        return required <= available and len(available) >= self.at_least

    def inputs(self, values: Mapping[str, Value]) -> Inputs:
        """The inputs of an opportunity, with their known values."""

        def select(required: bool) -> tuple[Input, ...]:
            return tuple(
                Input(name=name, provided=name in values, value=values.get(name))
                for name in (p.name for p in self.parameters if p.required == required)
            )

        return Inputs(required=select(True), optional=select(False))


class Metadata(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The name of a catalog."""

    name: str
    version: str = "1.0.0"
    domain: str = ""


class McpTool(msgspec.Struct, frozen=True, kw_only=True, rename={"input_schema": "inputSchema"}):
    """A tool of an MCP server; other fields of MCP are ignored."""

    name: str
    input_schema: dict[str, Any]
    description: str = ""
    server: str = ""

    def action(self) -> Action:
        """Convert the tool to an action.

        Raises:
            ValueError: If `inputSchema` is not a schema of an object.
        """
        try:
            parameters = parameters_of(self.input_schema)
            at_least = self.input_schema.get("minProperties", 0)
            if not isinstance(at_least, int):
                raise ValueError(f"'minProperties' must be a number, got {at_least!r}")
        except ValueError as error:
            raise ValueError(f"inputSchema: {error}") from None
        return _action(self.name, "mcp", self.description, parameters, at_least)


class ApiDefinition(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """An operation of a REST interface."""

    name: str
    method: Method
    path: str
    description: str = ""
    server: str = ""
    headers: dict[str, str] = {}
    parameters: tuple[Parameter, ...] = ()
    at_least: int = 0

    def action(self) -> Action:
        """Convert the call to an action.

        Raises:
            ValueError: If its path is invalid or a parameter is duplicated.
        """
        if not self.path.startswith(("/", "http://", "https://")):
            raise ValueError(f"path: must begin with '/' or be a URL, got {self.path!r}")
        return _action(self.name, "api", self.description, self.parameters, self.at_least)


class CustomAgent(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A custom agent or routine of one or more steps."""

    name: str
    description: str = ""
    steps: tuple[str, ...] = ()
    parameters: tuple[Parameter, ...] = ()
    at_least: int = 0

    def action(self) -> Action:
        """Convert the agent to an action.

        Raises:
            ValueError: If a parameter is duplicated.
        """
        return _action(self.name, "agent", self.description, self.parameters, self.at_least)


class Catalog(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, dict=True):
    """Actions with unique names."""

    catalog_metadata: Metadata
    mcp_tools: tuple[McpTool, ...] = ()
    api_definitions: tuple[ApiDefinition, ...] = ()
    custom_agents: tuple[CustomAgent, ...] = ()

    @cached_property
    def actions(self) -> dict[str, Action]:
        """The actions by name, in the order of the catalog.

        Raises:
            ValueError: If an entry is wrong; names the entry and the field. A catalog from a file
                has been checked.
        """
        actions: dict[str, Action] = {}
        for section in ("mcp_tools", "api_definitions", "custom_agents"):
            for index, entry in enumerate(getattr(self, section)):
                location = f"{section}[{index}] ({entry.name!r})"
                try:
                    action = entry.action()
                except ValueError as error:
                    raise ValueError(f"{location}: {error}") from None
                if action.name in actions:
                    raise ValueError(f"{location}: name: there is another action of this name")
                actions[action.name] = action
        return actions

    def find(self, name: str) -> Action:
        """Look up an action by name.

        Raises:
            SettingsError: If the name is unknown.
        """
        if name not in self.actions:
            raise SettingsError(f"unknown action {name!r}; {nearest(name, self.actions)}")
        return self.actions[name]

    def missing(self, names: Iterable[str]) -> str:
        """Describe the names that are not actions, with the nearest names; "" if all are."""
        descriptions = []
        for name in dict.fromkeys(names):
            if name not in self.actions:
                near = get_close_matches(name, self.actions, n=1)
                descriptions.append(f"{name!r}" + (f" (did you mean {near[0]!r}?)" if near else ""))
        if not descriptions:
            return ""
        more = f" and {len(descriptions) - 5} more" if len(descriptions) > 5 else ""
        summary = f"{len(descriptions)} action{'s'[: len(descriptions) > 1]} that the catalog lacks"
        return f"{summary}: {', '.join(descriptions[:5])}{more}"

    def text(self) -> str:
        """The catalog as JSON, for `read_catalog` and `{tool_catalog}` in a prompt."""
        return msgspec.json.format(msgspec.json.encode(self), indent=2).decode() + "\n"


def catalog_of(data: object, name: str) -> Catalog:
    """Make a catalog from parsed JSON and check it.

    Args:
        data: The object.
        name: Its name in errors, such as its file.

    Raises:
        SettingsError: If it is not a catalog; names the file, the entry and the field.
    """
    catalog = convert(data, Catalog, name)
    try:
        _ = catalog.actions
    except ValueError as error:
        raise SettingsError(f"{name}: {error}") from None
    return catalog


def read_catalog(path: Path) -> Catalog:
    """Read a catalog.

    Raises:
        SettingsError: If it is not a catalog; names the file, the entry and the field.
    """
    return catalog_of(read_data(path), str(path))


def write_catalog(catalog: Catalog, path: Path) -> None:
    """Write a catalog as JSON."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(catalog.text(), encoding="utf-8")


def _action(
    name: str, kind: Kind, description: str, parameters: tuple[Parameter, ...], at_least: int
) -> Action:
    if not name.strip():
        raise ValueError("name: is empty")
    names = set()
    for parameter in parameters:
        if parameter.name in names:
            raise ValueError(f"parameters: {parameter.name!r} is duplicated")
        names.add(parameter.name)
    if not 0 <= at_least <= len(parameters):
        raise ValueError(f"at_least: must be 0 to {len(parameters)}, got {at_least}")
    required = sum(parameter.required for parameter in parameters)
    return Action(
        name=name,
        kind=kind,
        description=description,
        parameters=parameters,
        at_least=max(at_least, required),
    )
