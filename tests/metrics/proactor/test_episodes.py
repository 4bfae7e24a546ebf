"""From records to scores: which prediction stands is read from the order of events alone."""

from collections.abc import Iterator

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.environments.dialogue.material import one, says, talk
from timeful.core.units import Instant
from timeful.dialogues.dialogue import Dialogue
from timeful.environments.dialogue.timing import Paced, Stamped, Timing
from timeful.environments.dialogue.world import Conversation
from timeful.errors import RecordError
from timeful.metrics.proactor.auxiliary import auxiliary
from timeful.metrics.proactor.episodes import (
    OF_REFERENCES,
    Conversed,
    read_conversation,
    score_conversations,
)
from timeful.metrics.proactor.turns import mean_scores, score_turn
from timeful.records.events import (
    Acted,
    Entry,
    EpisodeEnded,
    EpisodeFailed,
    EpisodeStarted,
    Happened,
    Noted,
    ThoughtEnded,
)

START = EpisodeStarted(at=0, version="test", settings={"agent": "toy"})
END = EpisodeEnded(at=9, reason="world over", turns=1, score=0.0)


def acted(text: str, *, legal: bool = True) -> Acted:
    return Acted(at=0, turn=0, action=text, legal=legal, error=None if legal else "no")


def happened(what: str, **data: object) -> Happened:
    return Happened(at=0, number=1, what=what, data=data, reward=0.0, score=0.0)


def turn(number: int) -> Happened:
    return happened("turn", turn=number, speaker="customer", text=f"w{number}", observed=[])


def over(**facts: object) -> Happened:
    return happened("over", dialogue="d1", **facts)


def read(*events: Entry) -> Conversed:
    found = read_conversation([START, *events, END])
    assert found is not None
    return found


def names(conversed: Conversed) -> list[list[str]]:
    return [[each.name for each in one.predictions] for one in conversed.turns]


A, B, C = (one(name) for name in ("open", "pay", "send"))


def test_the_last_prediction_before_the_next_turn_begins_stands() -> None:
    found = read(
        turn(1),
        acted(says(1, A)),
        acted(says(1, B, questions=("Why?",))),
        happened("begins", turn=2),
        acted(says(1, C)),
        turn(2),
        acted(says(1, C)),
        turn(3),
        acted(says(3), legal=False),
        over(questions={"1": ["Who?"]}),
    )
    assert names(found) == [["pay"], [], []]
    assert (found.lost, found.late, found.revised) == ((2, 3), (1, 1), 1)
    assert found.questions == ((("Why?",), ("Who?",)), ((), ()), ((), ()))
    assert [one.is_late for one in found.predictions] == [False, False, True, True]
    assert (found.dialogue, found.settings) == ("d1", {"agent": "toy"})


def test_a_turn_began_when_its_beginning_was_seen_or_else_when_it_came() -> None:
    came = [
        msgspec.structs.replace(event, at=at)
        for at, event in [(3, turn(1)), (5, happened("begins", turn=2)), (8, turn(2)), (9, turn(3))]
    ]
    found = read(*came, over())
    assert [one.at for one in found.transcript] == [3, 5, 9]
    assert found.arrived == (3, 8, 9)


def test_what_is_said_when_the_conversation_is_over_is_late() -> None:
    found = read(turn(1), over(), acted(says(1, A)))
    assert (found.lost, found.late) == ((1,), (1,))


def test_an_empty_set_in_time_is_no_lost_turn() -> None:
    scores = score_conversations([read(turn(1), acted(says(1)), turn(2), over())])
    assert (scores.means.n_turns, scores.means.n_skipped) == (2, 2)
    assert (scores.n_empty, scores.n_lost, scores.n_lost_late) == (1, 1, 0)
    assert scores.means.means["ac"] is None


def test_a_turn_that_was_also_predicted_in_time_is_not_lost_by_a_late_one() -> None:
    late = acted(says(1, B))
    scores = score_conversations([read(turn(1), acted(says(1, A)), turn(2), late, over())])
    assert (scores.n_late, scores.n_lost, scores.n_lost_late) == (1, 1, 0)


def test_lost_turns_can_be_counted_as_nothing_said() -> None:
    """Two turns with a set, of which one is empty; two are lost."""
    ready = one("open", "ready_to_trigger")
    facts = over(ready_ranges={"open": [1]})
    events = [turn(1), acted(says(1, ready)), turn(2), acted(says(2)), turn(3), turn(4), facts]
    scores = score_conversations([read(*events)])
    assert (scores.means.means["pt"], scores.with_lost["pt"]) == (1.0, pytest.approx(1 / 3))
    assert "ftr" not in scores.with_lost
    silent = score_conversations([read(turn(1), over())])
    assert silent.with_lost["pt"] == 0.0
    assert score_conversations([]).with_lost["pt"] is None


def test_where_only_ready_ranges_are_known_there_is_nothing_to_be_consistent_with() -> None:
    events = [turn(1), acted(says(1, one("open", "triggered"))), turn(2)]
    bare = score_conversations([read(*events, over(ready_ranges={"open": [1]}))])
    assert [name for name, mean in bare.means.means.items() if mean is None] == [*OF_REFERENCES]
    assert bare.means.difference is bare.with_lost["ac"] is bare.with_lost["atr"] is None
    assert (bare.means.means["pt"], bare.with_lost["pt"]) == (1.0, 0.5)
    lost = score_conversations([read(turn(1), over(ready_ranges={"open": [1]}))])
    assert (lost.with_lost["ac"], lost.with_lost["pt"]) == (None, 0.0)


def test_questions_workflows_and_what_was_done_are_scored_from_the_record() -> None:
    def held(name: str, *questions: str) -> Conversed:
        done = turn(2)
        done.data["observed"] = [{"name": "open"}, {"name": "fly"}]
        events = [turn(1), acted(says(1, A, questions=questions)), done, acted(says(2, B))]
        facts = {"ready_ranges": {"open": [2]}, "questions": {"1": ["What name?"]}}
        domain = {"actions": ["open", "pay"], "workflows": [["open", "pay"]]}
        found = read_conversation(
            [START, *events, happened("over", dialogue=name, **facts | domain)]
        )
        assert found is not None
        return found

    found = auxiliary([held("d1"), held("d1", "What name?"), held("d2")])
    assert found.ad is not None
    assert (found.ad.mean, found.ad.n_turns) == (pytest.approx(1 / 2), 6)
    assert (found.ec.n_dialogues, found.ec.n_hit, found.ec.n_observed) == (2, 2, 4)
    silent = auxiliary([held("d1")])
    assert silent.ic is None
    assert auxiliary([]).ad is None
    assert auxiliary([held("d1"), read(turn(1), over())]).ad is None, "two domains"
    pytest.importorskip("sklearn", reason="scikit-learn is an extra")
    assert found.ic is not None
    assert (found.ic.mean, found.ic.n_turns, found.ic.n_skipped) == (pytest.approx(1), 6, 5)


def test_notes_and_tokens_are_counted() -> None:
    ended = ThoughtEnded(
        at=0, thought=1, state="completed", cause=None, tokens=7, finish="stop",
        text_sha256="", answer="",
    )  # fmt: skip
    noted = Noted(at=0, topic="no-json", text="hm")
    one = read(turn(1), ended, ended, noted, noted, over())
    assert (one.tokens, one.notes) == (14, {"no-json": 2})
    both = score_conversations([one, one, None])
    assert (both.tokens, both.notes, both.n_dialogues, both.n_failed) == (28, {"no-json": 4}, 2, 1)


def test_a_failed_episode_is_none_and_a_record_of_something_else_is_refused() -> None:
    failed = EpisodeFailed(at=3, boundary="model", error="gone")
    assert read_conversation([START, turn(1), failed]) is None
    for events in ([START, turn(1)], [START, END], [START, turn(1), END]):
        with pytest.raises(RecordError, match="complete"):
            read_conversation(events)
    for strange in (acted("U"), happened("turn"), over(references={"1": [5]})):
        with pytest.raises(RecordError, match="not that of a conversation"):
            read_conversation([START, turn(1), strange, END])


# --- a world and its record agree ----------------------------------------------------------------


def lived(
    dialogue: Dialogue, timing: Timing, acts: list[tuple[float, int, int]]
) -> Iterator[Entry]:
    """Events in the order in which an interface writes them; acts are part of the whole time."""
    world = Conversation(dialogue, timing, seed=2)
    changes = []
    copy = Conversation(dialogue, timing, seed=2)
    while (change := copy.next_change()) is not None:
        changes.append(change)
        copy.advance(change)
    left = sorted((Instant(round(part * changes[-1])), number, size) for part, number, size in acts)
    yield START
    while (change := world.next_change()) is not None:
        if left and left[0][0] <= change:
            at, number, size = left.pop(0)
            text = says(
                number, *[one(name, "ready_to_trigger", "Ada") for name in ("open", "fly")[:size]]
            )
            if number in [turn.number for turn in world.view().turns]:
                world.intervene([text], at=at)
                yield Acted(at=at, turn=0, action=text, legal=True, error=None)
            continue
        for seen in world.advance(change):
            yield Happened(
                at=seen.at, number=1, what=seen.event, data=dict(seen.data),
                reward=seen.reward, score=world.score,
            )  # fmt: skip
    yield EpisodeEnded(at=0, reason="world over", turns=0, score=world.score)


@given(
    st.integers(1, 6),
    st.lists(st.tuples(st.floats(0, 1), st.integers(1, 6), st.integers(0, 2)), max_size=15),
    st.booleans(),
)
def test_what_the_record_says_is_what_the_world_said_and_what_each_turn_alone_scores(
    count: int, acts: list[tuple[float, int, int]], is_paced: bool
) -> None:
    dialogue = talk(*[5.0 * number for number in range(count)])
    events = list(lived(dialogue, Paced() if is_paced else Stamped(), acts))
    found = read_conversation(events)
    assert found is not None
    told = [e.data for e in events if isinstance(e, Happened) and e.what == "prediction"]
    last = next(e for e in events if isinstance(e, Happened) and e.what == "over").data
    assert list(found.lost) == last["lost"]
    assert list(found.late) == [one["turn"] for one in told if one["late"]]
    assert len(found.late) == last["late"]
    world = Conversation(dialogue, Paced() if is_paced else Stamped(), seed=2)
    heard = [seen for seen in world.advance(Instant(1 << 60)) if seen.event == "turn"]
    assert found.arrived == tuple(seen.at for seen in heard)
    assert found.transcript == heard[-1].view.turns  # type: ignore[attr-defined]
    assert found.revised == len(told) - len(found.late) - (count - len(found.lost))
    sizes = {one["turn"]: one["opportunities"] for one in told if not one["late"]}
    assert [len(one.predictions) for one in found.turns] == [
        sizes.get(turn.number, 0) for turn in dialogue.turns
    ]
    for each in found.turns:
        assert each.references == dialogue.references.get(each.turn, ())
        assert dict(each.ready_ranges) == dialogue.ready_ranges
    scores = score_conversations([found, None])
    alone = mean_scores(
        score_turn(one.turn, one.predictions, one.references, dialogue.ready_ranges)
        for one in found.turns
    )
    assert scores.means == alone
