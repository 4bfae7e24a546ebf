"""What the commands of Timely-Eval can be asked for, and the sweep that it comes to."""

import shlex
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, TypeVar, cast

import click

from timeful.cli.suite import (
    FILE,
    batch_options,
    endpoint_options,
    is_given,
    live_needs,
    refuse_idle,
)
from timeful.errors import SettingsError, check_known

if TYPE_CHECKING:
    from timeful.agents.session import Transcripts
    from timeful.agents.tool_user import Calls
    from timeful.suites.timely.presets import Preset
    from timeful.suites.timely.spec import Clock, Family, Rig, Source, Sweep
    from timeful.suites.voices import Voice

_Command = TypeVar("_Command", bound=Callable[..., Any])

BASELINES = "runs/timely-baselines.json"


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """Everything that stands on a command line, under the names of its options.

    The commands have some thirty options in common, each with most of them; this is the one place
    where they are listed. What a command does not have keeps its default.
    """

    out: Path
    preset: str = "quick"
    cases: tuple[str, ...] = ()
    players: tuple[str, ...] = ()
    model: str | None = None
    base_url: str | None = None
    temperature: float | None = None
    record: Path | None = None
    budgets: tuple[str, ...] = ()
    latencies: tuple[str, ...] = ()
    tool_latencies: tuple[str, ...] = ()
    alpha: float = 1.0
    timer_scale: float = 1.0
    timer_jitter: float = 0.0
    tells: str = "elapsed"
    calls: str | None = None
    clock: str = "virtual"
    pace: Path | None = None
    runs: int | None = None
    seed: int = 0
    transcripts: str | None = None
    baselines: Path = Path(BASELINES)
    size: int | None = None
    problems: Path | None = None
    benchmark: str = "file"
    fields: tuple[str, ...] = ()
    private: bool = False
    data: Path | None = None
    unsafe: bool = False
    workers: int | None = None
    replace: bool = False
    retry_failed: bool = False


# --- options --------------------------------------------------------------------------------------


class Options(Protocol):
    """Adds options to a command."""

    def __call__(self, command: _Command, /) -> _Command:
        """Add them."""
        ...


def _all(*options: Options) -> Options:
    """Options in the order in which they are listed."""

    def add(command: _Command) -> _Command:
        for option in reversed(options):
            command = option(command)
        return command

    return add


OWN: "Mapping[Family, Options]" = {
    "fiction": _all(
        click.option("--game", "cases", multiple=True, help="Only this game; repeatable."),
    ),
    "coding": _all(
        click.option("--case", "cases", multiple=True, help="Only this ML task; repeatable."),
        click.option("--data", type=FILE, help="The folder that `timeful prepare` wrote."),
        click.option("--unsafe", is_flag=True, help="Run code even if no sandbox works here."),
    ),
    "reasoning": _all(
        click.option(
            "--case",
            "cases",
            multiple=True,
            help="A set of problems: mixed, a family, family:TERMS or gym:TASK; repeatable.",
        ),
        click.option("--size", type=int, help="How many problems of each set, or of the file."),
        click.option("--problems", type=FILE, help="Problems of your own, a JSONL file."),
        click.option(
            "--benchmark",
            default="file",
            show_default=True,
            help="What its fields are called: file, math-500, aime or gpqa.",
        ),
        click.option(
            "--fields",
            multiple=True,
            metavar="WHAT=FIELD",
            help="Which field holds the question, answer, id, choices, wrong or kind; repeatable.",
        ),
        click.option("--private", is_flag=True, help="Keep its words out of all records."),
        click.option(
            "--unsafe", is_flag=True, help="Score reasoning-gym even if no sandbox works here."
        ),
    ),
}
"""The options that a family alone has."""

WHO = _all(
    click.option("--player", "players", multiple=True, help="Only this stand-in; repeatable."),
    click.option("--model", help="A language model: openai:NAME or replay:FILE[#NAME]."),
    endpoint_options,
)

TIME = _all(
    click.option(
        "--latency",
        "latencies",
        multiple=True,
        metavar="LAW",
        help="How long tools take: none, 2s, uniform:1s:3s, lognormal:2s:0.3 or measured; "
        "repeatable.",
    ),
    click.option(
        "--tool-latency",
        "tool_latencies",
        multiple=True,
        metavar="TOOL=LAW",
        help="Another law for one tool; repeatable.",
    ),
    click.option(
        "--alpha", default=1.0, show_default=True, help="How much thinking counts, tools apart."
    ),
    click.option("--calls", help="native or text.  [default: native for openai:NAME, else text]"),
    click.option(
        "--clock",
        default="virtual",
        show_default=True,
        help="virtual (tokens at their pace) or wall.",
    ),
    click.option("--pace", type=FILE, help="What tokens cost, as `timeful calibrate` measured it."),
    click.option("--seed", default=0, show_default=True, help="The seed of all chance."),
    click.option(
        "--transcripts", help="full or answers.  [default: full for language models, not private]"
    ),
    click.option(
        "--baselines",
        type=FILE,
        default=BASELINES,
        show_default=True,
        help="What unhurried runs of endpoints took: a file that `timeful baseline` adds to.",
    ),
)

LIMITS = _all(
    click.option(
        "--preset",
        default="quick",
        show_default=True,
        help="quick, paper (as many as published) or, of fiction, figure2.",
    ),
    click.option(
        "--budget",
        "budgets",
        multiple=True,
        help="0.75x (of one's own unhurried time), 30steps (of one's own), 30@WHO (of another's), "
        "20s or none; repeatable.",
    ),
    click.option(
        "--timer-scale", default=1.0, show_default=True, help="Timers are wrong by this factor."
    ),
    click.option(
        "--timer-jitter", default=0.0, show_default=True, help="And by this noise, in seconds."
    ),
    click.option(
        "--tells",
        default="elapsed",
        show_default=True,
        help="What tools say of the time: elapsed, remaining, both or nothing.",
    ),
)

BATCH = _all(
    click.option("--runs", type=int, help="How often each case, with other chance."),
    batch_options,
)


# --- what they come to ----------------------------------------------------------------------------


def plan(family: "Family", asked: Asked) -> "tuple[Sweep, Rig]":
    """What was asked for, checked.

    Raises:
        SettingsError: If something cannot be, or would change nothing.
    """
    from timeful.suites.timely.budgets import read_budget
    from timeful.suites.timely.families import cases_of
    from timeful.suites.timely.presets import PRESETS
    from timeful.suites.timely.spec import Sweep

    check_known("preset", asked.preset, PRESETS[family])
    preset = PRESETS[family][asked.preset]
    voices = _voices(family, asked, preset)
    source = _source(family, asked, preset)
    _refuse_idle(asked, voices, source)
    wanted = source.sets if family == "reasoning" else asked.cases or preset.cases
    sweep = Sweep(
        family=family,
        cases=cases_of(family, wanted, source, seed=asked.seed),
        voices=voices,
        budgets=[read_budget(text) for text in asked.budgets or _budgets(preset, voices)],
        latencies=asked.latencies or preset.latencies,
        runs=preset.runs if asked.runs is None else asked.runs,
    )
    return sweep, _rig(asked, voices, source)


def _voices(family: "Family", asked: Asked, preset: "Preset") -> "list[Voice]":
    """Who works: a model, stand-ins, or both if both were named."""
    from timeful.suites.timely.families import PARTS
    from timeful.suites.voices import Voice, voice

    for name in asked.players:
        check_known("player", name, PARTS[family].players)
    players = asked.players or (() if asked.model else preset.players)
    voices = [Voice(stand_in=name) for name in players]
    if asked.model is not None:
        voices.append(
            voice(
                asked.model,
                stand_in=preset.players[0],
                base_url=asked.base_url,
                temperature=asked.temperature,
                record=None if asked.record is None else str(asked.record),
            )
        )
    return voices


def _budgets(preset: "Preset", voices: "list[Voice]") -> list[str]:
    """The budgets of a preset; steps of somebody who does not work here are one's own."""
    names = {voice.spec for voice in voices}
    split = [(text, *text.partition("@")[::2]) for text in preset.budgets]
    return [f"{n}steps" if whose and whose not in names else text for text, n, whose in split]


def _source(family: "Family", asked: Asked, preset: "Preset") -> "Source":
    from timeful.environments.reasoning.files import BENCHMARKS
    from timeful.suites.timely.spec import Source

    sets: tuple[str, ...] = ()
    if family == "reasoning":
        check_known("benchmark", asked.benchmark, BENCHMARKS)
        sets = asked.cases or (() if asked.problems else preset.cases)
    data = None if asked.data is None else str(asked.data)
    size = asked.size if asked.size is not None or asked.problems else preset.size
    if size is not None and size < 1:
        raise SettingsError(f"a set needs at least one problem, got {size}")
    return Source(
        sets=sets,
        size=size,
        problems=None if asked.problems is None else str(asked.problems),
        benchmark=asked.benchmark,
        fields=tuple(_pairs(asked.fields, "a field", "WHAT=FIELD")),
        is_private=asked.private or BENCHMARKS[asked.benchmark].private,
        data=data,
        is_unsafe=asked.unsafe,
        sandbox=_sandbox(asked) if family == "coding" or _has_gym(sets) else "",
    )


def _has_gym(sets: tuple[str, ...]) -> bool:
    from timeful.suites.timely.families import GYM

    return any(name.startswith(GYM) for name in sets)


def _sandbox(asked: Asked) -> str:
    """Choose where code runs, tell the user, and return its name."""
    from timeful.sandbox.workspace import choose_backend

    backend = choose_backend(unsafe=asked.unsafe)
    click.echo(f"sandbox  {backend.says}", err=True)
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


def _rig(asked: Asked, voices: "list[Voice]", source: "Source") -> "Rig":
    from timeful.environments.timed.stopwatch import TimerSettings
    from timeful.models.calibrate import load_calibration
    from timeful.suites.timely.spec import Rig

    is_live = any(voice.is_live for voice in voices)
    is_plain = source.is_private or all(voice.is_stand_in for voice in voices)
    if source.is_private and asked.record is not None:
        raise SettingsError("private problems must not stand on a cassette: no --record")
    return Rig(
        source=source,
        tool_latencies=tuple(_pairs(asked.tool_latencies, "a tool's latency", "TOOL=LAW")),
        alpha=asked.alpha,
        timer=TimerSettings(scale=asked.timer_scale, jitter=asked.timer_jitter, tells=asked.tells),
        # The rig checks them.
        calls=cast("Calls", asked.calls or ("native" if is_live else "text")),
        clock=cast("Clock", asked.clock),
        pace=None if asked.pace is None else load_calibration(asked.pace).pace,
        seed=asked.seed,
        transcripts=cast("Transcripts", asked.transcripts or ("answers" if is_plain else "full")),
    )


def _refuse_idle(asked: Asked, voices: "list[Voice]", source: "Source") -> None:
    """Refuse what was asked for on the command line and would change nothing."""
    is_live = any(voice.is_live for voice in voices)
    needs = {
        **live_needs(is_live),
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
    keeps = {"out", "preset", "budgets", "runs", "timer_scale", "timer_jitter", "tells", "replace"}
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
    return shlex.join(words)
