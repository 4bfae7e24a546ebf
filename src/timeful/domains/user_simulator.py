"""The customer of a conversation: what is true for them, and what of it they have told."""

from dataclasses import dataclass, field

import numpy as np

from timeful.domains.domain import Domain
from timeful.domains.realizer import Realizer, ended
from timeful.domains.script import Event, Told


@dataclass(slots=True)
class Topic:
    """A wish: the values that belong to it, true and told, and what its actions shall have."""

    number: int
    workflow: str
    facts: dict[str, str] = field(default_factory=dict)
    told: dict[str, str] = field(default_factory=dict)
    needs: dict[str, list[str]] = field(default_factory=dict)
    is_raised: bool = False


class UserSimulator:
    """Tells values, those that last for all topics and those that belong to one."""

    def __init__(self, domain: Domain, rng: np.random.Generator, realizer: Realizer) -> None:
        self._domain = domain
        self._rng = rng
        self._realizer = realizer
        self._facts: dict[str, str] = {}
        self._told: dict[str, str] = {}

    def known(self, topic: Topic) -> dict[str, str]:
        """What has been told so far that counts for a topic."""
        return self._told | topic.told

    def needs(self, topic: Topic, action: str) -> list[str]:
        """The slots that an action shall have: what it requires, and what chance adds."""
        if action not in topic.needs:
            entry = self._domain.knowledge.catalog.actions[action]
            needed = {one.name for one in entry.parameters if one.required}
            others = [one.name for one in entry.parameters if not one.required]
            for index in self._rng.permutation(len(others)):
                is_extra = self._rng.random() < self._domain.settings.habits.optional
                if len(needed) < entry.at_least or is_extra:
                    needed.add(others[index])
            topic.needs[action] = [one.name for one in entry.parameters if one.name in needed]
        return topic.needs[action]

    def missing(self, topic: Topic, action: str) -> list[str]:
        """Those of them that have not been told."""
        known = self.known(topic)
        return [one for one in self.needs(topic, action) if one not in known]

    def answer(
        self, topic: Topic, slots: list[str], events: list[Event], *, wrong: str | None = None
    ) -> str:
        """Tell some values, one of them wrong if `wrong` names it; what was told joins `events`."""
        said = []
        for slot in slots:
            value = self.tell(topic, slot, events, is_wrong=slot == wrong)
            text = self._realizer.pick(self._domain.speech.slots[slot].tell, value=value)
            said.append(ended(text) if len(slots) > 1 else text)
        return " ".join(said)

    def tell(self, topic: Topic, slot: str, events: list[Event], *, is_wrong: bool = False) -> str:
        """Tell a value, and return it for the words around it."""
        lasts = self._domain.speech.slots[slot].lasting
        facts, told = (self._facts, self._told) if lasts else (topic.facts, topic.told)
        if slot not in facts:
            facts[slot] = self._realizer.value(slot)
        value = self._realizer.value(slot, but=facts[slot]) if is_wrong else facts[slot]
        told[slot] = value
        events.append(Told(None if lasts else topic.number, slot, value))
        return value
