"""Records with answers alone, completed: the episode is played again with its stand-ins.

The words and states of a stand-in follow from the settings of its episode. They are used only if
every event of the new record that the old one has too is equal. No language model is asked.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import Field, fields, replace
from itertools import islice, product
from pathlib import Path
from typing import Any, get_type_hints

import msgspec

from timeful.errors import TimefulError
from timeful.experiments.suite import Suite
from timeful.experiments.sweep import default_values, plan_episode
from timeful.models.role import ModelRole
from timeful.records.events import (
    Entry,
    EpisodeStarted,
    Observed,
    ThoughtChunk,
    ThoughtPaused,
    ThoughtStarted,
    Wall,
)
from timeful.records.folder import read_settings
from timeful.records.recorder import Recorder
from timeful.registry import BUILT_IN, load

_ALIASES = {
    "step": "tokens_per_step",
    "law": "interface",
    "interface": "law",
    "player": "voice",
    "span": "budget_ns",
    "digests": "agents",
    "questions": "asks",
    "pause": "pause_s",
    "stand_in_temperature": "temperature",
}
"""Fields of episodes that their records name otherwise."""

_REASONS = {
    "engagement/toys": "A record of the toys is complete: their policies are no texts.",
    "timely/coding": "The time of code is measured, so the episode is not played again.",
}
"""Suites whose episodes are not played again, and why."""

_MOST_TRIED = 2_000

_GUESSES = ("realtime", "engagement/inbox", "engagement/kitchen")


def remake(events: Sequence[Entry], settings: Mapping[str, Any], folder: Path) -> list[Entry] | str:
    """Play the episode of a record again, with all its words.

    Args:
        events: The record.
        settings: The settings that it begins with.
        folder: The folder of its run, or that of the record.

    Returns:
        The new events, or why there are none, as a sentence.
    """
    try:
        run = read_settings(folder)
    except TimefulError:
        run = {}
    name = str(settings.get("suite") or run.get("suite"))
    if name in _REASONS:
        return _REASONS[name]
    episode = find_episode(settings, run)
    if episode is None:
        return "The texts were not kept, and the settings do not tell how to play it again."
    suite, value = episode
    recorder = Recorder()
    recorder.settings = dict(settings)
    try:
        suite.play(replace(value, transcripts="full"), recorder)
    except Exception as error:  # noqa: BLE001 - of a suite's own code; the record stays as it is
        return f"The episode could not be played again: {type(error).__name__}: {error}"
    position = first_difference(events, recorder.events)
    if position is not None:
        return f"Played again, the episode differs from the record at its event {position}."
    return recorder.events


def find_episode(settings: Mapping[str, Any], run: Mapping[str, Any]) -> tuple[Suite, Any] | None:
    """The suite and the episode that have exactly these settings; stand-ins only."""
    fields_of_record = settings.get("episode")
    if not isinstance(fields_of_record, Mapping) or fields_of_record.get("stand_in") is not True:
        return None
    name = settings.get("suite") or fields_of_record.get("suite") or run.get("suite")
    names = [name] if name in BUILT_IN["suite"] else [] if name else _GUESSES
    for candidate in names:
        suite = load("suite", str(candidate))
        assert isinstance(suite, Suite), "built-in suites are suites"
        agent = str(fields_of_record.get("agent", "")).partition("@")[0]  # without its interface
        values = {**settings, **run, **fields_of_record, **({"agent": agent} if agent else {})}
        values |= _inner_values(settings)
        for episode in _make_episodes(suite, values):
            if episode and _plain(plan_episode(suite, episode).settings) == settings:
                return suite, episode
    return None


def _inner_values(settings: Mapping[str, Any]) -> dict[str, Any]:
    """The values of a conversation that its record has under names of their own."""
    names = ("source", "agents", "asks", "interface", "clock", "thinking", "temperature")
    pace = settings["episode"].get("pace")
    values = {name: settings[name] for name in names if name in settings}
    if isinstance(pace, list):
        values |= dict(zip(("first_token_ms", "token_ms"), (ns / 1e6 for ns in pace), strict=True))
    return values | dict(settings.get("tempo", {}))


def _make_episodes(suite: Suite, values: Mapping[str, Any]) -> Iterator[Any]:
    """The episodes whose fields have these values; a swept field without one takes each of its own.

    Invalid ones are left out; one that the suite drops is None.
    """
    usual, hints = default_values(suite.episode), get_type_hints(suite.episode)
    fixed: dict[str, Any] = {}
    for field in fields(suite.episode):
        for name in (_ALIASES.get(field.name, ""), field.name):
            if name in values and field.name not in fixed:
                with suppress(TimefulError, TypeError, ValueError):
                    default, hint = usual.get(field.name), hints[field.name]
                    fixed[field.name] = _read_value(field, default, hint, values[name])
    free = {name: levels for name, levels in suite.sweep.items() if name not in fixed}
    for levels in islice(product(*free.values()), _MOST_TRIED):
        with suppress(TimefulError, TypeError, ValueError):
            swept = dict(zip(free, levels, strict=True))
            episode = suite.episode(**{**usual, **swept, **fixed})
            yield episode if suite.resolve is None else suite.resolve(episode)


def _read_value(field: Field[Any], default: Any, hint: Any, value: Any) -> Any:
    """The value of a field as its record has it.

    Raises:
        TypeError, ValueError: If it is none.
    """
    if isinstance(default, ModelRole):
        return replace(default, stand_in=value["spec"] if isinstance(value, Mapping) else value)
    read = field.metadata.get("read")
    if read is not None and isinstance(value, str):
        return read(value)
    return msgspec.convert(value, hint)


def first_difference(old: Iterable[Entry], new: Iterable[Entry]) -> int | None:
    """The number of the first event of a record that its repetition does not have; None if equal.

    Words, states and what the machine spent may differ: a short record lacks them.
    """
    ours, theirs = list(_decisions(old)), list(_decisions(new))
    for number, (first, second) in enumerate(zip(ours, theirs, strict=False), 1):
        if first != second:
            return number
    return None if len(ours) == len(theirs) else min(len(ours), len(theirs)) + 1


def _decisions(events: Iterable[Entry]) -> Iterable[Entry]:
    for event in events:
        match event:
            case ThoughtChunk() | Wall():
                continue
            case EpisodeStarted():
                yield msgspec.structs.replace(event, version="", settings=_plain(event.settings))
            case ThoughtStarted():
                yield msgspec.structs.replace(event, messages=None)
            case ThoughtPaused():
                yield msgspec.structs.replace(event, undelivered="")
            case Observed():
                yield msgspec.structs.replace(event, state=None)
            case _:
                yield event


def _plain(value: Any) -> Any:
    return msgspec.json.decode(msgspec.json.encode(value))
