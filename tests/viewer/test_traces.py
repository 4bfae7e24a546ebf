"""Traces for other viewers, read back by field numbers of the published formats."""

import json
import struct
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from tests.viewer.material import HOSTILE, acted, game, started, thought, write_record
from timeful.cli.main import app
from timeful.errors import SettingsError
from timeful.viewer.pack import pack_episode
from timeful.viewer.reading import read_raw
from timeful.viewer.traces import SCHEMA_URL, START_NS, chrome, otel, perfetto


def fields(body: bytes) -> Iterator[tuple[int, Any]]:
    """The fields of a protobuf message: numbers as integers, the others as bytes."""
    position = 0

    def varint() -> int:
        nonlocal position
        value = shift = 0
        while True:
            byte = body[position]
            position += 1
            value |= (byte & 0x7F) << shift
            shift += 7
            if byte < 0x80:
                return value

    while position < len(body):
        tag = varint()
        if tag & 7 == 0:
            yield tag >> 3, varint()
            continue
        size = varint() if tag & 7 == 2 else 8
        yield tag >> 3, body[position : position + size]
        position += size


def events(trace: bytes) -> list[tuple[int, dict[int, Any]]]:
    """The track events of a trace with their timestamps."""
    packets = [dict(fields(body)) for _, body in fields(trace)]
    return [(packet[8], dict(fields(packet[11]))) for packet in packets if 11 in packet]


def test_perfetto_has_a_track_a_lane_and_closed_slices() -> None:
    pack = pack_episode(game())
    trace = perfetto([pack])
    packets = [dict(fields(body)) for number, body in fields(trace) if number == 1]
    tracks = [dict(fields(packet[60])) for packet in packets if 60 in packet]
    assert [track[2].decode() for track in tracks[1:]] == [x.name for x in pack.lanes.lanes]
    assert len({track[1] for track in tracks}) == len(tracks)
    open_slices: dict[int, int] = {}
    instants = []
    for at, event in events(trace):
        instants.append(at)
        if event[9] == 1:
            open_slices[event[11]] = open_slices.get(event[11], 0) + 1
        elif event[9] == 2:
            open_slices[event[11]] -= 1
        assert open_slices.get(event[11], 0) in (0, 1)
    assert not any(open_slices.values())
    assert instants == sorted(instants)


def test_perfetto_has_scores_and_ties_from_thoughts_to_actions() -> None:
    trace = events(perfetto([pack_episode(game())]))
    scores = [(at, struct.unpack("<d", e[44])[0]) for at, e in trace if e[9] == 4]
    assert scores == [(100, 1.0), (300, 2.0)]
    flows = [event for _, event in trace if 47 in event]
    assert [event[9] for event in flows] == [1, 3]
    assert flows[0][47] == flows[1][47]


def test_chrome_has_a_thread_a_lane() -> None:
    pack = pack_episode(game())
    trace = json.loads(chrome([pack, pack]))["traceEvents"]
    names = [e["args"]["name"] for e in trace if e["name"] == "thread_name" and e["pid"] == 2]
    assert names == [lane.name for lane in pack.lanes.lanes]
    assert {e["ph"] for e in trace} == {"M", "X", "i", "C"}
    assert all(e["dur"] >= 0 for e in trace if e["ph"] == "X")


def test_opentelemetry_names_agents_thoughts_and_verdicts() -> None:
    (resource,) = json.loads(otel(pack_episode(game())))["resourceSpans"]
    (scope,) = resource["scopeSpans"]
    assert scope["schemaUrl"] == SCHEMA_URL
    episode, thought = scope["spans"]
    assert (episode["name"], thought["name"]) == ("invoke_agent agile", "chat m")
    assert thought["parentSpanId"] == episode["spanId"]
    assert (len(episode["traceId"]), len(episode["spanId"])) == (32, 16)
    assert int(thought["endTimeUnixNano"]) - START_NS == 60
    values = {a["key"]: next(iter(a["value"].values())) for a in thought["attributes"]}
    assert values["gen_ai.operation.name"] == "chat"
    assert values["gen_ai.usage.output_tokens"] == "1"
    assert values["gen_ai.response.finish_reasons"] == {"values": [{"stringValue": "stop"}]}
    verdicts = [e for e in episode["events"] if e["name"] == "timeful.verdict"]
    assert len(verdicts) == 5


def test_words_are_written_only_if_they_are_wanted() -> None:
    pack = pack_episode(game())
    assert "gen_ai.input.messages" not in otel(pack).decode()
    line = json.loads(otel(pack, messages=True))
    thought = line["resourceSpans"][0]["scopeSpans"][0]["spans"][1]
    values = {a["key"]: next(iter(a["value"].values())) for a in thought["attributes"]}
    (message,) = json.loads(values["gen_ai.input.messages"])
    assert message == {"role": "user", "parts": [{"type": "text", "content": HOSTILE}]}


@pytest.mark.parametrize("kind", ["perfetto", "chrome", "otel"])
def test_the_command_writes_the_same_bytes_each_time(kind: str, tmp_path: Path) -> None:
    record = write_record(tmp_path / "r.jsonl", game())
    contents = []
    for name in ("a", "b"):
        out = tmp_path / name
        arguments = ["export", str(record), "--as", kind, "--out", str(out)]
        assert CliRunner().invoke(app, arguments).exit_code == 0
        contents.append(out.read_bytes())
    assert contents[0] == contents[1]
    assert contents[0]


@pytest.mark.parametrize(
    "arguments",
    [
        ("--as", "perfetto", "--start", "2020-01-01"),
        ("--as", "otel", "--start", "tomorrow"),
        ("--as", "chrome", "--best"),
        ("--as", "sft", "--messages"),
    ],
)
def test_options_of_another_format_are_refused(arguments: tuple[str, ...], tmp_path: Path) -> None:
    record = write_record(tmp_path / "r.jsonl", game())
    out = str(tmp_path / "out.jsonl")
    result = CliRunner().invoke(app, ["export", str(record), "--out", out, *arguments])
    assert isinstance(result.exception, SettingsError)


def test_hostile_texts_and_names_are_values_of_traces(tmp_path: Path) -> None:
    name = HOSTILE.replace("\0", "").replace("/", "")
    long = HOSTILE + "x" * 10_000_000
    events = [started(game=HOSTILE, agent=long), *thought(1, 0, 60, long), acted(60, long)]
    record = read_raw(write_record(tmp_path / f"{name}.jsonl", events))
    pack = pack_episode(record)
    labels = [e["name"] for e in json.loads(chrome([pack]))["traceEvents"]]
    assert all(len(label) <= 4 * 80 for label in labels)
    assert sum(number == 1 for number, _ in fields(perfetto([pack]))) > 3
    (scope,) = json.loads(otel(pack, messages=True))["resourceSpans"][0]["scopeSpans"]
    texts = [a["value"].get("stringValue", "") for s in scope["spans"] for a in s["attributes"]]
    assert any(json.loads(t)[0]["parts"][0]["content"] == HOSTILE for t in texts if t[:1] == "[")
    for data in (chrome([pack]), otel(pack, messages=True)):
        assert not set(data) & {0x00, 0x1B}
        assert b"\xe2\x80\xae" not in data
