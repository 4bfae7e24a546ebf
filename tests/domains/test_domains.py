"""Domains are configuration: two of our own, a user's, and what is wrong with one."""

import ast
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("yaml")
pytest.importorskip("jinja2")

import timeful.domains
from timeful.catalogs.catalog import catalog_of
from timeful.catalogs.reading import read_data
from timeful.domains.generator import generate
from timeful.domains.library import domain_names, load_domain
from timeful.errors import SettingsError

HOUSE = Path(timeful.domains.__file__).parent
PARTS = ("domain", "ontology", "types", "guidelines", "speech")


def test_the_shop_has_15_actions_in_10_workflows_and_the_loans_13_in_6() -> None:
    sizes = {}
    for name in domain_names():
        knowledge = load_domain(name).knowledge
        sizes[name] = (len(knowledge.catalog.actions), len(knowledge.ontology.workflows))
    assert sizes == {"shop": (15, 10), "loan": (13, 6)}


@pytest.mark.parametrize("name", ["shop", "loan"])
def test_every_action_is_of_a_group_and_a_workflow_and_every_step_is_guided(name: str) -> None:
    knowledge = load_domain(name).knowledge
    ontology, actions = knowledge.ontology, set(knowledge.catalog.actions)
    assert {one for some in ontology.hierarchy.values() for one in some} == actions
    assert {one for some in ontology.orders().values() for one in some} == actions
    for workflow, order in ontology.orders().items():
        steps = knowledge.guidelines[workflow].steps
        assert tuple(one.action for one in steps if one.action) == order
    assert catalog_of(json.loads(knowledge.catalog.text()), name) == knowledge.catalog
    assert all(one.description for one in knowledge.catalog.actions.values())


def test_no_code_knows_a_domain_by_name() -> None:
    """What differs between the shop and the loans is configuration."""
    for path in {*HOUSE.glob("*.py")} - {HOUSE / "dialogue_set.py"}:  # which has a default
        words = {
            one.value
            for one in ast.walk(ast.parse(path.read_text()))
            if isinstance(one, ast.Constant)
        }
        assert not words & {"shop", "loan"}, path.name


@pytest.fixture
def house(tmp_path: Path) -> Callable[..., Path]:
    """A copy of the loans as the user's own folder, in JSON, with something changed."""

    def copied(change: Callable[[dict[str, Any]], object] = lambda parts: None) -> Path:
        parts = {one: read_data(HOUSE / "bundled" / "loan" / f"{one}.yaml") for one in PARTS}
        change(parts)
        folder = tmp_path / "house"
        folder.mkdir()
        for name, part in parts.items():
            if part is not None:
                (folder / f"{name}.json").write_text(json.dumps(part))
        return folder

    return copied


def test_a_folder_of_the_users_own_is_a_domain(house: Callable[..., Path]) -> None:
    mine = load_domain(house())
    theirs = load_domain("loan")
    assert mine == theirs
    assert list(generate(mine, n=3, seed=1)) == list(generate(theirs, n=3, seed=1))


def changed(*path: str, to: Any) -> Callable[[dict[str, Any]], None]:
    """A change of one place in the files of a domain; None takes it away."""

    def change(parts: dict[str, Any]) -> None:
        *way, last = path
        there: Any = parts
        for key in way:
            there = there[key]
        if to is None and way:
            del there[last]
        else:
            there[last] = to

    return change


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (changed("speech", to=None), r"house has no file speech\.yaml"),
        (changed("domain", "habits", to={"late": []}), r"habits: late must be weights"),
        (changed("domain", "habits", to={"why": 2}), "why must be from 0 to 1, got 2"),
        (changed("domain", "turns", to=[9, 3]), "turns must be the shortest and the longest"),
        (changed("speech", "slots", "gift", to=None), "house/speech: slots: 'gift' is missing"),
        (changed("speech", "slots", "gifts", to={"label": "g", "tell": ["{value}"]}),
         "house/speech: slots: unknown name 'gifts'; .*Did you mean 'gift'"),
        (changed("speech", "slots", "gift", "tell", to=["yes"]), "slots.gift: tell.*{value}"),
        (changed("speech", "slots", "gift", "made", to=""), "slots.gift: .*two values"),
        (changed("speech", "slots", "gift", "made", to="{mont}"), "slots.gift: made: .*'month'"),
        (changed("speech", "actions", "lock-rate", to=None), "actions: 'lock-rate' is missing"),
        (changed("speech", "actions", "lock-rate", "offer", to=[]), "lock-rate: offer"),
        (changed("speech", "openings", "refinance", to=["{pay}!"]), "openings.refinance: .*'pay'"),
        (changed("speech", "talk", "bye", to=[]), r"speech\.json: talk: talk\.bye is empty"),
        (changed("guidelines", "refinance", to=None), "guidelines: 'refinance' is missing"),
        (changed("ontology", "workflows", "refinance", "actions", to=["compare"]),
         "ontology: workflows.refinance: unknown action 'compare'"),
        (changed("ontology", "workflows", to={}), "ontology: workflows: "),
        (changed("speech", "slots", "gift", "label", to=3), r"\.json: slots\.gift\.label: Expe"),
        (changed("types", "lock-rate", "parameters", to=[{"nam": 1}]),
         r"types\.json: lock-rate\.parameters\[0\]: .*`name`"),
    ],
)  # fmt: skip
def test_what_is_wrong_with_a_domain_is_named(
    house: Callable[..., Path], change: Callable[[dict[str, Any]], object], said: str
) -> None:
    with pytest.raises(SettingsError, match=said):
        load_domain(house(change))


def test_what_is_observed_needs_words_that_do_without_values(house: Callable[..., Path]) -> None:
    def change(parts: dict[str, Any]) -> None:
        parts["domain"]["observes_actions"] = True
        for one in parts["speech"]["actions"].values():
            one["done"] = ["done: {values}"]

    with pytest.raises(SettingsError, match=r"actions\.estimate-budget: done: "):
        load_domain(house(change))


def test_a_domain_that_is_not_there_has_a_near_name() -> None:
    with pytest.raises(SettingsError, match=r"unknown domain 'shp'.*Did you mean 'shop'\?"):
        load_domain("shp")
