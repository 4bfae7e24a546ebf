"""The action state graph (ASG): the memory of an agent about predicted and observed actions.

A node is a status, an edge is an allowed change. By default all five statuses are connected, also
with themselves (equation 21), and every change is accepted. A custom table may restrict the
changes. (ProActor, appendix E.3 and Algorithm 1.)
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import msgspec

from timeful.catalogs.catalog import Catalog
from timeful.dialogues.dialogue import ObservedAction
from timeful.dialogues.opportunity import STATUSES, Inputs, Opportunity, Status

Transitions = Mapping[Status, tuple[Status, ...]]
"""The statuses that may follow each status; a missing status has no successor."""

ALL: Transitions = dict.fromkeys(STATUSES, STATUSES)
"""The fully connected graph."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Rejected:
    """A change of status without an edge in the graph."""

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
    """Add actions one by one (Algorithm 1).

    Args:
        states: The actions so far, with unique names, in order of first appearance.
        new: The new actions.
        triggered: Whether they were observed. An observed action overwrites its state; a predicted
            one replaces it along an edge only.
        transitions: The graph.

    Returns:
        The updated actions, with unseen ones appended, and the rejected changes.
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
    """The state of an observed action, without the values of unknown slots."""
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

    As Figure 12 without its wrapper: a state has the form of an answer.
    """
    return msgspec.json.format(msgspec.json.encode(list(states)), indent=1).decode()
