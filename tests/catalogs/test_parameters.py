"""What an action requires: estimated from samples, and a person's word wins."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from timeful.catalogs.catalog import Metadata
from timeful.catalogs.ontology import (
    ActionType,
    Ontology,
    Relation,
    Workflow,
    join_types,
    precedence,
)
from timeful.catalogs.parameters import Override, Sample, estimate, table
from timeful.catalogs.rendering import render
from timeful.catalogs.schema import Parameter
from timeful.errors import SettingsError

NAMES = ("a", "b", "c")
TYPES = {
    "act": ActionType(parameters=tuple(Parameter(name=one, required=one == "a") for one in NAMES)),
    "rest": ActionType(parameters=(Parameter(name="d", required=True),)),
}


@given(st.lists(st.frozensets(st.sampled_from(NAMES)), min_size=1, max_size=19))
def test_what_every_sample_has_is_required_and_nothing_else(some: list[frozenset[str]]) -> None:
    found, rows = estimate(TYPES, [Sample(action="act", parameters=one) for one in some])
    required = {one.name for one in found["act"].parameters if one.required}
    assert required == frozenset.intersection(*some)
    assert found["act"].at_least == min(map(len, some))
    assert {row.parameter: row.count for row in rows if row.action == "act"} == {
        one: sum(one in sample for sample in some) for one in NAMES
    }


@pytest.mark.parametrize(("slips", "at_least"), [(0, 1), (5, 1), (6, 0)])
def test_one_sample_in_twenty_may_have_less_than_a_call_needs(slips: int, at_least: int) -> None:
    some = [frozenset(NAMES[number % 2]) for number in range(100 + slips)]
    some[:slips] = [frozenset()] * slips
    found, _ = estimate(TYPES, [Sample(action="act", parameters=one) for one in some])
    assert found["act"].at_least == at_least
    assert not any(one.required for one in found["act"].parameters)


def test_an_input_that_nobody_could_name_is_one() -> None:
    samples = [
        Sample(action="act", parameters=frozenset("a")),
        Sample(action="act", parameters=frozenset(), unnamed=1),
    ]
    assert estimate(TYPES, samples)[0]["act"].at_least == 1
    # A slip of the recording cannot ask for more than there is.
    many = [Sample(action="rest", parameters=frozenset("d"), unnamed=2)]
    assert estimate(TYPES, many)[0]["rest"].at_least == 1


def test_without_samples_what_was_declared_stays() -> None:
    assert estimate(TYPES, [])[0] == TYPES


def test_an_override_wins_over_samples() -> None:
    samples = [Sample(action="act", parameters=frozenset("ab"))]
    override = Override(properties={"a": "optional", "c": "required"}, at_least=3)
    found, rows = estimate(TYPES, samples, {"act": override})
    assert [one.required for one in found["act"].parameters] == [False, True, True]
    assert found["act"].at_least == 3
    assert [row.by for row in rows] == ["override", "samples", "override", "declared"]


def test_the_table_shows_the_counts() -> None:
    samples = [Sample(action="act", parameters=frozenset(one)) for one in ("a", "ab")]
    assert table(estimate(TYPES, samples)[1]).splitlines() == [
        "action  parameter  seen  declared  decided   by",
        "act     a          2/2   required  required  samples",
        "act     b          1/2   optional  optional  samples",
        "act     c          0/2   optional  optional  samples",
        "rest    d          0/0   required  required  declared",
    ]


@pytest.mark.parametrize(
    ("sample", "overrides", "said"),
    [
        (Sample(action="acts", parameters=frozenset()), {}, "'acts'.*Did you mean 'act'"),
        (Sample(action="act", parameters=frozenset("x")), {}, "'act': unknown parameter"),
        (None, {"rest": Override(properties={"e": "required"})}, "an override of 'rest'.*'e'"),
    ],
)
def test_an_unknown_name_is_refused(
    sample: Sample | None, overrides: dict[str, Override], said: str
) -> None:
    with pytest.raises(SettingsError, match=said):
        estimate(TYPES, [sample] if sample else [], overrides)


def test_an_override_asks_for_no_more_inputs_than_there_are() -> None:
    with pytest.raises(SettingsError, match="override of 'rest': at_least must be 0 to 1, got 2"):
        estimate(TYPES, [], {"rest": Override(at_least=2)})


def test_two_sources_have_no_action_in_common() -> None:
    with pytest.raises(SettingsError, match="second: 'act' is also an action of first"):
        join_types([("first", TYPES), ("second", {"act": TYPES["act"]})])


def test_an_order_that_every_workflow_keeps_is_a_relation() -> None:
    found = precedence([("a", "b", "c"), ("a", "c", "b"), ("d", "a")])
    assert set(found) == {
        Relation(first=first, then=then) for first, then in [("a", "b"), ("a", "c"), ("d", "a")]
    }


def test_an_ontology_names_only_actions_that_there_are() -> None:
    ontology = Ontology(workflows={"one": Workflow(actions=("act", "rst"))})
    with pytest.raises(SettingsError, match=r"o\.json: workflows\.one: .*Did you mean 'rest'"):
        ontology.check(TYPES, "o.json")


TEXTS = st.text(max_size=8)


@given(TEXTS, TEXTS, st.sampled_from(["mcp", "agent", "api"]))
def test_any_words_survive_the_template(name: str, words: str, kind: str) -> None:
    pytest.importorskip("jinja2")
    name = f"x{name}"
    one = ActionType(
        kind=kind,  # type: ignore[arg-type]
        description=words,
        parameters=(Parameter(name=name, required=True, enum=(words,), description=words),),
        method="GET",
        path="/",
    )
    found = render(Metadata(name=name), {name: one}).actions[name]
    assert (found.description, found.parameters) == (words, one.parameters)


@pytest.mark.parametrize(
    ("template", "said"),
    [
        ("{{ nothing }}", "'nothing' is undefined"),
        ("a\n{% if %}", "t.j2, line 2: "),
        ("{}", "output of t.j2: .*catalog_metadata"),
        ("[", "output of t.j2 is not valid JSON"),
        ("{{ 1 + 'a' }}", "t.j2: unsupported"),
        ("{{ ''.__class__ }}", "unsafe"),
        ('{"catalog_metadata": {{ metadata | json }}}', "t.j2 leaves out act, rest"),
    ],
)
def test_a_template_that_gives_no_catalog_is_refused(template: str, said: str) -> None:
    pytest.importorskip("jinja2")
    with pytest.raises(SettingsError, match=said):
        render(Metadata(name="n"), TYPES, template=template, name="t.j2")
