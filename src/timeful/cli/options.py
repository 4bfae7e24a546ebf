"""Options that several commands share, and options without effect."""

from collections.abc import Mapping
from pathlib import Path

import click
from click.core import ParameterSource

from timeful.errors import SettingsError

FILE = click.Path(path_type=Path)


def run_options() -> list[click.Parameter]:
    """The options of each command that runs many episodes."""
    return [
        click.Option(["--workers"], type=int, help="Number of processes.  [default: one a core]"),
        click.Option(
            ["--replace"], is_flag=True, help="Start again if the folder holds another run."
        ),
        click.Option(["--retry-failed"], is_flag=True, help="Play failed episodes again."),
    ]


def is_given(name: str) -> bool:
    """Whether a parameter is on the command line; the environment does not count."""
    source = click.get_current_context().get_parameter_source(name)
    return source is ParameterSource.COMMANDLINE


def refuse_idle(needs: Mapping[str, tuple[bool, str]]) -> None:
    """Refuse options on the command line that have no effect.

    Args:
        needs: By the parameter's name, whether it is used, and what it requires.

    Raises:
        SettingsError: If an option was given and is not used.
    """
    for parameter in click.get_current_context().command.params:
        is_used, need = needs.get(parameter.name or "", (True, ""))
        if not is_used and is_given(str(parameter.name)):
            raise SettingsError(f"{parameter.opts[0]} has no effect here; it requires {need}")
