"""What a professional of a domain may look up: the catalog, the workflows and the guidelines."""

from pathlib import Path

import msgspec

from timeful.catalogs.catalog import Catalog, read_catalog
from timeful.catalogs.ontology import Ontology
from timeful.catalogs.reading import read_as


class Step(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What is done at one place of a workflow; no action where it is only said."""

    text: str
    action: str = ""


class Guideline(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How a workflow is gone through, in words."""

    title: str
    instructions: tuple[str, ...] = ()
    steps: tuple[Step, ...] = ()

    def text(self) -> str:
        """All of it as plain text, for a prompt or a search."""
        steps = [f"{number}. {one.text}" for number, one in enumerate(self.steps, 1)]
        return "\n".join((self.title, *self.instructions, *steps))


class Knowledge(msgspec.Struct, frozen=True, kw_only=True):
    """The actions of a domain, their workflows, and the guideline of each workflow."""

    catalog: Catalog
    ontology: Ontology
    guidelines: dict[str, Guideline]


def read_knowledge(catalog: Path, ontology: Path | None) -> Knowledge:
    """A catalog of one's own and, where there is a file of them, its workflows; no guidelines.

    Raises:
        SettingsError: If a file cannot be read or is none, or a workflow has an unknown action.
    """
    read, workflows = read_catalog(catalog), Ontology()
    if ontology is not None:
        workflows = read_as(ontology, Ontology)
        workflows.check(read.actions, str(ontology))
    return Knowledge(catalog=read, ontology=workflows, guidelines={})
