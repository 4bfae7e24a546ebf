"""The action state graph: Algorithm 1 of ProActor, against the algorithm as it is written."""

import json

from hypothesis import given
from hypothesis import strategies as st

from tests.agents.proactive.material import CATALOG
from tests.environments.dialogue.material import one
from timeful.agents.proactive.states import ALL, Transitions, observed, states_text, update
from timeful.dialogues.dialogue import ObservedAction
from timeful.dialogues.opportunity import STATUSES, Opportunity, read_opportunities

opportunities = st.builds(
    one, st.sampled_from(["open", "pay", "send"]), st.sampled_from(STATUSES), st.sampled_from("ab")
)
graphs = st.dictionaries(
    st.sampled_from(STATUSES), st.lists(st.sampled_from(STATUSES), unique=True).map(tuple)
)


def by_the_letter(
    actions: list[Opportunity], new: list[Opportunity], triggered: bool, graph: Transitions
) -> list[Opportunity]:
    """Algorithm 1, line by line, with the graph in place of its lines 29 to 35."""
    actions = list(actions)
    for new_action in new:
        existing_index = -1
        for i in range(len(actions)):
            if actions[i].name == new_action.name:
                existing_index = i
                break
        if triggered:
            if existing_index >= 0:
                actions[existing_index] = new_action
            else:
                actions.append(new_action)
        elif existing_index >= 0:
            if new_action.status in graph.get(actions[existing_index].status, ()):
                actions[existing_index] = new_action
        else:
            actions.append(new_action)
    return actions


@given(
    st.lists(st.tuples(st.lists(opportunities, max_size=4), st.booleans()), max_size=6),
    st.one_of(st.just(dict(ALL)), graphs),
)
def test_it_is_the_algorithm_of_the_paper(
    steps: list[tuple[list[Opportunity], bool]], graph: Transitions
) -> None:
    states: tuple[Opportunity, ...] = ()
    letter: list[Opportunity] = []
    for new, triggered in steps:
        letter = by_the_letter(letter, new, triggered, graph)
        states, rejected = update(states, new, triggered=triggered, transitions=graph)
        assert list(states) == letter
        assert not (triggered and rejected)
        assert len({each.name for each in states}) == len(states)


@given(st.lists(opportunities, max_size=10))
def test_the_fully_connected_graph_rejects_nothing(new: list[Opportunity]) -> None:
    states, rejected = update((), new, triggered=False)
    assert not rejected
    assert {each.name: each for each in new} == {each.name: each for each in states}


def test_a_change_without_an_edge_is_rejected_but_not_if_it_was_seen_to_be_done() -> None:
    graph: Transitions = {"pending": ("ready_to_trigger",)}
    first = (one("pay", "pending"),)
    states, rejected = update(first, [one("pay", "dismissed")], triggered=False, transitions=graph)
    assert (states, [str(each) for each in rejected]) == (first, ["pay: pending -> dismissed"])
    states, rejected = update(
        first, [one("pay", "pending", "x")], triggered=False, transitions=graph
    )
    assert rejected, "also to itself there must be an edge"
    done = one("pay", "triggered", "Ada")
    assert update(first, [done], triggered=True, transitions={}) == ((done,), ())


def test_what_was_seen_to_be_done_has_the_inputs_of_the_catalog() -> None:
    action = ObservedAction(name="pay", values=("Ada", "5"), slots=("who", None))
    found = observed(action, CATALOG)
    assert (found.status, found.is_ready, found.description) == ("triggered", True, "Can pay.")
    assert [(each.name, each.value) for each in found.inputs.required] == [("who", "Ada")]
    assert not observed(ObservedAction(name="fly"), CATALOG).inputs.all()


def test_states_are_shown_as_the_opportunities_that_are_to_be_answered() -> None:
    states = (one("pay", "pending"), one("open", "triggered", "Ada"))
    assert read_opportunities(json.loads(states_text(states))) == states
