"""The `timeful` command."""

import sys
from typing import Annotated

import typer

from timeful.cli.calibrate import calibrate
from timeful.cli.play import play
from timeful.cli.report import report
from timeful.cli.run import realtime
from timeful.cli.show import list_parts, show
from timeful.errors import TimefulError
from timeful.version import __version__

app = typer.Typer(
    name="timeful",
    help="Agents for which time is real: thinking costs time, and the world moves meanwhile.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
)
run = typer.Typer(
    help="Run a suite, or go on with a run that was stopped.",
    no_args_is_help=True,
    rich_markup_mode=None,
)
run.command()(realtime)
app.add_typer(run, name="run")
app.command()(play)
app.command()(calibrate)
app.command()(report)
app.command()(show)
app.command("list")(list_parts)


def _version(wanted: bool) -> None:
    if wanted:
        print(f"timeful {__version__}")
        raise typer.Exit


@app.callback()
def _top(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    """Agents for which time is real: thinking costs time, and the world moves meanwhile."""


def main() -> None:
    """Run the command line; what was raised on purpose is said in one line, with exit code 2."""
    try:
        app()
    except TimefulError as error:
        print(f"timeful: {error}", file=sys.stderr)
        sys.exit(2)
    except KeyboardInterrupt:
        sys.exit(130)
    except BrokenPipeError:
        # The reader has gone (`| head`): nothing is wrong, and nothing more can be said.
        sys.stderr.close()
        sys.exit(141)
