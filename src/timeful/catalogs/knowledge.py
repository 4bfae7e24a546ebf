"""What a professional of a domain may look up: the catalog, the workflows and the guidelines."""

import msgspec

from timeful.catalogs.catalog import Catalog
from timeful.catalogs.ontology import Ontology


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
