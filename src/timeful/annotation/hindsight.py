"""An oracle without a model: opportunities by rule, from the observed actions.

It replaces a language model, and its references say so. It determines from which turn on each
observed action could have been taken:

| which | status |
| --- | --- |
| it was taken at this turn | triggered |
| its values are known, and the actions before it in the workflow were taken | ready |
| the actions before it were taken | pending |
| it was taken, and will be repeated with a value that is not known yet | repeatable |

The action before it is the last one taken of those before it in the workflow of the dialogue's
subflow; for an action outside that workflow, the last one taken. A value is known from the turn at
which the customer first mentions it, else from the first mention by another speaker, else from the
turn of the action. So an action without mentioned values, or repeated without a new value, is
ready at its own turn only. An action outside the workflow without values has a reference only if
some workflow has it directly after the last action taken; otherwise EC counts it as not covered.

EC at sigma 0 is 1 by construction for every action with a reference; larger sigmas and the
coverage are informative. `transcript_oracle.py` handles dialogues without observed actions.
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
"""The annotator of a dialogue with observed actions."""

_ORDER: tuple[Status, ...] = ("triggered", "ready_to_trigger", "pending", "repeatable")
"""The priority of statuses of the same action at a turn."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _ObservedAction:
    """An observed action.

    Attributes:
        turn: Its turn.
        name: Its name.
        values: Its values with a known slot, by slot.
        known_at: The turn at which each of these values is known.
        after: The turn of the action before it.
        ready: The first turn at which it could have been taken.
        is_again: Whether it was taken before.
    """

    turn: int
    name: str
    values: Mapping[str, str]
    known_at: Mapping[str, int]
    after: int
    ready: int
    is_again: bool

    def status(self, turn: int) -> Status | None:
        """Its status at a turn; None without an opportunity."""
        if turn == self.turn:
            return "triggered"
        if self.ready <= turn < self.turn:
            return "ready_to_trigger"
        if self.after <= turn < self.ready:
            return "repeatable" if self.is_again else "pending"
        return None


def hindsight(dialogue: Dialogue, knowledge: Knowledge) -> References:
    """The reference opportunities of a dialogue by turn; empty without observed actions."""
    observed_actions = list(_observed_actions(dialogue, knowledge))
    references: References = {}
    for number in (turn.number for turn in dialogue.turns):
        at_turn: dict[str, tuple[Status, _ObservedAction]] = {}
        for observed in observed_actions:
            status = observed.status(number)
            current = at_turn.get(observed.name)
            if status and (current is None or _ORDER.index(status) < _ORDER.index(current[0])):
                at_turn[observed.name] = status, observed
        if at_turn:
            references[number] = tuple(
                opportunity(
                    knowledge.catalog.actions[name],
                    status,
                    {
                        slot: observed.values[slot]
                        for slot in observed.values
                        if observed.known_at[slot] <= number
                    },
                )
                for name, (status, observed) in at_turn.items()
            )
    return references


def _observed_actions(dialogue: Dialogue, knowledge: Knowledge) -> Iterator[_ObservedAction]:
    """The observed actions of the catalog in order."""
    workflow = knowledge.ontology.workflows.get(dialogue.subflow)
    order = workflow.actions if workflow else ()
    steps = {pair for order in knowledge.ontology.orders().values() for pair in pairwise(order)}
    taken: list[tuple[int, str]] = []
    for turn, action in dialogue.observed:
        name = action.name
        if name not in knowledge.catalog.actions:
            continue
        known_at = [_known_at(dialogue, value, turn) for value in action.values]
        follows = bool(taken) and (taken[-1][1], name) in steps
        if name not in order and not known_at and not follows:
            continue
        earlier = (
            order[: order.index(name)]
            if name in order
            else {earlier_name for _, earlier_name in taken}
        )
        after = max((at for at, other in taken if other in earlier), default=_opening(dialogue))
        last = max((at for at, other in taken if other == name), default=0)
        is_known = bool(known_at) or not knowledge.catalog.actions[name].at_least
        ready = max(after, *known_at) if known_at else after if is_known else turn
        if last and max(known_at, default=0) <= last:
            ready = turn  # no new value since it was last taken
        slots = dict(zip(action.slots, known_at, strict=False))
        yield _ObservedAction(
            turn=turn,
            name=name,
            values=action.values_by_slot,
            known_at={slot: slots[slot] for slot in action.values_by_slot},
            after=min(max(after, last + 1 if last else 0), turn),
            ready=min(ready, turn),
            is_again=bool(last),
        )
        taken.append((turn, name))


def _opening(dialogue: Dialogue) -> int:
    """The first turn of the customer, else of the dialogue."""
    numbers = (turn.number for turn in dialogue.turns if turn.speaker == "customer")
    return next(numbers, dialogue.turns[0].number)


def _known_at(dialogue: Dialogue, value: str, by: int) -> int:
    """The turn at which a value is known: first mentioned by the customer, by others, or used."""
    word = re.compile(rf"(?<!\w){re.escape(plain(value))}(?!\w)")
    mentions = [
        turn
        for turn in dialogue.turns
        if turn.number < by and word.search(" ".join(turn.text.casefold().split()))
    ]
    customer_mentions = [turn for turn in mentions if turn.speaker == "customer"]
    return (customer_mentions or mentions)[0].number if mentions else by
