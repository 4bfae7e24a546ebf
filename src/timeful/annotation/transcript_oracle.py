"""The oracle without a model where nothing records what is done: what was possible, by the words.

As `hindsight.py`, but all that it goes by is what is said. The actions of the workflow are gone
through in order; those whose values are not all told in the whole dialogue are left out, as they
cannot have been taken, and with them what follows and needs no values. Of the others:

| which | status |
| --- | --- |
| it was ready, and the agent says what names it, or else anything but a question | triggered |
| all that it requires was told, and what comes before it was done | ready_to_trigger |
| what comes before it was done | pending |

An action is named by a word of its name or description, of four letters or more. The workflow is
that of the dialogue's subflow; where that is not known, the one whose parameters are most like
those that were told.

There are no observed actions, so EC has nothing to say of these references.
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
"""What stands for the annotator of a dialogue without observed actions."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Span:
    """An action of the workflow, and at which places it is what: from, from, and up to."""

    action: Action
    pending: int
    ready: int
    done: int | None

    def status(self, place: int) -> Status | None:
        """What it is at a place; None for nothing."""
        if place == self.done:
            return "triggered"
        if self.pending <= place < self.ready:
            return "pending"
        is_over = self.done is not None and place > self.done
        return None if place < self.pending or is_over else "ready_to_trigger"


class DialogueStateTracker:
    """Goes through dialogues by their words; from several threads at once.

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
        known = [self._finder.known(turns[: place + 1]) for place in range(len(turns))]
        spans = list(self._spans(dialogue, known))
        found: References = {}
        for place, turn in enumerate(turns):
            some: list[Opportunity] = []
            for one in spans:
                if status := one.status(place):
                    some.append(opportunity(one.action, status, known[place]))
            if some:
                found[turn.number] = tuple(some)
        return found

    def _spans(self, dialogue: Dialogue, known: list[dict[str, str]]) -> Iterator[_Span]:
        turns = dialogue.turns
        at = next((n for n, turn in enumerate(turns) if turn.speaker == "customer"), len(turns))
        is_reached = True
        for name in self._order(dialogue, set(known[-1]) if known else set()):
            action = self._actions[name]
            places = range(at, len(turns))
            ready = next((n for n in places if action.is_complete(known[n])), None)
            is_reached = ready is not None and (is_reached or not action.is_complete({}))
            if ready is None or not is_reached:
                continue
            done = _told(action, turns, ready)
            yield _Span(action=action, pending=at, ready=ready, done=done)
            if done is None:
                return
            at = done

    def _order(self, dialogue: Dialogue, told: set[str]) -> tuple[str, ...]:
        """The actions of the workflow that a dialogue follows."""

        def likeness(name: str) -> float:
            slots = {one.name for each in self._workflows[name] for one in self._slots(each)}
            return len(slots & told) / (len(slots | told) or 1)

        if dialogue.subflow in self._workflows:
            return self._workflows[dialogue.subflow]
        return self._workflows[max(self._workflows, key=likeness)]

    def _slots(self, action: str) -> tuple[Parameter, ...]:
        return self._actions[action].parameters


def _told(action: Action, turns: tuple[Turn, ...], ready: int) -> int | None:
    """Where the agent says that an action is done, or may have said so."""
    of_it = _words(re.sub(r"[-_]", " ", action.name), action.description)
    told = [
        place
        for place, turn in enumerate(turns)
        if place > ready and turn.speaker == "agent" and not asked_in(turn.text)
    ]
    named = (place for place in told if of_it & _words(turns[place].text))
    return next(named, told[0] if told else None)


def _words(*texts: str) -> set[str]:
    """The beginnings of words that are long enough to mean something: not "one", "for", "the"."""
    return {one for one in words(texts) if len(one) > 3}
