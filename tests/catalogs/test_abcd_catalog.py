"""ABCD's own files as a catalog: the real ones, where they lie."""

from collections import Counter
from pathlib import Path

import msgspec
import pytest

from tests.dialogues.material import ABCD, needs_abcd
from timeful.catalogs.abcd import (
    AbcdSource,
    abcd_knowledge,
    abcd_ontology,
    abcd_samples,
    abcd_types,
    action_id,
)
from timeful.errors import SettingsError

SOURCE = AbcdSource(folder=".", samples="abcd_like.json.gz")
ACTIONS = frozenset(
    ("membership", "search-membership", "search-boots", "notify-team", "log-out-in", "promo-code")
)


@pytest.mark.parametrize(
    ("button", "action"),
    [
        ("Promo Code", "promo-code"),
        ("Membership Privileges", "membership"),
        ("Membership", "search-membership"),
        ("Boots", "search-boots"),
        ("Notify Internal Team", "notify-team"),
        ("Log Out/In", "log-out-in"),
        ("N/A", ""),
        ("End Conversation", ""),
    ],
)
def test_a_button_is_an_action_or_only_words(button: str, action: str) -> None:
    assert action_id(button, ACTIONS) == action


def test_a_button_that_is_neither_is_refused() -> None:
    with pytest.raises(ValueError, match=r"'Promo Cod' .*Did you mean 'promo-code'"):
        action_id("Promo Cod", ACTIONS)


@needs_abcd
def test_the_catalog_has_the_30_actions_with_slots_closed_lists_and_words() -> None:
    types = abcd_types(SOURCE, ABCD)
    assert len(types) == 30
    assert Counter(one.server for one in types.values()) == {
        "kb_query": 6,
        "interaction": 10,
        "faq_policy": 14,
    }
    pull_up = types["pull-up-account"]
    assert [one.name for one in pull_up.parameters] == ["customer_name", "account_id"]
    assert "Crystal Minh" in pull_up.parameters[0].enum
    assert not pull_up.parameters[1].enum
    assert types["shipping-status"].description.startswith("Shipping Status. Ask for the shipping")
    # Every action has a button of its own in the guidelines, and something that is said of it.
    assert len({one.description for one in types.values()}) == 30
    assert min(len(one.description.split()) for one in types.values()) >= 6


@needs_abcd
def test_the_55_workflows_are_those_of_the_knowledge_base() -> None:
    ontology = abcd_ontology(SOURCE, ABCD)
    ontology.check(abcd_types(SOURCE, ABCD), "abcd")
    assert len(ontology.workflows) == 55
    assert ontology.workflows["reset_2fa"].group == "account_access"
    assert {action for one in ontology.workflows.values() for action in one.actions} == set(
        abcd_types(SOURCE, ABCD)
    )
    for relation in ontology.relations:
        for one in ontology.workflows.values():
            if {relation.first, relation.then} <= set(one.actions):
                assert one.actions.index(relation.first) < one.actions.index(relation.then)


@needs_abcd
def test_every_workflow_has_the_guideline_of_its_own_actions() -> None:
    knowledge = abcd_knowledge(AbcdSource(folder="."), ABCD)
    same = sum(
        {step.action for step in knowledge.guidelines[name].steps if step.action}
        == set(workflow.actions)
        for name, workflow in knowledge.ontology.workflows.items()
    )
    # refund_status and manage_pay_bill name an action in the words of a step, not on a button.
    assert same == 53
    assert knowledge.guidelines["return_stain"].title == "Return Due to Stain"


@needs_abcd
def test_samples_may_come_from_a_file_without_splits_but_not_from_none() -> None:
    listed = AbcdSource(folder=".", samples="abcd_sample.json.gz")
    assert {one.action for one in abcd_samples(listed, ABCD)} >= {"pull-up-account", "notify-team"}
    wrong = msgspec.structs.replace(listed, splits=("train",))
    with pytest.raises(SettingsError, match="without splits to choose"):
        list(abcd_samples(wrong, ABCD))


def test_samples_in_which_nothing_was_done_are_refused(tmp_path: Path) -> None:
    (tmp_path / "ontology.json").write_text(
        '{"intents": {"flows": [], "subflows": {}}, "actions": {}, "values": {"enumerable": {}}}'
    )
    silent = '{"convo_id": 1, "delexed": [{"speaker": "agent", "turn_count": 1, "text": "Hi", '
    silent += '"targets": ["x", null, null, [], -1]}]}'
    (tmp_path / "talks.json").write_text(f'{{"train": [], "dev": [{silent}]}}')
    with pytest.raises(SettingsError, match=r"no action was observed \(train\); use other"):
        list(abcd_samples(AbcdSource(folder=".", samples="talks.json"), tmp_path))


@needs_abcd
def test_what_is_required_is_what_every_named_sample_has() -> None:
    samples = list(abcd_samples(SOURCE, ABCD))
    catalog = abcd_knowledge(SOURCE, ABCD).catalog
    for name, action in catalog.actions.items():
        of_it = [one.parameters for one in samples if one.action == name]
        required = {one.name for one in action.parameters if one.required}
        assert required == (frozenset.intersection(*of_it) if of_it else set())
    assert len({one.action for one in samples}) >= 25
    # Slots are alternatives: of all that have two or more, hardly any is required.
    assert [one.name for one in catalog.actions["offer-refund"].parameters if one.required] == [
        "amount"
    ]
    # An account is found by a name or an account id, which nobody has to say: misspelt names,
    # which fit neither, are inputs as well.
    account = catalog.actions["pull-up-account"]
    assert not any(one.required for one in account.parameters)
    assert account.at_least == 1
    assert catalog.actions["verify-identity"].at_least == 3
