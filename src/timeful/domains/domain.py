"""A domain of conversations: its actions, workflows and templates, all of it configuration.

A domain is a folder with five YAML or JSON files, without code:

| file | contents |
| --- | --- |
| `domain` | name, whether actions are observed, habits, pace |
| `ontology` | groups, workflows and relations of actions: `ontology.py` |
| `types` | description and parameters of each action: `ontology.py` |
| `guidelines` | each workflow in words: `knowledge.py` |
| `speech` | paraphrases for slots, actions, workflows and shared turns: `nlg.py` |
"""

from collections.abc import Iterable, Iterator
from re import findall

import msgspec

from timeful.catalogs.catalog import Metadata
from timeful.catalogs.knowledge import Knowledge
from timeful.catalogs.ontology import ActionType
from timeful.domains.nlg import Habits, Pace, Speech, Words
from timeful.errors import SettingsError, nearest


class DomainFile(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The file `domain`.

    Attributes:
        catalog_metadata: Name and version of its catalog.
        observes_actions: Whether actions are recorded. Otherwise the agent only reports them.
        turns: Minimum and maximum length of a conversation, in turns.
        habits: Rates of deviations from the workflow.
        pace: Speed of speaking, reading and acting.
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
        """The name of its catalog."""
        return self.settings.catalog_metadata.name

    def values(self, slot: str) -> Words:
        """The closed list of a slot; empty if its values follow a pattern."""
        templates = self.speech.slots[slot]
        if templates.values or templates.made:
            return templates.values
        for action in self.knowledge.catalog.actions.values():
            for parameter in action.parameters:
                if parameter.name == slot and parameter.enum:
                    return tuple(str(value) for value in parameter.enum)
        return ()


def check_domain(domain: Domain, name: str, *, types: dict[str, ActionType]) -> None:
    """Refuse a domain with a missing template or an unknown name.

    Args:
        domain: The domain.
        name: Name of its folder, for errors.
        types: Its actions.

    Raises:
        SettingsError: Names the file, the entry and the field.
    """
    domain.knowledge.ontology.check(types, f"{name}/ontology")
    if not domain.knowledge.ontology.workflows:
        raise SettingsError(f"{name}/ontology: workflows: at least one is required")
    for entry, problem in _problems(domain, types):
        raise SettingsError(f"{name}/{entry}: {problem}")


def _problems(domain: Domain, types: dict[str, ActionType]) -> Iterator[tuple[str, str]]:
    """Each problem with its file and entry."""
    speech, workflows = domain.speech, domain.knowledge.ontology.workflows
    slots = {slot.name for action in types.values() for slot in action.parameters}
    yield from _same("speech: actions", speech.actions, types)
    yield from _same("speech: openings", speech.openings, workflows)
    yield from _same("speech: slots", speech.slots, slots)
    yield from _same("guidelines", domain.knowledge.guidelines, workflows)
    for name in slots:
        yield from _slot_problems(domain, name)
    for name, templates in speech.actions.items():
        entry = f"speech: actions.{name}"
        if not templates.report or (domain.settings.observes_actions and not templates.done):
            yield entry, "report and done must not be empty"
        if templates.refused and not templates.offer:
            yield entry, "offer must not be empty if refused is above 0"
        needs_value = domain.knowledge.catalog.actions[name].at_least
        if templates.done and not needs_value and all("{values}" in t for t in templates.done):
            yield entry, "done: one text must not contain {values}: all parameters are optional"
    for name, words in speech.openings.items():
        takes = {
            slot.name for action in workflows[name].actions for slot in types[action].parameters
        }
        for word in findall(r"{(\w+)}", " ".join(words)):
            if word not in takes:
                yield f"speech: openings.{name}", f"unknown slot {word!r}; {nearest(word, takes)}"


def _slot_problems(domain: Domain, name: str) -> Iterator[tuple[str, str]]:
    slot, lists, entry = domain.speech.slots[name], domain.speech.lists, f"speech: slots.{name}"
    if not slot.tell or any("{value}" not in text for text in slot.tell):
        yield entry, "tell must not be empty, and each text must contain {value}"
    if not slot.made and len(domain.values(name)) < 2:
        yield entry, "at least two values or a pattern `made` are required"
    for word in findall(r"{(\w+)}", slot.made):
        if word not in lists:
            yield entry, f"made: unknown list {word!r}; {nearest(word, lists)}"


def _same(entry: str, names: Iterable[str], required: Iterable[str]) -> Iterator[tuple[str, str]]:
    """Missing and unknown names."""
    names, required = set(names), set(required)
    for name in sorted(required - names):
        yield entry, f"{name!r} is missing"
    for name in sorted(names - required):
        yield entry, f"unknown name {name!r}; {nearest(name, required)}"
