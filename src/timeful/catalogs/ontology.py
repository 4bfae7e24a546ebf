"""The ontology and the type specification of a catalog (D.1).

The ontology has the hierarchy, the workflows and the relations of actions; the type specification
has their descriptions and parameters. `parameters.py` estimates which parameters are required.
"""

from collections.abc import Iterable, Mapping
from itertools import combinations
from typing import Literal

import msgspec

from timeful.catalogs.catalog import Kind, Method
from timeful.catalogs.schema import Parameter
from timeful.errors import SettingsError, unknown


class Workflow(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The actions for one kind of request in their order, and its group."""

    actions: tuple[str, ...]
    group: str = ""
    title: str = ""


class Relation(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A relation between two actions."""

    first: str
    then: str
    kind: Literal["before", "instead"] = "before"


class Ontology(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The hierarchy, the workflows and the relations of the actions of a domain.

    Attributes:
        hierarchy: The actions of each group.
        workflows: The actions for each kind of request.
        relations: Further relations; `precedence` derives the order within workflows.
    """

    hierarchy: dict[str, tuple[str, ...]] = {}
    workflows: dict[str, Workflow] = {}
    relations: tuple[Relation, ...] = ()

    def locations(self) -> dict[str, str]:
        """Every action in the ontology, with the first entry that names it."""
        locations: dict[str, str] = {}
        for group, actions in self.hierarchy.items():
            for action in actions:
                locations.setdefault(action, f"hierarchy.{group}")
        for name, workflow in self.workflows.items():
            for action in workflow.actions:
                locations.setdefault(action, f"workflows.{name}")
        for index, relation in enumerate(self.relations):
            for action in (relation.first, relation.then):
                locations.setdefault(action, f"relations[{index}]")
        return locations

    def check(self, actions: Iterable[str], name: str) -> None:
        """Refuse an ontology with an unknown action.

        Args:
            actions: The known actions.
            name: The name of the ontology in errors.

        Raises:
            SettingsError: If an action is unknown or a workflow has no action.
        """
        action_names = set(actions)
        for action, location in self.locations().items():
            if action not in action_names:
                raise SettingsError(
                    f"{name}: {location}: {unknown('action', action, action_names)}"
                )
        for workflow_name, workflow in self.workflows.items():
            if not workflow.actions:
                raise SettingsError(
                    f"{name}: workflows.{workflow_name}: actions: at least one is required"
                )

    def orders(self) -> dict[str, tuple[str, ...]]:
        """The actions of each workflow in order, for the metric AD (C, 13-14)."""
        return {name: workflow.actions for name, workflow in self.workflows.items()}


def precedence(orders: Iterable[Iterable[str]]) -> tuple[Relation, ...]:
    """The relations of workflows: an action is before another in all that have both."""
    precedes: dict[tuple[str, str], bool] = {}
    for order in orders:
        for pair in combinations(list(dict.fromkeys(order)), 2):
            precedes.setdefault(pair, True)
            if pair[::-1] in precedes:
                precedes[pair] = precedes[pair[::-1]] = False
    return tuple(Relation(first=a, then=b) for (a, b), holds in precedes.items() if holds)


class ActionType(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """An entry of the type specification.

    Attributes:
        description: The effect of the action, in words.
        kind: Its executor.
        parameters: Its inputs; samples and overrides take precedence over their `required`.
        at_least: The minimum number of inputs of a call.
        server: The MCP server, or the address of the REST interface.
        method: The method of a REST call.
        path: Its path.
        headers: Its headers.
        steps: The steps of a custom agent.
    """

    description: str = ""
    kind: Kind = "mcp"
    parameters: tuple[Parameter, ...] = ()
    at_least: int = 0
    server: str = ""
    method: Method | None = None
    path: str = ""
    headers: dict[str, str] = {}
    steps: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if self.kind == "api" and (self.method is None or not self.path):
            raise ValueError("an action of kind 'api' needs a method and a path")


Types = Mapping[str, ActionType]
"""The type specification: actions by name."""


def join_types(sources: Iterable[tuple[str, Types]]) -> dict[str, ActionType]:
    """Join the types of several sources.

    Args:
        sources: The name and the types of each source.

    Raises:
        SettingsError: If two sources have an action of the same name.
    """
    types_by_name: dict[str, ActionType] = {}
    origins: dict[str, str] = {}
    for source, types in sources:
        for name, action_type in types.items():
            if name in types_by_name:
                raise SettingsError(
                    f"{source}: {name!r} is also an action of {origins[name]}; "
                    "give a source a prefix"
                )
            types_by_name[name], origins[name] = action_type, source
    return types_by_name
