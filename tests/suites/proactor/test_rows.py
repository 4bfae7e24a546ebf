"""What a prediction comes to, and what is counted of each action."""

import pytest

from tests.suites.proactor.material import foresee, turns
from timeful.errors import RecordError
from timeful.records.events import EpisodeStarted
from timeful.suites.proactor.rows import count_actions, summarize, verdict

PAY = foresee("pay", "ready_to_trigger", "Ada")


@pytest.mark.parametrize(
    ("turn", "what"),
    [(1, "early"), (3, "in time"), (4, "in time"), (5, "in time"), (6, "too late")],
)
def test_a_ready_prediction_is_seen_beside_the_range_of_its_name(turn: int, what: str) -> None:
    assert verdict(PAY, turn, (3, 5)) == what


def test_a_ready_prediction_of_what_is_never_ready_is_false_and_others_say_nothing() -> None:
    assert verdict(PAY, 1, ()) == "false"
    assert verdict(foresee("pay", "triggered"), 9, (3,)) == "too late"
    for status in ("pending", "repeatable", "dismissed"):
        assert verdict(foresee("pay", status), 3, ()) == "not ready"


def test_each_action_is_counted_by_hand() -> None:
    send = foresee("send", "ready_to_trigger")
    half = foresee("pay", "pending")
    found = count_actions(turns([PAY], [half, send], [PAY, PAY], [], [PAY], pay=(3, 4), open=(2,)))
    pay = found["pay"]
    assert (pay.predicted, pay.early, pay.in_time, pay.too_late, pay.false) == (5, 1, 2, 1, 0)
    assert pay.matched == 2, "both of turn 3; the reference has no pay at the others"
    assert (pay.due, pay.met) == (2, 1), "two predictions meet a turn once"
    assert (pay.needed, pay.found, pay.lead) == (1, 1, 2), "first at 1, due from 3"
    assert (found["send"].false, found["send"].needed) == (1, 0)
    assert (found["open"].predicted, found["open"].due, found["open"].found) == (0, 1, 0)


def test_what_came_after_the_last_ready_turn_foresaw_nothing() -> None:
    found = count_actions(turns([], [PAY], pay=(1,)))["pay"]
    assert (found.too_late, found.found, found.lead) == (1, 0, 0)
    late = count_actions(turns([], [PAY], pay=(1, 2)))["pay"]
    assert (late.in_time, late.found, late.lead) == (1, 1, -1), "in time, a turn after it began"


def test_half_a_record_is_no_row() -> None:
    start = EpisodeStarted(at=0, version="0", settings={})
    for events in ([], [start]):
        with pytest.raises(RecordError):
            summarize(events)
