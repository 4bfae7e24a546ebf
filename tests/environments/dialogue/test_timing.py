"""When turns come, to the nanosecond."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.environments.dialogue.material import SECOND, talk
from timeful.core.units import Duration, seconds
from timeful.environments.dialogue.timing import ByTurn, Paced, Said, Stamped, Timetable
from timeful.errors import SettingsError
from timeful.seeding import child

EXACT = Paced(speaking_wpm=60, reading_wpm=120, pause=seconds(1.5), action=seconds(3), spread=0.0)


def at_s(table: Timetable) -> list[tuple[float, float]]:
    return [(said.begins / SECOND, said.arrives / SECOND) for said in table.turns]


def test_timestamps_count_from_the_first_turn_and_a_message_is_there_at_once() -> None:
    table = Stamped(closing=seconds(7)).timetable(talk(100.0, 100.000000001, 130.5))
    assert [said.begins for said in table.turns] == [0, 1, 30_500_000_000]
    assert all(said.begins == said.arrives for said in table.turns)
    assert table.end == 37_500_000_000


def test_a_stamped_turn_is_there_when_it_is_spoken_but_not_after_the_next_begins() -> None:
    table = Stamped(speaking_wpm=60, closing=seconds(7)).timetable(talk(0.0, 10.0, 12.0))
    assert at_s(table) == [(0.0, 4.0), (10.0, 12.0), (12.0, 16.0)]
    assert table.end == 23 * SECOND


def test_a_pace_is_speaking_then_reading_and_a_pause_and_a_system_takes_its_time() -> None:
    table = EXACT.timetable(talk(None, None, None), child(0, "pace"))
    # 4 words: 4 s to say, 2 s to read, 1.5 s of pause; the second turn is a system's, of 3 s.
    assert at_s(table) == [(0.0, 4.0), (7.5, 10.5), (14.0, 18.0)]
    assert table.end == round(21.5 * SECOND)


def test_what_is_heard_while_it_is_spoken_takes_no_reading() -> None:
    table = replace(EXACT, reading_wpm=0.0).timetable(talk(None, None), child(0, "pace"))
    assert at_s(table) == [(0.0, 4.0), (5.5, 8.5)]


def test_a_pace_is_the_same_for_the_same_seed_and_varies_about_its_mean() -> None:
    law, dialogue = Paced(spread=1.0), talk(*[None] * 400)
    first = law.timetable(dialogue, child(7, "pace"))
    assert first == law.timetable(dialogue, child(7, "pace"))
    assert first != law.timetable(dialogue, child(8, "pace"))
    plain = replace(law, spread=0.0).timetable(dialogue, child(7, "pace"))
    # A span has a deviation of 1.3 of its mean, so their sum one of 5 %: five of these. Without
    # the shift of the mean it would be 65 % longer.
    assert first.end == pytest.approx(plain.end, rel=0.25)


@given(
    st.lists(st.integers(0, 60), min_size=1, max_size=12),
    st.sampled_from([None, 1.0, 40.0, 1e6]),
    st.floats(0, 2),
)
def test_turns_never_overlap_and_the_end_comes_last(
    gaps: list[int], wpm: float | None, spread: float
) -> None:
    dialogue = talk(*[float(sum(gaps[: n + 1])) for n in range(len(gaps))])
    tables = [
        Stamped(speaking_wpm=wpm, closing=Duration(0)).timetable(dialogue),
        Paced(spread=spread, speaking_wpm=wpm or 10).timetable(dialogue, child(0, "pace")),
    ]
    for table in tables:
        order = [instant for said in table.turns for instant in (said.begins, said.arrives)]
        assert [*order, table.end] == sorted([*order, table.end])
        assert isinstance(table.turns[0], Said)
        assert table.turns[0].begins == 0


@pytest.mark.parametrize(
    ("at", "said"),
    [
        ((0.0, None), "dialogue d1: turn 2 has no start_s"),
        ((5.0, 4.0), "dialogue d1: turn 2 has a start_s before"),
    ],
)
def test_missing_and_backward_times_are_named(at: tuple[float | None, ...], said: str) -> None:
    with pytest.raises(SettingsError, match=said):
        Stamped().timetable(talk(*at))


def test_settings_out_of_range_are_refused() -> None:
    for make in (
        lambda: ByTurn(patience=Duration(0)),
        lambda: Stamped(speaking_wpm=0.0),
        lambda: Stamped(closing=Duration(-1)),
        lambda: Paced(speaking_wpm=0.0),
        lambda: Paced(reading_wpm=-1.0),
        lambda: Paced(pause=Duration(-1)),
        lambda: Paced(action=Duration(-1)),
        lambda: Paced(spread=3.0),
        lambda: Paced(speaking_wpm=float("nan")),
    ):
        with pytest.raises(SettingsError):
            make()
