"""The command of a suite, made from its value: `timeful run NAME`."""

import os
import shlex
import shutil
import sys
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from textwrap import fill
from typing import Any, Literal, TypeVar, get_args, get_origin

import click
from click.core import ParameterSource

from timeful.cli.estimate import is_estimate
from timeful.cli.options import (
    ENDPOINT_NAMES,
    FILE,
    add_programs,
    estimate_options,
    is_given,
    program_options,
    read_limits,
    read_spending,
    refuse_idle,
    run_options,
)
from timeful.cli.train_hints import format_command
from timeful.errors import SettingsError
from timeful.experiments.estimate import estimate_run
from timeful.experiments.options import (
    Endpoint,
    Option,
    choose_values,
    read_changes,
    read_value,
    show_default,
    suite_options,
)
from timeful.experiments.run import Results, make_baselines, run_suite
from timeful.experiments.suite import MissingBaselineError, Suite
from timeful.experiments.sweep import Choice, list_episodes
from timeful.models.counting import COUNTING_HELP, Counting
from timeful.models.kinds import FORMS
from timeful.models.request import address
from timeful.models.traffic import Limits
from timeful.registry import load, load_file_name
from timeful.runs.concurrency import find_live_models, is_limited

T = TypeVar("T")

MANY_EPISODES = 100_000
"""A terminal asks before a run of more episodes starts."""


def load_suite(name: str) -> Suite:
    """Load a suite by its name, or from a file.

    Raises:
        SettingsError: If there is no such suite, or the name is something else.
    """
    suite = load("suite", name)
    if not isinstance(suite, Suite):
        raise SettingsError(f"{name} is a {type(suite).__name__}, not a Suite")
    return suite


def load_command(name: str) -> click.Command:
    """Make the command of a suite by its name."""
    return make_command(load_suite(name), file=load_file_name(name))


def list_values(suite: Suite) -> dict[str, Sequence[str]]:
    """The names that the options of a suite take, by option."""
    values: dict[str, Sequence[str]] = {}
    if suite.parts:
        values["experiments"] = list(suite.parts)
    if suite.presets:
        values["presets"] = list(suite.presets)
    for option in suite_options(suite):
        if option.is_hidden:
            continue
        swept = suite.sweep.get(option.name, ())
        if option.is_model:
            values[f"--{option.flag}"] = [
                *(option.stand_ins or [show_default(option)]),
                "openai:NAME",
                "replay:FILE",
                "local:PATH",
            ]
        elif get_origin(option.kind) is Literal:
            values[f"--{option.flag}"] = [str(each) for each in get_args(option.kind)]
        elif swept and not option.is_count:
            values[f"--{option.flag}"] = [str(each) for each in swept]
    return values


def load_baseline_command(name: str) -> click.Command:
    """Make the command that plays the first run of a suite, by the suite's name."""
    return make_baseline_command(load_suite(name))


def make_group_command(prefix: str, suites: Sequence[str]) -> click.Command:
    """Make the command that runs several suites, each in a folder of its own.

    It has the switches of each suite, and no other options of a single suite.
    """
    flags = _switches(suites)

    def refuse_model(_: click.Context, __: click.Parameter, value: str | None) -> None:
        if value is not None:
            raise SettingsError(f"--model is an option of {', '.join(suites)}: give one of these")

    has_preset = all(load_suite(name).presets for name in suites)
    default_out = f"runs/{prefix}"
    params: list[click.Parameter] = [
        _flag("out", FILE, f"Folder of the run folders.  [default: {default_out}]"),
        *([_flag("preset", str, "Preset of each suite.")] if has_preset else []),
        *(
            click.Option([f"--{flag}"], is_flag=True, default=None, help=f"For {', '.join(names)}.")
            for flag, names in flags.items()
        ),
        *_common_parameters(has_models=False),
        click.Option(["--model"], hidden=True, expose_value=False, callback=refuse_model),
    ]

    def run(**values: Any) -> None:
        has_failed = False
        for name in suites:
            suite = load_suite(name)
            print(f"\n=== {name}\n")
            out = (values["out"] or Path(default_out)) / name.rpartition("/")[2]
            others = {flag for flag, users in flags.items() if name not in users}
            given = {key: value for key, value in values.items() if key not in others}
            options = [replace(option, needs=None) for option in suite_options(suite)]
            try:
                run_command(suite, options, {**given, "out": out}, out)
            except SystemExit as end:  # episodes that failed do not stop the other suites
                if end.code != 1:
                    raise
                has_failed = True
        if has_failed:
            raise SystemExit(1)

    text = f"Run {', '.join(suites)} with their defaults, one after the other."
    return click.Command(name=prefix, params=params, callback=run, help=text)


def _switches(suites: Sequence[str]) -> dict[str, list[str]]:
    """The options that are off by default, each with the suites that it belongs to."""
    switches: dict[str, list[str]] = {}
    for name in suites:
        for option in suite_options(load_suite(name)):
            if option.kind is bool and option.default is False and not option.is_hidden:
                switches.setdefault(option.name, []).append(name)
    return switches


def make_command(suite: Suite, *, file: str = "") -> click.Command:
    """Make the command that runs a suite.

    Args:
        suite: The suite.
        file: The file that it was loaded from, so that a report can load it again.
    """
    options = suite_options(suite)
    default_out = Path("runs", suite.name)

    def run(**values: Any) -> None:
        run_command(suite, options, values, default_out, file=file)

    return click.Command(
        name=suite.name,
        params=_parameters(suite, options, default_out),
        callback=run,
        help=(suite.episode.__doc__ or "").partition("\n    Raises:")[0],
    )


def _parameters(
    suite: Suite, options: Sequence[Option], default_out: Path
) -> list[click.Parameter]:
    models = [option for option in options if option.is_model and not option.is_hidden]
    params: list[click.Parameter] = [click.Argument(["parts"], nargs=-1)] if suite.parts else []
    params.append(
        _flag("out", FILE, f"Run folder; a run in it is resumed.  [default: {default_out}]")
    )
    if suite.presets:
        params.append(_flag("preset", str, f"One of {', '.join(suite.presets)}."))
    params += [_parameter(suite, option) for option in options if not option.is_hidden]
    params += program_options(options)
    if any(option.is_main_model for option in models):
        params.append(_flag("model", str, f"Model of all roles, such as {', '.join(FORMS)}."))
    return params + _common_parameters(bool(models))


def _parameter(suite: Suite, option: Option) -> click.Option:
    if option.is_count:
        values = suite.sweep[option.name]
        return _flag(
            option.flag,
            int,
            f"{option.help} Number of values.  [default: {len(values)}]",
            name=option.name,
        )
    if option.kind is bool and not option.is_swept:
        default = option.default
        return click.Option(
            [f"--{option.flag}/--no-{option.flag}", option.name],
            default=None,
            help=f"{option.help}  [default: {option.flag if default else 'no-' + option.flag}]",
        )
    if option.is_list:
        return _flag(
            option.flag, str, f"{option.help} Repeatable.", name=option.name, multiple=True
        )
    text = option.help
    if option.is_model:
        names = ", ".join(option.stand_ins or [show_default(option)])
        forms = ", ".join(FORMS) if option.flag == "model" else "a name as for --model"
        text += f" One of {names}, or {forms}."
    if get_origin(option.kind) is Literal:
        text += f" One of {', '.join(str(each) for each in get_args(option.kind))}."
    elif choices := [v for v in suite.sweep.get(option.name, ()) if isinstance(v, str)]:
        text += f" Such as {', '.join(choices)}."
    if option.is_swept:
        text += " Repeatable."
    elif default := show_default(option):
        text += f"  [default: {default}]"
    return _flag(option.flag, str, text, name=option.name, multiple=option.is_swept)


def _flag(
    flag: str, kind: Any, text: str, *, name: str = "", multiple: bool = False
) -> click.Option:
    declarations = [f"--{flag}", *([name] if name else [])]
    variable = "OPENAI_BASE_URL" if flag == "base-url" else None
    return click.Option(declarations, type=kind, help=text, multiple=multiple, envvar=variable)


def _common_parameters(has_models: bool) -> list[click.Parameter]:
    params: list[click.Parameter] = [
        click.Option(
            ["--set", "changes"],
            multiple=True,
            metavar="FIELD=VALUE",
            help="Value of any setting of an episode. Repeatable.",
        ),
        click.Option(
            ["--sweep", "swept"],
            multiple=True,
            metavar="FIELD=A,B,C",
            help="Values of any field of an episode. Repeatable.",
        ),
    ]
    if has_models:
        params += [
            _flag("base-url", str, "Base URL of the endpoint."),
            _flag("temperature", float, "Sampling temperature of endpoints and checkpoints."),
            _flag("record", FILE, "Cassette that records the endpoint's answers."),
            _flag("extra", str, "Further fields of a request, as a JSON object."),
            _flag("counting", click.Choice(get_args(Counting)), COUNTING_HELP),
        ]
    return [
        *params,
        *run_options(),
        *estimate_options(),
    ]


def _is_from_environment(name: str) -> bool:
    source = click.get_current_context().get_parameter_source(name)
    return source is ParameterSource.ENVIRONMENT


def run_command(
    suite: Suite,
    options: Sequence[Option],
    values: dict[str, Any],
    default_out: Path,
    *,
    file: str = "",
) -> None:
    """Run a suite as its command was given, print its tables, and exit with 1 on failures."""
    choice = replace(read_choice(suite, options, values), file=file)
    episodes = list_episodes(suite, choice)
    refuse_idle_options(options, values, episodes)
    if len(episodes) > MANY_EPISODES and sys.stdin.isatty():
        click.confirm(f"Play {len(episodes):,} episodes?", abort=True)
    if suite.announce is not None:
        for line in suite.announce(episodes, values["workers"] or os.cpu_count() or 1):
            print(line, file=sys.stderr)
    out = values["out"] or default_out
    play = partial(run_suite, suite, choice)
    try:
        judges = suite.judges(episodes) if suite.judges is not None else ()
        models = [*find_live_models(episodes), *judges]
        if is_estimate(partial(estimate_run, suite, choice, out), models, values):
            return
        results = watch(play, out, episodes, values)
    except MissingBaselineError as error:
        raise SettingsError(f"{error}. Make it with: {baseline_words(suite)}") from error
    show(results)


def baseline_words(suite: Suite) -> str:
    """The command that makes the baselines which the present command lacks."""
    assert suite.baseline is not None, "only called for such suites"
    words = ["timeful", "baseline", suite.name]
    context = click.get_current_context()
    others = {"out", "replace", *suite.baseline.fixed, *suite.baseline.values}
    for parameter in context.command.params:
        value = context.params.get(str(parameter.name))
        if str(parameter.name) in others or not is_given(str(parameter.name)):
            continue
        if isinstance(value, bool):
            words.append(parameter.opts[0] if value else parameter.secondary_opts[0])
            continue
        if parameter.name == "base_url":
            value = address(str(value))  # without a password
        for item in value if isinstance(value, tuple) else (value,):
            words += [parameter.opts[0], str(item)]
    if is_given("out"):  # each run folder has a folder of its baselines
        out: Path = context.params["out"]
        words += ["--out", str(out.with_name(f"{out.name}-unhurried"))]
    return shlex.join(words)


def make_baseline_command(suite: Suite) -> click.Command:
    """Make the command that plays the first run of a suite alone: `timeful baseline NAME`."""
    baseline = suite.baseline
    if baseline is None:
        raise SettingsError(f"{suite.name} has no settings that are multiples of a first run")
    fixed = baseline.fixed
    options = [option for option in suite_options(suite) if option.name not in fixed]
    group, _, name = suite.name.partition("/")
    default_out = Path("runs", f"{group}-baseline", name)

    def run(**values: Any) -> None:
        choice = read_choice(suite, options, values)
        choice = replace(
            choice,
            values={**baseline.values, **(choice.values or {})},
            fixed={**(choice.fixed or {}), **fixed},
        )
        episodes = list_episodes(suite, choice)
        refuse_idle_options(options, values, episodes)
        out = values["out"] or default_out
        estimate = partial(estimate_run, replace(suite, baseline=None), choice, out)
        if is_estimate(estimate, find_live_models(episodes), values):
            return
        results, kept = watch(partial(make_baselines, suite, choice), out, episodes, values)
        show(results, kept)

    return click.Command(
        name=suite.name,
        params=_parameters(suite, options, default_out),
        callback=run,
        help=f"Play {suite.name} without a limit, and keep how long that takes.",
    )


def read_choice(suite: Suite, options: Sequence[Option], values: dict[str, Any]) -> Choice:
    """Read the values of options."""
    values = add_programs(options, values)
    endpoint = Endpoint(
        base_url=values.get("base_url") if is_given("base_url") else None,
        openai_url=values.get("base_url"),
        temperature=values.get("temperature"),
        record=str(values["record"]) if values.get("record") else None,
        extra=values.get("extra"),
        counting=values.get("counting") or "auto",
    )
    chosen, fixed = choose_values(options, values, endpoint)
    by_name = {option.name: option for option in options}
    for text in values["swept"]:
        name, mark, items = text.partition("=")
        name = name.strip().replace("-", "_")
        if not mark or name not in by_name:
            fields = ", ".join(by_name)
            raise SettingsError(f"a sweep is FIELD=A,B,C with one of the fields {fields}: {text!r}")
        chosen[name] = [
            read_value(by_name[name], item.strip(), endpoint) for item in items.split(",")
        ]
    defaults = {option.name: fixed.get(option.name, option.default) for option in options}
    fixed |= read_changes(suite.episode, values["changes"], defaults)
    return Choice(
        preset=values.get("preset") or "",
        parts=tuple(values.get("parts") or ()),
        values=chosen,
        fixed=fixed,
        ambient=frozenset(o.name for o in options if _is_from_environment(o.name)),
    )


def refuse_idle_options(
    options: Sequence[Option], values: dict[str, Any], episodes: Sequence[Any]
) -> None:
    """Refuse an option on the command line that has no effect on any episode.

    Raises:
        SettingsError: It names what the option requires.
    """
    needs = {
        option.name: (any(map(option.needs[0], episodes)), option.needs[1])
        for option in options
        if option.needs is not None and is_given(option.name)
    }
    mains = [option for option in options if option.is_main_model and not option.is_swept]
    if mains and all(values.get(option.name) for option in mains):
        needs["model"] = (False, "a role without a model of its own")
    models = [option.name for option in options if option.is_model]
    roles = {getattr(episode, name) for episode in episodes for name in models}
    live = any(role.is_live for role in roles), "a model at an endpoint"
    sampled = any(role.is_sampled for role in roles), "a model at an endpoint or local:PATH"
    is_wall = all(getattr(episode, "clock", None) == "wall" for episode in episodes)
    priced = live[0] and not is_wall, f"{live[1]} in simulated time"
    flags = {
        "base_url": live,
        "record": live,
        "extra": live,
        "temperature": sampled,
        "counting": priced,
    }
    if not any(map(is_limited, episodes)):
        flags |= dict.fromkeys(ENDPOINT_NAMES, (False, live[1]))
    refuse_idle({**flags, **dict.fromkeys((o.name for o in options), (True, "")), **needs})


def watch(play: Callable[..., T], out: Path, episodes: Sequence[Any], values: dict[str, Any]) -> T:
    """Run a suite with a progress display; after Ctrl-C, exit with 130.

    In wall time one episode at a time is the default: several would slow each other down.
    """
    from timeful.cli.progress import show_progress

    is_wall = any(getattr(episode, "clock", None) == "wall" for episode in episodes)
    with show_progress(out) as progress:
        return play(
            out,
            workers=values["workers"],
            limits=read_limits(values, connections=1 if is_wall else Limits().connections),
            replace=values["replace"],
            retry_failed=values["retry_failed"],
            watcher=progress,
            keys=os.environ,
            **read_spending(values),
        )


def show(results: Results, remark: str = "") -> None:
    """Print the tables and where the files are; exit with 1 if episodes failed."""
    print(results.table())
    if remark:
        print(remark)
    print(f"report   {results.report()}")
    name = sys.argv[0]
    is_found = Path(name).name != "timeful" or name == shutil.which("timeful")
    program = "timeful" if is_found else name
    records = sorted((results.out / "episodes").glob("*.jsonl"))
    if records:
        print(f"records  {results.out / 'episodes'}")
        print(f"next     {program} show {shlex.quote(str(results.out))}")
    steps = results.suite.steps
    for label, words in () if steps is None else steps.hints(results.out):
        print(f"{label:<9}{format_command(words)}")
    for problem in results.problems:
        print(fill(f"problem  {problem}", 80, subsequent_indent=" " * 9))
    if results.failed:
        print(
            f"failed   {len(results.failed)} of {len(results.episodes)} episodes, the first with: "
            f"{results.failed[0].error}"
        )
    if steps is not None and results.problems:
        print("again    the same command does the missing steps")
    elif steps is None and results.failed:
        print("again    the same command with --retry-failed")
    print(f"look     {program} view {shlex.quote(str(results.out))}")
    if results.failed or results.problems:
        sys.exit(1)
