"""The rule oracle for dialogues without observed actions: references from the transcript.

Like `hindsight.py`, but from the text of turns. The actions of the workflow are processed in
order. An action whose values are not all in the dialogue is skipped, since it cannot have been
taken, together with the actions after it that need no values. The others have these statuses:

| which | status |
| --- | --- |
| it was ready, and the agent names it, or else makes a statement | triggered |
| its required values are known, and the actions before it were taken | ready_to_trigger |
| the actions before it were taken | pending |

A word of four letters or more of its name or description names an action. The workflow is that of
the dialogue's subflow; for an unknown subflow, the one whose parameters are most similar to the
slots with values.

Without observed actions EC is undefined for these references.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from timeful.agents.proactive.slot_filling import Finder, words
from timeful.annotation.response_parser import References
from timeful.catalogs.catalog import Action
from timeful.catalogs.knowledge import Knowledge
from timeful.catalogs.schema import Parameter
from timeful.dialogues.dialogue import Dialogue, Turn
from timeful.dialogues.opportunity import Opportunity, Status
from timeful.domains.references import opportunity
from timeful.metrics.proactor.questions import asked_in

WORDS_LABEL = "hindsight by rule, from words alone"
"""The annotator of a dialogue without observed actions."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Span:
    """An action of the workflow, and the indices of turns at which its status changes."""

    action: Action
    pending: int
    ready: int
    done: int | None

    def status(self, index: int) -> Status | None:
        """Its status at an index; None without an opportunity."""
        if index == self.done:
            return "triggered"
        if self.pending <= index < self.ready:
            return "pending"
        is_over = self.done is not None and index > self.done
        return None if index < self.pending or is_over else "ready_to_trigger"


class DialogueStateTracker:
    """Tracks the actions of dialogues by their text; usable from several threads.

    Args:
        knowledge: The actions and the workflows.
    """

    def __init__(self, knowledge: Knowledge) -> None:
        self._actions = knowledge.catalog.actions
        self._workflows = knowledge.ontology.orders()
        self._finder = Finder(knowledge.catalog)

    def __call__(self, dialogue: Dialogue) -> References:
        """The reference opportunities of a dialogue, by turn."""
        turns = dialogue.turns
        values_by_turn = [self._finder.find(turns[: index + 1]) for index in range(len(turns))]
        spans = list(self._spans(dialogue, values_by_turn))
        references: References = {}
        for index, turn in enumerate(turns):
            opportunities: list[Opportunity] = []
            for span in spans:
                if status := span.status(index):
                    opportunities.append(opportunity(span.action, status, values_by_turn[index]))
            if opportunities:
                references[turn.number] = tuple(opportunities)
        return references

    def _spans(self, dialogue: Dialogue, values_by_turn: list[dict[str, str]]) -> Iterator[_Span]:
        turns = dialogue.turns
        at = next((n for n, turn in enumerate(turns) if turn.speaker == "customer"), len(turns))
        is_reached = True
        for name in self._order(dialogue, set(values_by_turn[-1]) if values_by_turn else set()):
            action = self._actions[name]
            indices = range(at, len(turns))
            ready = next((n for n in indices if action.is_complete(values_by_turn[n])), None)
            is_reached = ready is not None and (is_reached or not action.is_complete({}))
            if ready is None or not is_reached:
                continue
            done_at = _report_index(action, turns, ready)
            yield _Span(action=action, pending=at, ready=ready, done=done_at)
            if done_at is None:
                return
            at = done_at

    def _order(self, dialogue: Dialogue, slots_with_value: set[str]) -> tuple[str, ...]:
        """The actions of the workflow that a dialogue follows."""

        def likeness(name: str) -> float:
            slots = {slot.name for action in self._workflows[name] for slot in self._slots(action)}
            return len(slots & slots_with_value) / (len(slots | slots_with_value) or 1)

        if dialogue.subflow in self._workflows:
            return self._workflows[dialogue.subflow]
        return self._workflows[max(self._workflows, key=likeness)]

    def _slots(self, action: str) -> tuple[Parameter, ...]:
        return self._actions[action].parameters


def _report_index(action: Action, turns: tuple[Turn, ...], ready: int) -> int | None:
    """The index of the turn in which the agent reports an action, named or not."""
    keywords = _words(re.sub(r"[-_]", " ", action.name), action.description)
    statements = [
        index
        for index, turn in enumerate(turns)
        if index > ready and turn.speaker == "agent" and not asked_in(turn.text)
    ]
    named_statements = (index for index in statements if keywords & _words(turns[index].text))
    return next(named_statements, statements[0] if statements else None)


def _words(*texts: str) -> set[str]:
    """The stems of four letters or more."""
    return {word for word in words(texts) if len(word) > 3}
