"""The `timeful` command: its sub-commands by name, none loaded before it is asked for."""

import os
import sys
from importlib import import_module
from shutil import get_terminal_size
from textwrap import fill
from traceback import print_exception

import click

from timeful.cli.console import console, terminal
from timeful.errors import BudgetError, KernelError, SettingsError, TimefulError, unknown
from timeful.registry import BUILT_IN, is_file_name, names
from timeful.version import __version__


class Lazy(click.Group):
    """A group whose commands are named by the place that defines them."""

    def __init__(self, places: dict[str, str], **options: object) -> None:
        super().__init__(**options)  # type: ignore[arg-type]
        self._places = places

    def invoke(self, ctx: click.Context) -> object:
        """Run what was asked for; Ctrl-C, also while it loads, ends with 130 and not click's 1."""
        try:
            return super().invoke(ctx)
        except KeyboardInterrupt:
            raise SystemExit(130) from None

    def list_commands(self, ctx: click.Context) -> list[str]:
        """The names in the order of the places."""
        return list(self._places)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Load a command."""
        if cmd_name not in self._places:
            return None
        module, _, attribute = self._places[cmd_name].partition(":")
        command = getattr(import_module(module), attribute)
        assert isinstance(command, click.Command)
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Find what was asked for, or say what is nearest to it.

        Raises:
            SettingsError: If there is no such command.
        """
        if args[0].startswith("-"):
            return super().resolve_command(ctx, args)
        if (command := self.get_command(ctx, args[0])) is None:
            raise SettingsError(unknown("command", args[0], self.list_commands(ctx)))
        return args[0], command, args[1:]


class SuiteGroup(Lazy):
    """A group whose commands are also all suites: built-in, installed, or in a file.

    To run, `timely` is a command for all suites whose names begin with `timely/`.
    """

    def __init__(self, places: dict[str, str], *, kind: str = "run", **options: object) -> None:
        super().__init__(places, **options)
        self._kind = kind

    def list_commands(self, ctx: click.Context) -> list[str]:
        """The names of all suites, and the beginnings that several of them share."""
        return sorted({*super().list_commands(ctx), *names("suite"), *self._groups()})

    def _groups(self) -> dict[str, list[str]]:
        groups: dict[str, list[str]] = {}
        for name in names("suite") if self._kind == "run" else ():
            if "/" in name:
                groups.setdefault(name.partition("/")[0], []).append(name)
        return {prefix: suites for prefix, suites in groups.items() if len(suites) > 1}

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Make the command of a suite, or of several."""
        from timeful.cli.suite_command import (
            load_baseline_command,
            load_command,
            make_group_command,
        )

        load = load_command if self._kind == "run" else load_baseline_command
        if cmd_name in BUILT_IN["suite"] and cmd_name not in self._places:
            return load(cmd_name)  # the entry points of all distributions take longer to read
        if (suites := self._groups().get(cmd_name)) is not None:
            return make_group_command(cmd_name, suites)
        if cmd_name in self._places or not (cmd_name in names("suite") or is_file_name(cmd_name)):
            return super().get_command(ctx, cmd_name)
        return load(cmd_name)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """List the commands; a suite that cannot be loaded does not hide the others."""
        rows = []
        for name in self.list_commands(ctx):
            try:
                command = self.get_command(ctx, name)
                text = "" if command is None else command.get_short_help_str(60)
            except SettingsError as error:
                text = str(error)
            rows.append((name, text))
        with formatter.section("Commands"):
            formatter.write_dl(rows)


_BUG = 70
"""The exit code for a bug, as sysexits.h has it."""

_BUDGET = 3
"""The exit code for a budget that is used up."""

_CONTEXT = {"help_option_names": ["-h", "--help"], "max_content_width": 88}

run = SuiteGroup(
    {"train/quick": "timeful.cli.train_quick:quick"},
    name="run",
    help="Run a suite, or resume a run: a name, or FILE.py for a suite of your own.",
    context_settings=_CONTEXT,
)

baseline = SuiteGroup(
    {},
    kind="baseline",
    name="baseline",
    help="Measure how long a model takes without a limit; its budgets are multiples of that.",
    context_settings=_CONTEXT,
)

metrics = Lazy(
    {
        "proactor": "timeful.cli.proactor_records:records",
        "proactor-turns": "timeful.cli.proactor:turns",
    },
    name="metrics",
    help="Score what was predicted, here or elsewhere.",
    context_settings=_CONTEXT,
)

app = Lazy(
    {
        "run": "timeful.cli.main:run",
        "baseline": "timeful.cli.main:baseline",
        "new": "timeful.cli.new:new",
        "play": "timeful.cli.play:play",
        "calibrate": "timeful.cli.calibrate:calibrate",
        "prepare": "timeful.cli.prepare:prepare",
        "games": "timeful.cli.games:games",
        "report": "timeful.cli.report:report",
        "view": "timeful.cli.view:view",
        "show": "timeful.cli.show:show",
        "metrics": "timeful.cli.main:metrics",
        "rewards": "timeful.cli.rewards:rewards",
        "pri": "timeful.cli.proactor:pri",
        "ec": "timeful.cli.proactor:ec",
        "draw": "timeful.cli.draw:draw",
        "catalog": "timeful.cli.catalog:catalog",
        "dialogues": "timeful.cli.dialogues:dialogues",
        "annotate": "timeful.cli.annotate:annotate",
        "align": "timeful.cli.annotate:align",
        "traces": "timeful.cli.export:traces",
        "export": "timeful.cli.export:export",
        "train": "timeful.cli.train:train",
        "serve": "timeful.cli.serve:serve",
        "list": "timeful.cli.show:list_parts",
        "completion": "timeful.cli.completion:completion",
    },
    name="timeful",
    help="Agents for which time is real: thinking costs time, and the world moves meanwhile.",
    context_settings=_CONTEXT,
)
click.version_option(__version__, prog_name="timeful", message="%(prog)s %(version)s")(app)


def main() -> None:
    """Run the command line; what was raised on purpose is said in one line, with exit code 2.

    A timeline that broke is said with its traceback, with exit code 70.
    """
    # Of numpy, which is not loaded yet: its products here are small, and threads that wait for each
    # other cost more CPU than the report that they help with.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    with console():
        _main()


def _main() -> None:
    try:
        app()
    except KernelError as error:
        # A bug, here or in an agent: whoever mends it needs to see all of it.
        print_exception(error)
        print(
            "timeful: the timeline broke, which is a bug and no result; what was finished is kept",
            file=sys.stderr,
        )
        sys.exit(_BUG)
    except BudgetError as error:
        _print_error(error)
        sys.exit(_BUDGET)
    except TimefulError as error:
        _print_error(error)
        sys.exit(2)
    except BrokenPipeError:
        # The reader has gone (`| head`): nothing is wrong, and nothing more can be said.
        terminal(sys.stderr).close()
        sys.exit(141)
    except OSError as error:  # a full disk, a folder that may not be written to
        _print_error(error)
        sys.exit(2)


def _print_error(error: Exception) -> None:
    """Print an error in one line; a terminal gets it broken between words."""
    text = f"timeful: {error}"
    if sys.stderr.isatty():
        width = get_terminal_size().columns - 1
        lines = text.splitlines()
        text = "\n".join(
            fill(line, width, break_long_words=False, break_on_hyphens=False) for line in lines
        )
    print(text, file=sys.stderr)
