"""What a run listens to, and what its agents may look up; each process reads it once."""

from collections.abc import Iterable, Iterator
from functools import lru_cache
from hashlib import sha256
from itertools import islice
from pathlib import Path

import msgspec

from timeful.catalogs.abcd import AbcdSource, abcd_knowledge
from timeful.catalogs.knowledge import Knowledge, read_knowledge
from timeful.dialogues.abcd import read_abcd
from timeful.dialogues.abcd_shape import is_abcd_shape
from timeful.dialogues.dialogue import Dialogue
from timeful.dialogues.files import read_bytes
from timeful.dialogues.jsonl import read_jsonl
from timeful.dialogues.slots import read_ontology
from timeful.domains.generator import SPLITS, generate
from timeful.domains.library import load_domain
from timeful.errors import SettingsError, unknown
from timeful.metrics.proactor.questions import reference_questions
from timeful.suites.proactor.source import Source


class Material(msgspec.Struct, frozen=True, kw_only=True):
    """The conversations, and what is known of the domain.

    Attributes:
        knowledge: The catalog, the workflows and the guidelines.
        observes: Whether it is recorded in any of them when an action is taken.
        dialogues: The conversations, all with a reference.
    """

    knowledge: Knowledge
    observes: bool
    dialogues: tuple[Dialogue, ...]


@lru_cache(maxsize=2)
def material(source: Source) -> Material:
    """Read, or make, what a run is about.

    Raises:
        SettingsError: If there is no such domain, file or split, no dialogue has a reference, or
            one is of an action that the catalog has not.
    """
    found = tuple(map(_with_questions, islice(_wanted(source), source.size)))
    # In one that was annotated, nothing may ever have become ready; in all of them, hardly.
    if not any(one.references or one.ready_ranges for one in found):
        raise SettingsError(
            f"dialogue {found[0].id} has no reference to compare with, nor has any other; make "
            "them with `timeful annotate`"
        )
    knowledge = _knowledge(source)
    _check_names(knowledge, found)
    observes = any(one.observed for one in found)
    return Material(knowledge=knowledge, observes=observes, dialogues=found)


def _check_names(knowledge: Knowledge, dialogues: Iterable[Dialogue]) -> None:
    """Refuse references of other actions than there are: whatever agents say would be wrong."""
    names = (
        name
        for one in dialogues
        for name in (*one.ready_ranges, *(each.name for q in one.references.values() for each in q))
    )
    if said := knowledge.catalog.missing(names):
        raise SettingsError(f"the references name {said}; give the catalog that they were made by")


def _knowledge(source: Source) -> Knowledge:
    """What agents may look up."""
    if source.abcd is not None:
        return abcd_knowledge(AbcdSource(folder=source.abcd), Path())
    if source.catalog is None:
        return load_domain(source.domain).knowledge
    ontology = None if source.ontology is None else Path(source.ontology)
    return read_knowledge(Path(source.catalog), ontology)


def digest(path: Path) -> str:
    """A name for what a file holds."""
    return sha256(read_bytes(path)).hexdigest()[:16]


def _wanted(source: Source) -> Iterator[Dialogue]:
    """The dialogues of the split, and the reason where there are none."""
    seen, any_found = set[str](), False
    for one in _read(source):
        seen.add(one.split)
        if not source.split or one.split == source.split:
            any_found = True
            yield one
    if not any_found:
        named = {split for split in seen if split}
        if not named:
            raise SettingsError("no dialogue has a split; give --split all")
        raise SettingsError(unknown("split", source.split, {*named, "all"}))


def has_split(source: Source) -> bool:
    """Whether any dialogue is of the source's split."""
    return any(one.split == source.split for one in _read(source))


def _read(source: Source) -> Iterator[Dialogue]:
    if source.data is None:
        domain = load_domain(source.domain)
        # Of ten in a row one is of a small split, so that there are enough of any.
        count = (source.size or 1) * (len(SPLITS) if source.split else 1)
        return generate(domain, n=count, seed=source.seed, times=True)
    path = Path(source.data)
    if not is_abcd_shape(path):
        return read_jsonl(path)
    slots = None if source.abcd is None else read_ontology(Path(source.abcd) / "ontology.json")
    return read_abcd(path, ontology=slots, needs_ranges=True)


def _with_questions(one: Dialogue) -> Dialogue:
    """Its agent's own questions are the reference where nobody noted any."""
    return msgspec.structs.replace(one, questions=reference_questions(one))
