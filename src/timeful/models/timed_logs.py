"""The times of answers in logs of other tools: traces of verifiers, and OTLP JSON.

Each line of `traces.jsonl` is an episode with its `traces`, and these have `calls`. OTLP JSON is
one object, or one a line, with spans of the semantic conventions of GenAI. Calls that failed are
left out.
"""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from timeful.errors import RecordError
from timeful.files import read_bytes
from timeful.models.calibrate import Timing

_MODELS = ("gen_ai.response.model", "gen_ai.request.model")
_TOKENS = "gen_ai.usage.output_tokens"
_FAILED = 2
"""The code of a span's status."""


def is_inspect(path: Path) -> bool:
    """Whether a file is a log of Inspect."""
    if path.suffix == ".eval":
        return True
    return path.suffix == ".json" and b'"eval"' in read_bytes(path)[:4096]


def read_timings(path: Path) -> dict[str, list[Timing]]:
    """The times of complete answers by model.

    Raises:
        RecordError: If the file cannot be read.
    """
    text = read_bytes(path)
    try:
        lines = [json.loads(text)]
    except ValueError:
        lines = [
            _decode(path, number, line)
            for number, line in enumerate(text.splitlines(), 1)
            if line.strip()
        ]
    timings: dict[str, list[Timing]] = {}
    try:
        for line in lines:
            calls = _read_spans(line) if "resourceSpans" in line else _read_calls(line)
            for model, tokens, seconds in calls:
                if tokens > 0 and seconds > 0:
                    timing = Timing(tokens=tokens, seconds=seconds, is_counted=True)
                    timings.setdefault(model, []).append(timing)
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        raise RecordError(
            f"{path} has neither traces of verifiers nor spans: {type(error).__name__}: {error}"
        ) from error
    return timings


def _decode(path: Path, number: int, line: bytes) -> Any:
    try:
        return json.loads(line)
    except ValueError as error:
        raise RecordError(f"{path}, line {number}: not JSON ({error})") from error


def _read_calls(episode: dict[str, Any]) -> Iterator[tuple[str, int, float]]:
    """The calls of an episode of verifiers."""
    for call in (call for trace in episode["traces"] for call in trace["calls"]):
        usage, span = call.get("usage"), call.get("time") or {}
        if not usage or call.get("error") or not span.get("end"):
            continue
        yield (
            str(call.get("model") or "model"),
            int(usage["completion_tokens"]),
            span["end"] - span["start"],
        )


def _read_spans(traces: dict[str, Any]) -> Iterator[tuple[str, int, float]]:
    """The calls of models among the spans of OTLP."""
    for resource in traces["resourceSpans"]:
        for scope in resource["scopeSpans"]:
            for span in scope["spans"]:
                fields = {item["key"]: item["value"] for item in span.get("attributes", ())}
                model = next((fields[name] for name in _MODELS if name in fields), None)
                is_failed = span.get("status", {}).get("code") == _FAILED
                if model is None or _TOKENS not in fields or is_failed:
                    continue
                span_ns = int(span["endTimeUnixNano"]) - int(span["startTimeUnixNano"])
                yield str(model["stringValue"]), int(fields[_TOKENS]["intValue"]), span_ns / 1e9
