"""Records: what was written is what is read, hashed, summed up and shown."""

from pathlib import Path

import pytest

from tests.runs.jobs import Count, play, settings
from timeful.errors import RecordError
from timeful.records.events import Acted, EpisodeEnded, EpisodeStarted, Event, Noted, Wall
from timeful.records.recorder import Recorder, read_record, record_hash
from timeful.records.summary import summarize
from timeful.records.timeline import line


def recorded(path: Path | None = None, number: int = 3) -> list[Event]:
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
    with pytest.raises(RecordError, match="cut off"):
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
    with pytest.raises(RecordError, match=rf"do not name an episode: .*{message}"):
        summarize([started, ended])


def test_an_event_is_one_line_that_no_terminal_obeys() -> None:
    shown = line(Noted(at=1_500_000_000, topic="plan", text="a\nb\x1b[2Jc\x9b1mé"))
    assert shown == r"       1.500  noted            topic=plan text=a\nb\x1b[2Jc\x9b1mé"


def test_a_long_text_is_cut_to_a_hundred_characters() -> None:
    words = line(Noted(at=0, topic="t", text="\x00" + "x" * 200)).partition("text=")[2]
    assert len(words) == 100
    assert words.endswith("x…")
