"""What all commands that run a suite of episodes have in common."""

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


def endpoint_options(command: _Command) -> _Command:
    """Add `base_url`, `temperature` and `record`."""
    for option in (
        click.option("--record", type=FILE, help="Record the endpoint's answers to this cassette."),
        click.option(
            "--temperature", type=float, help="The sampling temperature; also of local:PATH."
        ),
        click.option("--base-url", envvar="OPENAI_BASE_URL", help="The endpoint's API."),
    ):
        command = option(command)
    return command


def batch_options(command: _Command) -> _Command:
    """Add `workers`, `replace` and `retry_failed`."""
    for option in (
        click.option("--retry-failed", is_flag=True, help="Play failed episodes again."),
        click.option(
            "--replace", is_flag=True, help="Start afresh if the folder holds another run."
        ),
        click.option("--workers", type=int, help="How many processes.  [default: one a core]"),
    ):
        command = option(command)
    return command


def models_elsewhere(*names: str) -> Callable[[_Command], _Command]:
    """Answer `--model`, which is none of several experiments at once, by those that take one."""

    def refuse(context: click.Context, parameter: click.Parameter, given: str | None) -> None:
        if given is not None:
            raise SettingsError(f"--model is an option of {', '.join(names)}: give one of these")

    return click.option("--model", hidden=True, expose_value=False, callback=refuse)


def is_given(option: str) -> bool:
    """Whether an option, by its parameter's name, stands on the command line."""
    source = click.get_current_context().get_parameter_source(option)
    return source is ParameterSource.COMMANDLINE


def refuse_idle(needs: Mapping[str, tuple[bool, str]]) -> None:
    """Refuse what was asked for on the command line and would change nothing.

    What the environment says, such as OPENAI_BASE_URL, is for whoever can use it.

    Args:
        needs: By the parameter's name, whether it is used, and what it would need.

    Raises:
        SettingsError: If an option was given and is not used.
    """
    names = {each.name: each.opts[0] for each in click.get_current_context().command.params}
    for option, (is_used, need) in needs.items():
        if is_given(option) and not is_used:
            raise SettingsError(f"{names[option]} would change nothing: it is for {need}")


def live_needs(is_live: bool, *, is_sampled: bool) -> dict[str, tuple[bool, str]]:
    """What the options of an endpoint need, and that of whoever samples."""
    need = (is_live, "an openai:NAME model")
    sampled = (is_sampled, "an openai:NAME or local:PATH model")
    return {"base_url": need, "temperature": sampled, "record": need}


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
    """Play an experiment, made from the key of an endpoint, while somebody watches.

    After Ctrl-C it says how the run goes on, and exits with 130.
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


def show(finished: "Finished[R]", out: Path, tables: str) -> None:
    """Print what a run came to, and exit with 1 if episodes failed."""
    print(tables)
    print(f"report   {finished.report}")
    print(f"records  {out / 'episodes'}")
    if finished.failed:
        print(
            f"failed   {len(finished.failed)} of {len(finished.rows)} episodes, the first with: "
            f"{finished.failed[0].error}"
        )
        print("again    the same command with --retry-failed")
        raise SystemExit(1)
