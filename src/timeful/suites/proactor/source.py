"""Which conversations a run is about."""

from dataclasses import dataclass
from pathlib import PurePath

from timeful.errors import SettingsError


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """Which conversations.

    Attributes:
        domain: A domain of our own, or the folder of one: its catalog and its workflows.
        data: A file of dialogues with references, JSONL or in ABCD's shape; None makes dialogues
            of the domain.
        abcd: The folder of ABCD's own ontology, workflows and guidelines, in place of a domain's.
        catalog: A catalog in place of a domain's, as `timeful catalog make` writes it.
        ontology: The workflows that go with it.
        split: Which split is listened to; "" for all of a file.
        size: The most dialogues, the first ones; None takes all of a file.
        seed: Of dialogues that are made.
        digest: Of the files' bytes, so that another file is another run.
    """

    domain: str = "shop"
    data: str | None = None
    abcd: str | None = None
    catalog: str | None = None
    ontology: str | None = None
    split: str = "test"
    size: int | None = 20
    seed: int = 0
    digest: str = ""

    def __post_init__(self) -> None:
        if self.size is not None and self.size < 1:
            raise SettingsError(f"a run needs at least one dialogue, got {self.size}")
        if self.data is None and self.size is None:
            raise SettingsError("of dialogues that are made, there is no end: say how many")
        if self.data is None and self.catalog is not None:
            raise SettingsError(
                f"dialogues are made of a domain, not of {self.catalog}: give --data or --domain"
            )

    @property
    def title(self) -> str:
        """What tables call it."""
        whose = f"domain {PurePath(self.domain).name}" if self.abcd is None else "ABCD"
        if self.catalog is not None:
            whose = f"catalog {PurePath(self.catalog).name}"
        made = "dialogues made by a seed" if self.data is None else PurePath(self.data).name
        return f"{whose}, {made}" + (f", split {self.split}" if self.split else "")
