"""The rule oracle where nothing records what is done: what it makes of words alone."""

import json
from pathlib import Path

import msgspec
import pytest

pytest.importorskip("yaml")
pytest.importorskip("jinja2")

from tests.annotation.annotating import annotated, saved, talks, timeful
from timeful.annotation.transcript_oracle import WORDS_LABEL, DialogueStateTracker
from timeful.dialogues.dialogue import Dialogue, Speaker, Turn, ranges_of
from timeful.dialogues.jsonl import write_jsonl
from timeful.domains.generator import generate
from timeful.domains.library import load_domain
from timeful.errors import SettingsError

LOAN = load_domain("loan").knowledge
TRACKER = DialogueStateTracker(LOAN)

TALK: tuple[tuple[Speaker, str], ...] = (
    ("agent", "Good morning."),
    ("customer", "How much can I borrow?"),
    ("agent", "What is your name?"),
    ("customer", "Ada Lind."),
    ("agent", "One moment."),
    ("agent", "I've opened a file for you."),
    ("agent", "What is your income?"),
    ("customer", "I'm salaried, 50 thousand a year."),
    ("agent", "I've noted the income."),
)


def a_talk(*lines: tuple[Speaker, str], subflow: str = "") -> Dialogue:
    turns = (Turn(number=n, speaker=who, text=text) for n, (who, text) in enumerate(lines, 1))
    return Dialogue(id="7", subflow=subflow, turns=tuple(turns))


def statuses(dialogue: Dialogue) -> dict[str, str]:
    """Of each action a letter a turn: pending, ready, triggered."""
    letters = {"pending": "p", "ready_to_trigger": "r", "triggered": "t"}
    rows: dict[str, str] = {}
    for number, some in TRACKER(dialogue).items():
        for one in some:
            row = rows.get(one.name, "").ljust(number - 1, ".")
            rows[one.name] = row + letters[one.status]
    return rows


def test_an_action_is_ready_once_its_values_are_told_until_the_agent_says_that_it_is_done() -> None:
    debts: tuple[tuple[Speaker, str], ...] = (("customer", "300 a month for debts."),)
    done: tuple[tuple[Speaker, str], ...] = (("agent", "Debts are noted."),)
    untold = {"open-client-file": ".pprrt", "record-income": ".....pprt"}
    assert statuses(a_talk(*TALK, subflow="first-budget")) == untold
    # What needs no values follows at once, what is never told never comes.
    assert statuses(a_talk(*TALK, *debts, *done, subflow="first-budget")) == {
        **untold,
        "record-debts": "........prt",
        "estimate-budget": "..........r",
    }


def test_a_statement_that_names_no_action_ends_one_where_none_does() -> None:
    talk = a_talk(*TALK[:5], ("agent", "So."), subflow="pre-approval")
    assert statuses(talk) == {"open-client-file": ".pprt"}


def test_the_workflow_is_the_one_whose_parameters_were_told() -> None:
    assert "record-income" in statuses(a_talk(*TALK))
    assert statuses(a_talk(*TALK)) == statuses(a_talk(*TALK, subflow="no such workflow"))


def test_inputs_are_what_was_told_by_then() -> None:
    found = TRACKER(a_talk(*TALK, subflow="first-budget"))
    given = [
        {one.name: one.value for one in some[-1].inputs.all() if one.provided}
        for some in found.values()
    ]
    assert given[:3] == [{}, {}, {"client_name": "Ada Lind"}]
    assert given[6] == {"income_kind": "salaried", "yearly_income": "50 thousand"}


@pytest.mark.parametrize("lines", [(), (("agent", "Hello?"),), (("customer", "Hm."),)])
def test_a_dialogue_in_which_nothing_is_told_has_no_ready_action(
    lines: tuple[tuple[Speaker, str], ...],
) -> None:
    assert not any(one.is_ready for some in TRACKER(a_talk(*lines)).values() for one in some)


def test_it_is_near_the_reference_that_the_generator_knows() -> None:
    """The figures stand in docs/annotation.md; it does not know who said what he meant."""
    begins = both = missing = extra = shared = union = 0
    for dialogue in generate(load_domain("loan"), n=200, seed=11):
        found = ranges_of(TRACKER(dialogue))
        for name in found.keys() | dialogue.ready_ranges.keys():
            ours, known = set(found.get(name, ())), set(dialogue.ready_ranges.get(name, ()))
            shared, union = shared + len(ours & known), union + len(ours | known)
            missing, extra = missing + (not ours), extra + (not known)
            both += bool(ours and known)
            begins += bool(ours and known) and min(ours) == min(known)
    assert begins / both > 0.75
    assert shared / union > 0.5
    assert missing / both < 0.25
    assert extra / both < 0.02


def test_a_domain_without_observed_actions_is_annotated_by_its_settings_alone(
    tmp_path: Path,
) -> None:
    talks(tmp_path / "talks.jsonl", n=4, domain="loan")
    tools = {"domain": "loan"}
    config = saved(tmp_path, annotation={"oracle": "rules"}, tool_catalog=tools)
    found = timeful("annotate", config)
    assert found.exit_code == 0, found.output
    out = tmp_path / "talks_annotated.jsonl.gz"
    read = annotated(out)
    assert {one.annotator for one in read} == {WORDS_LABEL}
    assert all(one.ready_ranges for one in read)
    assert "no model was asked" in (tmp_path / "talks_annotated.meta.json").read_text()
    shown = timeful("align", out).output
    assert f"references by: {WORDS_LABEL} (4)" in shown
    assert "coverage: 0 of 0" in shown


def test_a_split_that_there_is_not_is_named(tmp_path: Path) -> None:
    talks(tmp_path / "talks.jsonl", n=2)
    chosen = {"file": "talks.jsonl", "splits": ["trian"]}
    found = timeful("annotate", saved(tmp_path, annotation={"oracle": "rules"}, dialogues=chosen))
    assert isinstance(found.exception, SettingsError)
    assert "'trian'; there are: train. Did you mean 'train'" in str(found.exception)


def test_a_dialogue_in_which_nothing_was_done_says_that_it_was_annotated_by_words(
    tmp_path: Path,
) -> None:
    made = talks(tmp_path / "talks.jsonl", n=2)
    turns = tuple(msgspec.structs.replace(one, observed=()) for one in made[1].turns)
    unseen = msgspec.structs.replace(made[1], turns=turns)
    write_jsonl(tmp_path / "talks.jsonl", [made[0], unseen])
    assert timeful("annotate", saved(tmp_path, annotation={"oracle": "rules"})).exit_code == 0
    found = json.loads(timeful("align", tmp_path / "talks_annotated.jsonl.gz", "--json").output)
    assert found["annotators"] == {"hindsight by rule": 1, WORDS_LABEL: 1}
