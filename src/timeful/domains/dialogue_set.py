"""Dialogue sets: dialogues with references, and the knowledge of their domain."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from hashlib import sha256
from itertools import islice
from pathlib import Path, PurePath
from threading import Lock

import msgspec

from timeful.catalogs.abcd import AbcdSource, abcd_knowledge
from timeful.catalogs.knowledge import Knowledge, read_knowledge
from timeful.dialogues.abcd import read_abcd
from timeful.dialogues.abcd_shape import is_abcd_shape
from timeful.dialogues.dialogue import Dialogue
from timeful.dialogues.jsonl import read_jsonl
from timeful.dialogues.slots import read_ontology
from timeful.domains.generator import SPLITS, generate
from timeful.domains.library import load_domain
from timeful.environments.dialogue.timing import ByTurn, Paced
from timeful.environments.dialogue.world import Conversation
from timeful.errors import SettingsError, unknown
from timeful.files import read_bytes
from timeful.metrics.proactor.questions import reference_questions


@dataclass(frozen=True, slots=True, kw_only=True)
class DialogueSource:
    """The source of a dialogue set.

    Attributes:
        domain: A built-in domain or the folder of a domain: its catalog and its workflows.
        data: A file of dialogues with references, JSONL or in ABCD's shape; None generates
            dialogues of the domain.
        abcd: The folder of ABCD's own ontology, workflows and guidelines, in place of a domain's.
        catalog: A catalog in place of a domain's, as `timeful catalog make` writes it.
        ontology: The workflows that belong to the catalog.
        split: The split to use; "" takes all of a file.
        size: The most dialogues, the first ones; None takes all of a file.
        seed: Of generated dialogues.
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
            raise SettingsError("generated dialogues need a number: give a size")
        if self.data is None and self.catalog is not None:
            raise SettingsError(
                f"generated dialogues need a domain, not the catalog {self.catalog}: give --data "
                "or --domain"
            )

    @property
    def title(self) -> str:
        """The name in tables."""
        knowledge = f"domain {PurePath(self.domain).name}" if self.abcd is None else "ABCD"
        if self.catalog is not None:
            knowledge = f"catalog {PurePath(self.catalog).name}"
        data = "dialogues made by a seed" if self.data is None else PurePath(self.data).name
        return f"{knowledge}, {data}" + (f", split {self.split}" if self.split else "")


class DialogueSet(msgspec.Struct, frozen=True, kw_only=True):
    """Dialogues with references, and the knowledge of their domain.

    Attributes:
        knowledge: The catalog, the workflows and the guidelines.
        observes: Whether a dialogue records when an action is taken.
        dialogues: The dialogues, all with a reference.
    """

    knowledge: Knowledge
    observes: bool
    dialogues: tuple[Dialogue, ...]


_LOCK = Lock()


def load_dialogue_set(source: DialogueSource) -> DialogueSet:
    """Read or generate a dialogue set; once for all threads of a process.

    Raises:
        SettingsError: If there is no such domain, file or split, no dialogue has a reference, or
            a reference names an action that the catalog lacks.
    """
    with _LOCK:
        return _load(source)


@lru_cache(maxsize=2)  # a process plays many episodes of one dialogue set
def _load(source: DialogueSource) -> DialogueSet:
    dialogues = tuple(map(_with_questions, islice(_select(source), source.size)))
    # An annotated dialogue may have no ready action; a whole set without one is not annotated.
    if not any(dialogue.references or dialogue.ready_ranges for dialogue in dialogues):
        raise SettingsError(
            f"dialogue {dialogues[0].id} and all others lack references; make them with "
            "`timeful annotate`"
        )
    knowledge = _knowledge(source)
    _check_names(knowledge, dialogues)
    observes = any(dialogue.observed for dialogue in dialogues)
    return DialogueSet(knowledge=knowledge, observes=observes, dialogues=dialogues)


def make_conversation(*, seed: int = 0, domain: str = "shop", waits: bool = False) -> Conversation:
    """Make the world of one generated dialogue: `timeful.play(agent, "dialogue")`.

    Args:
        seed: The seed of the dialogue and of its pace.
        domain: A built-in domain or the folder of one.
        waits: Whether each turn waits for a prediction; otherwise it comes when it is spoken.

    Raises:
        SettingsError: If there is no such domain.
    """
    source = DialogueSource(domain=domain, split="", size=1, seed=seed)
    dialogue_set = load_dialogue_set(source)
    return Conversation(
        dialogue_set.dialogues[0],
        ByTurn() if waits else Paced(),
        seed=seed,
        actions=tuple(dialogue_set.knowledge.catalog.actions),
        workflows=dialogue_set.knowledge.ontology.orders().values(),
    )


def has_split(source: DialogueSource) -> bool:
    """Whether any dialogue is of the source's split."""
    return any(dialogue.split == source.split for dialogue in _read(source))


def digest(path: Path) -> str:
    """The first digits of the SHA-256 of a file's bytes."""
    return sha256(read_bytes(path)).hexdigest()[:16]


def _check_names(knowledge: Knowledge, dialogues: Iterable[Dialogue]) -> None:
    """Refuse references to unknown actions: every prediction would be wrong."""
    names = (
        name
        for dialogue in dialogues
        for name in (
            *dialogue.ready_ranges,
            *(action.name for actions in dialogue.references.values() for action in actions),
        )
    )
    if missing := knowledge.catalog.missing(names):
        raise SettingsError(
            f"the references name {missing}; give the catalog that they were made with"
        )


def _knowledge(source: DialogueSource) -> Knowledge:
    if source.abcd is not None:
        return abcd_knowledge(AbcdSource(folder=source.abcd), Path())
    if source.catalog is None:
        return load_domain(source.domain).knowledge
    ontology = None if source.ontology is None else Path(source.ontology)
    return read_knowledge(Path(source.catalog), ontology)


def _select(source: DialogueSource) -> Iterator[Dialogue]:
    """Yield the dialogues of the split, or raise if there are none."""
    splits, is_empty = set[str](), True
    for dialogue in _read(source):
        splits.add(dialogue.split)
        if not source.split or dialogue.split == source.split:
            is_empty = False
            yield dialogue
    if is_empty:
        if not any(splits):
            raise SettingsError("no dialogue has a split; give --split all")
        raise SettingsError(unknown("split", source.split, {*filter(None, splits), "all"}))


def _read(source: DialogueSource) -> Iterator[Dialogue]:
    if source.data is None:
        domain = load_domain(source.domain)
        # One of ten in a row is of a small split, so this is enough for any split.
        count = (source.size or 1) * (len(SPLITS) if source.split else 1)
        return generate(domain, n=count, seed=source.seed, times=True)
    path = Path(source.data)
    if not is_abcd_shape(path):
        return read_jsonl(path)
    slots = None if source.abcd is None else read_ontology(Path(source.abcd) / "ontology.json")
    return read_abcd(path, ontology=slots, needs_ranges=True)


def _with_questions(dialogue: Dialogue) -> Dialogue:
    """Take the agent's own questions as the reference where the data notes none."""
    return msgspec.structs.replace(dialogue, questions=reference_questions(dialogue))
