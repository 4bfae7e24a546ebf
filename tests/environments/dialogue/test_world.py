"""A conversation as a world of events: what is in time, late and lost."""

import json
from typing import Any

import msgspec
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.environments.dialogue.material import NAMES, SECOND, one, says, talk
from timeful.core.units import START, Instant, seconds
from timeful.dialogues.dialogue import Dialogue
from timeful.dialogues.opportunity import read_opportunities
from timeful.environments.conformance import World, check_environment
from timeful.environments.dialogue.timing import ByTurn, Paced, Stamped, Timing
from timeful.environments.dialogue.view import DialogueView
from timeful.environments.dialogue.world import Conversation
from timeful.environments.environment import Observation
from timeful.environments.game import View
from timeful.errors import IllegalActionError, SettingsError

PACED = Paced(speaking_wpm=60, reading_wpm=120, pause=seconds(1.5), action=seconds(3), spread=0.0)
LAWS: dict[str, Timing] = {
    "by turn": ByTurn(patience=seconds(9)),
    "stamped": Stamped(),
    "spoken": Stamped(speaking_wpm=30),
    "paced": PACED,
    "varying": Paced(),
}


def world(timing: Timing, *at: float | None) -> Conversation:
    return Conversation(talk(*(at or (0.0, 5.0, 5.0, 12.0, 40.0))), timing, seed=3, actions=NAMES)


def at(value: float) -> Instant:
    return Instant(round(value * SECOND))


def told(seen: tuple[Observation, ...]) -> list[tuple[str, float, int | None]]:
    return [(one.event, one.at / SECOND, one.data.get("turn")) for one in seen]


@pytest.mark.parametrize("law", LAWS)
@pytest.mark.parametrize("seed", [0, 1])
def test_it_keeps_what_every_world_promises(law: str, seed: int) -> None:
    def actions(view: View, rng: np.random.Generator) -> list[str]:
        assert isinstance(view, DialogueView)
        number = int(rng.integers(1, max(view.number, 1) + 2))
        name = str(rng.choice([*NAMES, "fly"]))
        return [says(number, one(name)), says(max(view.number, 1))]

    check_environment(World(make=lambda: world(LAWS[law]), actions=actions, seed=seed))


# --- when turns come ---------------------------------------------------------------------------


def test_at_a_pace_the_next_turn_begins_before_it_is_there() -> None:
    conversation = world(PACED, None, None)
    assert told(conversation.advance(at(100))) == [
        ("begins", 0.0, 1),
        ("turn", 4.0, 1),
        ("begins", 7.5, 2),
        ("turn", 10.5, 2),
        ("over", 14.0, None),
    ]


def test_by_turn_the_next_turn_comes_with_a_prediction_for_this_one() -> None:
    conversation = world(ByTurn(patience=seconds(9)), None, None, None)
    assert told(conversation.advance(START)) == [("turn", 0.0, 1)]
    conversation.intervene([says(1, one())], at=at(2.5))
    assert conversation.next_change() == at(2.5)
    assert told(conversation.advance(at(2.5))) == [("prediction", 2.5, 1), ("turn", 2.5, 2)]
    assert conversation.next_change() == at(11.5), "and else after the patience, counted anew"
    assert told(conversation.advance(at(11.5))) == [("turn", 11.5, 3)]
    conversation.intervene([says(2)], at=at(12))
    assert told(conversation.advance(at(12))) == [("prediction", 12.0, 2)], "late: nothing moves"
    conversation.intervene([says(3)], at=at(20.5))
    assert told(conversation.advance(at(20.5))) == [("prediction", 20.5, 3), ("over", 20.5, None)]
    assert conversation.next_change() is None
    assert conversation.score == pytest.approx(2 / 3)


# --- in time, late, lost -----------------------------------------------------------------------


@pytest.mark.parametrize(("instant", "is_late"), [(at(5), False), (Instant(at(5) + 1), True)])
def test_a_prediction_at_the_very_instant_of_the_next_turn_is_in_time(
    instant: Instant, is_late: bool
) -> None:
    conversation = world(Stamped(), 0.0, 5.0, 9.0)
    conversation.advance(Instant(at(5) - 1))
    if is_late:
        conversation.advance(at(5))
    conversation.intervene([says(1, one())], at=instant)
    seen = [one for one in conversation.advance(at(60)) if one.event == "prediction"]
    assert [(one.at, one.data["late"], one.reward > 0) for one in seen] == [
        (instant, is_late, not is_late)
    ]


def test_a_prediction_is_late_once_the_next_turn_has_begun_though_it_is_not_there() -> None:
    conversation = world(PACED, None, None)
    seen = conversation.advance(at(7.5))
    assert seen[-1].view.text().endswith("(action has begun the next turn)")
    conversation.intervene([says(1, one())], at=Instant(at(7.5) + 1))
    late, *_, over = conversation.advance(at(60))
    assert late.data == {"turn": 1, "late": True, "opportunities": 1, "questions": 0}
    assert (over.data["lost"], over.data["late"], conversation.score) == ([1, 2], 1, 0.0)


@st.composite
def _lives(draw: st.DrawFn) -> tuple[list[int], list[tuple[int, int]]]:
    gaps = draw(st.lists(st.integers(0, 5), min_size=1, max_size=6))
    acts = draw(st.lists(st.tuples(st.integers(0, 40), st.integers(1, 7)), max_size=12))
    return gaps, sorted(acts)


@given(_lives())
def test_late_and_lost_turns_are_those_that_plain_arithmetic_says(
    life: tuple[list[int], list[tuple[int, int]]],
) -> None:
    """A turn k from b_k is predicted for in time from b_k through b_k+1, if the world was moved."""
    gaps, acts = life
    begins = [sum(gaps[1 : n + 1]) for n in range(len(gaps))]
    ends = [*begins[1:], begins[-1] + 10]
    conversation = Conversation(talk(*map(float, begins)), Stamped(), seed=0)
    in_time: set[int] = set()
    late = 0
    for when, number in acts:
        if when >= ends[-1]:
            break
        # The agent acts just after the world has moved through this instant.
        conversation.advance(at(when))
        arrived = sum(begin <= when for begin in begins)
        if number > arrived:
            with pytest.raises(IllegalActionError, match=f"no turn {number}; the latest is"):
                conversation.intervene([says(number)], at=at(when))
            continue
        conversation.intervene([says(number)], at=at(when))
        if number == arrived:
            in_time.add(number)
        else:
            late += 1
    over = conversation.advance(at(1000))[-1]
    assert over.data["lost"] == [n for n in range(1, len(gaps) + 1) if n not in in_time]
    assert over.data["late"] == late
    assert conversation.score == pytest.approx(len(in_time) / len(gaps))


def test_only_a_turn_and_the_end_take_an_agent_away_from_its_thoughts() -> None:
    conversation = world(PACED, None, None)
    seen = list(conversation.advance(at(5)))
    conversation.intervene([says(1)], at=at(6))
    seen += conversation.advance(at(60))
    assert {one.event: one.is_quiet for one in seen} == {
        "begins": True,
        "turn": False,
        "prediction": True,
        "over": False,
    }


def test_a_pace_varies_with_the_seed_and_with_the_dialogue() -> None:
    def end(seed: int, name: str) -> Instant:
        dialogue = msgspec.structs.replace(talk(None, None), id=name)
        return Conversation(dialogue, Paced(), seed=seed).advance(at(1000))[-1].at

    assert end(0, "a") == end(0, "a")
    assert len({end(0, "a"), end(1, "a"), end(0, "b")}) == 3


# --- what is seen, and what is not ---------------------------------------------------------------


@pytest.mark.parametrize("law", LAWS)
def test_nothing_of_the_references_or_of_the_future_is_seen_before_the_end(law: str) -> None:
    conversation = world(LAWS[law])
    came: list[int] = []
    while (change := conversation.next_change()) is not None:
        for seen in conversation.advance(change):
            if seen.event == "turn":
                came.append(seen.data["turn"])
            view = seen.view
            assert isinstance(view, DialogueView)
            shown = view.text() + json.dumps(view.json_state())
            if seen.event != "over":
                shown += json.dumps(dict(seen.data))
            assert [turn.number for turn in view.turns] == came
            assert not [
                word for word in (f"w{n}" for n in range(1, 9) if n not in came) if word in shown
            ]
            assert not [word for word in ("secret", "ready", "Who is there") if word in shown]
            assert all(turn.at is not None and turn.at <= seen.at for turn in view.turns)


def test_the_end_tells_the_record_all_that_scoring_needs() -> None:
    dialogue = talk(0.0, 5.0)
    held = Conversation(
        dialogue, Stamped(), seed=0, actions=("pay", "open"), workflows=[("open", "pay")]
    )
    over: dict[str, Any] = dict(held.advance(at(60))[-1].data)
    assert (over["actions"], over["workflows"]) == (["open", "pay"], [["open", "pay"]])
    assert read_opportunities(over["references"]["2"]) == dialogue.references[2]
    assert over["ready_ranges"] == {"open": [1, 2, 3]}
    assert over["questions"] == {"1": ["Who is there?"]}
    assert (over["dialogue"], over["synthetic"], over["lost"]) == ("d1", True, [1, 2])


# --- what is refused ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("action", "said"),
    [
        ("hello", "this is no prediction: "),
        ('{"turn": 1', "this is no prediction: "),
        ('{"turn": "1"}', "Expected `int`"),
        ('{"turn": 0}', "`int` >= 1"),
        ('{"turn": 1, "actions": []}', "unknown field `actions`"),
        ('{"turn": 1, "opportunities": [{"name": "open"}]}', "missing required field `inputs`"),
        (says(1, one()).replace("pending", "soon"), "pending, ready_to_trigger, "),
        (says(2), "there is no turn 2; the latest is 1"),
        (says(1, one("sned")), "Did you mean 'send'"),
        ("\ud800", "this is no prediction"),
        ('{"turn": 1, "questions": ["\\ud800"]}', "this is no prediction"),
        ("[" * 100_000, "this is no prediction"),
    ],
)
def test_what_is_no_prediction_is_refused_in_words_that_help(action: str, said: str) -> None:
    conversation = world(Stamped())
    conversation.advance(START)
    with pytest.raises(IllegalActionError) as error:
        conversation.intervene([says(1), action], at=at(1))
    assert said in str(error.value)
    assert conversation.next_change() == at(5), "nothing of the set was taken"


def test_before_the_first_turn_and_after_the_end_nothing_can_be_predicted() -> None:
    conversation = world(PACED)
    with pytest.raises(IllegalActionError, match="nothing has been said yet"):
        conversation.intervene([says(1)], at=at(1))
    conversation.advance(at(1000))
    with pytest.raises(IllegalActionError, match="the conversation is over"):
        conversation.intervene([says(1)], at=at(1000))


def test_a_conversation_without_turns_is_refused() -> None:
    with pytest.raises(SettingsError, match="dialogue d1 has no turn"):
        Conversation(Dialogue(id="d1", turns=()), ByTurn(), seed=0)
