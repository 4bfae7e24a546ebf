"""A domain of conversations, all of it configuration: what can be done, and how people talk.

A folder with five YAML (or JSON) files. A new domain is a new folder, and no new code:

| file | what |
| --- | --- |
| `domain` | its name, whether actions are observed, habits, the pace |
| `ontology` | groups, workflows and relations of actions: `ontology.py` |
| `types` | what each action does and takes, and what it requires: `ontology.py` |
| `guidelines` | how each workflow is gone through, in words: `knowledge.py` |
| `speech` | words for slots, actions, workflows and all else, as paraphrases |
"""

from collections.abc import Iterable, Iterator
from re import findall

import msgspec

from timeful.catalogs.catalog import Metadata
from timeful.catalogs.knowledge import Knowledge
from timeful.catalogs.ontology import ActionType
from timeful.catalogs.reading import nearest
from timeful.domains.nlg import Habits, Pace, Speech, Words
from timeful.errors import SettingsError


class DomainFile(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The file `domain`.

    Attributes:
        catalog_metadata: What its catalog is called.
        observes_actions: Whether it is recorded when an action is taken. Where it is not, the
            professional only says so.
        turns: The shortest and the longest conversation, in turns.
        habits: How often people do what makes a conversation crooked.
        pace: How fast they are.
    """

    catalog_metadata: Metadata
    observes_actions: bool = True
    turns: tuple[int, int] = (10, 30)
    habits: Habits = Habits()
    pace: Pace = Pace()

    def __post_init__(self) -> None:
        if not 1 <= self.turns[0] <= self.turns[1]:
            raise ValueError(f"turns must be the shortest and the longest, got {self.turns}")


class Domain(msgspec.Struct, frozen=True, kw_only=True):
    """A domain, read and checked."""

    settings: DomainFile
    knowledge: Knowledge
    speech: Speech

    @property
    def name(self) -> str:
        """What it is called."""
        return self.settings.catalog_metadata.name

    def values(self, slot: str) -> Words:
        """The closed list of a slot; empty where its values are made."""
        if given := self.speech.slots[slot].values or self.speech.slots[slot].made:
            return given if isinstance(given, tuple) else ()
        for action in self.knowledge.catalog.actions.values():
            for one in action.parameters:
                if one.name == slot and one.enum:
                    return tuple(str(value) for value in one.enum)
        return ()


def check_domain(domain: Domain, name: str, *, types: dict[str, ActionType]) -> None:
    """Refuse a domain in which a word is missing, or a name is not known.

    Args:
        domain: The domain.
        name: What its folder is called in errors.
        types: Its actions.

    Raises:
        SettingsError: With the file, the entry and the field.
    """
    domain.knowledge.ontology.check(types, f"{name}/ontology")
    if not domain.knowledge.ontology.workflows:
        raise SettingsError(f"{name}/ontology: workflows: there are none")
    for place, problem in _problems(domain, types):
        raise SettingsError(f"{name}/{place}: {problem}")


def _problems(domain: Domain, types: dict[str, ActionType]) -> Iterator[tuple[str, str]]:
    """What is wrong, and in which file and entry."""
    speech, workflows = domain.speech, domain.knowledge.ontology.workflows
    slots = {one.name for action in types.values() for one in action.parameters}
    yield from _same("speech: actions", speech.actions, types)
    yield from _same("speech: openings", speech.openings, workflows)
    yield from _same("speech: slots", speech.slots, slots)
    yield from _same("guidelines", domain.knowledge.guidelines, workflows)
    for name in slots:
        yield from _slot_problems(domain, name)
    for name, deed in speech.actions.items():
        place = f"speech: actions.{name}"
        if not deed.report or (domain.settings.observes_actions and not deed.done):
            yield place, "report and done: there must be some"
        if deed.refused and not deed.offer:
            yield place, "offer: there must be some to be refused"
        bare = [one for one in deed.done if "{values}" not in one]
        if deed.done and not bare and not domain.knowledge.catalog.actions[name].at_least:
            yield place, "done: one must do without {values}, there may be none"
    for name, words in speech.openings.items():
        takes = {one.name for action in workflows[name].actions for one in types[action].parameters}
        for word in findall(r"{(\w+)}", " ".join(words)):
            if word not in takes:
                yield f"speech: openings.{name}", f"no slot {word!r}; {nearest(word, takes)}"


def _slot_problems(domain: Domain, name: str) -> Iterator[tuple[str, str]]:
    slot, lists, place = domain.speech.slots[name], domain.speech.lists, f"speech: slots.{name}"
    if not slot.tell or any("{value}" not in one for one in slot.tell):
        yield place, "tell: there must be some, all with {value}"
    if not slot.made and len(domain.values(name)) < 2:
        yield place, "there must be two values or more, or a pattern `made`"
    for word in findall(r"{(\w+)}", slot.made):
        if word not in lists:
            yield place, f"made: no list {word!r}; {nearest(word, lists)}"


def _same(place: str, given: Iterable[str], wanted: Iterable[str]) -> Iterator[tuple[str, str]]:
    """Names that are missing, or too many."""
    given, wanted = set(given), set(wanted)
    for one in sorted(wanted - given):
        yield place, f"{one!r} is missing"
    for one in sorted(given - wanted):
        yield place, f"unknown name {one!r}; {nearest(one, wanted)}"
