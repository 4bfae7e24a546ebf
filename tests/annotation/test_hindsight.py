"""The rule oracle: what it says of small dialogues, and how near it comes to a known reference."""

import json
from pathlib import Path

import msgspec
import pytest

pytest.importorskip("yaml")
pytest.importorskip("jinja2")

from tests.annotation.annotating import annotated, saved, talks, timeful
from tests.dialogues.material import ABCD, needs_abcd
from timeful.annotation.hindsight import LABEL, hindsight
from timeful.catalogs.knowledge import Knowledge
from timeful.catalogs.ontology import Ontology, Workflow
from timeful.dialogues.abcd_shape import write_abcd
from timeful.dialogues.dialogue import Dialogue, ObservedAction, Speaker, Turn, ranges_of
from timeful.domains.generator import generate
from timeful.domains.library import load_domain
from timeful.errors import SettingsError

SHOP = load_domain("shop").knowledge
RULES = {"oracle": "rules"}


def a_talk(*turns: tuple[Speaker, str] | ObservedAction, subflow: str = "") -> Dialogue:
    return Dialogue(
        id="7",
        subflow=subflow,
        turns=tuple(
            Turn(number=number, speaker="action", text="", observed=(one,))
            if isinstance(one, ObservedAction)
            else Turn(number=number, speaker=one[0], text=one[1])
            for number, one in enumerate(turns, 1)
        ),
    )


def took(name: str, **values: str) -> ObservedAction:
    return ObservedAction(name=name, values=tuple(values.values()), slots=tuple(values))


def statuses(dialogue: Dialogue, knowledge: Knowledge = SHOP) -> dict[str, str]:
    """Of each action a letter a turn: pending, ready, triggered, again."""
    letters = {"pending": "p", "ready_to_trigger": "r", "triggered": "t", "repeatable": "a"}
    found = hindsight(dialogue, knowledge)
    rows: dict[str, str] = {}
    for turn in dialogue.turns:
        for one in found.get(turn.number, ()):
            row = rows.get(one.name, "").ljust(turn.number - 1, ".")
            rows[one.name] = row + letters[one.status]
    return rows


OPENED = took("open-order", order_number="12345678")


def test_an_action_is_ready_once_its_values_were_said_and_what_comes_before_was_done() -> None:
    talk = a_talk(
        ("agent", "Hello!"),
        ("customer", "Where is it? Order 12345678."),
        ("agent", "Your name?"),
        ("customer", "ada  LIND, of course."),
        ("agent", "Thanks."),
        took("find-account", customer_name="Ada Lind"),
        ("agent", "So."),
        OPENED,
        subflow="late-parcel",
    )
    assert statuses(talk) == {"find-account": ".pprrt", "open-order": ".....rrt"}


def test_what_is_said_by_the_customer_counts_before_what_others_say() -> None:
    talk = a_talk(
        ("agent", "Is it order 12345678?"),
        ("customer", "Let me see."),
        ("customer", "Yes, 12345678."),
        OPENED,
    )
    assert statuses(talk)["open-order"] == ".prt"
    unsaid = a_talk(("agent", "Order 12345678?"), ("customer", "Yes."), OPENED)
    assert statuses(unsaid)["open-order"] == ".rt"


def test_a_value_is_known_from_when_it_is_first_said() -> None:
    talk = a_talk(("customer", "12345678"), ("customer", "12345678, I said."), OPENED)
    assert statuses(talk)["open-order"] == "rrt"


def test_an_action_that_needs_values_and_shows_none_is_ready_when_it_is_taken() -> None:
    bare = took("open-order")
    assert statuses(a_talk(("customer", "Hm."), bare, subflow="late-parcel")) == {
        "open-order": "pt"
    }


def test_an_action_that_the_catalog_has_not_is_passed_over() -> None:
    talk = a_talk(("customer", "12345678"), took("fly", to="Mars"), OPENED)
    assert statuses(talk) == {"open-order": "rrt"}


def test_a_value_is_not_found_within_another() -> None:
    talk = a_talk(("customer", "It is 912345678."), ("customer", "12345678!"), OPENED)
    assert statuses(talk)["open-order"] == "prt"


def test_a_value_that_nobody_says_is_known_when_it_is_used() -> None:
    assert statuses(a_talk(("customer", "Hello."), OPENED))["open-order"] == "pt"


def test_an_action_that_is_repeated_is_ready_when_the_new_value_is_said() -> None:
    again = took("open-order", order_number="87654321")
    talk = a_talk(
        ("customer", "12345678"), OPENED, ("agent", "No."), ("customer", "87654321"), again
    )
    assert statuses(talk)["open-order"] == "rtart"


def test_an_action_that_is_repeated_with_nothing_new_is_ready_when_it_is_taken() -> None:
    talk = a_talk(("customer", "12345678"), OPENED, ("agent", "Hm."), OPENED)
    assert statuses(talk)["open-order"] == "rtat"


def test_what_no_workflow_gives_a_reason_for_has_no_reference() -> None:
    talk = a_talk(("customer", "12345678"), OPENED, took("print-label"), subflow="late-parcel")
    assert "print-label" not in statuses(talk)
    talk = a_talk(("customer", "12345678"), OPENED, took("track-parcel"), subflow="how-to")
    assert statuses(talk)["track-parcel"] == ".rt"


def test_inputs_are_what_was_said_by_then() -> None:
    talk = a_talk(
        ("customer", "a@b.example"),
        ("customer", "12345"),
        took("verify-customer", email="a@b.example", postcode="12345"),
    )
    given = [
        {one.name for one in some[0].inputs.all() if one.provided}
        for some in hindsight(talk, SHOP).values()
    ]
    assert given == [{"email"}, {"email", "postcode"}, {"email", "postcode"}]


def test_it_is_near_the_reference_that_the_generator_knows() -> None:
    """The figures stand in docs/annotation.md; the rule sees words and deeds, not what is meant."""
    equal = both = missing = extra = shared = union = 0
    for dialogue in generate(load_domain("shop"), n=200, seed=11):
        found = ranges_of(hindsight(dialogue, SHOP))
        for name in found.keys() | dialogue.ready_ranges.keys():
            ours, known = set(found.get(name, ())), set(dialogue.ready_ranges.get(name, ()))
            shared, union = shared + len(ours & known), union + len(ours | known)
            missing, extra = missing + (not ours), extra + (not known)
            both, equal = both + bool(ours and known), equal + (ours == known)
    assert equal / both > 0.8
    assert shared / union > 0.8
    assert missing / both < 0.1
    assert extra / both < 0.02


def test_what_it_makes_is_labelled_in_every_dialogue_and_beside_them(tmp_path: Path) -> None:
    talks(tmp_path / "talks.jsonl", n=4)
    found = timeful("annotate", saved(tmp_path, annotation=RULES))
    assert found.exit_code == 0, found.output
    read = annotated(tmp_path / "talks_annotated.jsonl.gz")
    assert {one.annotator for one in read} == {LABEL}
    meta = json.loads((tmp_path / "talks_annotated.meta.json").read_text())
    assert (meta["oracle"], meta["n_requests"]) == ("rules", 0)
    assert "no model was asked" in meta["note"]
    shown = timeful("align", tmp_path / "talks_annotated.jsonl.gz").output
    assert f"references by: {LABEL} (4)" in shown


def test_it_needs_workflows(tmp_path: Path) -> None:
    talks(tmp_path / "talks.jsonl", n=1)
    (tmp_path / "catalog.json").write_text(SHOP.catalog.text())
    tools = {"domain": "", "catalog": "catalog.json"}
    found = timeful("annotate", saved(tmp_path, annotation=RULES, tool_catalog=tools))
    assert "tool_catalog.ontology" in str(found.exception)
    plain = Ontology(workflows={"w": Workflow(actions=("find-account",))})
    (tmp_path / "ontology.json").write_bytes(msgspec.json.encode(plain))
    tools["ontology"] = "ontology.json"
    found = timeful("annotate", saved(tmp_path, annotation=RULES, tool_catalog=tools))
    assert found.exit_code == 0, found.output


@pytest.mark.parametrize("option", [("--model", "m"), ("--batch-size", 2), ("--retry-failed",)])
def test_what_only_an_endpoint_could_use_is_refused(
    tmp_path: Path, option: tuple[object, ...]
) -> None:
    talks(tmp_path / "talks.jsonl", n=1)
    found = timeful("annotate", saved(tmp_path, annotation=RULES), *option)
    assert isinstance(found.exception, SettingsError)
    assert "has no effect" in str(found.exception)


@needs_abcd
@pytest.mark.parametrize("name", ["abcd_like.json.gz", "abcd_sample.json.gz"])
def test_abcd_is_annotated_and_ec_says_the_same_of_both_shapes(tmp_path: Path, name: str) -> None:
    config = saved(
        tmp_path,
        annotation=RULES,
        tool_catalog={
            "domain": "",
            "abcd": {"folder": str(ABCD), "samples": str(ABCD / "abcd_like.json.gz")},
        },
        dialogues={"file": str(ABCD / name)},
    )
    out = tmp_path / "abcd.jsonl.gz"
    assert timeful("annotate", config, "--out", out).exit_code == 0
    shaped = tmp_path / "abcd.json"
    write_abcd(shaped, annotated(out))
    aligned = json.loads(timeful("align", out, "--json").output)
    for convention in ("skip", "zero"):
        for row in aligned[convention]:
            options = ("--sigma", row["sigma"], "--unmatched", convention, "--json")
            assert json.loads(timeful("ec", shaped, *options).output) == row
    last = aligned["skip"][-1]
    assert (last["sigma"], last["action_level"]) == (0, 1.0), "by construction"
    assert aligned["coverage"] > 0.95
