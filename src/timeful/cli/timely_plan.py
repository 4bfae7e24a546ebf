"""From what a command of Timely-Eval was asked for to the sweep that it comes to."""

import shlex
from typing import TYPE_CHECKING, cast

import click

from timeful.cli.suite import is_given, live_needs, refuse_idle
from timeful.cli.timely_options import Asked
from timeful.errors import SettingsError, check_known

if TYPE_CHECKING:
    from timeful.agents.session import Transcripts
    from timeful.agents.tool_user import Calls
    from timeful.environments.reasoning.split import Split
    from timeful.models.role import ModelRole
    from timeful.suites.timely.presets import Preset
    from timeful.suites.timely.spec import Sweep
    from timeful.tasks.episode import Clock, Family, SharedSettings, TaskSource


def plan(family: "Family", asked: Asked) -> "tuple[Sweep, SharedSettings]":
    """What was asked for, checked.

    Raises:
        SettingsError: If something cannot be, or would change nothing.
    """
    from timeful.suites.timely.presets import PRESETS
    from timeful.suites.timely.spec import Sweep
    from timeful.tasks.budgets import read_budget
    from timeful.tasks.library import process_library

    _refuse_early(asked)
    check_known("preset", asked.preset, PRESETS[family])
    preset = PRESETS[family][asked.preset]
    voices = _voices(family, asked, preset)
    source = _source(family, asked, preset)
    _refuse_idle(asked, voices, source)
    wanted = source.sets if family == "reasoning" else asked.cases or preset.cases
    sweep = Sweep(
        family=family,
        cases=process_library().select(family, wanted, source, seed=asked.seed),
        voices=voices,
        budgets=[read_budget(text) for text in asked.budgets or _budgets(preset, voices)],
        latencies=asked.latencies or preset.latencies,
        runs=preset.runs if asked.runs is None else asked.runs,
    )
    return sweep, _rig(asked, voices, source)


def _refuse_early(asked: Asked) -> None:
    """Refuse what a run would find only after its baselines were made."""
    if asked.workers is not None and asked.workers < 1:
        raise SettingsError(f"a run needs at least one worker, got {asked.workers}")
    for place in (asked.out, *asked.out.parents):
        if place.exists() and not place.is_dir():
            raise SettingsError(f"{place} is a file; choose a folder for the run with --out")


def _voices(family: "Family", asked: Asked, preset: "Preset") -> "list[ModelRole]":
    """Who works: a model, stand-ins, or both if both were named."""
    from timeful.models.role import ModelRole, read_role
    from timeful.tasks.families import FAMILY_SPECS

    players_here = FAMILY_SPECS[family].players
    for name in asked.players:
        check_known("player", name, players_here)
    players = asked.players or (() if asked.model else preset.players)
    voices = [ModelRole(stand_in=name) for name in players]
    if asked.model is not None:
        voices.append(
            read_role(
                asked.model,
                stand_in=asked.model if asked.model in players_here else preset.players[0],
                base_url=asked.base_url,
                temperature=asked.temperature,
                record=None if asked.record is None else str(asked.record),
            )
        )
    return voices


def _budgets(preset: "Preset", voices: "list[ModelRole]") -> list[str]:
    """The budgets of a preset; steps of somebody who does not work here are one's own."""
    names = {voice.spec for voice in voices}
    split = [(text, *text.partition("@")[::2]) for text in preset.budgets]
    return [f"{n}steps" if whose and whose not in names else text for text, n, whose in split]


def _source(family: "Family", asked: Asked, preset: "Preset") -> "TaskSource":
    from timeful.environments.reasoning.files import BENCHMARKS
    from timeful.environments.reasoning.split import SPLITS
    from timeful.tasks.episode import TaskSource

    sets: tuple[str, ...] = ()
    if family == "reasoning":
        check_known("benchmark", asked.benchmark, BENCHMARKS)
        if asked.split is not None:
            check_known("side of problems", asked.split, SPLITS)
        sets = asked.cases or (() if asked.problems else preset.cases)
    data = None if asked.data is None else str(asked.data)
    size = asked.size if asked.size is not None or asked.problems else preset.size
    if size is not None and size < 1:
        raise SettingsError(f"a set needs at least one problem, got {size}")
    return TaskSource(
        sets=sets,
        size=size,
        split=cast("Split | None", asked.split),
        problems=None if asked.problems is None else str(asked.problems),
        benchmark=asked.benchmark,
        fields=tuple(_pairs(asked.fields, "a field", "WHAT=FIELD")),
        is_private=asked.private or BENCHMARKS[asked.benchmark].private,
        data=data,
        is_unsafe=asked.unsafe,
        sandbox=_sandbox(asked) if family == "coding" or _has_gym(sets) else "",
    )


def _has_gym(sets: tuple[str, ...]) -> bool:
    from timeful.tasks.reasoning import GYM

    return any(name.startswith(GYM) for name in sets)


def _sandbox(asked: Asked) -> str:
    """Choose where code runs, tell the user, and return its name."""
    from timeful.sandbox.workspace import choose_backend

    backend = choose_backend(unsafe=asked.unsafe)
    text = click.wrap_text(f"sandbox  {backend.description}", 80, subsequent_indent=" " * 9)
    click.echo(text, err=True)
    return backend.name


def _pairs(given: tuple[str, ...], what: str, form: str) -> list[tuple[str, str]]:
    """Pairs as a command line gives them."""
    pairs = []
    for text in given:
        name, mark, value = (part.strip() for part in text.partition("="))
        if not (name and mark and value):
            raise SettingsError(f"{what} is given as {form}, got {text!r}")
        pairs.append((name, value))
    return pairs


def _rig(asked: Asked, voices: "list[ModelRole]", source: "TaskSource") -> "SharedSettings":
    from timeful.environments.timed.stopwatch import TimerSettings
    from timeful.models.calibrate import load_calibration
    from timeful.tasks.episode import SharedSettings

    has_model = not all(voice.is_stand_in for voice in voices)
    is_plain = source.is_private or not has_model
    if source.is_private and asked.record is not None:
        raise SettingsError("private problems must not stand on a cassette: no --record")
    return SharedSettings(
        source=source,
        tool_latencies=tuple(_pairs(asked.tool_latencies, "a tool's latency", "TOOL=LAW")),
        is_soft=asked.soft,
        alpha=asked.alpha,
        timer=TimerSettings(scale=asked.timer_scale, jitter=asked.timer_jitter, tells=asked.tells),
        # The rig checks them.
        calls=cast("Calls", asked.calls or ("native" if has_model else "text")),
        most_tokens=asked.max_tokens,
        clock=cast("Clock", asked.clock),
        pace=None if asked.pace is None else load_calibration(asked.pace).pace,
        seed=asked.seed,
        transcripts=cast("Transcripts", asked.transcripts or ("answers" if is_plain else "full")),
    )


def _refuse_idle(asked: Asked, voices: "list[ModelRole]", source: "TaskSource") -> None:
    """Refuse what was asked for on the command line and would change nothing."""
    is_live = any(voice.is_live for voice in voices)
    needs = {
        **live_needs(is_live, is_sampled=any(voice.is_sampled for voice in voices)),
        "calls": (any(not voice.is_stand_in for voice in voices), "a language model"),
        "pace": (
            asked.clock != "wall" or not all(voice.is_sampled for voice in voices),
            "anybody but an endpoint or a local model in wall time, whose tokens come when they "
            "come",
        ),
        "baselines": (is_live, "an openai:NAME model; the others' are made on the way"),
        "benchmark": (asked.problems is not None, "--problems FILE"),
        "fields": (asked.problems is not None, "--problems FILE"),
        "private": (asked.problems is not None, "--problems FILE"),
    }
    if source.sets or asked.problems:
        needs["unsafe"] = (bool(source.sandbox), "gym:TASK, which alone runs code")
    known = {each.name for each in click.get_current_context().command.params}
    refuse_idle({option: need for option, need in needs.items() if option in known})


def remedy(family: "Family") -> str:
    """The command that makes the baselines which the present command lacks."""
    words = ["timeful", "baseline", f"timely/{family}"]
    context = click.get_current_context()
    keeps = {"out", "budgets", "runs", "timer_scale", "timer_jitter", "tells", "replace"}
    for each in context.command.params:
        name = str(each.name)
        if name in keeps or not is_given(name):
            continue
        value = context.params[name]
        if value is True:
            words.append(each.opts[0])
            continue
        for one in value if isinstance(value, tuple) else (value,):
            words += [each.opts[0], str(one)]
    if is_given("out"):  # whoever has a folder for each run needs one for each baseline
        out = context.params["out"]
        words += ["--out", str(out.with_name(f"{out.name}-unhurried"))]
    return shlex.join(words)
