"""Dialogues come from files as they stand in them; what is wrong is named with its place."""

import gzip
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.dialogues.material import ABCD, needs_abcd
from tests.dialogues.test_opportunity import opportunities
from timeful.dialogues.abcd import read_abcd
from timeful.dialogues.dialogue import Dialogue, ObservedAction, Turn
from timeful.dialogues.jsonl import read_dialogue, read_jsonl, write_dialogue, write_jsonl
from timeful.dialogues.slots import read_ontology
from timeful.errors import SettingsError

ONTOLOGY = {
    "actions": {
        "kb_query": {"verify-identity": ["customer_name", "account_id", "order_id", "zip_code"]},
        "interaction": {
            "pull-up-account": ["customer_name", "account_id"],
            "update-account": ["account_slotval", "customer_name", "payment_method", "phone"],
            "record-reason": ["product", "payment_method", "refund_target"],
            "notify-team": ["company_team"],
            "send-link": [],
        },
    },
    "values": {
        "enumerable": {
            "customer_name": ["Joyce Wu"],
            "company_team": ["manager"],
            "account_slotval": ["add service"],
            "payment_method": ["credit card"],
            "refund_target": ["credit card", "gift card"],
            "product": ["michael kors jeans"],
        }
    },
}


def a_turn(number: int, speaker: str, action: str | None = None, *values: str) -> dict[str, Any]:
    step = "take_action" if action else None
    targets = ["policy", step, action, list(values), -1]
    return {"speaker": speaker, "text": f"t{number}", "turn_count": number, "targets": targets}


def a_dialogue(**fields: object) -> dict[str, Any]:
    return {
        "convo_id": 7,
        "scenario": {
            "personal": {"account_id": "sdxr8vvqkl"},
            "order": {"products": "[{'brand': 'guess', 'amount': 79}]"},
            "subflow": "policy_2",
        },
        "original": [["customer", "Hello."], ["action", "Done for Joyce."], ["agent", "Bye!"]],
        "delexed": [
            a_turn(1, "customer"),
            a_turn(2, "action", "pull-up-account", "joyce wu"),
            a_turn(3, "agent"),
        ],
        **fields,
    }


def saved(tmp_path: Path, data: object, name: str = "abcd.json") -> Path:
    path = tmp_path / name
    text = json.dumps(data).encode()
    path.write_bytes(gzip.compress(text) if name.endswith(".gz") else text)
    return path


@pytest.mark.parametrize("name", ["abcd.json", "abcd.json.gz"])
def test_an_abcd_dialogue_is_read_turn_by_turn(tmp_path: Path, name: str) -> None:
    given = a_dialogue(reference_ready_range={"pull-up-account": [2, 1, 2]}, synthetic=True)
    path = saved(tmp_path, {"train": [], "test": [given]}, name)
    (found,) = read_abcd(path)
    assert (found.id, found.split, found.subflow) == ("7", "test", "policy")
    assert found.synthetic
    assert [(turn.speaker, turn.text) for turn in found.turns] == [
        ("customer", "Hello."),
        ("action", "Done for Joyce."),
        ("agent", "Bye!"),
    ]
    assert found.observed == [(2, ObservedAction(name="pull-up-account", values=("joyce wu",)))]
    assert found.ready_ranges == {"pull-up-account": (1, 2)}
    assert found.scenario["order"]["products"] == [{"brand": "guess", "amount": 79}]
    assert found.scenario["subflow"] == "policy_2", "with the suffix of its variant"
    (other,) = read_abcd(path, wording="delexed")
    assert [turn.text for turn in other.turns] == ["t1", "t2", "t3"]
    assert not list(read_abcd(path, splits=["train"]))


def test_a_plain_list_of_dialogues_is_read_too(tmp_path: Path) -> None:
    (found,) = read_abcd(saved(tmp_path, [a_dialogue(convo_id="x")]))
    assert (found.id, found.split) == ("x", "")


def _turns(*turns: object) -> dict[str, Any]:
    return {"delexed": list(turns), "original": None}


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"delexed": None}, r"dialogue 7: .*`\$\.delexed`"),
        (_turns({**a_turn(1, "agent"), "speaker": "bot"}), r"dialogue 7: .*delexed\[0\]\.speaker"),
        (_turns({**a_turn(1, "agent"), "targets": []}), r"dialogue 7: .*delexed\[0\]\.targets"),
        (_turns({**a_turn(1, "agent"), "turn_count": 0}), r"7: .*delexed\[0\]\.turn_count"),
        (_turns(a_turn(2, "agent"), a_turn(1, "agent")), "7: turn numbers rise from 1, got 1"),
        (_turns(a_turn(4, "action")), r"7: turn 4: an action turn without .* in targets\[2\]"),
        ({"original": [["agent", "Hi"]]}, "7: original has 1 turns and delexed 3"),
        (
            {"original": [["agent", "a"], ["action", "b"], ["agent", "c"]]},
            "7: turn 1: the speaker is 'agent' in original and 'customer' in delexed",
        ),
        ({"scenario": {"order": {"products": "[oops"}}}, r"7: scenario\.order\.products is no"),
        ({"reference_ready_range": {"x": [0]}}, r"7: .*reference_ready_range\[\.\.\.\]\[0\]"),
        ({"convo_id": None}, r"dialogue 2 of dev: .*convo_id"),
    ],
)
def test_an_abcd_dialogue_that_is_wrong_is_named_with_the_field(
    tmp_path: Path, wrong: dict[str, Any], said: str
) -> None:
    path = saved(tmp_path, {"dev": [a_dialogue(convo_id=6), a_dialogue(**wrong)]})
    with pytest.raises(SettingsError, match=said):
        list(read_abcd(path))


def test_a_slip_in_an_observed_action_is_refused(tmp_path: Path) -> None:
    action = '{"name": "open", "values": ["Ada"], "slot": ["who"]}'
    turn = f'{{"number": 1, "speaker": "agent", "text": "", "observed": [{action}]}}'
    path = tmp_path / "own.jsonl"
    path.write_text(f'{{"id": "7", "turns": [{turn}]}}')
    with pytest.raises(SettingsError, match=r"dialogue 7\): .*`slot`.*Did you mean 'slots'"):
        list(read_jsonl(path))


@pytest.mark.parametrize("text", [b"", b"{", b"7", b'{"train": 7}', b"\x1f\x8bno", b'["\xff"]'])
def test_a_file_that_is_not_in_the_shape_of_abcd_is_refused(tmp_path: Path, text: bytes) -> None:
    path = tmp_path / "abcd.json"
    path.write_bytes(text)
    with pytest.raises(SettingsError, match=r"abcd\.json"):
        list(read_abcd(path))


def test_what_is_missing_is_asked_for(tmp_path: Path) -> None:
    path = saved(tmp_path, {"train": [a_dialogue()]})
    with pytest.raises(SettingsError, match=r"7: there is no reference_ready_range; .*annotate"):
        list(read_abcd(path, needs_ranges=True))
    with pytest.raises(SettingsError, match=r"unknown split 'trian'.*Did you mean 'train'"):
        list(read_abcd(path, splits=["trian"]))
    with pytest.raises(SettingsError, match="cannot read"):
        list(read_abcd(tmp_path / "nowhere.json"))


@pytest.mark.parametrize(
    ("action", "values", "slots"),
    [
        ("pull-up-account", ["Joyce  WU"], ["customer_name"]),  # a closed list
        ("pull-up-account", ["sdxr8vvqkl"], ["account_id"]),  # the scenario
        ("verify-identity", ["joyce wu", "12345", "1234567890"], None),  # patterns, any order
        ("pull-up-account", ["abcde12345"], ["account_id"]),
        ("update-account", ["(798) 803-8431"], ["phone"]),
        ("record-reason", ["credit card", "credit card"], ["payment_method", "refund_target"]),
        ("record-reason", ["Michael_Kors jeans"], ["product"]),
        ("notify-team", ["managr"], ["company_team"]),  # the only slot
        ("notify-team", ["manager", "manager"], ["company_team", None]),
        ("pull-up-account", ["somebody"], [None]),
        ("pull-up-account", ["joyce wu", "somebody"], ["customer_name", None]),
        ("send-link", ["x"], [None]),
        ("unheard-of", ["x"], [None]),
    ],
)
def test_values_are_given_their_slots(
    tmp_path: Path, action: str, values: list[str], slots: list[str | None] | None
) -> None:
    ontology = read_ontology(saved(tmp_path, ONTOLOGY, "ontology.json"))
    scenario = a_dialogue()["scenario"]
    found = ontology.slots_of(action, values, scenario)
    assert list(found) == (slots or ["customer_name", "zip_code", "order_id"])


def test_an_ontology_that_is_none_is_refused(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match="ontology of ABCD"):
        read_ontology(saved(tmp_path, {"actions": {}}, "ontology.json"))


@needs_abcd
def test_the_official_sample_is_read_whole() -> None:
    found = list(
        read_abcd(ABCD / "abcd_sample.json.gz", ontology=read_ontology(ABCD / "ontology.json"))
    )
    assert [dialogue.id for dialogue in found] == ["3592", "9489", "3695"]
    first = found[0]
    assert [turn.number for turn in first.turns] == list(range(1, 30))
    assert first.subflow == "return_size"
    assert first.turns[9].text == "Username: cminh730"
    assert first.observed[1] == (
        13,
        ObservedAction(
            name="validate-purchase",
            values=("cminh730", "cminh730@email.com", "3348917502"),
            slots=("username", "email", "order_id"),
        ),
    )


@needs_abcd
def test_the_synthetic_dialogues_are_read_whole_and_nearly_all_their_values_are_named() -> None:
    path, ontology = ABCD / "abcd_like.json.gz", read_ontology(ABCD / "ontology.json")
    found = list(read_abcd(path, ontology=ontology, needs_ranges=True))
    assert len(found) == 200
    assert all(dialogue.synthetic for dialogue in found)
    slots = [slot for one in found for _, action in one.observed for slot in action.slots]
    assert len(slots) == 739
    # What is left are misspelt names and numbers, and phones that no slot of the action is for.
    assert slots.count(None) <= 20


moments = st.none() | st.integers(0, 10**15)
turns = st.lists(
    st.tuples(
        st.sampled_from(["agent", "customer", "action"]),
        st.text(max_size=5),
        moments,
        st.lists(
            st.builds(
                lambda name, pairs: ObservedAction(
                    name=name,
                    values=tuple(value for value, _ in pairs),
                    slots=tuple(slot for _, slot in pairs),
                ),
                st.text(min_size=1, max_size=3),
                st.lists(
                    st.tuples(st.text(max_size=3), st.none() | st.text(max_size=3)), max_size=2
                ),
            ),
            max_size=2,
        ),
    ),
    max_size=4,
)


@settings(max_examples=60, deadline=None)
@given(turns, st.lists(opportunities, max_size=2), st.booleans())
def test_a_dialogue_survives_a_line_of_json(
    said: list[tuple[Any, str, int | None, list[ObservedAction]]],
    references: list[Any],
    synthetic: bool,
) -> None:
    dialogue = Dialogue(
        id="d",
        split="dev",
        turns=tuple(
            Turn(number=n, speaker=speaker, text=text, at=at, observed=tuple(observed))
            for n, (speaker, text, at, observed) in enumerate(said, 1)
        ),
        references={n: tuple(references) for n in range(1, len(said) + 1)},
        ready_ranges={"x": (1, 3)},
        questions=dict.fromkeys(range(1, len(said) + 1), ("Why?",)),
        scenario={"order": {"products": [1, None]}},
        synthetic=synthetic,
    )
    line = write_dialogue(dialogue)
    assert b"\n" not in line
    assert read_dialogue(line) == dialogue


@pytest.mark.parametrize("name", ["all.jsonl", "all.jsonl.gz"])
def test_files_of_lines_are_the_same_bytes_for_the_same_dialogues(
    tmp_path: Path, name: str
) -> None:
    dialogues = [Dialogue(id=name, turns=()) for name in "ab"]
    one, other = tmp_path / "1" / name, tmp_path / "2" / name
    for path in (one, other):
        path.parent.mkdir()
        write_jsonl(path, dialogues)
        assert list(read_jsonl(path)) == dialogues
    assert one.read_bytes() == other.read_bytes()
    if name.endswith(".gz"):
        assert one.read_bytes()[:8] == b"\x1f\x8b\x08" + bytes(5), "no name, and no time"


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ('{"id": "x", "turns": [], "tunrs": 1}', r"line 3 \(dialogue x\): .*`tunrs`"),
        (
            '{"id": "x", "turns": [{"number": 1, "speaker": "me", "text": ""}]}',
            r"turns\[0\]\.speaker",
        ),
        ('{"id": "x", "turns": [{"number": 0, "speaker": "agent", "text": ""}]}', "rise from 1"),
        (
            '{"id": "x", "turns": [{"number": 1, "speaker": "agent", "text": "", "start_s": -1}]}',
            r"line 3 \(dialogue x\): .*start_s",
        ),
        ('{"id": 4, "turns": []}', r"line 3: .*`\$\.id`"),
        ('{"id": "x", "turns": [], "references": {"1": []}}', "references: there is no turn 1"),
        ('{"id": "x", "turns": [NaN]}', "line 3: JSON is malformed"),
    ],
)
def test_a_line_that_is_no_dialogue_is_named(tmp_path: Path, line: str, said: str) -> None:
    path = tmp_path / "all.jsonl"
    path.write_text('{"id": "a", "turns": []}\n\n' + line + "\n")
    with pytest.raises(SettingsError, match=said):
        list(read_jsonl(path))


@pytest.mark.parametrize("text", ["[" * 100_000, '{"train": [' + "[" * 5_000, '{"a": ' * 100_000])
def test_a_file_that_is_nested_without_end_is_refused_as_any_other(
    tmp_path: Path, text: str
) -> None:
    path = tmp_path / "deep.json"
    path.write_text(text)
    with pytest.raises(SettingsError, match=r"deep\.json is not in ABCD's shape"):
        list(read_abcd(path))
