"""Recording what a model says, and replaying it without the model."""

import json
from collections.abc import Sequence
from pathlib import Path

import pytest

from tests.models.asking import ASK_TIME, STEP, ask, ask_with_tools, read, said
from tests.servers.fake import FakeServer, Hang, Say
from timeful.core.source import Chunk, End
from timeful.core.units import milliseconds
from timeful.errors import (
    CassetteMissError,
    ModelError,
    ModelTimeoutError,
    RecordError,
    SettingsError,
)
from timeful.models.chat import OpenAIModel
from timeful.models.pace import TOKEN_TIME, Pace
from timeful.models.recording import RecordingModel
from timeful.models.replay import ReplayModel
from timeful.models.scripted import Answer, ScriptedModel


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "folder" / "tape.jsonl"


def record(path: Path, *answers: Answer, name: str = "scripted", scope: str = "") -> RecordingModel:
    model = ScriptedModel(answers, name=name)
    return RecordingModel(model, path, scope=scope)


class Ticks:
    """A clock that shows a millisecond more each time it is read."""

    def __init__(self) -> None:
        self.now = 0

    def __call__(self) -> int:
        self.now += 1_000_000
        return self.now


def lines(path: Path) -> list[dict[str, object]]:
    return [json.loads(line) for line in path.read_bytes().splitlines()]


def test_a_replay_says_what_was_recorded(path: Path) -> None:
    pieces: Sequence[Chunk | End] = [
        Chunk("hm ", 2, "reasoning"),
        Chunk("left", 1),
        End("length", tokens=5, prompt_tokens=9, attempts=2),
    ]
    original = read(record(path, pieces).open(ask(), max_tokens=8, seed=1))
    assert original == (list(pieces[:2]), pieces[2])
    assert read(ReplayModel(path).open(ask(), max_tokens=8, seed=1)) == original


def test_the_same_request_comes_back_in_the_order_it_was_recorded(path: Path) -> None:
    model = record(path, "first", "second")
    for _ in range(2):
        read(model.open(ask(), max_tokens=None, seed=1))
    replay = ReplayModel(path)
    texts = [said(read(replay.open(ask(), max_tokens=None, seed=1))[0]) for _ in range(2)]
    assert texts == ["first", "second"]
    with pytest.raises(CassetteMissError, match="recorded 2 times"):
        replay.open(ask(), max_tokens=None, seed=1)


@pytest.mark.parametrize(
    ("text", "limit", "seed", "scope", "reason"),
    [
        ("Which way now?", 8, 1, "", "nearest is line 2, with 'Which way.' where 'Which way now.'"),
        ("Which way?", 9, 1, "", r"max_tokens, seed, scope\) = \(8, 1, ''\) and not \(9, 1, ''\)"),
        ("Which way?", 8, 2, "", r"\(8, 1, ''\) and not \(8, 2, ''\)"),
        ("Which way?", 8, 1, "b", r"\(8, 1, ''\) and not \(8, 1, 'b'\)"),
    ],
)
def test_what_was_not_recorded_is_an_error_that_names_the_nearest(
    path: Path, text: str, limit: int, seed: int, scope: str, reason: str
) -> None:
    read(record(path, "left").open(ask(), max_tokens=8, seed=1))
    replay = ReplayModel(path, scope=scope)
    with pytest.raises(CassetteMissError, match="'react' request to 'scripted'") as caught:
        replay.open(ask(text), max_tokens=limit, seed=seed)
    caught.match(reason)
    caught.match(text.replace("?", r"\?"))


def test_scopes_do_not_answer_for_each_other(path: Path) -> None:
    read(record(path, "left", scope="a").open(ask(), max_tokens=None, seed=1))
    read(record(path, "right", scope="b").open(ask(), max_tokens=None, seed=1))
    replay = ReplayModel(path, scope="b")
    assert said(read(replay.open(ask(), max_tokens=None, seed=1))[0]) == "right"


def test_a_stream_closed_early_is_replayed_to_where_it_was_closed(path: Path) -> None:
    source = record(path, "one two three").open(ask(), max_tokens=None, seed=1)
    source.pull()
    source.pull()
    source.close()
    source.close()
    assert lines(path)[1]["closed"] is True
    replay = ReplayModel(path).open(ask(), max_tokens=None, seed=1)
    assert [replay.pull(), replay.pull()] == [Chunk("one ", 1), Chunk("two ", 1)]
    with pytest.raises(CassetteMissError, match="closed after 2 chunks"):
        replay.pull()


def test_a_replay_that_is_closed_ends(path: Path) -> None:
    read(record(path, "left").open(ask(), max_tokens=None, seed=1))
    source = ReplayModel(path).open(ask(), max_tokens=None, seed=1)
    source.close()
    assert source.pull() == End("closed")


def test_an_error_is_replayed_as_the_same_error(path: Path) -> None:
    source = record(path, [Chunk("a", 1), ModelTimeoutError("silence")]).open(
        ask(), max_tokens=None, seed=1
    )
    with pytest.raises(ModelTimeoutError):
        read(source)
    replay = ReplayModel(path).open(ask(), max_tokens=None, seed=1)
    assert replay.pull() == Chunk("a", 1)
    with pytest.raises(ModelTimeoutError, match="recorded: silence"):
        replay.pull()


# --- tools -----------------------------------------------------------------------------------


GOLDEN = (
    b'{"key":"6c4fd3363b554179e6bacea6849041a6ecbb754f8a074de46229416cb7849dfb","scope":"",'
    b'"model":"scripted","purpose":"react","messages":[["user","Which way?"]],"max_tokens":8,'
    b'"seed":1,"pace":[0,1000000],"chunks":[["up",1,"answer",0]],"end":{"finish":"stop",'
    b'"tokens":null,"prompt_tokens":null,"attempts":1},"ended":0,"closed":false,"failure":null}'
)


def test_a_request_without_tools_is_recorded_as_it_always_was(path: Path) -> None:
    """The golden bytes of before there were tools: no cassette of then is lost."""
    model = RecordingModel(ScriptedModel(["up"]), path, read=lambda: 0)
    read(model.open(ask(), max_tokens=8, seed=1))
    assert path.read_bytes().splitlines()[1] == GOLDEN


def test_tools_calls_and_their_ids_belong_to_a_request_and_to_its_recording(path: Path) -> None:
    answer = '<tool_call>{"name": "step", "arguments": {"action": "up"}, "id": "c2"}</tool_call>'
    read(record(path, answer).open(ask_with_tools(), max_tokens=8, seed=1))
    line = lines(path)[1]
    call = (
        '<tool_call>{"name": "step", "arguments": {"action": "go north"}, "id": "c1"}</tool_call>'
    )
    assert line["messages"] == [
        ["user", "Begin."],
        ["assistant", call],
        ["tool", '<tool_response id="c1">You cannot.</tool_response>'],
    ]
    assert line["tools"] == [STEP.schema(), ASK_TIME.schema()]
    replay = ReplayModel(path)
    assert said(read(replay.open(ask_with_tools(), max_tokens=8, seed=1))[0]) == answer
    for others in ((), (STEP,), (ASK_TIME, STEP)):
        with pytest.raises(
            CassetteMissError, match="line 2 has the same messages, but other tools"
        ):
            replay.open(ask_with_tools(others), max_tokens=8, seed=1)


# --- time ------------------------------------------------------------------------------------


def test_a_replay_has_the_recorded_pace_or_any_other(path: Path) -> None:
    read(record(path, "left").open(ask(), max_tokens=None, seed=1))
    other = Pace(first=milliseconds(500), per_token=milliseconds(20))
    assert ReplayModel(path).pace == TOKEN_TIME
    assert ReplayModel(path, pace=other).pace == other
    assert not ReplayModel(path).live


def test_arrivals_are_kept_and_give_a_pace_if_there_was_none(path: Path) -> None:
    inner = ScriptedModel(["one two three four"], pace=None)
    model = RecordingModel(inner, path, read=Ticks())
    read(model.open(ask(), max_tokens=None, seed=1))
    chunks = lines(path)[1]["chunks"]
    assert [piece[3] for piece in chunks] == [1e6, 2e6, 3e6, 4e6]  # type: ignore[attr-defined]
    assert lines(path)[1]["ended"] == 5e6
    assert ReplayModel(path).pace == Pace(first=milliseconds(0), per_token=milliseconds(1))


def test_a_cassette_that_tells_no_pace_asks_for_one(path: Path) -> None:
    read(RecordingModel(ScriptedModel(["one"], pace=None), path).open(ask(), max_tokens=1, seed=1))
    with pytest.raises(SettingsError, match="so give one"):
        ReplayModel(path)


def test_a_live_source_tells_its_own_arrivals(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    with FakeServer([Say("one "), Say("two")]) as server:
        live = OpenAIModel(model="fake", base_url=server.base_url)
        model = RecordingModel(live, path, read=lambda: -1)
        assert model.live
        read(model.open(ask(), max_tokens=None, seed=1))
        live.close()
    first, second = (piece[3] for piece in lines(path)[1]["chunks"])  # type: ignore[attr-defined]
    assert 0 < first <= second


def test_closing_a_recording_closes_the_connection(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    with FakeServer([Say("one "), Hang()]) as server:
        live = OpenAIModel(model="fake", base_url=server.base_url)
        source = RecordingModel(live, path).open(ask(), max_tokens=None, seed=1)
        source.pull()
        source.close()
        assert server.requests[0].hung_up.wait(5)
        live.close()


# --- the file --------------------------------------------------------------------------------


def test_nothing_is_written_twice_and_a_line_is_there_when_its_stream_has_ended(
    path: Path,
) -> None:
    model = record(path, "one", "two")
    read(model.open(ask(), max_tokens=None, seed=1))
    assert len(lines(path)) == 2
    read(model.open(ask(), max_tokens=None, seed=2))
    assert len(lines(path)) == 3
    assert lines(path)[0] == {"cassette": 1}


def test_a_cassette_is_continued(path: Path) -> None:
    for answer in ("first", "second"):
        read(record(path, answer).open(ask(), max_tokens=None, seed=1))
    replay = ReplayModel(path)
    assert not replay.is_torn
    texts = [said(read(replay.open(ask(), max_tokens=None, seed=1))[0]) for _ in range(2)]
    assert texts == ["first", "second"]


def test_a_last_line_torn_by_a_kill_is_left_out_and_reported(path: Path) -> None:
    for seed, answer in enumerate(("first", "second")):
        read(record(path, answer).open(ask(), max_tokens=None, seed=seed))
    path.write_bytes(path.read_bytes()[:-20])
    replay = ReplayModel(path)
    assert replay.is_torn
    assert said(read(replay.open(ask(), max_tokens=None, seed=0))[0]) == "first"
    with pytest.raises(CassetteMissError):
        replay.open(ask(), max_tokens=None, seed=1)


def test_a_torn_cassette_can_be_continued(path: Path) -> None:
    read(record(path, "first").open(ask(), max_tokens=None, seed=0))
    path.write_bytes(path.read_bytes()[:-20])
    for seed in (0, 1):
        read(record(path, "again").open(ask(), max_tokens=None, seed=seed))
    replay = ReplayModel(path)
    assert replay.is_torn
    assert said(read(replay.open(ask(), max_tokens=None, seed=0))[0]) == "again"


def test_a_line_damaged_in_the_middle_is_an_error_with_its_number(path: Path) -> None:
    for seed in range(2):
        read(record(path, "left").open(ask(), max_tokens=None, seed=seed))
    header, first, second = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(header + first[:-20] + b"\n" + second)
    with pytest.raises(RecordError, match="line 2 of the cassette"):
        ReplayModel(path)


@pytest.mark.parametrize("content", [b"", b"hello\n", b"\xff\xfe\n", b'{"cassette": 99}\n'])
def test_a_file_of_another_kind_is_refused(path: Path, content: bytes) -> None:
    path.parent.mkdir()
    path.write_bytes(content)
    with pytest.raises(RecordError, match=r"no cassette|version 99"):
        ReplayModel(path)
    if content:
        with pytest.raises(RecordError):
            record(path)
        assert path.read_bytes() == content


def test_a_missing_cassette_is_an_error(path: Path) -> None:
    with pytest.raises(RecordError, match="cannot be read"):
        ReplayModel(path)


def test_a_cassette_of_several_models_has_to_be_asked_for_one(path: Path) -> None:
    for name in ("deep", "shallow"):
        read(record(path, name, name=name).open(ask(), max_tokens=None, seed=1))
    with pytest.raises(SettingsError, match="deep, shallow"):
        ReplayModel(path)
    with pytest.raises(SettingsError, match="Did you mean 'deep'"):
        ReplayModel(path, model="depp")
    replay = ReplayModel(path, model="shallow")
    assert replay.name == "shallow"
    assert said(read(replay.open(ask(), max_tokens=None, seed=1))[0]) == "shallow"


def test_a_script_at_its_end_says_so() -> None:
    model = ScriptedModel(["one"])
    assert read(model.open(ask(), max_tokens=None, seed=1))[1] == End()
    with pytest.raises(ModelError, match="no answer left"):
        model.open(ask(), max_tokens=None, seed=1)


def test_a_scripted_text_is_said_word_by_word_within_its_budget() -> None:
    model = ScriptedModel(lambda prompt: prompt.messages[0].content)
    prompt = ask("left or right")
    assert read(model.open(prompt, max_tokens=2, seed=1)) == (
        [Chunk("left ", 1), Chunk("or ", 1)],
        End("length", tokens=2),
    )
    assert model.asked == [prompt]
    assert model.sources[0].is_closed
