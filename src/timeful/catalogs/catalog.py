"""The catalog of actions: MCP tools, REST calls and agents of one's own, in one JSON (Figure 8).

    {"catalog_metadata": {"name": "shop", "version": "1.0.0", "domain": "retail"},
     "mcp_tools":       [{"name", "description", "inputSchema", "server"}],
     "api_definitions": [{"name", "description", "method", "path", "headers", "parameters"}],
     "custom_agents":   [{"name", "description", "steps", "parameters"}]}

Who reads a dialogue needs no more of an entry than its `Action`: what it is called and does, and
what must be known before it can run.
"""

from collections.abc import Iterable, Mapping
from difflib import get_close_matches
from functools import cached_property
from pathlib import Path
from typing import Any, Literal

import msgspec

from timeful.catalogs.reading import convert, nearest, read_data
from timeful.catalogs.schema import Parameter, parameters_of
from timeful.dialogues.opportunity import Input, Inputs, Value
from timeful.errors import SettingsError

Kind = Literal["mcp", "api", "agent"]
Method = Literal["GET", "POST", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS"]


class Action(msgspec.Struct, frozen=True, kw_only=True):
    """An entry of a catalog, whatever runs it.

    Attributes:
        name: Its name, once a catalog.
        kind: What runs it.
        description: What it does, in words.
        parameters: Its inputs.
        at_least: How many inputs a call needs, whichever they are: an account is found by a name
            or by a number. Never less than how many are required.
    """

    name: str
    kind: Kind
    description: str
    parameters: tuple[Parameter, ...] = ()
    at_least: int = 0

    def is_complete(self, known: Iterable[str]) -> bool:
        """Whether a call could be made with the parameters that are known."""
        have = {one.name for one in self.parameters} & set(known)
        needed = {one.name for one in self.parameters if one.required}
        return needed <= have and len(have) >= self.at_least

    def inputs(self, known: Mapping[str, Value]) -> Inputs:
        """The inputs of an opportunity, with what is known of them."""

        def those(required: bool) -> tuple[Input, ...]:
            return tuple(
                Input(name=one.name, provided=one.name in known, value=known.get(one.name))
                for one in self.parameters
                if one.required == required
            )

        return Inputs(required=those(True), optional=those(False))


class Metadata(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What a catalog is called."""

    name: str
    version: str = "1.0.0"
    domain: str = ""


class McpTool(msgspec.Struct, frozen=True, kw_only=True, rename={"input_schema": "inputSchema"}):
    """A tool as an MCP server lists it, and the server; other fields of MCP are left aside."""

    name: str
    input_schema: dict[str, Any]
    description: str = ""
    server: str = ""

    def action(self) -> Action:
        """The action that it is.

        Raises:
            ValueError: If `inputSchema` is no schema of an object.
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
    """A call of a REST interface."""

    name: str
    method: Method
    path: str
    description: str = ""
    server: str = ""
    headers: dict[str, str] = {}
    parameters: tuple[Parameter, ...] = ()
    at_least: int = 0

    def action(self) -> Action:
        """The action that it is.

        Raises:
            ValueError: If its path cannot be one, or a parameter stands twice.
        """
        if not self.path.startswith(("/", "http://", "https://")):
            raise ValueError(f"path: must begin with '/' or be a URL, got {self.path!r}")
        return _action(self.name, "api", self.description, self.parameters, self.at_least)


class CustomAgent(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """An agent or routine of one's own, of one or more steps."""

    name: str
    description: str = ""
    steps: tuple[str, ...] = ()
    parameters: tuple[Parameter, ...] = ()
    at_least: int = 0

    def action(self) -> Action:
        """The action that it is.

        Raises:
            ValueError: If a parameter stands twice.
        """
        return _action(self.name, "agent", self.description, self.parameters, self.at_least)


class Catalog(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, dict=True):
    """Every action that there is, each named once."""

    catalog_metadata: Metadata
    mcp_tools: tuple[McpTool, ...] = ()
    api_definitions: tuple[ApiDefinition, ...] = ()
    custom_agents: tuple[CustomAgent, ...] = ()

    @cached_property
    def actions(self) -> dict[str, Action]:
        """The actions by name, in the order of the catalog.

        Raises:
            ValueError: If an entry is wrong; the message names the entry and the field. Catalogs
                that were read have been checked.
        """
        found: dict[str, Action] = {}
        for section in ("mcp_tools", "api_definitions", "custom_agents"):
            for index, entry in enumerate(getattr(self, section)):
                place = f"{section}[{index}] ({entry.name!r})"
                try:
                    action = entry.action()
                except ValueError as error:
                    raise ValueError(f"{place}: {error}") from None
                if action.name in found:
                    raise ValueError(f"{place}: name: there is another action of this name")
                found[action.name] = action
        return found

    def find(self, name: str) -> Action:
        """The action of a name.

        Raises:
            SettingsError: If there is none.
        """
        if name not in self.actions:
            raise SettingsError(f"unknown action {name!r}; {nearest(name, self.actions)}")
        return self.actions[name]

    def missing(self, names: Iterable[str]) -> str:
        """Those of some names that are no action, in words, with the nearest; "" if all are."""
        said = []
        for name in dict.fromkeys(names):
            if name not in self.actions:
                near = get_close_matches(name, self.actions, n=1)
                said.append(f"{name!r}" + (f" (did you mean {near[0]!r}?)" if near else ""))
        if not said:
            return ""
        more = f" and {len(said) - 5} more" if len(said) > 5 else ""
        what = f"{len(said)} action{'s'[: len(said) > 1]} that the catalog has not"
        return f"{what}: {', '.join(said[:5])}{more}"

    def text(self) -> str:
        """The catalog as JSON; what `read_catalog` reads, and `{tool_catalog}` in a prompt."""
        return msgspec.json.format(msgspec.json.encode(self), indent=2).decode() + "\n"


def catalog_of(data: object, name: str) -> Catalog:
    """A catalog from what JSON was parsed to, checked.

    Args:
        data: The object.
        name: What it is called in errors, such as its file.

    Raises:
        SettingsError: If it is none; the message names the file, the entry and the field.
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
        SettingsError: If it is none; the message names the file, the entry and the field.
    """
    return catalog_of(read_data(path), str(path))


def write_catalog(catalog: Catalog, path: Path) -> None:
    """Write a catalog as JSON; reading it gives it back."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(catalog.text(), encoding="utf-8")


def _action(
    name: str, kind: Kind, description: str, parameters: tuple[Parameter, ...], at_least: int
) -> Action:
    if not name.strip():
        raise ValueError("name: is empty")
    seen = set()
    for one in parameters:
        if one.name in seen:
            raise ValueError(f"parameters: {one.name!r} stands twice")
        seen.add(one.name)
    if not 0 <= at_least <= len(parameters):
        raise ValueError(f"at_least: must be 0 to {len(parameters)}, got {at_least}")
    required = sum(one.required for one in parameters)
    return Action(
        name=name,
        kind=kind,
        description=description,
        parameters=parameters,
        at_least=max(at_least, required),
    )
