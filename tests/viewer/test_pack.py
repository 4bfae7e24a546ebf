"""The pack: what a page reads of an episode, from any list of events."""

import gc
import json
from collections.abc import Sequence
from itertools import accumulate
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import timeful
from tests.viewer.material import HOSTILE, acted, game, started, thought, turned
from timeful.records.events import (
    CallEnded,
    CallStarted,
    Entry,
    EpisodeEnded,
    Happened,
    Looked,
    Observed,
    ThoughtChunk,
    ThoughtEnded,
    ThoughtPaused,
    ThoughtResumed,
    ThoughtStarted,
    Within,
)
from timeful.viewer.catalogue import EXAMPLES
from timeful.viewer.frames import difference
from timeful.viewer.pack import (
    LAST,
    Pack,
    decode_part,
    encode_part,
    pack_episode,
    read_events,
)
from timeful.viewer.reading import no_collection, parse_lines, read_raw
from timeful.viewer.schema import Lanes


def instants(deltas: Sequence[int]) -> list[int]:
    return list(accumulate(deltas))


def verdicts(pack: Pack) -> list[tuple[int, str, str, int | None]]:
    columns, strings = pack.lanes.verdicts, pack.lanes.strings
    return [
        (at, kind, strings[slot] if slot >= 0 else "", slack)
        for at, kind, slot, slack in zip(
            instants(columns.at), columns.kind, columns.slot, columns.slack, strict=True
        )
    ]


def test_a_game_has_lanes_verdicts_and_scores() -> None:
    pack = pack_episode(game())
    lanes = pack.lanes
    assert [(lane.kind, lane.name) for lane in lanes.lanes] == [
        ("world", "world"),
        ("deadlines", "deadlines"),
        ("thoughts", "react"),
        ("actions", "actions"),
        ("notes", "notes"),
        ("score", "score"),
    ]
    assert verdicts(pack) == [
        (50, "superseded", "turn 1", 50),
        (60, "in time", "turn 1", 40),
        (200, "default", "turn 2", None),
        (250, "illegal", "", None),
        (300, "in time", "turn 3", 0),
    ]
    assert (instants(lanes.scores.at), lanes.scores.score) == ([100, 300], [1.0, 2.0])
    assert (lanes.status, lanes.score, lanes.end, lanes.stand_in) == ("ok", 2.0, 300, True)
    assert lanes.counts == {"default": 1, "illegal": 1, "in time": 2, "superseded": 1}


def test_the_delay_until_something_is_seen_is_a_mark_and_a_link() -> None:
    lanes = pack_episode(game()).lanes
    turns = [i for i, kind in enumerate(lanes.marks.kind) if kind == "turn"]
    assert [lanes.marks.seen[i] for i in turns] == [10, 0, -1]
    assert list(zip(lanes.links.kind, lanes.links.length, strict=True)) == [
        ("acted", 0),
        ("seen", 10),
    ]


def test_a_look_that_comes_later_is_a_link() -> None:
    def happened(at: int, number: int) -> Happened:
        return Happened(at=at, number=number, what="x", data={}, reward=0, score=0)

    events = [
        started(),
        happened(5, 1),
        Observed(at=5, happened_at=5, turn=1, state=None),
        Looked(at=9, through=1),
    ]
    links = pack_episode(events).lanes.links
    assert (links.kind, instants(links.at), links.length) == (["looked"], [5], [4])


def test_a_paused_thought_has_a_span_for_each_state() -> None:
    begin, chunk, end = thought(1, 0, 100)
    pause = ThoughtPaused(at=20, thought=1, cause="an event", tokens=3, undelivered="later")
    events = [begin, pause, ThoughtResumed(at=60, thought=1), chunk, end]
    pack = pack_episode([started(), *events])
    spans = pack.lanes.spans
    assert list(zip(instants(spans.start), spans.length, spans.state, strict=True)) == [
        (0, 20, "running"),
        (20, 40, "paused"),
        (60, 40, "completed"),
    ]
    assert pack.texts.thoughts[0].undelivered == [(20, "later")]


def test_thoughts_of_one_purpose_that_overlap_have_lanes_of_their_own() -> None:
    events = sorted([*thought(1, 0, 50), *thought(2, 20, 60), *thought(3, 50, 70)], key=_at)
    lanes = pack_episode([started(), *events]).lanes
    assert [lane.name for lane in lanes.lanes] == ["react 1", "react 2"]
    assert lanes.thoughts.lane == [0, 1, 0]


def _at(event: Entry) -> int:
    return event.at


def test_a_thought_that_never_ends_is_shown_as_such() -> None:
    begin, chunk, _ = thought(1, 0, 100)
    lanes = pack_episode([started(), begin, chunk, turned(200, 1)]).lanes
    assert lanes.spans.state[-1] == "unended"
    assert lanes.thoughts.length == [-1]
    assert lanes.status == "open"
    assert lanes.notices


def test_calls_and_tools_of_a_world_are_spans() -> None:
    events = [
        started(),
        CallStarted(at=1, call=1, tool="search"),
        CallEnded(at=4, call=1, state="cancelled", cause="x", error=None),
        acted(5, '{"name": "step"}'),
        Happened(at=8, number=1, what="reply", data={"tool": "step"}, reward=0, score=0),
        CallStarted(at=8, call=2, tool="open"),
        EpisodeEnded(at=9, reason="", turns=0, score=0),
    ]
    lanes = pack_episode(events).lanes
    spans = lanes.spans
    assert [
        (lanes.strings[label], start, length, state)
        for label, start, length, state in zip(
            spans.label, instants(spans.start), spans.length, spans.state, strict=True
        )
    ] == [("search", 1, 3, "cancelled"), ("step", 5, 3, "completed"), ("open", 8, 1, "unended")]


@pytest.mark.parametrize(("second", "lanes"), [(50, ["email 7", "email 3"]), (100, ["deadlines"])])
def test_letters_whose_windows_overlap_have_lanes_of_their_own(
    second: int, lanes: list[str]
) -> None:
    events = [
        Happened(
            at=at,
            number=n,
            what="email",
            data={"email": n, "deadline": at + 100},
            reward=0.0,
            score=0.0,
        )
        for n, at in ((7, 0), (3, second))
    ]
    packed = pack_episode([started(), *events]).lanes
    assert [lane.name for lane in packed.lanes if lane.kind == "deadlines"] == lanes
    windows = [packed.spans.lane[i] for i, s in enumerate(packed.spans.state) if s == "window"]
    assert [packed.lanes[lane].name for lane in windows] == (lanes * 2)[:2]


def happened(at: int, what: str, **data: Any) -> Happened:
    return Happened(at=at, number=at, what=what, data=data, reward=0.0, score=0.0)


def predicted(at: int, turn: int, **statuses: str) -> Any:
    items = [
        {"name": name, "description": "", "inputs": {}, "action_trigger_status": status}
        for name, status in statuses.items()
    ]
    levels = {"readiness_maturity": "high", "trigger_confidence": "high"}
    text = json.dumps({"turn": turn, "opportunities": [item | levels for item in items]})
    return acted(at, text)


def test_an_action_of_a_conversation_has_its_ready_ranges_and_states() -> None:
    turns = [(0, 1, 10), (20, 2, 30), (40, 3, 50), (60, 4, 70)]
    speech = [
        event
        for start, turn, end in turns
        for event in (happened(start, "begins", turn=turn), happened(end, "turn", turn=turn))
    ]
    over = happened(80, "over", ready_ranges={"pay": [1, 2, 4, 9], "look": "no list"})
    events = [
        started(),
        *speech,
        predicted(12, 1, pay="pending", look="triggered"),
        predicted(32, 2, pay="ready_to_trigger", look="triggered"),
        predicted(52, 3, look="triggered"),
        over,
    ]
    lanes = pack_episode(sorted(events, key=lambda event: event.at)).lanes
    names = [lane.name for lane in lanes.lanes]
    pay = names.index("pay")
    spans, marks = lanes.spans, lanes.marks
    assert [
        (start, start + length)
        for start, length, lane in zip(instants(spans.start), spans.length, spans.lane, strict=True)
        if lane == pay
    ] == [(10, 40), (70, 80)]
    states = {
        name: [
            (at, lanes.strings[label])
            for at, label, lane in zip(instants(marks.at), marks.label, marks.lane, strict=True)
            if lane == names.index(name)
        ]
        for name in ("pay", "look")
    }
    assert states == {
        "pay": [(12, "pending"), (32, "ready"), (52, "absent")],
        "look": [(12, "triggered")],
    }


def test_modules_have_lanes_of_their_own() -> None:
    inner = [Within(at=e.at, module="body", what=e) for e in thought(1, 5, 9)]
    events = sorted([*thought(1, 0, 10, purpose="plan"), *inner], key=_at)
    pack = pack_episode([started(), *events])
    assert [(lane.module, lane.name) for lane in pack.lanes.lanes] == [
        ("", "plan"),
        ("body", "react"),
    ]
    assert [text.answer for text in pack.texts.thoughts] == ["left", "left"]


def test_the_text_at_an_instant_is_the_chunks_until_then() -> None:
    texts = ["ab", "\U0001f600", "é", ""]
    chunks = [
        ThoughtChunk(at=10 * i, thought=1, channel="answer", tokens=2, text=text)
        for i, text in enumerate(texts, 1)
    ]
    begin, _, end = thought(1, 0, 100)
    text = pack_episode([started(), begin, *chunks, end]).texts.thoughts[0]
    units = text.text.encode("utf-16-le")
    at = instants(text.chunks.at)
    for until in (0, 10, 25, 30, 99):
        length = sum(n for n, when in zip(text.chunks.length, at, strict=True) if when <= until)
        expected = "".join(c.text for c in chunks if c.at <= until)
        assert units[: 2 * length].decode("utf-16-le") == expected


def test_messages_are_kept_once_and_whole() -> None:
    texts = pack_episode([started(), *thought(1, 0, 5), *thought(2, 5, 9)]).texts
    assert texts.strings == [HOSTILE]
    assert [t.messages for t in texts.thoughts] == [[("user", 0)]] * 2
    assert not any("messages" in json.loads(event) for _, event in read_events(texts))


def test_labels_are_short_and_on_one_line() -> None:
    lanes = pack_episode([started(), acted(1, "a\n" * 10_000), acted(2, HOSTILE * 900)]).lanes
    assert all(len(text) <= 80 and "\n" not in text for text in lanes.strings)


def test_instants_that_no_page_can_show_are_moved() -> None:
    pack = pack_episode([started(), turned(-5, 1), turned(2**70, 2)])
    assert instants(pack.lanes.marks.at) == [0, LAST]
    assert pack.lanes.end == LAST
    json.loads(pack.part("lanes"))


@pytest.mark.parametrize("world", ["snake", "freeway", "overcooked"])
def test_a_game_without_states_is_drawn_from_its_actions(world: str) -> None:
    async def agent(session: timeful.Session) -> None:
        while not session.over:
            session.act("U")
            await session.wait_for_tick()

    full, short = (
        timeful.play(agent, world, seed=1, transcripts=transcripts)  # type: ignore[arg-type]
        for transcripts in ("full", "answers")
    )
    drawn, derived = pack_episode(full.events).frames, pack_episode(short.events).frames
    assert not drawn.reason
    assert derived.reason
    drawn.reason = derived.reason = ""
    assert derived == drawn
    assert len(drawn.at) == full.turns
    assert set(drawn.text) == {-1}


def test_frames_of_another_version_of_a_game_are_not_invented() -> None:
    async def agent(session: timeful.Session) -> None:
        while not session.over:
            await session.wait_for_tick()

    events = list(timeful.play(agent, "snake", seed=1, transcripts="answers").events)
    place = next(i for i, e in enumerate(events) if getattr(e, "score", None) is not None)
    events[place] = msgspec.structs.replace(events[place], score=77.0)
    frames = pack_episode(events).frames
    assert not frames.at
    assert frames.reason


def test_a_state_that_its_world_cannot_draw_is_shown_as_text() -> None:
    frames = pack_episode(game()).frames
    assert [json.loads(frames.strings[place]) for place in frames.text] == [{"x": 1}, {"x": 2}]


def test_of_too_many_states_some_are_kept() -> None:
    from timeful.viewer.frames import pack_frames
    from timeful.viewer.reading import from_events

    frames = pack_frames(from_events(game()), most=1 + 1)
    assert len(frames.at) == 2
    states = [Observed(at=i, happened_at=i, turn=i, state={"i": i}) for i in range(50)]
    frames = pack_frames(from_events([started(), *states]), most=5)
    assert (instants(frames.at), bool(frames.reason)) == ([0, 12, 24, 36, 49], True)


@given(st.lists(st.integers(0, 3)), st.lists(st.integers(0, 3)))
def test_a_frame_follows_from_the_one_before(before: list[int], after: list[int]) -> None:
    head, tail, *middle = difference(before, after)
    end = before[len(before) - tail :] if tail else []
    assert [*before[:head], *middle, *end] == after


def test_a_long_part_is_cut_into_lines_and_loses_nothing() -> None:
    events = [started(), *(turned(10**9 * n, turn=n) for n in range(1, 25_001))]
    lanes = pack_episode(events).lanes
    head, *pieces = encode_part(lanes).split(b"\n")
    assert json.loads(head)["pieces"] == len(pieces) > 10
    assert max(map(len, [head, *pieces])) < 1 << 20
    assert msgspec.convert(decode_part(encode_part(lanes)), Lanes) == lanes


@pytest.mark.parametrize("is_on", [True, False])
def test_the_collector_is_after_packing_as_it_was_before(is_on: bool) -> None:
    was_on = gc.isenabled()
    (gc.enable if is_on else gc.disable)()
    try:
        with no_collection:
            pack_episode(game())
            assert not gc.isenabled()
        assert gc.isenabled() is is_on
    finally:
        (gc.enable if was_on else gc.disable)()


def test_the_same_record_gives_the_same_bytes() -> None:
    first, second = pack_episode(game()), pack_episode(game())
    assert [first.part(n) for n in ("lanes", "texts", "frames")] == [
        second.part(n) for n in ("lanes", "texts", "frames")
    ]


_TIMES = st.integers(-1, 40)
_EVENTS = st.one_of(
    st.builds(turned, _TIMES, st.integers(0, 5), late=st.booleans()),
    st.builds(acted, _TIMES, st.text(max_size=5), legal=st.booleans()),
    st.builds(
        Happened,
        at=_TIMES,
        number=st.integers(0, 9),
        what=st.sampled_from(["email", "handled", "signal", "finished", "turn", "over", "reply"]),
        data=st.dictionaries(
            st.sampled_from(["email", "dish", "deadline", "turn", "text", "counted"]),
            st.one_of(st.integers(0, 9), st.text(max_size=3), st.none()),
        ),
        reward=st.just(0.0),
        score=st.floats(allow_nan=False, allow_infinity=False),
    ),
    st.builds(
        ThoughtEnded,
        at=_TIMES,
        thought=st.integers(1, 3),
        state=st.sampled_from(["completed", "cancelled", "strange"]),
        cause=st.none(),
        tokens=st.integers(0, 9),
        finish=st.none(),
        text_sha256=st.just(""),
        answer=st.text(max_size=5),
    ),
    st.builds(
        ThoughtStarted,
        at=_TIMES,
        thought=st.integers(1, 3),
        model=st.just("m"),
        purpose=st.sampled_from(["plan", "react", ""]),
        turn=st.just(0),
        limit=st.one_of(st.none(), st.integers(0, 2**80)),
        max_tokens=st.none(),
        seed=st.just(0),
        messages=st.none(),
    ),
    st.builds(
        ThoughtPaused,
        at=_TIMES,
        thought=st.integers(1, 3),
        cause=st.just(""),
        tokens=st.just(0),
        undelivered=st.just(""),
    ),
    st.builds(
        Observed,
        at=_TIMES,
        happened_at=_TIMES,
        turn=st.integers(0, 9),
        state=st.one_of(st.none(), st.just({"snake": 1})),
    ),
    st.builds(Looked, at=_TIMES, through=st.integers(0, 9)),
)


@settings(max_examples=60)
@given(st.lists(_EVENTS, max_size=25), st.booleans())
def test_any_list_of_events_is_packed_and_no_event_is_lost(
    events: list[Any], has_start: bool
) -> None:
    entries = [*([started(game="snake", seed=0)] if has_start else []), *events]
    pack = pack_episode(entries)
    assert sorted(line for line, _ in read_events(pack.texts)) == list(range(1, len(entries) + 1))
    lanes = pack.lanes
    count = len(lanes.lanes)
    for columns in (lanes.spans, lanes.marks, lanes.thoughts, lanes.verdicts):
        values = [getattr(columns, name) for name in columns.__struct_fields__]
        assert len({len(value) for value in values}) == 1
        assert all(0 <= lane < count for lane in columns.lane)
    assert all(length >= 0 for length in lanes.spans.length)
    for part in ("lanes", "texts", "frames"):
        json.loads(pack.part(part))


LINES = [json.dumps(msgspec.to_builtins(event)).encode() + b"\n" for event in game()]


def pack_lines(lines: Sequence[bytes]) -> Pack:
    return pack_episode(parse_lines(lines, "r.jsonl"))


def test_a_torn_last_line_leaves_what_was_before_it() -> None:
    pack = pack_lines([*LINES[:6], LINES[6][:20]])
    assert any("r.jsonl, line 7" in notice for notice in pack.lanes.notices)
    assert pack.lanes.lines == 7
    assert len(read_events(pack.texts)) == 5  # one of six is a chunk


def test_a_line_that_is_no_event_is_named_and_the_rest_is_shown() -> None:
    pack = pack_lines([LINES[0], b"no json\n", b"[1]\n", b"\xff\xfe\n", b"\n", *LINES[1:]])
    notices = " ".join(pack.lanes.notices)
    assert all(f"line {number} " in notices for number in (2, 3, 4))
    assert pack.lanes.status == "ok"


def test_an_event_of_an_unknown_kind_is_shown_with_its_fields() -> None:
    strange = b'{"event":"dreamt","at":70,"of":"sheep","deep":{"x":1}}\n'
    pack = pack_lines([*LINES[:5], strange, *LINES[5:]])
    lanes = pack.lanes
    place = lanes.marks.kind.index("unknown")
    assert lanes.strings[lanes.marks.label[place]] == "dreamt"
    assert instants(lanes.marks.at)[place] == 70
    assert json.loads(dict(read_events(pack.texts))[6]) == json.loads(strange)


def test_instants_out_of_order_are_shown_in_order() -> None:
    pack = pack_lines([LINES[0], *reversed(LINES[1:])])
    assert instants(pack.lanes.marks.at) == sorted(instants(pack.lanes.marks.at))
    assert pack.lanes.notices


def test_of_two_ends_the_last_one_counts() -> None:
    first = EpisodeEnded(at=300, reason="first", turns=3, score=9.0)
    pack = pack_episode([*game()[:-1], first, game()[-1]])
    assert pack.lanes.score == 2.0
    assert pack.lanes.notices


def test_lone_surrogates_of_events_in_memory_are_replaced() -> None:
    pack = pack_episode([started(game="a\ud800"), *thought(1, 0, 50, "x\udc00y")])
    assert b"a\xef\xbf\xbd" in pack.part("lanes")
    assert pack.texts.thoughts[0].text == "x\ufffdy"


def test_lone_surrogates_and_nul_are_kept_as_far_as_they_can_be_written() -> None:
    line = b'{"event":"noted","at":5,"topic":"a","text":"x\\ud800y\\u0000z"}\n'
    pack = pack_lines([LINES[0], line])
    text = json.loads(dict(read_events(pack.texts))[2])["text"]
    assert text.startswith("x")
    assert text.endswith("y\x00z")


def test_a_string_of_ten_megabytes_is_cut_where_it_is_a_detail() -> None:
    pack = pack_episode([started(), acted(1, "x" * 10_000_000)])
    assert len(pack.part("texts")) < 100_000
    assert len(pack.part("lanes")) < 10_000


def test_a_thousand_modules_are_lanes() -> None:
    events = [
        Within(at=i, module=f"m{i}", what=turned(i, 1))  # type: ignore[arg-type]
        for i in range(1_000)
    ]
    assert len(pack_episode([started(), *events]).lanes.lanes) == 3_000


def test_nested_json_does_not_break_the_reader() -> None:
    deep = b'{"event":"x","at":1,"d":' + b"[" * 100_000 + b"]" * 100_000 + b"}\n"
    assert pack_lines([LINES[0], deep]).lanes.notices


def test_an_answers_only_record_says_so(tmp_path: Path) -> None:
    assert pack_episode(game()).lanes.has_texts
    bare = [e for e in game() if not isinstance(e, ThoughtChunk | ThoughtStarted)]
    assert not pack_episode(bare).lanes.has_texts


@pytest.mark.parametrize("path", sorted(EXAMPLES.rglob("*.xz")), ids=lambda path: path.parent.name)
def test_every_state_of_the_examples_is_drawn_with_and_without_states(path: Path) -> None:
    record = read_raw(path)
    frames = pack_episode(record).frames
    assert frames.at
    assert set(frames.text) == {-1}
    record.entries = [
        msgspec.structs.replace(e, state=None) if isinstance(e, Observed) else e
        for e in record.entries
    ]
    derived = pack_episode(record).frames
    assert derived.reason
    assert derived.at == frames.at
    assert set(derived.text) == {-1}
    for operation in (*frames.operations, *derived.operations):
        assert all(-5 <= value <= 105 for value in operation[2:4] if isinstance(value, float))
