"""What a trace must be, by rule (Timely Machine, appendix B, and what a trace of time needs more).

| rule | broken if |
| --- | --- |
| form | it is not one conversation that ends by itself with an `<answer>`, or tells a tool's part |
| calls | a call could not be made, or was to no tool; or the timer was asked too seldom |
| times | what the timer said is not what counted, or is not what it is said to have said |
| late | it did not answer within its budget |
| answer | it answered something else; a judge may find that it is right all the same |

The first that is broken counts.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal, get_args

import msgspec

from timeful.core.units import Instant, in_seconds
from timeful.environments.timed.stopwatch import Stopwatch, TimerSettings
from timeful.environments.timed.world import TIMER
from timeful.records.events import Happened, Noted
from timeful.training.data.conversations import Conversation
from timeful.training.data.episodes import Episode

Rule = Literal["form", "calls", "times", "late", "answer"]
RULES: tuple[Rule, ...] = get_args(Rule)

_BAD_CALLS = ("malformed-call", "refused-call")
_SIGMAS = 5
"""By how many standard deviations a timer may be off."""

_ROUNDING = 0.006
"""Readings are told to hundredths of a second."""

_CLAIM = 0.1
"""By which share of the budget the duration that is claimed at the end may be off: whoever writes
it cannot know how long the writing takes."""

_ANSWER = re.compile(r"<answer>.*?\S.*?</answer>", re.DOTALL)
_CONCLUSION = re.compile(r"<conclusion>(.*?)</conclusion>", re.DOTALL)
_CLAIMED = re.compile(r"duration\D*([0-9]+(?:\.[0-9]+)?)\s*s(?:ec(?:ond)?s?)?\b", re.IGNORECASE)
_THOUGHT = re.compile(r"<think>.*?</think>", re.DOTALL)
_SECONDS = re.compile(r"^([0-9.]+) seconds\.$")
_RESPONSE = re.compile(r"<tool_response>\n(.*?)\n</tool_response>", re.DOTALL)
_CALLED = "<tool_call>"


@dataclass(frozen=True, slots=True)
class _Trace:
    """A trace, its one conversation, and how often it must ask the timer."""

    episode: Episode
    conversation: Conversation
    least_calls: int

    @property
    def replies(self) -> list[Happened]:
        return [
            e for e in self.episode.record.events if isinstance(e, Happened) and e.what == "reply"
        ]

    @property
    def answers(self) -> list[str]:
        return [
            message["content"]
            for message in self.conversation.completion
            if message["role"] == "assistant"
        ]

    @property
    def replies_in_text(self) -> list[str]:
        """What the tools are said to have replied."""
        texts = [
            message["content"]
            for message in self.conversation.completion
            if message["role"] != "assistant"
        ]
        return [reply for text in texts for reply in _RESPONSE.findall(text)]


def find_broken_rule(episode: Episode, *, least_calls: int) -> Rule | None:
    """The first rule that a trace breaks; None if it breaks none."""
    if len(episode.conversations) != 1:
        return "form"
    trace = _Trace(episode, episode.conversations[0], least_calls)
    if episode.over.get("reason") == "deadline":  # which also cuts its last words
        return "late"
    checks: dict[Rule, Callable[[], bool]] = {
        "form": lambda: _has_form(trace),
        "calls": lambda: _has_calls(trace),
        "times": lambda: _has_times(trace),
        "late": lambda: episode.is_in_time,
        "answer": lambda: bool(trace.episode.over.get("correct")),
    }
    return next((rule for rule in RULES if not checks[rule]()), None)


def _has_form(trace: _Trace) -> bool:
    if not trace.conversation.has_ended or not trace.answers:
        return False
    last = trace.answers[-1]
    tells_replies = any("<tool_response>" in text for text in trace.answers)
    is_last = trace.conversation.completion[-1]["role"] == "assistant" and _CALLED not in last
    return is_last and _ANSWER.search(last) is not None and not tells_replies


def _has_calls(trace: _Trace) -> bool:
    """Whether each call was made, was to the timer, and was replied to."""
    notes = [e.topic for e in trace.episode.record.events if isinstance(e, Noted)]
    calls = sum(text.count(_CALLED) for text in trace.answers)
    replies = trace.replies
    return (
        not any(topic in _BAD_CALLS for topic in notes)
        and all(reply.data["tool"] == TIMER.name for reply in replies)
        and calls == len(replies) == len(trace.replies_in_text)
        and len(replies) >= trace.least_calls
    )


def _has_times(trace: _Trace) -> bool:
    """Whether each reading is what counted at that instant, and the last words agree."""
    timer = msgspec.convert(trace.episode.record.settings.get("timer", {}), TimerSettings)
    watch = Stopwatch(float(trace.episode.record.settings.get("alpha", 1.0)))
    slack = _ROUNDING + _SIGMAS * timer.jitter
    last = 0.0
    for reply, text in zip(trace.replies, trace.replies_in_text, strict=True):
        watch.start(Instant(reply.at - reply.data["took"]))
        watch.stop(Instant(reply.at))
        reading = _SECONDS.match(reply.data["text"])
        if reading is None or text != reply.data["text"]:
            return False
        last = float(reading[1])
        if abs(last - timer.scale * in_seconds(watch.elapsed(Instant(reply.at)))) > slack:
            return False
    return _claims_right(trace, timer, last, slack)


def _claims_right(trace: _Trace, timer: TimerSettings, last: float, slack: float) -> bool:
    """Whether the duration that is claimed lies between the last reading and the end, about.

    A conclusion with other numbers only claims something that nobody can check.
    """
    elapsed = timer.scale * in_seconds(trace.episode.over.get("counted", 0))
    slack += _CLAIM * elapsed
    for conclusion in _CONCLUSION.findall(_THOUGHT.sub("", trace.answers[-1])):
        claims = [float(claim) for claim in _CLAIMED.findall(conclusion)]
        if not all(last - slack <= claim <= elapsed + slack for claim in claims):
            return False
        if not claims and re.search(r"[0-9]", conclusion):
            return False
    return True
