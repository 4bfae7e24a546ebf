"""Episodes in the formats of trace viewers: Perfetto, Chrome's JSON, OpenTelemetry.

Perfetto's format is a list of protobuf messages (TrackEvent), written by hand: a few kinds of
fields. Chrome's JSON has one thread a lane. Instants of OpenTelemetry are added to a start, since
its times are dates.
"""

import json
import struct
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from hashlib import sha256
from itertools import accumulate
from typing import Any

from timeful.version import __version__
from timeful.viewer.pack import Pack, read_events
from timeful.viewer.schema import Lanes

SCHEMA_URL = "https://opentelemetry.io/schemas/1.41.0"
"""The version of the semantic conventions of OpenTelemetry; those of GenAI are in development."""

START_NS = 946_684_800_000_000_000
"""2000-01-01T00:00:00Z, the date of instant 0 if no other is given."""

_SEQUENCE = 1
_BEGIN, _END, _INSTANT, _COUNTER = 1, 2, 3, 4
Fields = dict[str, str | int | float | bool]


@dataclass(frozen=True, slots=True)
class Slice:
    """A stretch of a lane; an instant has no length and `is_instant`."""

    lane: int
    at: int
    length: int
    name: str
    fields: Fields
    is_instant: bool = False


def read_slices(lanes: Lanes) -> Iterator[Slice]:
    """The spans, marks and verdicts of an episode, without the limits of thoughts."""
    strings = [*lanes.strings, ""]  # so that -1 is no text
    thoughts, spans, marks, verdicts = lanes.thoughts, lanes.spans, lanes.marks, lanes.verdicts
    for index, at in enumerate(accumulate(spans.start)):
        state, number = spans.state[index], spans.thought[index]
        fields: Fields = {"state": state, "line": spans.line[index]}
        if number >= 0:
            fields |= {
                "model": strings[thoughts.model[number]],
                "tokens": thoughts.tokens[number],
                "cause": strings[thoughts.cause[number]],
            }
        if state != "limit":
            name = strings[spans.label[index]] or state
            yield Slice(spans.lane[index], at, spans.length[index], name, fields)
    for index, at in enumerate(accumulate(marks.at)):
        name = strings[marks.label[index]] or marks.kind[index]
        fields = {"kind": marks.kind[index], "line": marks.line[index]}
        if marks.seen[index]:
            fields["seen_after_ns"] = marks.seen[index]
        yield Slice(marks.lane[index], at, 0, name, fields, is_instant=True)
    for index, at in enumerate(accumulate(verdicts.at)):
        slack = verdicts.slack[index]
        fields = {"verdict": verdicts.kind[index], "slot": strings[verdicts.slot[index]]}
        fields |= {"line": verdicts.line[index], "reason": strings[verdicts.reason[index]]}
        if slack is not None:
            fields["slack_ns"] = slack
        yield Slice(verdicts.lane[index], at, 0, verdicts.kind[index], fields, is_instant=True)


# --- Perfetto --------------------------------------------------------------------------------


def perfetto(packs: Sequence[Pack]) -> bytes:
    """Episodes as Perfetto's TrackEvents: a group of tracks an episode, a track a lane."""
    packets = (packet for number, pack in enumerate(packs) for packet in _packets(number, pack))
    return b"".join(_message(1, packet) for packet in packets)


def _packets(number: int, pack: Pack) -> Iterator[bytes]:
    lanes, base = pack.lanes, (number + 1) << 32
    yield _track(base, lanes.title)
    for index, lane in enumerate(lanes.lanes):
        name = f"{lane.module}: {lane.name}" if lane.module else lane.name
        yield _track(base + 1 + index, name, parent=base, is_counter=lane.kind == "score")
    packets = sorted(_events(pack, base), key=lambda packet: packet[0])
    yield from (packet for _, packet in packets)


def _events(pack: Pack, base: int) -> Iterator[tuple[tuple[int, int], bytes]]:
    """Events with their order: at one instant, a stretch ends before another begins."""
    lanes = pack.lanes
    flows = _flows(lanes, base)
    for part in read_slices(lanes):
        track = base + 1 + part.lane
        is_action = part.fields.get("kind") == "action"
        end = part.at + part.length
        flow = flows.get((part.lane, end), ()) if is_action or not part.is_instant else ()
        if part.is_instant:
            yield (part.at, 1), _event(part.at, _INSTANT, track, part, flow)
        else:
            is_empty = part.length == 0
            yield (part.at, 2 if is_empty else 4), _event(part.at, _BEGIN, track, part, flow)
            yield (end, 3 if is_empty else 0), _event(end, _END, track)
    score = next((i for i, lane in enumerate(lanes.lanes) if lane.kind == "score"), None)
    if score is not None:
        for at, value in zip(accumulate(lanes.scores.at), lanes.scores.score, strict=True):
            body = _number(9, _COUNTER) + _number(11, base + 1 + score)
            body += _tag(44, 1) + struct.pack("<d", value)
            yield (at, 5), _packet(at, body)


def _flows(lanes: Lanes, base: int) -> dict[tuple[int, int], list[int]]:
    """The links from thoughts to actions, by lane and instant of both ends."""
    flows: dict[tuple[int, int], list[int]] = {}
    links = lanes.links
    for index, at in enumerate(accumulate(links.at)):
        if links.kind[index] == "acted":
            for lane in (links.source[index], links.target[index]):
                flows.setdefault((lane, at), []).append(base + index)
    return flows


def _track(uuid: int, name: str, *, parent: int = 0, is_counter: bool = False) -> bytes:
    body = _number(1, uuid) + _text(2, name)
    body += _number(5, parent) if parent else b""
    body += _message(8, b"") if is_counter else b""
    return _message(60, body) + _number(10, _SEQUENCE)


def _event(
    at: int, kind: int, track: int, part: Slice | None = None, flows: Iterable[int] = ()
) -> bytes:
    body = _number(9, kind) + _number(11, track)
    if part is not None:
        body += _text(23, part.name)
        body += b"".join(_annotation(name, value) for name, value in part.fields.items())
    body += b"".join(_tag(47, 1) + struct.pack("<Q", number) for number in flows)
    return _packet(at, body)


def _packet(at: int, body: bytes) -> bytes:
    return _number(8, at) + _message(11, body) + _number(10, _SEQUENCE)


def _annotation(name: str, value: str | int | float | bool) -> bytes:
    match value:
        case bool():
            field = _number(2, value)
        case int():
            field = _number(4, value)
        case float():
            field = _tag(5, 1) + struct.pack("<d", value)
        case str():
            field = _text(6, value)
    return _message(4, _text(10, name) + field)


def _varint(value: int) -> bytes:
    value &= (1 << 64) - 1
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes([*out, value])


def _tag(field: int, kind: int) -> bytes:
    return _varint(field << 3 | kind)


def _number(field: int, value: int) -> bytes:
    return _tag(field, 0) + _varint(value)


def _message(field: int, body: bytes) -> bytes:
    return _tag(field, 2) + _varint(len(body)) + body


def _text(field: int, text: str) -> bytes:
    return _message(field, text.encode())


# --- Chrome ----------------------------------------------------------------------------------


def chrome(packs: Sequence[Pack]) -> bytes:
    """Episodes as Chrome's trace JSON: a process an episode, a thread a lane; in microseconds."""
    events: list[dict[str, Any]] = []
    for process, pack in enumerate(packs, 1):
        head = {"ph": "M", "pid": process, "name": "process_name"}
        events.append({**head, "args": {"name": pack.lanes.title}})
        for thread, lane in enumerate(pack.lanes.lanes):
            name = f"{lane.module}: {lane.name}" if lane.module else lane.name
            head = {"ph": "M", "pid": process, "tid": thread, "name": "thread_name"}
            events.append({**head, "args": {"name": name}})
        for part in sorted(read_slices(pack.lanes), key=lambda part: part.at):
            event = {"name": part.name, "pid": process, "tid": part.lane, "args": part.fields}
            kind = {"ph": "i", "s": "t"} if part.is_instant else {"ph": "X"}
            length = {} if part.is_instant else {"dur": part.length / 1e3}
            events.append({**event, **kind, "ts": part.at / 1e3, **length})
        scores = pack.lanes.scores
        for at, value in zip(accumulate(scores.at), scores.score, strict=True):
            event = {"name": "score", "pid": process, "args": {"score": value}}
            events.append({**event, "ph": "C", "ts": at / 1e3})
    return _json({"traceEvents": events, "displayTimeUnit": "ms"})


# --- OpenTelemetry ---------------------------------------------------------------------------


def otel(pack: Pack, *, start: int = START_NS, messages: bool = False) -> bytes:
    """An episode as one line of OTLP JSON, by the semantic conventions of GenAI.

    Args:
        pack: The episode.
        start: The date of instant 0, in ns since 1970.
        messages: Whether spans have the words of prompts and answers.
    """
    lanes = pack.lanes
    trace = sha256(f"{lanes.title} {lanes.about} {lanes.end}".encode()).hexdigest()[:32]
    settings = dict(lanes.about)
    agent = settings.get("agent") or settings.get("who") or settings.get("policy") or "agent"
    root = _span_id(trace, "episode")
    episode: dict[str, Any] = {
        **{"traceId": trace, "spanId": root, "name": f"invoke_agent {agent}", "kind": 1},
        **_times(start, 0, lanes.end),
        "attributes": _attributes(
            {
                "gen_ai.operation.name": "invoke_agent",
                "gen_ai.agent.name": agent,
                "gen_ai.conversation.id": lanes.title,
                **({"error.type": lanes.error.partition(":")[0]} if lanes.error else {}),
                **({"timeful.score": lanes.score} if lanes.score is not None else {}),
            }
        ),
        "events": [_verdict(part, start) for part in read_slices(lanes) if part.is_instant],
        "status": {"code": 2} if lanes.error else {},
    }
    spans = [
        episode,
        *_thought_spans(pack, trace, root, start, messages),
        *_tool_spans(lanes, trace, root, start),
    ]
    scope = {"scope": {"name": "timeful", "version": __version__}, "spans": spans}
    resource = {"attributes": _attributes({"service.name": "timeful"})}
    scopes = [{**scope, "schemaUrl": SCHEMA_URL}]
    return _json({"resourceSpans": [{"resource": resource, "scopeSpans": scopes}]}) + b"\n"


def _verdict(part: Slice, start: int) -> dict[str, Any]:
    is_verdict = "verdict" in part.fields
    name = "timeful.verdict" if is_verdict else f"timeful.{part.fields['kind']}"
    fields: Fields = {f"timeful.{key}": value for key, value in part.fields.items()}
    fields["timeful.label"] = part.name
    attributes = _attributes(fields)
    return {"timeUnixNano": str(start + part.at), "name": name, "attributes": attributes}


def _thought_spans(
    pack: Pack, trace: str, root: str, start: int, messages: bool
) -> Iterator[dict[str, Any]]:
    lanes, thoughts = pack.lanes, pack.lanes.thoughts
    strings, seeds = [*lanes.strings, ""], _seeds(pack)
    for index, at in enumerate(accumulate(thoughts.start)):
        text, model = pack.texts.thoughts[index], strings[thoughts.model[index]]
        end = lanes.end if (length := thoughts.length[index]) < 0 else at + length
        usage = text.usage or {}
        fields: Fields = {
            "gen_ai.operation.name": "chat",
            "gen_ai.provider.name": model.partition(":")[0] if ":" in model else "timeful",
            "gen_ai.request.model": model,
            "gen_ai.request.seed": seeds.get(thoughts.line[index], "unknown"),
            "gen_ai.usage.output_tokens": thoughts.tokens[index],
            "timeful.purpose": strings[thoughts.purpose[index]],
            "timeful.state": thoughts.state[index],
        }
        if text.max_tokens is not None:
            fields["gen_ai.request.max_tokens"] = text.max_tokens
        if isinstance(usage.get("prompt"), int):
            fields["gen_ai.usage.input_tokens"] = usage["prompt"]
        if thoughts.state[index] == "failed":
            fields["error.type"] = strings[thoughts.cause[index]] or "failed"
        if messages:
            fields |= _words(pack, index)
        state = thoughts.state[index]
        finish = {"cut": "length", "completed": "stop"}.get(state, state)
        yield {
            **{"traceId": trace, "spanId": _span_id(trace, f"thought {index}")},
            **{"parentSpanId": root, "name": f"chat {model}"},
            "kind": 1 if lanes.stand_in else 3,
            **_times(start, at, end),
            "attributes": [
                *_attributes(fields),
                {
                    "key": "gen_ai.response.finish_reasons",
                    "value": {"arrayValue": {"values": [{"stringValue": finish}]}},
                },
            ],
            "status": {"code": 2} if "error.type" in fields else {},
        }


def _seeds(pack: Pack) -> dict[int, int]:
    """The seeds of thoughts by line."""
    seeds: dict[int, int] = {}
    for line, text in read_events(pack.texts):
        fields = json.loads(text)
        inner = fields.get("what", fields)
        if isinstance(inner, dict) and isinstance(inner.get("seed"), int):
            seeds[line] = inner["seed"]
    return seeds


def _words(pack: Pack, index: int) -> Fields:
    """The messages of a thought, as the conventions structure them."""
    text = pack.texts.thoughts[index]
    asked = [
        {"role": role, "parts": [{"type": "text", "content": pack.texts.strings[number]}]}
        for role, number in text.messages or ()
    ]
    parts = [{"type": "text", "content": text.answer}]
    answer = [{"role": "assistant", "parts": parts, "finish_reason": "stop"}]
    return {
        "gen_ai.input.messages": _json(asked).decode(),
        "gen_ai.output.messages": _json(answer).decode(),
    }


def _tool_spans(lanes: Lanes, trace: str, root: str, start: int) -> Iterator[dict[str, Any]]:
    kinds = [lane.kind for lane in lanes.lanes]
    for index, part in enumerate(read_slices(lanes)):
        if kinds[part.lane] == "tools" and not part.is_instant:
            fields: Fields = {
                "gen_ai.operation.name": "execute_tool",
                "gen_ai.tool.name": part.name,
            }
            if part.fields["state"] == "failed":
                fields["error.type"] = "failed"
            yield {
                **{"traceId": trace, "spanId": _span_id(trace, f"tool {index}")},
                **{"parentSpanId": root, "name": f"execute_tool {part.name}", "kind": 1},
                **_times(start, part.at, part.at + part.length),
                "attributes": _attributes(fields),
            }


def _times(start: int, at: int, end: int) -> dict[str, str]:
    return {"startTimeUnixNano": str(start + at), "endTimeUnixNano": str(start + max(end, at))}


def _span_id(trace: str, name: str) -> str:
    return sha256(f"{trace} {name}".encode()).hexdigest()[:16]


def _attributes(fields: Fields) -> list[dict[str, Any]]:
    return [{"key": key, "value": _value(value)} for key, value in fields.items()]


def _value(value: str | int | float | bool) -> dict[str, Any]:
    match value:
        case bool():
            return {"boolValue": value}
        case int():
            return {"intValue": str(value)}
        case float():
            return {"doubleValue": value}
        case str():
            return {"stringValue": value}


def _json(value: object) -> bytes:
    return json.dumps(value, separators=(",", ":")).encode()
