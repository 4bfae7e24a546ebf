"""Dialogues by a seed: what their references say is what was said and done in them."""

import gzip
from collections.abc import Iterator
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import Any, TypeVar

import msgspec
import pytest
from click.testing import CliRunner
from hypothesis import given, settings
from hypothesis import strategies as st

pytest.importorskip("yaml")
pytest.importorskip("jinja2")

from timeful.cli.main import app
from timeful.dialogues.abcd import read_abcd
from timeful.dialogues.abcd_shape import write_abcd
from timeful.dialogues.dialogue import Dialogue
from timeful.dialogues.jsonl import read_jsonl, write_dialogue
from timeful.dialogues.opportunity import Opportunity
from timeful.domains.domain import Domain
from timeful.domains.generator import SPLITS, generate, instants, scripts
from timeful.domains.library import load_domain
from timeful.domains.nlg import Pace
from timeful.domains.references import references
from timeful.domains.script import Again, Done, Dropped, Line, Raised, Refused, Script, Told
from timeful.errors import SettingsError
from timeful.metrics.proactor.alignment import alignment

N = 60
T = TypeVar("T")

both = pytest.mark.parametrize("name", ["shop", "loan"])
seeds = st.integers(0, 2**31)


@cache
def domain(name: str) -> Domain:
    return load_domain(name)


@cache
def made(name: str, n: int = N, seed: int = 5) -> tuple[tuple[Script, Dialogue], ...]:
    """Conversations with what their turns mean, and the dialogues that they became."""
    there = domain(name)
    return tuple(zip(scripts(there, n=n, seed=seed), generate(there, n=n, seed=seed), strict=True))


def events(script: Script, kind: type[T], until: int | None = None) -> Iterator[tuple[int, T]]:
    """Events of a kind up to a turn, with the number of their turn."""
    for number, line in enumerate(script[:until], 1):
        for one in line.events:
            if isinstance(one, kind):
                yield number, one


def ready_at(script: Script, turn: int, there: Domain) -> set[str]:
    """What is ready after a turn, from the words of the rule alone, all of it looked up anew."""
    done = list(events(script, Done, turn))
    refused = {(one.topic, one.action) for _, one in events(script, Refused, turn)}
    found = {one.action for number, one in done if number == turn and one.topic is not None}
    for _, raised in events(script, Raised, turn):
        topic = raised.topic
        if any(one.topic == topic for _, one in events(script, Dropped, turn)):
            continue
        waits = {
            again.action
            for number, again in events(script, Again, turn)
            if again.topic == topic
            and not any(at > number and one.action == again.action for at, one in done)
        }
        found |= waits
        told = {one.slot for _, one in events(script, Told, turn) if one.topic in (None, topic)}
        for action in there.knowledge.ontology.workflows[raised.workflow].actions:
            once = there.speech.actions[action].once
            if (topic, action) in refused or any(
                one.action == action and (once or one.topic == topic) for _, one in done
            ):
                continue
            entry = there.knowledge.catalog.actions[action]
            needed = {one.name for one in entry.parameters if one.required}
            have = {one.name for one in entry.parameters} & told
            if needed <= have and len(have) >= entry.at_least and not waits:
                found.add(action)
            break
    return found


def check(script: Script, dialogue: Dialogue, there: Domain) -> None:
    """All that a reference promises, for one dialogue."""
    said = ""
    for turn in dialogue.turns:
        if turn.speaker == "customer":
            said += turn.text.casefold() + "\n"
        found = dialogue.references.get(turn.number, ())
        names = [one.name for one in found]
        assert len(set(names)) == len(names)
        ready = {one.name for one in found if one.is_ready}
        assert ready == ready_at(script, turn.number, there)
        assert ready == {
            name for name, turns in dialogue.ready_ranges.items() if turn.number in turns
        }
        for one in found:
            # Never known before it was said.
            given = [value for value in one.inputs.all() if value.provided]
            assert all(str(value.value).casefold() in said for value in given)
            if one.is_ready:
                assert all(value.provided for value in one.inputs.required)
        for action in turn.observed:
            values = {one.name: one for one in found}
            if action.name in values:
                assert values[action.name].status == "triggered"
                assert action.values_by_slot == {
                    one.name: one.value for one in values[action.name].inputs.all() if one.provided
                }


@given(seeds, st.sampled_from(["shop", "loan"]))
@settings(max_examples=15, deadline=None)
def test_references_are_what_was_said_and_done_for_any_seed(seed: int, name: str) -> None:
    for script, dialogue in zip(
        scripts(domain(name), n=2, seed=seed), generate(domain(name), n=2, seed=seed), strict=True
    ):
        check(script, dialogue, domain(name))


@both
def test_the_order_of_a_workflow_holds(name: str) -> None:
    workflows = domain(name).knowledge.ontology.workflows
    for script, dialogue in made(name):
        for _, raised in events(script, Raised):
            order = workflows[raised.workflow].actions
            of_it = [one.action for _, one in events(script, Done) if one.topic == raised.topic]
            firsts = list(dict.fromkeys(of_it))
            assert [order.index(one) for one in firsts] == sorted(map(order.index, firsts))
        if len(dialogue.scenario["topics"]) == 1:
            order = workflows[dialogue.subflow].actions
            starts = [
                dialogue.ready_ranges[one][0] for one in order if one in dialogue.ready_ranges
            ]
            assert starts == sorted(starts)


@pytest.mark.parametrize("sigma", [0, 1, 2, 4])
def test_ec_is_what_the_conversations_say(sigma: int) -> None:
    hits, matched, observed = 0, 0, 0
    for script, _ in made("shop"):
        ready = [ready_at(script, turn, domain("shop")) for turn in range(1, len(script) + 1)]
        for turn, done in events(script, Done):
            observed += 1
            start = next((at for at, some in enumerate(ready, 1) if done.action in some), None)
            assert (start is None) == (done.topic is None)
            if start is not None:
                matched += 1
                hits += start + sigma <= turn
    found = alignment((dialogue for _, dialogue in made("shop")), sigma)
    assert (found.n_observed, found.n_actions, found.n_hit) == (observed, matched, hits)
    # By rule an action is ready before it is taken, so only what nobody needs can be missed.
    assert found.action_level == 1.0 if sigma <= 1 else found.action_level < 1.0


def test_where_nothing_is_recorded_nothing_is_observed() -> None:
    for script, dialogue in made("loan"):
        assert not dialogue.observed
        assert any(True for _ in events(script, Done))
        assert {turn.speaker for turn in dialogue.turns} == {"agent", "customer"}


@both
def test_the_splits_are_disjoint_and_no_dialogue_stands_twice(name: str) -> None:
    dialogues = [dialogue for _, dialogue in made(name)]
    assert [one.split for one in dialogues] == list(SPLITS) * (N // len(SPLITS))
    assert len({one.id for one in dialogues}) == N
    assert len({tuple(turn.text for turn in one.turns) for one in dialogues}) == N


@both
def test_the_same_seed_makes_the_same_bytes_however_many_there_are(name: str) -> None:
    few = [write_dialogue(one) for one in generate(domain(name), n=4, seed=9)]
    more = [write_dialogue(one) for one in generate(domain(name), n=6, seed=9)]
    assert few == more[:4]
    assert few != [write_dialogue(one) for one in generate(domain(name), n=4, seed=8)]


@both
def test_conversations_are_as_long_as_the_domain_says(name: str) -> None:
    low, high = domain(name).settings.turns
    assert (low, high) == (10, 30)
    assert all(low <= len(script) <= high for script, _ in made(name))


def with_habits(name: str, **habits: Any) -> Domain:
    """A domain of conversations of any length, in which nothing is crooked but this."""
    there = domain(name)
    none = dict.fromkeys(there.settings.habits.__struct_fields__, 0.0)
    crooked = {**none, "late": (1,), "together": 1.0, **habits}
    changed = msgspec.structs.replace(
        there.settings,
        habits=msgspec.structs.replace(there.settings.habits, **crooked),
        turns=(1, 400),
    )
    return msgspec.structs.replace(there, settings=changed)


def count(there: Domain, kind: type[T]) -> int:
    return sum(1 for script in scripts(there, n=20, seed=3) for _ in events(script, kind))


@both
def test_a_straight_conversation_has_nothing_crooked(name: str) -> None:
    there = with_habits(name)
    for script in scripts(there, n=20, seed=3):
        assert len(list(events(script, Raised))) == 1
        assert not list(events(script, Again))
        assert not list(events(script, Dropped))
        assert all(one.topic == 0 for _, one in events(script, Done))
        told = [one.slot for _, one in events(script, Told)]
        assert len(told) == len(set(told))


@both
@pytest.mark.parametrize(("habit", "kind"), [("repeats", Again), ("drops", Dropped)])
def test_a_habit_makes_conversations_crooked(name: str, habit: str, kind: type) -> None:
    assert count(with_habits(name), kind) == 0 < count(with_habits(name, **{habit: 1.0}), kind)


@both
def test_a_second_topic_comes_up_late_or_early(name: str) -> None:
    for early in (0.0, 1.0):
        there = with_habits(name, second=1.0, early=early)
        two = 0
        for script in scripts(there, n=20, seed=3):
            raised = [number for number, _ in events(script, Raised)]
            acted = [number for number, one in events(script, Done) if one.topic == 0]
            if len(raised) == 2:
                two += 1
                assert (raised[1] < acted[-1]) or not early or len(acted) == 1
                assert (raised[1] > acted[-1]) or early
        assert two


def test_what_is_taken_back_before_it_was_used_is_told_twice() -> None:
    there = with_habits("shop", corrects=1.0)
    for script in scripts(there, n=10, seed=3):
        told = [(one.slot, one.value) for _, one in events(script, Told)]
        assert len(told) > len({slot for slot, _ in told})
        assert len(set(told)) == len(told)


def test_what_nobody_needs_is_observed_and_has_no_reference() -> None:
    dialogues = list(generate(with_habits("shop", stray=1.0), n=20, seed=3))
    found = alignment(dialogues, 0)
    assert found.n_matched < found.n_observed
    assert found.action_level == 1.0


@both
@pytest.mark.parametrize("exchanges", [0, 1, 2])
def test_an_agent_acts_two_turns_later_for_each_exchange(name: str, exchanges: int) -> None:
    there = with_habits(name, late=(0,) * exchanges + (1,))
    spans = []
    for script in scripts(there, n=20, seed=3):
        for turn, done in events(script, Done):
            ready = (done.action in ready_at(script, at, there) for at in range(1, turn + 1))
            spans.append(turn - 1 - list(ready).index(True))
    assert min(spans) == 1 + 2 * exchanges


def test_the_statuses_are_those_of_the_rule() -> None:
    told = Told(None, "customer_name", "Ada Lind")
    find = Done(0, "find-account", (("customer_name", "Ada Lind"),))
    order = Done(0, "open-order", (("order_number", "1"),))
    lines = [
        (Raised(0, "late-parcel"),),
        (told,),
        (find,),
        (Told(0, "order_number", "1"),),
        (order,),
        (),
        (Told(0, "order_number", "2"), Again(0, "open-order")),
        (Done(0, "open-order", (("order_number", "2"),)),),
        (Done(0, "track-parcel", ()),),
        (Raised(1, "redirect-parcel"),),
        (Refused(0, "notify-team"),),
        (Dropped(1),),
    ]
    script = tuple(Line("agent", "", some) for some in lines)
    knowledge = domain("shop").knowledge
    found = references(script, knowledge.catalog, knowledge.ontology, once=["find-account"])

    def statuses(some: tuple[Opportunity, ...]) -> dict[str, str]:
        return {one.name: one.status for one in some}

    pending, ready, triggered = "pending", "ready_to_trigger", "triggered"
    assert [statuses(some) for some in found] == [
        {"find-account": pending},
        {"find-account": ready},
        {"find-account": triggered, "open-order": pending},
        {"open-order": ready},
        {"open-order": triggered, "track-parcel": ready},
        {"open-order": "repeatable", "track-parcel": ready},
        {"open-order": ready, "track-parcel": pending},
        {"open-order": triggered, "track-parcel": ready},
        {"track-parcel": triggered, "notify-team": ready},
        {"notify-team": ready, "verify-customer": pending},
        {"notify-team": "dismissed", "verify-customer": pending},
        {"verify-customer": "dismissed"},
    ]
    values = [{one.name: one.value for one in some[0].inputs.all()} for some in found[6:8]]
    assert values == [{"order_number": "2"}, {"order_number": "2"}]
    assert [some[0].readiness_maturity for some in found[:4]] == ["low", "high", "high", "high"]


def test_what_is_known_early_shows_up_to_the_next_action_only() -> None:
    slots = ("email", "postcode", "order_number", "delivery_option")
    lines = [
        (Raised(0, "redirect-parcel"), *(Told(None, slot, "x") for slot in slots)),
        (Raised(1, "return-damaged"), Told(1, "product", "wall clock")),
        (Done(0, "find-account", ()), Done(1, "open-order", (("order_number", "x"),))),
        (),
    ]
    script = tuple(Line("agent", "", some) for some in lines)
    knowledge = domain("shop").knowledge
    found = references(script, knowledge.catalog, knowledge.ontology, once=["find-account"])
    levels = [{one.name: one.readiness_maturity for one in some} for some in found]
    assert levels == [
        {"find-account": "low", "verify-customer": "high"},
        {"find-account": "low", "verify-customer": "high", "open-order": "high"},
        # Found once, the account is found for both; of two details of a return one is known.
        {"find-account": "low", "open-order": "high", "verify-customer": "high",
         "start-return": "medium"},
        {"verify-customer": "high", "open-order": "high", "start-return": "medium"},
    ]  # fmt: skip


def test_a_name_is_the_same_wherever_it_stands() -> None:
    both_told = 0
    for script, _ in made("shop"):
        told = {one.slot: one.value for _, one in events(script, Told)}
        if {"customer_name", "email"} <= set(told):
            both_told += 1
            first, last = told["customer_name"].lower().split()
            assert told["email"].startswith(f"{first}.{last}")
    assert both_told


def test_where_words_run_out_nothing_is_said_twice() -> None:
    there = with_habits("loan")
    replace = msgspec.structs.replace
    talk = there.speech.talk
    speech = replace(
        there.speech,
        talk=replace(talk, **{one: getattr(talk, one)[:1] for one in talk.__struct_fields__}),
        openings={"property-check": there.speech.openings["property-check"][:1]},
        slots={
            name: replace(slot, made="", values=("a", "b"), tell=slot.tell[:1], ask=slot.ask[:1])
            for name, slot in there.speech.slots.items()
        },
        actions={
            name: replace(deed, report=deed.report[:1], offer=(), refused=0.0)
            for name, deed in there.speech.actions.items()
        },
    )
    one = {"property-check": there.knowledge.ontology.workflows["property-check"]}
    ontology = replace(there.knowledge.ontology, workflows=one)
    there = replace(there, speech=speech, knowledge=replace(there.knowledge, ontology=ontology))
    said = []
    dialogues = generate(there, n=1000, seed=1)
    with pytest.raises(SettingsError, match="or add paraphrases"):
        said.extend(tuple(turn.text for turn in dialogue.turns) for dialogue in dialogues)
    assert len(said) == len(set(said)) >= 8


def test_turns_begin_at_the_pace_of_the_domain() -> None:
    script = (Line("agent", "one two"), Line("action", "three"), Line("customer", "four five six"))
    typed = Pace(speaking_wpm=60, reading_wpm=120, pause_s=1, action_s=4)
    # Two words take 2 s; then 1 s of pause and 1 s of reading; the action 4 s; 1 s and 0.5 s.
    assert instants(script, typed) == [0, 4_000_000_000, 9_500_000_000]
    heard = Pace(speaking_wpm=60, reading_wpm=0, pause_s=1, action_s=0)
    assert instants(script, heard) == [0, 3_000_000_000, 4_000_000_000]
    timed = next(generate(domain("loan"), n=1, seed=1, times=True))
    plain = next(generate(domain("loan"), n=1, seed=1))
    assert all(early.at < late.at for early, late in pairwise(timed.turns))  # type: ignore[operator]
    assert {turn.at for turn in plain.turns} == {None}
    assert timed.references == plain.references


def test_questions_are_those_of_the_agent() -> None:
    for _, dialogue in made("shop"):
        asked = {turn.number for turn in dialogue.turns if turn.text.endswith("?")}
        agent = {turn.number for turn in dialogue.turns if turn.speaker == "agent"}
        assert asked & agent <= set(dialogue.questions) <= agent


@both
def test_the_shape_of_abcd_holds_what_it_has_a_place_for(name: str, tmp_path: Path) -> None:
    path = tmp_path / "made.json.gz"
    dialogues = [dialogue for _, dialogue in made(name)]
    write_abcd(path, dialogues)
    read = {one.id: one for one in read_abcd(path, needs_ranges=True)}
    for one in dialogues:
        other = read[one.id]
        assert (other.split, other.subflow, other.synthetic) == (one.split, one.subflow, True)
        assert other.ready_ranges == one.ready_ranges
        assert [(turn.speaker, turn.text) for turn in other.turns] == [
            (turn.speaker, turn.text) for turn in one.turns
        ]
        assert [(at, done.name, done.values) for at, done in other.observed] == [
            (at, done.name, done.values) for at, done in one.observed
        ]


def test_dialogues_are_made_by_command(tmp_path: Path) -> None:
    def make(*arguments: str) -> str:
        run = CliRunner().invoke(app, ["dialogues", "make", *arguments])
        assert run.exception is None, run.output
        return run.output

    out = tmp_path / "new" / "shop.jsonl.gz"
    said = make("shop", "--n", "10", "--seed", "5", "--out", str(out), "--times")
    assert said.startswith("10 dialogues (8 train, 1 dev, 1 test), ")
    assert list(read_jsonl(out)) == list(generate(domain("shop"), n=10, seed=5, times=True))
    shape = tmp_path / "shop.json.gz"
    make("shop", "--n", "2", "--seed", "5", "--out", str(shape))
    before = shape.read_bytes()
    make("shop", "--n", "2", "--seed", "5", "--out", str(shape))
    assert shape.read_bytes() == before
    assert gzip.decompress(before).startswith(b'{"train":')


@pytest.mark.parametrize(
    ("name", "options", "value"),
    [("talks.csv", (), ".jsonl"), ("talks.json", ("--times",), "--times")],
)
def test_a_file_that_cannot_hold_what_is_wanted_is_refused(
    tmp_path: Path, name: str, options: tuple[str, ...], value: str
) -> None:
    out = tmp_path / name
    arguments = ["dialogues", "make", "shop", "--n", "2", "--out", str(out), *options]
    run = CliRunner().invoke(app, arguments)
    assert isinstance(run.exception, SettingsError)
    assert value in str(run.exception)
    assert not out.exists()


@pytest.mark.slow
def test_two_topics_without_room_for_each_other_become_the_first() -> None:
    # Whoever lets four turns pass before each action has no room for ten actions in forty turns.
    slow = with_habits("shop", second=1.0, late=(0, 0, 1))
    short = msgspec.structs.replace(slow.settings, turns=(1, 40))
    many = list(scripts(msgspec.structs.replace(slow, settings=short), n=20, seed=0))
    raised = [len(list(events(script, Raised))) for script in many]
    assert set(raised) == {1, 2}
    assert max(map(len, many)) <= 40
    assert {len(list(events(one, Raised))) for one in scripts(slow, n=20, seed=0)} == {2}


@pytest.mark.slow
def test_hundreds_of_dialogues_of_a_seed_can_be_made_and_no_two_are_alike() -> None:
    # The 258th has two topics that fit into thirty turns once in a hundred conversations.
    words = {
        tuple(turn.text.casefold() for turn in one.turns)
        for one in generate(domain("shop"), n=300, seed=0)
    }
    assert len(words) == 300


def test_a_domain_without_room_for_another_dialogue_says_so() -> None:
    there = domain("shop")
    short = msgspec.structs.replace(there.settings, turns=(1, 2))
    with pytest.raises(SettingsError, match="gave no new dialogue of 1 to 2 turns"):
        list(generate(msgspec.structs.replace(there, settings=short), n=1, seed=0))
