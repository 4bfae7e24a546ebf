"""User simulator: the facts of a customer and the values that the customer has provided."""

from dataclasses import dataclass, field

import numpy as np

from timeful.domains.domain import Domain
from timeful.domains.realizer import Realizer, terminate
from timeful.domains.script import ScriptEvent, Told


@dataclass(slots=True)
class Topic:
    """A request of the customer.

    Attributes:
        number: Its position in the conversation.
        workflow: The workflow that it follows.
        facts: The true values by slot.
        provided: The values that the customer has provided, by slot.
        needs: The slots that each action gets.
        is_raised: Whether the customer has raised it.
    """

    number: int
    workflow: str
    facts: dict[str, str] = field(default_factory=dict)
    provided: dict[str, str] = field(default_factory=dict)
    needs: dict[str, list[str]] = field(default_factory=dict)
    is_raised: bool = False


class UserSimulator:
    """Provides values: lasting ones for all topics, the others for one topic."""

    def __init__(self, domain: Domain, rng: np.random.Generator, realizer: Realizer) -> None:
        self._domain = domain
        self._rng = rng
        self._realizer = realizer
        self._facts: dict[str, str] = {}
        self._provided: dict[str, str] = {}

    def provided(self, topic: Topic) -> dict[str, str]:
        """The values so far that count for a topic, by slot."""
        return self._provided | topic.provided

    def needs(self, topic: Topic, action: str) -> list[str]:
        """The slots that an action gets: required ones, and optional ones by chance."""
        if action not in topic.needs:
            entry = self._domain.knowledge.catalog.actions[action]
            names = {slot.name for slot in entry.parameters if slot.required}
            optional = [slot.name for slot in entry.parameters if not slot.required]
            for index in self._rng.permutation(len(optional)):
                is_extra = self._rng.random() < self._domain.settings.habits.optional
                if len(names) < entry.at_least or is_extra:
                    names.add(optional[index])
            topic.needs[action] = [slot.name for slot in entry.parameters if slot.name in names]
        return topic.needs[action]

    def missing(self, topic: Topic, action: str) -> list[str]:
        """The slots of `needs` without a value."""
        provided = self.provided(topic)
        return [slot for slot in self.needs(topic, action) if slot not in provided]

    def answer(
        self, topic: Topic, slots: list[str], events: list[ScriptEvent], *, wrong: str | None = None
    ) -> str:
        """Provide values, a wrong one for the slot `wrong`, and append them to `events`."""
        texts = []
        for slot in slots:
            value = self.provide(topic, slot, events, is_wrong=slot == wrong)
            text = self._realizer.pick(self._domain.speech.slots[slot].tell, value=value)
            texts.append(terminate(text) if len(slots) > 1 else text)
        return " ".join(texts)

    def provide(
        self, topic: Topic, slot: str, events: list[ScriptEvent], *, is_wrong: bool = False
    ) -> str:
        """Provide a value, append it to `events` and return it."""
        lasts = self._domain.speech.slots[slot].lasting
        facts, provided = (self._facts, self._provided) if lasts else (topic.facts, topic.provided)
        if slot not in facts:
            facts[slot] = self._realizer.value(slot)
        value = self._realizer.value(slot, other_than=facts[slot]) if is_wrong else facts[slot]
        provided[slot] = value
        events.append(Told(None if lasts else topic.number, slot, value))
        return value
