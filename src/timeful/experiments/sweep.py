"""From a suite and the chosen values to its episodes."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import MISSING, dataclass, fields
from hashlib import sha256
from itertools import product
from math import prod
from re import sub
from typing import Any, Literal, get_args, get_origin, get_type_hints

import msgspec

from timeful.agents.program.name import find_files
from timeful.errors import SettingsError, check_known
from timeful.experiments.suite import Suite, Values
from timeful.registry import source_files
from timeful.version import __version__

MOST_EPISODES = 1_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Choice:
    """A choice of a suite's episodes.

    Attributes:
        preset: The name of a preset; "" for none.
        parts: The names of sub-experiments; the suite's default ones if none is given.
        values: Values of fields that replace those of the sweep, the preset and the parts.
        fixed: One value of fields that do not vary.
        ambient: The fields of `fixed` whose values come from the environment.
        file: The file and name of a suite that is not registered, as `FILE.py:NAME`.
    """

    preset: str = ""
    parts: tuple[str, ...] = ()
    values: Values | None = None
    fixed: Mapping[str, Any] | None = None
    ambient: frozenset[str] = frozenset()
    file: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedEpisode:
    """An episode, its unique key and the settings that identify it in its record."""

    key: str
    settings: Mapping[str, Any]
    episode: Any


def plan_episodes(suite: Suite, choice: Choice) -> list[PlannedEpisode]:
    """Spell out the episodes of a run, with their keys and settings.

    Raises:
        SettingsError: As `list_episodes` raises it.
    """
    return [plan_episode(suite, episode) for episode in list_episodes(suite, choice)]


def list_episodes(suite: Suite, choice: Choice) -> list[Any]:
    """List the episodes of a run, each key once.

    Raises:
        SettingsError: If a name is unknown, nothing is left to play, or there are more than a
            million episodes.
    """
    swept: list[Any] = []
    for values in sweeps(suite, choice):
        check_choices(suite, {**values, **{k: [v] for k, v in (choice.fixed or {}).items()}})
        count = prod(len(options) for options in values.values())
        if count > MOST_EPISODES:
            raise SettingsError(
                f"the sweep has {count:,} episodes; at most {MOST_EPISODES:,} are possible"
            )
        for combination in product(*(dict.fromkeys(options) for options in values.values())):
            changes = {**(choice.fixed or {}), **dict(zip(values, combination, strict=True))}
            swept.append(suite.episode(**changes))
    if suite.plan is not None:
        chosen = {*(choice.values or {}), *(choice.fixed or {})} - choice.ambient
        swept = list(suite.plan(swept, chosen))
    episodes: dict[str, Any] = {}
    for episode in swept if suite.resolve is None else map(suite.resolve, swept):
        if episode is not None:
            episodes.setdefault(_read_key(suite, episode), episode)
    if not episodes:
        choices = {**(choice.values or {}), **(choice.fixed or {})}
        text = ", ".join(f"{name}={value}" for name, value in choices.items())
        experiments = " or ".join(choice.parts or suite.default_parts) or suite.name
        raise SettingsError(f"nothing to run: no episode of {experiments} has {text or 'a value'}")
    return list(episodes.values())


def run_settings(suite: Suite, choice: Choice, plan: Sequence[PlannedEpisode]) -> dict[str, Any]:
    """All that the episodes of a run share: the fields that do not vary, as the plan has them."""
    varied = {
        name
        for values in sweeps(suite, choice)
        for name, options in values.items()
        if name in suite.sweep or len(options) > 1
    }
    preset = suite.presets.get(choice.preset, {})
    single = {name: options[0] for name, options in preset.items() if len(options) == 1}
    values = {**default_values(suite.episode), **single, **(choice.fixed or {})}
    if suite.plan is not None:
        first, *episodes = (step.episode for step in plan)
        values |= {
            name: getattr(first, name)
            for name in values
            if all(getattr(episode, name) == getattr(first, name) for episode in episodes)
        }
    varied |= {*suite.free_fields}
    common = {name: encode(value) for name, value in values.items() if name not in varied}
    settings = {"suite": suite.name, "version": __version__, **common}
    if choice.file:
        settings["file"] = choice.file
    # A run is of one version of the user's files: results of two versions are never mixed.
    programs = {name for step in plan if isinstance(name := _agent_of(step), str)}
    paths = [*source_files(), *find_files(programs)]
    code = {path.name: sha256(path.read_bytes()).hexdigest()[:16] for path in paths}
    if code:
        settings["code"] = code
    return settings


def _agent_of(step: PlannedEpisode) -> object:
    return getattr(step.episode, "agent", None)


def default_values(episode: type[Any]) -> dict[str, Any]:
    """The defaults of the fields of an episode."""
    defaults = {f.name: f.default for f in fields(episode) if f.default is not MISSING}
    factories = {f.name: f.default_factory for f in fields(episode)}
    return defaults | {name: make() for name, make in factories.items() if make is not MISSING}


def check_choices(suite: Suite, values: Values) -> None:
    """Check the values of fields whose type names the choices.

    Raises:
        SettingsError: If a value is none of them; it offers the nearest one.
    """
    for name, kind in get_type_hints(suite.episode).items():
        if get_origin(kind) is Literal:
            for value in values.get(name, ()):
                if value != "":  # filled in by the suite
                    check_known(name.replace("_", " "), value, get_args(kind))


def sweeps(suite: Suite, choice: Choice) -> Iterator[dict[str, Sequence[Any]]]:
    """The values of each swept field, for each chosen part."""
    if choice.preset:
        check_known("preset", choice.preset, suite.presets)
    for experiment in choice.parts:
        check_known("experiment", experiment, suite.parts)
    selected = dict(choice.values or {})
    for name in (*selected, *(choice.fixed or {})):
        check_known(f"field of the episodes of {suite.name}", name, suite.field_names)
    base = {**suite.sweep, **(suite.presets[choice.preset] if choice.preset else {})}
    experiments = choice.parts or (() if suite.custom_by in selected else suite.default_parts)
    for values in [suite.parts[experiment] for experiment in experiments] or [{}]:
        fixed = choice.fixed or {}
        if any(name in values and value not in values[name] for name, value in fixed.items()):
            continue  # the part does not have a value that was asked for
        combined = {**base, **values}
        for name, options in selected.items():
            # A chosen value selects from a part that has the field; elsewhere it replaces.
            part_values = values.get(name)
            combined[name] = (
                options if part_values is None else [v for v in part_values if v in options]
            )
        for name in fixed:
            combined.pop(name, None)
        yield combined


def plan_episode(suite: Suite, episode: Any) -> PlannedEpisode:
    """Give an episode its key and settings."""
    settings = (
        episode.settings()
        if hasattr(episode, "settings")
        else {"suite": suite.name, "episode": encode_fields(episode)}
    )
    return PlannedEpisode(key=_read_key(suite, episode), settings=settings, episode=episode)


def _read_key(suite: Suite, episode: Any) -> str:
    key: str = episode.key if hasattr(episode, "key") else _derive_key(suite, episode)
    return key


def encode_fields(episode: Any) -> dict[str, Any]:
    """The fields of an episode as plain JSON values."""
    return {f.name: encode(getattr(episode, f.name)) for f in fields(episode)}


def encode(value: Any) -> Any:
    """A value as plain JSON values, without credentials."""
    if hasattr(value, "settings"):
        return value.settings()
    try:
        return msgspec.to_builtins(value)
    except TypeError:
        return repr(value)


def _derive_key(suite: Suite, episode: Any) -> str:
    """Name an episode by its swept fields, and by a hash of all where these do not fit a file."""
    varied = {name: str(getattr(episode, name)) for name in suite.sweep}
    text = "-".join(f"{name}={value}" for name, value in varied.items())
    name = sub(r"[^A-Za-z0-9._=-]+", "_", text)[:100]
    fixed = [f.name for f in fields(episode) if f.name not in varied]
    fixed_values = {name: encode(getattr(episode, name)) for name in fixed}
    digest = sha256(msgspec.json.encode([varied, fixed_values], order="sorted")).hexdigest()[:8]
    return f"{name}-{digest}"
