"""The knowledge of a domain: its catalog, workflows and guidelines."""

from pathlib import Path

import msgspec

from timeful.catalogs.catalog import Catalog, read_catalog
from timeful.catalogs.ontology import Ontology
from timeful.catalogs.reading import read_as


class Step(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A step of a workflow; action "" for a step without one."""

    text: str
    action: str = ""


class Guideline(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The description of a workflow."""

    title: str
    instructions: tuple[str, ...] = ()
    steps: tuple[Step, ...] = ()

    def text(self) -> str:
        """The guideline as plain text, for a prompt or a search."""
        steps = [f"{number}. {step.text}" for number, step in enumerate(self.steps, 1)]
        return "\n".join((self.title, *self.instructions, *steps))


class Knowledge(msgspec.Struct, frozen=True, kw_only=True):
    """The actions of a domain, their workflows, and the guideline of each workflow."""

    catalog: Catalog
    ontology: Ontology
    guidelines: dict[str, Guideline]


def read_knowledge(catalog: Path, ontology: Path | None) -> Knowledge:
    """Read a catalog and optionally its workflows, without guidelines.

    Raises:
        SettingsError: If a file cannot be read or a workflow has an unknown action.
    """
    actions_catalog, workflows = read_catalog(catalog), Ontology()
    if ontology is not None:
        workflows = read_as(ontology, Ontology)
        workflows.check(actions_catalog.actions, str(ontology))
    return Knowledge(catalog=actions_catalog, ontology=workflows, guidelines={})
