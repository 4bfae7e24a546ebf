"""The action state graph, ASG: what was predicted and done so far, in the memory of an agent.

A node is a status, an edge a change of it that is allowed. By default all five statuses are
connected, each also with itself (equation 21), so that nothing is ever rejected; a table of one's
own may restrict that. (ProActor, appendix E.3 and Algorithm 1.)
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import msgspec

from timeful.catalogs.catalog import Catalog
from timeful.dialogues.dialogue import ObservedAction
from timeful.dialogues.opportunity import STATUSES, Inputs, Opportunity, Status

Transitions = Mapping[Status, tuple[Status, ...]]
"""The statuses that may follow each; a status that is no key may be followed by none."""

ALL: Transitions = dict.fromkeys(STATUSES, STATUSES)
"""The fully connected graph."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Rejected:
    """A change of status that the graph has no edge for."""

    name: str
    before: Status
    after: Status

    def __str__(self) -> str:
        return f"{self.name}: {self.before} -> {self.after}"


def update(
    states: tuple[Opportunity, ...],
    new: Iterable[Opportunity],
    *,
    triggered: bool,
    transitions: Transitions = ALL,
) -> tuple[tuple[Opportunity, ...], tuple[Rejected, ...]]:
    """Take in new actions one after the other (Algorithm 1).

    Args:
        states: The actions so far, each name once, in the order in which they came up.
        new: What is new.
        triggered: Whether it was observed to be done: that overwrites what is there, whatever
            the graph says. Else it was predicted, and replaces what is there only along an edge.
        transitions: The graph.

    Returns:
        The actions now, and what was rejected. What has not come up before is appended.
    """
    states_by_name = {action.name: action for action in states}
    rejected = []
    for action in new:
        previous = states_by_name.get(action.name)
        if previous is None or triggered or action.status in transitions.get(previous.status, ()):
            states_by_name[action.name] = action
        else:
            rejected.append(Rejected(name=action.name, before=previous.status, after=action.status))
    return tuple(states_by_name.values()), tuple(rejected)


def observed(action: ObservedAction, catalog: Catalog) -> Opportunity:
    """An action that was taken, as a state. Values whose slot nobody knows are left out."""
    entry = catalog.actions.get(action.name)
    return Opportunity(
        name=action.name,
        description="" if entry is None else entry.description,
        inputs=Inputs() if entry is None else entry.inputs(action.values_by_slot),
        readiness_maturity="high",
        trigger_confidence="high",
        status="triggered",
    )


def states_text(states: Iterable[Opportunity]) -> str:
    """The states as JSON, `{action_states}` in a prompt.

    As Figure 12, without its wrapper: a state looks like what the model is to answer.
    """
    return msgspec.json.format(msgspec.json.encode(list(states)), indent=1).decode()
