"""Records: what was written is what is read, hashed, summed up and shown."""

from pathlib import Path
from typing import Any

import pytest

from tests.runs.jobs import Count, play, settings
from timeful.errors import RecordError
from timeful.records.events import (
    Acted,
    Entry,
    EpisodeEnded,
    EpisodeStarted,
    Happened,
    Noted,
    Observed,
    ThoughtChunk,
    ThoughtEnded,
    ThoughtStarted,
    Wall,
    Within,
)
from timeful.records.recorder import Recorder, read_record, record_hash
from timeful.records.summary import summarize
from timeful.records.timeline import conversation, line, merge_chunks


def recorded(path: Path | None = None, number: int = 3) -> list[Entry]:
    recorder = Recorder(path)
    play(Count(number), recorder)
    recorder.close()
    return recorder.events


def test_what_is_read_is_what_was_written(tmp_path: Path) -> None:
    path = tmp_path / "new" / "folder with ümlaut" / "a.jsonl"
    written = recorded(path)
    assert list(read_record(path)) == written
    assert summarize(read_record(path)) == summarize(written)


def test_a_hash_leaves_out_real_time_and_nothing_else() -> None:
    events = recorded()
    wall = Wall(at=9, real_s=99.0, cpu_s=99.0, retries=9)
    assert record_hash([*events, wall]) == record_hash(events)
    for place, event in enumerate(events):
        if not isinstance(event, Wall):
            assert record_hash(events[:place] + events[place + 1 :]) != record_hash(events)


def test_a_decision_is_on_the_disk_before_the_next_one_is_made(tmp_path: Path) -> None:
    recorder = Recorder(tmp_path / "a.jsonl")
    acted = Acted(at=1, turn=0, action="U", legal=True, error=None)
    recorder.write(acted)
    assert list(read_record(tmp_path / "a.jsonl")) == [acted]
    recorder.close()


def test_a_torn_line_is_named_by_file_and_number(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    recorded(path)
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join(lines[:2]) + lines[2][:-9])
    with pytest.raises(RecordError, match=r"a\.jsonl, line 3"):
        list(read_record(path))


def test_half_a_record_is_no_episode() -> None:
    with pytest.raises(RecordError, match="incomplete"):
        summarize(recorded()[:-2])


@pytest.mark.parametrize(
    ("episode", "message"),
    [
        (None, "NoneType"),
        ({}, "missing required field"),
        ({**settings(Count(3))["episode"], "clock": "sundial"}, "sundial"),  # type: ignore[dict-item]
        ({**settings(Count(3))["episode"], "game_seed": "three"}, "game_seed"),  # type: ignore[dict-item]
    ],
)
def test_settings_that_name_no_episode_are_an_error(episode: object, message: str) -> None:
    started = EpisodeStarted(at=0, version="0", settings={"episode": episode})
    ended = EpisodeEnded(at=1, reason="over", turns=0, score=0.0)
    with pytest.raises(RecordError, match=message):
        summarize([started, ended])


def test_an_event_is_one_line_that_no_terminal_obeys() -> None:
    shown = line(Noted(at=1_500_000_000, topic="plan", text="a\nb\x1b[2Jc\x9b1mé"))
    assert shown == r"       1.500  noted            topic=plan text=a\nb\x1b[2Jc\x9b1mé"


def test_a_long_text_is_cut_to_a_hundred_characters() -> None:
    words = line(Noted(at=0, topic="t", text="\x00" + "x" * 200)).partition("text=")[2]
    assert len(words) == 100
    assert words.endswith("x…")


def happened(data: dict[str, Any], *, reward: float = 0.0) -> str:
    return line(Happened(at=0, number=1, what="w", data=data, reward=reward, score=0.1 + 0.2))


def test_a_fraction_is_shown_with_six_digits_and_a_count_with_all() -> None:
    shown = happened({"by": [1 / 3, 12345678]}, reward=-0.0050000000000000044)
    assert 'data={"by":[0.333333,12345678]} reward=-0.005 score=0.3' in shown


def test_instants_are_shown_in_seconds_where_a_record_tells_them_from_counts() -> None:
    data = {"deadline": 31_061_187_708, "of": [{"window_end": 1_500_000}], "email": 2_000_000_000}
    assert 'data={"deadline":31.0612,"of":[{"window_end":0.0015}],"email":2000000000}' in (
        happened(data)
    )
    data = {"until": None, "at": "home", "horizon": 100}
    assert 'data={"until":null,"at":"home","horizon":100}' in happened(data)
    observed = line(Observed(at=2 * 10**9, happened_at=1_500_000_000, turn=7, state=None))
    assert observed == "       2.000  observed         happened_at=1.5 turn=7"
    started = EpisodeStarted(at=0, version="0", settings={"deadline": 15_000_000_000})
    assert line(started).endswith('settings={"deadline":15000000000}'), "as they were given"


def chunk(at: int, text: str, *, thought: int = 1, channel: str = "answer") -> ThoughtChunk:
    return ThoughtChunk(at=at, thought=thought, channel=channel, tokens=len(text), text=text)


def test_chunks_in_a_row_are_one_and_nothing_else_is() -> None:
    noted = Noted(at=3, topic="t", text="x")
    others = [chunk(6, "e", channel="thinking"), chunk(7, "f", thought=2)]
    events = [chunk(1, "a"), chunk(2, "bc"), noted, chunk(4, "c"), chunk(5, "d"), *others]
    assert list(merge_chunks(events)) == [chunk(2, "abc"), noted, chunk(5, "cd"), *others]
    inner = [
        Within(at=e.at, module=m, what=e) for m in "mn" for e in (chunk(1, "a"), chunk(2, "b"))
    ]
    assert list(merge_chunks(inner)) == [Within(at=2, module=m, what=chunk(2, "ab")) for m in "mn"]
    assert list(merge_chunks([])) == []


def thought(number: int, messages: list[tuple[str, str]] | None) -> list[Entry]:
    started = ThoughtStarted(
        at=0,
        thought=number,
        model="m",
        purpose="main",
        turn=0,
        limit=None,
        max_tokens=None,
        seed=1,
        messages=messages,
    )
    ended = ThoughtEnded(
        at=1,
        thought=number,
        state="completed",
        cause=None,
        tokens=1,
        finish=None,
        text_sha256="0123456789abcdef" * 4,
        answer="so\x07",
    )
    return [started, ended]


def test_a_hash_is_shown_by_its_beginning() -> None:
    assert "text_sha256=0123456789ab answer=so" in line(thought(1, None)[1])


def test_what_a_thought_was_asked_is_shown_in_full() -> None:
    question = "x" * 300 + "\n\x1b[2J"
    said = [("system", "s"), ("user", question)]
    events = [*thought(1, [("user", "else")]), *thought(2, said)]
    assert list(conversation(events, 2)) == [
        "--- system\ns",
        "--- user\n" + "x" * 300 + "\n" + r"\x1b[2J",
        "--- answer\n" + r"so\x07",
    ]
    inner = [Within(at=e.at, module="m", what=e) for e in thought(2, said[:1])]  # type: ignore[arg-type]
    assert list(conversation(inner, 2)) == ["--- system (m)\ns", "--- answer (m)\n" + r"so\x07"]


@pytest.mark.parametrize(
    ("events", "message"),
    [
        (
            thought(1, None) + thought(2, None),
            "no thought 3 in this record; they are numbered 1 to 2",
        ),
        ([], "no thought 3 in this record; nobody thought"),
        (thought(3, None), "were not kept; play it again with --transcripts full"),
    ],
)
def test_messages_that_are_not_there_are_an_error(events: list[Entry], message: str) -> None:
    with pytest.raises(RecordError, match=message):
        list(conversation(events, 3))


def test_a_record_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(RecordError, match=r"no record '.*nowhere': it does not exist"):
        list(read_record(tmp_path / "nowhere"))
    with pytest.raises(RecordError, match=r"it is a folder; records are the \.jsonl files"):
        list(read_record(tmp_path))
