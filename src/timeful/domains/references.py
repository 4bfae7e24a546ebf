"""The reference of a conversation by rule: what could be done at each turn, and how far it is.

At a turn, after it was said or done, the opportunities are, for each topic that is open:

| which | status |
| --- | --- |
| the first action of the workflow that is still to be done | ready_to_trigger or pending |
| the one after it, once something of it is known | pending |
| an action that was taken at this turn | triggered |
| an action that was taken, and will be again as a value was wrong | repeatable |
| an action that must be repeated | ready_to_trigger |
| an action that was refused, or whose topic was dropped, at this turn | dismissed |

The first is ready when all that it requires is known and nothing waits to be repeated.
A workflow's actions follow each other, so an action is ready no sooner than the one before it was
done; that an agent acts late makes no action ready later but the next. "Repeatable" knows the
rest of the conversation, as the annotator of the paper does (D.1.3); all else does not. An action
of the same name in two topics stands once, with the status that is further.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field

from timeful.catalogs.catalog import Action, Catalog
from timeful.catalogs.ontology import Ontology
from timeful.dialogues.opportunity import Level, Opportunity, Status
from timeful.domains.script import Again, Done, Dropped, Event, Raised, Refused, Script, Told

_FURTHEST: tuple[Status, ...] = (
    "triggered",
    "ready_to_trigger",
    "pending",
    "repeatable",
    "dismissed",
)


@dataclass(slots=True)
class _Topic:
    """What is left of a workflow, and what is known for it."""

    left: list[str]
    known: dict[str, str] = field(default_factory=dict)
    again: set[str] = field(default_factory=set)
    repeatable: set[str] = field(default_factory=set)


def references(
    script: Script, catalog: Catalog, ontology: Ontology, *, once: Iterable[str] = ()
) -> list[tuple[Opportunity, ...]]:
    """The reference opportunities at each turn of a conversation.

    Args:
        script: The conversation, with what its turns mean.
        catalog: The actions.
        ontology: The workflows.
        once: The actions that are done once in a conversation, whatever the topics.
    """
    state = _State(script, catalog, ontology, frozenset(once))
    return [state.after(turn) for turn in range(len(script))]


class _State:
    def __init__(
        self, script: Script, catalog: Catalog, ontology: Ontology, once: frozenset[str]
    ) -> None:
        self._script = script
        self._catalog = catalog
        self._ontology = ontology
        self._once = once
        self._lasting: dict[str, str] = {}
        self._topics: dict[int, _Topic] = {}
        self._done_once: set[str] = set()

    def after(self, turn: int) -> tuple[Opportunity, ...]:
        """Take in the next turn, and say what could be done."""
        found: dict[str, tuple[Status, dict[str, str]]] = {}

        def note(action: str, status: Status, known: dict[str, str]) -> None:
            there = found.get(action)
            if there is None or _FURTHEST.index(status) < _FURTHEST.index(there[0]):
                found[action] = status, known

        for event in self._script[turn].events:
            for action, status, known in self._take(event, turn):
                note(action, status, known)
        for topic in self._topics.values():
            for action, status in self._open(topic):
                note(action, status, self._lasting | topic.known)
        return tuple(
            opportunity(self._catalog.actions[name], status, known)
            for name, (status, known) in found.items()
        )

    def _take(self, event: Event, turn: int) -> Iterable[tuple[str, Status, dict[str, str]]]:
        """Change what is known by an event, and say what it did to actions."""
        if isinstance(event, Raised):
            actions = self._ontology.workflows[event.workflow].actions
            left = [one for one in actions if one not in self._done_once]
            self._topics[event.topic] = _Topic(left)
        elif isinstance(event, Told):
            known = self._lasting if event.topic is None else self._topics[event.topic].known
            known[event.slot] = event.value
        elif isinstance(event, Done):
            if event.topic is not None:
                self._do(event, turn)
                return [(event.action, "triggered", dict(event.values))]
        elif isinstance(event, Again):
            topic = self._topics[event.topic]
            topic.repeatable.discard(event.action)
            topic.again.add(event.action)
        elif isinstance(event, Refused):
            topic = self._topics[event.topic]
            topic.left.remove(event.action)
            return [(event.action, "dismissed", self._lasting | topic.known)]
        elif isinstance(event, Dropped):
            topic = self._topics.pop(event.topic)
            known = self._lasting | topic.known
            return [(action, "dismissed", known) for action in topic.left[:1]]
        return []

    def _do(self, done: Done, turn: int) -> None:
        assert done.topic is not None
        topic = self._topics[done.topic]
        topic.again.discard(done.action)
        if done.action in topic.left:
            topic.left.remove(done.action)
        later = (event for line in self._script[turn + 1 :] for event in line.events)
        if Again(done.topic, done.action) in later:
            topic.repeatable.add(done.action)
        if done.action in self._once:
            self._done_once.add(done.action)
            for other in self._topics.values():
                if done.action in other.left:
                    other.left.remove(done.action)

    def _open(self, topic: _Topic) -> Iterable[tuple[str, Status]]:
        """What a topic still needs."""
        known = self._lasting | topic.known
        for action in sorted(topic.again):
            yield action, "ready_to_trigger"
        for action in sorted(topic.repeatable):
            yield action, "repeatable"
        for place, action in enumerate(topic.left[:2]):
            entry = self._catalog.actions[action]
            if place == 0:
                is_ready = entry.is_complete(known) and not topic.again
                yield action, "ready_to_trigger" if is_ready else "pending"
            elif any(one.name in known for one in entry.parameters):
                yield action, "pending"


def opportunity(action: Action, status: Status, known: dict[str, str]) -> Opportunity:
    """An action in a status, with the inputs that are known; how sure it is follows from both."""
    confidence: dict[Status, Level] = {
        "triggered": "high",
        "ready_to_trigger": "high",
        "pending": "medium",
        "repeatable": "medium",
        "dismissed": "low",
    }
    have = sum(one.name in known for one in action.parameters)
    maturity: Level = "high" if action.is_complete(known) else "medium" if have else "low"
    return Opportunity(
        name=action.name,
        description=action.description,
        inputs=action.inputs(known),
        readiness_maturity=maturity,
        trigger_confidence=confidence[status],
        status=status,
    )
