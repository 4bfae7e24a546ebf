"""What actions there are and how they hang together: the first two files of a catalog (D.1).

The ontology has the hierarchy, the workflows and the relations; the type specification has what
each action does and takes. Which parameters are required is the third: `parameters.py`.
"""

from collections.abc import Iterable, Mapping
from itertools import combinations
from typing import Literal

import msgspec

from timeful.catalogs.catalog import Kind, Method
from timeful.catalogs.reading import nearest
from timeful.catalogs.schema import Parameter
from timeful.errors import SettingsError


class Workflow(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What is done for one kind of wish: actions in their order, and of what group it is."""

    actions: tuple[str, ...]
    group: str = ""
    title: str = ""


class Relation(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Something that holds between two actions."""

    first: str
    then: str
    kind: Literal["before", "instead"] = "before"


class Ontology(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The hierarchy, the workflows and the relations of the actions of a domain.

    Attributes:
        hierarchy: The actions of each group.
        workflows: What is done for each kind of wish.
        relations: What else holds between actions; orders that all workflows keep need not be
            said, see `precedence`.
    """

    hierarchy: dict[str, tuple[str, ...]] = {}
    workflows: dict[str, Workflow] = {}
    relations: tuple[Relation, ...] = ()

    def named(self) -> dict[str, str]:
        """Every action that it names, and where first."""
        found: dict[str, str] = {}
        for group, actions in self.hierarchy.items():
            for one in actions:
                found.setdefault(one, f"hierarchy.{group}")
        for name, workflow in self.workflows.items():
            for one in workflow.actions:
                found.setdefault(one, f"workflows.{name}")
        for index, relation in enumerate(self.relations):
            for one in (relation.first, relation.then):
                found.setdefault(one, f"relations[{index}]")
        return found

    def check(self, actions: Iterable[str], name: str) -> None:
        """Refuse an ontology that names an action which there is not.

        Args:
            actions: The actions that there are.
            name: What the ontology is called in errors.

        Raises:
            SettingsError: If it names another, or a workflow has no action.
        """
        known = set(actions)
        for action, place in self.named().items():
            if action not in known:
                raise SettingsError(
                    f"{name}: {place}: unknown action {action!r}; {nearest(action, known)}"
                )
        for workflow, one in self.workflows.items():
            if not one.actions:
                raise SettingsError(f"{name}: workflows.{workflow}: actions: there are none")

    def orders(self) -> dict[str, tuple[str, ...]]:
        """The actions of each workflow, in order: what the metric AD counts (C, 13-14)."""
        return {name: one.actions for name, one in self.workflows.items()}


def precedence(orders: Iterable[Iterable[str]]) -> tuple[Relation, ...]:
    """The relations that workflows imply: one action is before another in all that have both."""
    found: dict[tuple[str, str], bool] = {}
    for order in orders:
        for pair in combinations(list(dict.fromkeys(order)), 2):
            found.setdefault(pair, True)
            if pair[::-1] in found:
                found[pair] = found[pair[::-1]] = False
    return tuple(Relation(first=a, then=b) for (a, b), holds in found.items() if holds)


class ActionType(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What an action does and takes: an entry of the type specification.

    Attributes:
        description: What it does, in words.
        kind: What runs it.
        parameters: Its inputs. Those that say `required` are, unless samples or overrides know
            better.
        at_least: How many inputs a call needs, whichever they are.
        server: The MCP server, or the address of the REST interface.
        method: The method of a REST call.
        path: Its path.
        headers: Its headers.
        steps: What an agent of one's own does, in order.
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


def joined(parts: Iterable[tuple[str, Types]]) -> dict[str, ActionType]:
    """The types of several sources in one.

    Args:
        parts: What each source is called, and its types.

    Raises:
        SettingsError: If two sources have an action of the same name.
    """
    found: dict[str, ActionType] = {}
    came: dict[str, str] = {}
    for source, types in parts:
        for name, one in types.items():
            if name in found:
                raise SettingsError(
                    f"{source}: {name!r} is also an action of {came[name]}; give a source a prefix"
                )
            found[name], came[name] = one, source
    return found
