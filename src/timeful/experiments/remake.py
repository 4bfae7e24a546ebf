"""Records with answers alone, completed: the episode is played again with its stand-ins.

The words and states of a stand-in follow from the settings of its episode. They are used only if
every event of the new record that the old one has too is equal. No language model is asked.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import msgspec

from timeful.errors import TimefulError
from timeful.experiments.suite import Suite
from timeful.experiments.sweep import default_values, plan_episode
from timeful.records.events import (
    Entry,
    EpisodeStarted,
    Observed,
    ThoughtChunk,
    ThoughtStarted,
    Wall,
)
from timeful.records.folder import read_settings
from timeful.records.recorder import Recorder
from timeful.registry import BUILT_IN, load

_ALIASES = {"step": "tokens_per_step", "law": "interface"}
"""Fields of episodes that their records name otherwise."""

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
        episode = _make_episode(suite, {**settings, **run, **fields_of_record})
        if episode is not None and _plain(plan_episode(suite, episode).settings) == settings:
            return suite, episode
    return None


def _make_episode(suite: Suite, values: Mapping[str, Any]) -> Any:
    """An episode whose fields have these values where they are plain; None if it is invalid."""
    chosen = default_values(suite.episode)
    for field in fields(suite.episode):
        value = values.get(_ALIASES.get(field.name, ""), values.get(field.name))
        default = chosen.get(field.name)
        if isinstance(value, str | int | float | bool) and (
            default is None or isinstance(default, str | int | float)
        ):
            chosen[field.name] = value
    try:
        episode = suite.episode(**chosen)
        return episode if suite.resolve is None else suite.resolve(episode)
    except (TimefulError, TypeError, ValueError):
        return None


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
            case Observed():
                yield msgspec.structs.replace(event, state=None)
            case _:
                yield event


def _plain(value: Any) -> Any:
    return msgspec.json.decode(msgspec.json.encode(value))
