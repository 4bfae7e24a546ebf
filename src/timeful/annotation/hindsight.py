"""An oracle without a model: what was possible, by rule, knowing what was done in the end.

It stands in for a language model where there is none, and everything that it makes says so. Of
each action that was observed it asks from when on it could have been taken:

| which | status |
| --- | --- |
| it was taken at this turn | triggered |
| all its values had been said, and what comes before it in the workflow had been done | ready |
| what comes before it had been done | pending |
| it had been taken, and will be again with a value that was not said yet | repeatable |

What comes before it is the last action that was taken of those before it in the workflow of the
dialogue's subflow; for an action outside that workflow, the last one taken at all, since only its
place tells what it belongs to. A value is known from the turn at which the customer first says
it, or else anybody; one that is never said before the action is taken is known only then. So an
action whose values nobody says, or that is repeated with nothing new, is ready at its own turn
alone. An action outside the workflow that has no values has a reason only if some workflow has it
right after the last one taken; else it has no reference, and counts as not covered in EC.

EC at sigma 0 is 1 by construction for every action with a reference; larger sigmas and the
coverage say something. A dialogue without observed actions has nothing to go by: see
`transcript_oracle.py`.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import pairwise

from timeful.annotation.response_parser import References
from timeful.catalogs.knowledge import Knowledge
from timeful.dialogues.dialogue import Dialogue
from timeful.dialogues.opportunity import Status
from timeful.dialogues.slots import plain
from timeful.domains.references import opportunity

LABEL = "hindsight by rule"
"""What stands for the annotator where no model was asked."""

_ORDER: tuple[Status, ...] = ("triggered", "ready_to_trigger", "pending", "repeatable")
"""Which status counts where an action has two at a turn."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Deed:
    """An action that was taken.

    Attributes:
        turn: When.
        name: Which.
        values: Its values by slot, as far as they are named.
        known: When each of these was known.
        after: When what comes before it had been done.
        ready: From when on it could have been taken.
        is_again: Whether it had been taken before.
    """

    turn: int
    name: str
    values: Mapping[str, str]
    known: Mapping[str, int]
    after: int
    ready: int
    is_again: bool

    def status(self, turn: int) -> Status | None:
        """What it is at a turn; None for nothing."""
        if turn == self.turn:
            return "triggered"
        if self.ready <= turn < self.turn:
            return "ready_to_trigger"
        if self.after <= turn < self.ready:
            return "repeatable" if self.is_again else "pending"
        return None


def hindsight(dialogue: Dialogue, knowledge: Knowledge) -> References:
    """The reference opportunities of a dialogue, by turn; none if no action was observed in it."""
    deeds = list(_deeds(dialogue, knowledge))
    found: References = {}
    for number in (turn.number for turn in dialogue.turns):
        at_turn: dict[str, tuple[Status, _Deed]] = {}
        for deed in deeds:
            status = deed.status(number)
            there = at_turn.get(deed.name)
            if status and (there is None or _ORDER.index(status) < _ORDER.index(there[0])):
                at_turn[deed.name] = status, deed
        if at_turn:
            found[number] = tuple(
                opportunity(
                    knowledge.catalog.actions[name],
                    status,
                    {slot: deed.values[slot] for slot in deed.values if deed.known[slot] <= number},
                )
                for name, (status, deed) in at_turn.items()
            )
    return found


def _deeds(dialogue: Dialogue, knowledge: Knowledge) -> Iterator[_Deed]:
    """What was taken of the catalog, in order, and from when on it could have been."""
    workflow = knowledge.ontology.workflows.get(dialogue.subflow)
    order = workflow.actions if workflow else ()
    steps = {
        pair for one in knowledge.ontology.workflows.values() for pair in pairwise(one.actions)
    }
    before: list[tuple[int, str]] = []
    for turn, action in dialogue.observed:
        name = action.name
        if name not in knowledge.catalog.actions:
            continue
        said = [_known(dialogue, value, turn) for value in action.values]
        follows = bool(before) and (before[-1][1], name) in steps
        if name not in order and not said and not follows:
            continue
        earlier = order[: order.index(name)] if name in order else {one for _, one in before}
        after = max((when for when, one in before if one in earlier), default=_opening(dialogue))
        last = max((when for when, one in before if one == name), default=0)
        is_known = bool(said) or not knowledge.catalog.actions[name].at_least
        ready = max(after, *said) if said else after if is_known else turn
        if last and max(said, default=0) <= last:
            ready = turn  # nothing new was said since it was last taken
        slots = dict(zip(action.slots, said, strict=False))
        yield _Deed(
            turn=turn,
            name=name,
            values=action.values_by_slot,
            known={slot: slots[slot] for slot in action.values_by_slot},
            after=min(max(after, last + 1 if last else 0), turn),
            ready=min(ready, turn),
            is_again=bool(last),
        )
        before.append((turn, name))


def _opening(dialogue: Dialogue) -> int:
    """When the customer first says something: before, nobody knows what is wanted."""
    spoken = (turn.number for turn in dialogue.turns if turn.speaker == "customer")
    return next(spoken, dialogue.turns[0].number)


def _known(dialogue: Dialogue, value: str, by: int) -> int:
    """The turn at which a value is known: first told, or first said, or first used."""
    word = re.compile(rf"(?<!\w){re.escape(plain(value))}(?!\w)")
    said = [
        turn
        for turn in dialogue.turns
        if turn.number < by and word.search(" ".join(turn.text.casefold().split()))
    ]
    told = [turn for turn in said if turn.speaker == "customer"]
    return (told or said)[0].number if said else by
