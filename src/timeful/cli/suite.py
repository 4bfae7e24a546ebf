"""Options and output that all commands for suites share."""

import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click
from click.core import ParameterSource

from timeful.errors import SettingsError

if TYPE_CHECKING:
    from timeful.runs.experiment import Experiment, Finished, R, S

FILE = click.Path(path_type=Path)

_Command = TypeVar("_Command", bound=Callable[..., Any])


def batch_options(command: _Command) -> _Command:
    """Add `workers`, `replace` and `retry_failed`."""
    for option in (
        click.option("--retry-failed", is_flag=True, help="Play failed episodes again."),
        click.option(
            "--replace", is_flag=True, help="Replace a run with other settings in the folder."
        ),
        click.option("--workers", type=int, help="Number of processes.  [default: one per core]"),
    ):
        command = option(command)
    return command


def is_given(option: str) -> bool:
    """Whether an option, by its parameter's name, is on the command line."""
    source = click.get_current_context().get_parameter_source(option)
    return source is ParameterSource.COMMANDLINE


def refuse_idle(needs: Mapping[str, tuple[bool, str]]) -> None:
    """Refuse options on the command line that have no effect.

    Environment variables, such as OPENAI_BASE_URL, are not refused.

    Args:
        needs: By the parameter's name, whether it is used, and what it requires.

    Raises:
        SettingsError: If an option was given and is not used.
    """
    names = {
        parameter.name: parameter.opts[0]
        for parameter in click.get_current_context().command.params
    }
    for option, (is_used, need) in needs.items():
        if is_given(option) and not is_used:
            raise SettingsError(f"{names[option]} has no effect here; it requires {need}")


def run(
    experiment: "Callable[[str], Experiment[S, R]]",
    specs: "Sequence[S]",
    out: Path,
    *,
    settings: Mapping[str, Any],
    workers: int | None,
    replace: bool,
    retry_failed: bool,
) -> "Finished[R]":
    """Run an experiment, made from the key of an endpoint, with progress on standard error.

    After Ctrl-C it prints how to resume the run, and exits with 130.
    """
    from timeful.cli.progress import Progress
    from timeful.runs.experiment import run_experiment

    progress = Progress()
    try:
        return run_experiment(
            experiment(os.environ.get("OPENAI_API_KEY", "")),
            specs,
            out,
            settings=settings,
            workers=workers if workers is not None else os.cpu_count() or 1,
            replace=replace,
            retry_failed=retry_failed,
            watcher=progress,
        )
    except KeyboardInterrupt:
        progress.end()
        progress.stopped(out)
        raise SystemExit(130) from None
    finally:
        progress.end()
