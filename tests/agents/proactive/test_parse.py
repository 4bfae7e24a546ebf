"""What models say, well and badly: each outcome is defined, and none is a crash."""

import json
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from tests.agents.proactive.material import CATALOG, PAY, actions, questions
from tests.environments.dialogue.material import one
from timeful.agents.proactive.parse import read_actions, read_questions
from timeful.dialogues.opportunity import write_opportunities
from timeful.dialogues.prediction import Prediction, read_prediction

NAMES = CATALOG.actions
GOOD: dict[str, Any] = write_opportunities([one("pay")])[0]


def listed(*items: object) -> str:
    return json.dumps({"proactive_action_opportunities": items})


def outcome(said: str, section: str = "") -> tuple[list[str], list[str]]:
    found = read_actions(said, section=section, names=NAMES)
    return [each.name for each in found.opportunities], [topic for topic, _ in found.problems]


@pytest.mark.parametrize(
    ("said", "names", "problems"),
    [
        (PAY, ["pay"], []),
        (f"```json\n{PAY}\n```", ["pay"], []),
        (f"Of course! {PAY} Anything else?", ["pay"], []),
        (f"<think>maybe {actions(one('send'))}</think>{PAY}", ["pay"], []),
        (f"maybe {actions(one('send'))}</think>{PAY}", ["pay"], []),
        (f"With {{care}}: {PAY}", ["pay"], []),
        (f'{{"note": "first"}} {PAY}', ["pay"], []),
        (f"{PAY} or {{rather}} {actions(one('send'))}", ["pay"], ["further-json"]),
        (f"{listed()} {PAY}", [], ["further-json"]),
        (f'{{"proactive_action_opportunities": 5}} {PAY}', [], ["further-json", "bad-shape"]),
        (f"{PAY} {PAY[:40]}", ["pay"], []),
        (PAY[:-1] + ', "proactive_action_opportunities": []}', [], ["bad-json"]),
        (PAY.replace('"name"', '"name": "send", "name"'), [], ["bad-json"]),
        (listed(), [], []),
        ("", [], ["no-json"]),
        ("I would pay.", [], ["no-json"]),
        ("[]", [], ["no-json"]),
        ("<think>{never ending", [], ["no-json"]),
        (PAY[:-3], [], ["bad-json"]),
        (PAY[:40], [], ["bad-json"]),
        (PAY.replace('"pending"', "NaN").replace('"Ada"', "NaN"), [], ["bad-json"]),
        (PAY.replace("Ada", "\\ud800"), [], ["bad-json"]),
        (PAY.replace('"Ada"', "9" * 5000), [], ["bad-json"]),
        ('{"a": ' * 100_000, [], ["bad-json"]),
        ("{" * 100_000, [], ["bad-json"]),
        (json.dumps([GOOD]), [], ["bad-shape"]),
        (json.dumps(GOOD), [], ["bad-shape"]),
        ('{"proactive_action_opportunities": {}}', [], ["bad-shape"]),
        ('{"proactive_action_opportunities": null}', [], ["bad-shape"]),
        (listed(GOOD, GOOD | {"action_trigger_status": "soon"}), ["pay"], ["unknown-status"]),
        (listed(GOOD | {"action_trigger_status": 1}), [], ["bad-opportunity"]),
        (listed(GOOD | {"action_trigger_status": ["pending"]}), [], ["bad-opportunity"]),
        (listed(GOOD | {"name": "fly"}, GOOD), ["pay"], ["unknown-action"]),
        (listed(GOOD | {"name": 5}, "pay", None, GOOD), ["pay"], ["bad-opportunity"] * 3),
        (listed(GOOD | {"inputs": []}), [], ["bad-opportunity"]),
        (listed(GOOD | {"readiness_maturity": "huge"}), [], ["bad-opportunity"]),
        (listed(GOOD, GOOD | {"description": "again"}), ["pay"], ["duplicate-name"]),
        (listed(GOOD | {"more": 1}), ["pay"], []),
    ],
)
def test_what_becomes_of_an_answer(said: str, names: list[str], problems: list[str]) -> None:
    assert outcome(said) == (names, problems)


def test_a_section_is_looked_for_and_missed_though_json_without_it_counts() -> None:
    assert outcome(f"<action>{PAY}</action>", "action") == (["pay"], [])
    assert outcome(f"<think>{PAY}</think>\n<action>\n{PAY}", "action") == (["pay"], [])
    assert outcome(f"{actions(one('send'))}<action>{PAY}</action>", "action") == (["pay"], [])
    assert outcome(PAY, "action") == (["pay"], ["no-section"])
    twice = f"<action>{PAY}</action> no: <action>{actions(one('send'))}</action>"
    assert outcome(twice, "action") == (["pay"], ["further-json"])
    assert outcome("nothing", "action") == ([], ["no-section", "no-json"])


def test_questions_are_texts() -> None:
    def outcome(said: str) -> tuple[tuple[str, ...], list[str]]:
        found = read_questions(said, section="question")
        return found.questions, [topic for topic, _ in found.problems]

    assert outcome(f"<question>{questions(' Who? ', 'Why?')}</question>") == (("Who?", "Why?"), [])
    some = '<question>{"raised_questions": ["Who?", 3, " ", null]}'
    assert outcome(some) == (("Who?",), ["bad-question"] * 3)
    assert outcome("<question>{}") == ((), ["bad-shape"])


TAGS = ["<think>", "</think>", "<action>", "</action>", "```json"]
MARKS = ["{", "}", "[", '"', ",", "\\ud800", "\ud800", "1e999", "NaN", "\x00"]
PARTS = [PAY, PAY[:50], '"action_trigger_status": "pending"', '{"raised_questions": ["a"]}']
PIECES = st.sampled_from([*TAGS, *MARKS, *PARTS, '{"proactive_action_opportunities": ['])
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=8)
    | st.sampled_from(["pay", "pending", "soon"]),
    lambda inner: st.lists(inner, max_size=3)
    | st.dictionaries(st.sampled_from([*GOOD, "input_name", "required"]), inner, max_size=4),
    max_leaves=12,
)  # fmt: skip


@given(
    st.text(max_size=60)
    | st.lists(PIECES | st.text(max_size=5), max_size=12).map("".join)
    | st.lists(JSON, max_size=3).map(lambda items: listed(*items))
    | st.dictionaries(st.sampled_from(list(GOOD)), JSON).map(lambda more: listed(GOOD | more)),
    st.sampled_from(["", "action"]),
)
@example(listed(GOOD | {"inputs": {"required": [{"input_name": "who", "provided": True,
                                                 "value": 10**30}]}}), "")  # fmt: skip
def test_whatever_is_said_can_be_said_on_to_the_world_or_is_counted(
    said: str, section: str
) -> None:
    for read in (
        read_actions(said, section=section, names=NAMES),
        read_questions(said, section=section),
    ):
        prediction = Prediction(turn=1, opportunities=read.opportunities, questions=read.questions)
        assert read_prediction(str(prediction)) == prediction
        assert all(each.name in NAMES for each in read.opportunities)
        assert len({each.name for each in read.opportunities}) == len(read.opportunities)
        for _, text in read.problems:
            text.encode()
