"""The door hands requests to the timeline in an order that no arrival changes."""

from collections.abc import Iterator
from itertools import permutations

import pytest

from timeful.agents.program.dialect import Reply
from timeful.agents.program.door import Door, Exchange
from timeful.errors import ProgramError

OVER = Reply(body=b"over")


@pytest.fixture
def door() -> Iterator[Door]:
    door = Door({}, key="key", settle_s=0.01, patience_s=0.03, finish=lambda _: OVER)
    yield door
    door.close()


def make(name: str, rank: int = 0) -> Exchange:
    return Exchange(order=(rank, "tool", name), content=name)


def names(exchanges: list[Exchange]) -> list[str]:
    return [exchange.content for exchange in exchanges]


def test_requests_of_one_instant_have_one_order(door: Door) -> None:
    for exchanges in permutations([make("b"), make("c"), make("z", -1)]):
        for exchange in exchanges:
            door._put(exchange)
        assert names(door.take(open_count=0, wanted=3, is_wall=False)) == ["z", "b", "c"]


def test_a_program_with_free_lanes_is_waited_for_until_it_is_quiet(door: Door) -> None:
    door._put(make("a"))
    assert names(door.take(open_count=0, wanted=2, is_wall=False)) == ["a"]
    assert door.take(open_count=1, wanted=1, is_wall=False) == []


def test_a_request_while_time_moves_is_late_and_so_is_one_beyond_the_lanes(door: Door) -> None:
    door._put(make("a"))
    [taken] = door.take(open_count=0, wanted=1, is_wall=False)
    late = make("b")
    door._put(late)
    door.answer(taken, OVER)
    timely = make("c")
    door._put(timely)
    assert (taken.is_late, late.is_late, timely.is_late) == (False, True, False)
    door.take(open_count=0, wanted=1, is_wall=False)
    assert timely.is_late


def test_a_wall_clock_takes_the_first_request_at_once(door: Door) -> None:
    door._put(make("a"))
    [taken] = door.take(open_count=0, wanted=9, is_wall=True)
    door._put(make("b"))
    [second] = door.take(open_count=1, wanted=9, is_wall=True)
    assert not taken.is_late
    assert not second.is_late


def test_patience_ends_and_so_do_requests_after_the_end(door: Door) -> None:
    with pytest.raises(ProgramError):
        door.take(open_count=0, wanted=1, is_wall=False)
    waiting, later = make("a"), make("b")
    door._put(waiting)
    door.stop()
    door._put(later)
    assert waiting.reply.result(0) == later.reply.result(0) == OVER
    assert door.take(open_count=0, wanted=1, is_wall=False) == []
