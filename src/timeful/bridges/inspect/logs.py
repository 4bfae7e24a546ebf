"""Records as a log of Inspect, and the times of answers in its logs.

Simulated instants become working times, and dates after a fixed start.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from statistics import fmean, stdev
from typing import Any

import msgspec
from inspect_ai.event import Event, InfoEvent, ModelEvent
from inspect_ai.log import (
    EvalConfig,
    EvalDataset,
    EvalError,
    EvalLog,
    EvalMetric,
    EvalResults,
    EvalSample,
    EvalSampleLimit,
    EvalScore,
    EvalSpec,
    read_eval_log,
    read_eval_log_samples,
    write_eval_log,
)
from inspect_ai.model import ChatMessage, GenerateConfig, ModelOutput, ModelUsage
from inspect_ai.scorer import Score

from timeful.bridges.inspect.model import convert
from timeful.bridges.scores import read_scores
from timeful.core.units import in_seconds
from timeful.errors import RecordError
from timeful.experiments.suite import Suite
from timeful.models.calibrate import Timing
from timeful.models.model import Message
from timeful.records.events import (
    Entry,
    EpisodeEnded,
    EpisodeFailed,
    Sampled,
    ThoughtChunk,
    ThoughtEnded,
    ThoughtStarted,
    Within,
)
from timeful.records.recorder import read_record, record_hash
from timeful.records.summary import CompleteRecord, complete_record
from timeful.version import __version__

_LEFT_OUT = (ThoughtChunk, ThoughtEnded, Sampled)
_ROLES = ("system", "user", "assistant", "tool")


@dataclass(frozen=True, slots=True, kw_only=True)
class LogWriter:
    """Writes records as a log of Inspect.

    Args:
        suite: Their suite; None if it is unknown, and then they have no score but their own.
        name: The name of the task.
        start_ns: The date of instant 0, in nanoseconds since 1970.
    """

    suite: Suite | None
    name: str
    start_ns: int

    def write(self, paths: Sequence[Path], out: Path, settings: Mapping[str, Any]) -> int:
        """Write a log, and return the number of its samples.

        Raises:
            RecordError: If a record cannot be read, or has no end.
        """
        samples = [self._sample(path) for path in paths]
        failures = sum(sample.error is not None for sample in samples)
        words = f"{failures} of {len(samples)} episodes failed"
        models = dict.fromkeys(model for sample in samples for model in sample.model_usage)
        spec = EvalSpec(
            created=self._date(0).isoformat(),
            task=self.name,
            task_args=dict(settings),
            dataset=EvalDataset(
                name=self.name, samples=len(samples), sample_ids=[s.id for s in samples]
            ),
            model=", ".join(models) or "none",
            config=EvalConfig(),
            packages={"timeful": __version__},
        )
        log = EvalLog(
            status="error" if failures else "success",
            eval=spec,
            results=_summarize(samples),
            error=EvalError(message=words, traceback="", traceback_ansi="") if failures else None,
            samples=samples,
        )
        out.parent.mkdir(parents=True, exist_ok=True)
        write_eval_log(log, str(out))
        return len(samples)

    def _date(self, at: int) -> datetime:
        micros = (self.start_ns + at) // 1000
        return datetime(1970, 1, 1, tzinfo=UTC) + timedelta(microseconds=micros)

    def _sample(self, path: Path) -> EvalSample:
        record = complete_record(read_record(path))
        events = list(self._events(record.events, path.stem))
        answers = [event.output for event in events if isinstance(event, ModelEvent)]
        end = record.end
        usage: defaultdict[str, ModelUsage] = defaultdict(ModelUsage)
        for output in answers:
            usage[output.model] += output.usage or ModelUsage()
        return EvalSample(
            id=path.stem,
            epoch=1,
            input=f"{self.name}: {path.stem}",
            target="",
            output=answers[-1] if answers else ModelOutput(),
            scores=self._scores(record),
            metadata={**record.settings, "sha256": record_hash(record.events)},
            events=events,
            model_usage=dict(usage),
            started_at=self._date(0),
            completed_at=self._date(end.at),
            total_time=in_seconds(end.at),
            working_time=in_seconds(end.at),
            uuid=path.stem,
            error=_read_error(record),
            limit=_read_limit(record),
        )

    def _scores(self, record: CompleteRecord) -> dict[str, Score] | None:
        if not isinstance(record.end, EpisodeEnded):
            return None
        if self.suite is None:
            return {"outcome": Score(value={"score": record.end.score})}
        return {"outcome": Score(value=dict(read_scores(self.suite, record.events)))}

    def _events(self, entries: Sequence[Entry], key: str) -> Iterator[Event]:
        """Thoughts as calls of models, and all else as information, in the order of time."""
        ends = {(m, e.thought): e for m, e in map(_unpack, entries) if isinstance(e, ThoughtEnded)}
        for number, entry in enumerate(entries):
            module, event = _unpack(entry)
            times = {
                "uuid": f"{key}-{number}",
                "timestamp": self._date(entry.at),
                "working_start": in_seconds(entry.at),
            }
            if isinstance(event, ThoughtStarted):
                end = ends.get((module, event.thought))
                yield self._thought(event, end, times, role=f"{module}/{event.purpose}".strip("/"))
            elif not isinstance(event, _LEFT_OUT):
                data = msgspec.json.decode(msgspec.json.encode(entry))  # without tuples
                yield InfoEvent(source="timeful", data=data, **times)

    def _thought(
        self, start: ThoughtStarted, end: ThoughtEnded | None, times: Any, *, role: str
    ) -> ModelEvent:
        output = ModelOutput(model=start.model)
        at = start.at
        if end is not None:
            at = end.at
            reason = "max_tokens" if end.finish == "length" else "stop"
            output = ModelOutput.from_content(start.model, end.answer, reason)
            output.usage = _usage(end)
        return ModelEvent(
            model=start.model,
            role=role or None,
            input=list(_messages(start)),
            tools=[],
            tool_choice="auto",
            config=GenerateConfig(max_tokens=start.max_tokens),
            output=output,
            completed=self._date(at),
            working_time=in_seconds(at - start.at),
            error=None if end is None or end.state != "failed" else end.cause or "failed",
            **times,
        )


def _unpack(event: Entry) -> tuple[str, Entry]:
    return (event.module, event.what) if isinstance(event, Within) else ("", event)


def _messages(start: ThoughtStarted) -> Iterable[ChatMessage]:
    return convert(
        [
            Message(role, content)  # type: ignore[arg-type]
            for role, content in start.messages or ()
            if role in _ROLES
        ]
    )


def _usage(end: ThoughtEnded) -> ModelUsage:
    usage = end.usage
    if isinstance(usage, msgspec.UnsetType):
        return ModelUsage(output_tokens=end.tokens, total_tokens=end.tokens)
    cached = usage.cached or 0
    prompt = usage.prompt or 0
    return ModelUsage(
        input_tokens=prompt - cached,
        output_tokens=usage.completion,
        total_tokens=prompt + usage.completion,
        input_tokens_cache_read=usage.cached,
        reasoning_tokens=usage.reasoning,
    )


def _read_error(record: CompleteRecord) -> EvalError | None:
    if not isinstance(record.end, EpisodeFailed):
        return None
    trace = "\n".join(record.end.trace)
    return EvalError(message=record.error or "failed", traceback=trace, traceback_ansi=trace)


def _read_limit(record: CompleteRecord) -> EvalSampleLimit | None:
    end = record.end
    if not isinstance(end, EpisodeEnded) or end.reason != "deadline":
        return None
    return EvalSampleLimit(type="time", limit=in_seconds(end.at), reason="the budget of time")


def _summarize(samples: Sequence[EvalSample]) -> EvalResults:
    """The mean and the standard error of each score."""
    values: defaultdict[str, list[float]] = defaultdict(list)
    for sample in samples:
        for score in (sample.scores or {}).values():
            for name, value in score.value.items():
                values[name].append(value)
    scores = []
    for name, numbers in values.items():
        error = stdev(numbers) / len(numbers) ** 0.5 if len(numbers) > 1 else 0.0
        pairs = {"mean": fmean(numbers), "stderr": error}
        metrics = {key: EvalMetric(name=key, value=value) for key, value in pairs.items()}
        scores.append(EvalScore(name=name, scorer="outcome", metrics=metrics))
    completed = sum(sample.error is None for sample in samples)
    return EvalResults(total_samples=len(samples), completed_samples=completed, scores=scores)


def read_timings(path: Path) -> dict[str, list[Timing]]:
    """The times of complete answers in a log of Inspect, by model.

    Answers of a cache, and answers after a retry or an error, are left out.

    Raises:
        RecordError: If the file is no log of Inspect.
    """
    try:
        log = read_eval_log(str(path), header_only=path.suffix == ".eval")
        samples = log.samples
        if samples is None:
            samples = read_eval_log_samples(str(path), all_samples_required=False)
        timings: dict[str, list[Timing]] = {}
        for sample in samples:
            for event in sample.events:
                if isinstance(event, ModelEvent) and (timing := _read_timing(event)):
                    timings.setdefault(event.model, []).append(timing)
    except (OSError, ValueError, KeyError) as error:
        reason = str(error).partition("\n")[0]
        raise RecordError(f"{path} is no log of Inspect: {reason}") from error
    return timings


def _read_timing(event: ModelEvent) -> Timing | None:
    usage = event.output.usage
    is_whole = not (event.cache == "read" or event.retries or event.error or event.pending)
    if not (is_whole and usage and usage.output_tokens and event.working_time):
        return None
    return Timing(tokens=usage.output_tokens, seconds=event.working_time, is_counted=True)
