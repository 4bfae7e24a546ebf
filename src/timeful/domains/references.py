"""Reference opportunities of a simulated conversation, by rule.

After each turn, every open topic has these opportunities:

| which | status |
| --- | --- |
| the first open action of the workflow | ready_to_trigger or pending |
| the action after it, once one of its values is known | pending |
| an action that was taken at this turn | triggered |
| an action that will be repeated because of a wrong value | repeatable |
| an action that must be repeated | ready_to_trigger |
| an action that was refused, or whose topic was dropped, at this turn | dismissed |

The first open action is ready when all its required values are known and no action must be
repeated. The actions of a workflow follow each other: an action becomes ready after the previous
one was taken, so a late agent delays the next action only. "Repeatable" depends on the rest of
the conversation, as for the annotator of the paper (D.1.3); the other statuses do not. An action
name in two topics has one opportunity, with the more advanced status.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field

from timeful.catalogs.catalog import Action, Catalog
from timeful.catalogs.ontology import Ontology
from timeful.dialogues.opportunity import Level, Opportunity, Status
from timeful.domains.script import Again, Done, Dropped, Raised, Refused, Script, ScriptEvent, Told

_PRIORITY: tuple[Status, ...] = (
    "triggered",
    "ready_to_trigger",
    "pending",
    "repeatable",
    "dismissed",
)


@dataclass(slots=True)
class _Topic:
    """The open actions and the known values of a topic."""

    open_actions: list[str]
    values: dict[str, str] = field(default_factory=dict)
    again: set[str] = field(default_factory=set)
    repeatable: set[str] = field(default_factory=set)


def references(
    script: Script, catalog: Catalog, ontology: Ontology, *, once: Iterable[str] = ()
) -> list[tuple[Opportunity, ...]]:
    """The reference opportunities at each turn of a conversation.

    Args:
        script: The conversation with its events.
        catalog: The actions.
        ontology: The workflows.
        once: The actions that are taken at most once in a conversation.
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
        self._taken_once: set[str] = set()

    def after(self, turn: int) -> tuple[Opportunity, ...]:
        """Apply the events of a turn and return the opportunities after it."""
        candidates: dict[str, tuple[Status, dict[str, str]]] = {}

        def add(action: str, status: Status, values: dict[str, str]) -> None:
            current = candidates.get(action)
            if current is None or _PRIORITY.index(status) < _PRIORITY.index(current[0]):
                candidates[action] = status, values

        for event in self._script[turn].events:
            for action, status, values in self._take(event, turn):
                add(action, status, values)
        for topic in self._topics.values():
            for action, status in self._open(topic):
                add(action, status, self._lasting | topic.values)
        return tuple(
            opportunity(self._catalog.actions[name], status, values)
            for name, (status, values) in candidates.items()
        )

    def _take(self, event: ScriptEvent, turn: int) -> Iterable[tuple[str, Status, dict[str, str]]]:
        """Apply an event; return the actions that it triggered or dismissed."""
        if isinstance(event, Raised):
            workflow_actions = self._ontology.workflows[event.workflow].actions
            actions_left = [action for action in workflow_actions if action not in self._taken_once]
            self._topics[event.topic] = _Topic(actions_left)
        elif isinstance(event, Told):
            values = self._lasting if event.topic is None else self._topics[event.topic].values
            values[event.slot] = event.value
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
            topic.open_actions.remove(event.action)
            return [(event.action, "dismissed", self._lasting | topic.values)]
        elif isinstance(event, Dropped):
            topic = self._topics.pop(event.topic)
            values = self._lasting | topic.values
            return [(action, "dismissed", values) for action in topic.open_actions[:1]]
        return []

    def _do(self, done: Done, turn: int) -> None:
        assert done.topic is not None
        topic = self._topics[done.topic]
        topic.again.discard(done.action)
        if done.action in topic.open_actions:
            topic.open_actions.remove(done.action)
        later = (event for line in self._script[turn + 1 :] for event in line.events)
        if Again(done.topic, done.action) in later:
            topic.repeatable.add(done.action)
        if done.action in self._once:
            self._taken_once.add(done.action)
            for topic_of_action in self._topics.values():
                if done.action in topic_of_action.open_actions:
                    topic_of_action.open_actions.remove(done.action)

    def _open(self, topic: _Topic) -> Iterable[tuple[str, Status]]:
        values = self._lasting | topic.values
        for action in sorted(topic.again):
            yield action, "ready_to_trigger"
        for action in sorted(topic.repeatable):
            yield action, "repeatable"
        for index, action in enumerate(topic.open_actions[:2]):
            entry = self._catalog.actions[action]
            if index == 0:
                is_ready = entry.is_complete(values) and not topic.again
                yield action, "ready_to_trigger" if is_ready else "pending"
            elif any(parameter.name in values for parameter in entry.parameters):
                yield action, "pending"


def opportunity(action: Action, status: Status, values: dict[str, str]) -> Opportunity:
    """Make an opportunity; its levels follow from the status and the known values."""
    confidence: dict[Status, Level] = {
        "triggered": "high",
        "ready_to_trigger": "high",
        "pending": "medium",
        "repeatable": "medium",
        "dismissed": "low",
    }
    count = sum(parameter.name in values for parameter in action.parameters)
    maturity: Level = "high" if action.is_complete(values) else "medium" if count else "low"
    return Opportunity(
        name=action.name,
        description=action.description,
        inputs=action.inputs(values),
        readiness_maturity=maturity,
        trigger_confidence=confidence[status],
        status=status,
    )
