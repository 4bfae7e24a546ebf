"""`timeful annotate` and `timeful align`: make references for dialogues, and check them."""

import json
import os
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn, cast

import click

from timeful.cli.options import (
    ENDPOINT_NAMES,
    estimate_options,
    is_given,
    rate_options,
    read_limits,
    read_spending,
    refuse_idle,
    spending_options,
)
from timeful.cli.progress import Progress

if TYPE_CHECKING:
    import logging
    from collections.abc import Sequence

    from timeful.annotation.settings import Logging
    from timeful.annotation.worklog import Entry

_FILE = click.Path(path_type=Path)


OVERRIDES: dict[str, tuple[str, Any, str]] = {
    "dialogues": ("dialogues.file", _FILE, "Input dialogues, in place of those in CONFIG."),
    "oracle": ("annotation.oracle", str, "Annotator: llm, a language model, or rules."),
    "model": ("llm.model", str, "Name of the model at the endpoint."),
    "batch-size": ("annotation.batch_size", int, "Turns per request."),
    "max-workers": ("annotation.max_workers", int, "Dialogues annotated concurrently."),
    "start-index": ("annotation.start_index", int, "Index of the first dialogue, from 0."),
    "annotated-max-dialogues-num": (
        *("annotation.annotated_max_dialogues_num", int),
        "Maximum number of dialogues.",
    ),
}
"""The options that override a field of CONFIG: the field, the type and the help."""


def override_options(command: Callable[..., None]) -> Callable[..., None]:
    """Add the options that override fields of CONFIG."""
    for name, (_, kind, text) in reversed(OVERRIDES.items()):
        command = click.option(f"--{name}", type=kind, help=text)(command)
    return command


@click.command(params=[*rate_options(), *spending_options(), *estimate_options()])
@click.argument("config", type=_FILE)
@click.option("--out", type=_FILE, help="Output file.  [default: next to the dialogues]")
@override_options
@click.option("--base-url", envvar="OPENAI_BASE_URL", help="URL of the endpoint's API.")
@click.option("--retry-failed", is_flag=True, help="Retry dialogues that failed.")
@click.option("--replace", is_flag=True, help="Replace an annotation with other settings.")
def annotate(
    config: Path,
    out: Path | None,
    base_url: str | None,
    retry_failed: bool,
    replace: bool,
    **values: Any,
) -> None:
    """Annotate each turn of dialogues with the actions that a program could take.

    CONFIG is YAML with the fields of ProActor's Figure 9; options override it. The same command
    resumes a stopped annotation. The key is read from the environment variable OPENAI_API_KEY, that
    of the kind of model, or the one in `llm.api_key_name`. Exits with 1 if dialogues failed.
    """
    from timeful.annotation.pipeline import estimate_annotation, output_path, run_annotation
    from timeful.annotation.settings import read_settings
    from timeful.cli.estimate import is_estimate
    from timeful.records.usage import sum_usage

    if values["dialogues"]:  # relative to the working directory, not to the folder of CONFIG
        values["dialogues"] = str(values["dialogues"].absolute())
    changes = {field: values[name.replace("-", "_")] for name, (field, _, _) in OVERRIDES.items()}
    changes["llm.base_url"] = base_url if is_given("base_url") else None
    settings = read_settings(config, changes, base_url=base_url or "")
    asks = settings.annotation.oracle == "llm"
    need = (asks, "an endpoint, --oracle llm")
    names = ("model", "base_url", "batch_size", "retry_failed", *ENDPOINT_NAMES)
    refuse_idle(dict.fromkeys((*names, "dry_run", "yes"), need))
    folder = config.parent
    out = out or output_path(settings, folder)
    rates = {"connections": settings.annotation.max_workers, **values, "replace": replace}
    models = [settings.llm.choose()] if asks else []
    if is_estimate(partial(estimate_annotation, settings, folder, out), models, rates):
        return
    log = _log(settings.logging, folder)
    progress = _Progress(log)
    try:
        finished = run_annotation(
            settings,
            folder,
            out,
            api_key=os.environ.get(settings.llm.key_name, ""),
            watcher=progress,
            on_event=log.warning,
            replace=replace,
            retry_failed=retry_failed,
            limits=read_limits(rates, connections=settings.annotation.max_workers),
            say=progress.say,
            **read_spending(values),
        )
    except KeyboardInterrupt:
        raise SystemExit(130) from None  # the observer has printed the state
    finally:
        progress.end()
        for handler in log.handlers:
            handler.close()
    failed = finished.failed
    print(f"{len(finished.done) - len(failed)} dialogues annotated, {len(failed)} failed")
    if finished.unknown_actions:
        print(f"unknown    observed actions: {finished.unknown_actions}; EC cannot match them")
    for entry in failed:
        print(f"failed     {entry.id} (number {entry.index}): {entry.error}")
    if len(failed) < len(finished.done):
        packed = ", packed with gzip" if finished.out.suffix == ".gz" else ""
        print(f"annotated  {finished.out}{packed}")
    usage = sum_usage(entry.usage for entry in finished.done if entry.usage is not None)
    if usage is not None:
        counted = f"{usage.prompt or 0:,} of prompts, {usage.completion:,} generated"
        print(f"tokens     {counted} ({usage.counted})")
    print(f"metadata   {finished.meta}")
    if failed:
        _exit_failed(failed, asks=asks)


def _exit_failed(failed: "Sequence[Entry]", *, asks: bool) -> NoReturn:
    if asks:
        # Failures of the endpoint are retried without the option.
        by_answers = any(entry.failure == "answer" for entry in failed)
        print(f"again      the same command{' with --retry-failed' if by_answers else ''}")
    raise SystemExit(1)


@click.command()
@click.argument("file", type=_FILE)
@click.option(
    "--sigma",
    "sigmas",
    type=click.IntRange(min=0),
    multiple=True,
    help="Turns that an action must be ready before it is observed; repeatable.  [default: 0 to 4]",
)
@click.option(
    "--unmatched",
    type=click.Choice(["skip", "zero"]),
    default="skip",
    show_default=True,
    help="Score of observed actions without a reference, in the filter.",
)
@click.option(
    "--filter",
    "out",
    type=_FILE,
    help="File for dialogues with a mean above 0.8 at the smallest sigma.",
)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def align(
    file: Path, sigmas: tuple[int, ...], unmatched: str, out: Path | None, as_json: bool
) -> None:
    """Compare the references in FILE with the observed actions, and filter the dialogues.

    FILE is the output of `timeful annotate`, or has ABCD's shape with a reference_ready_range. The
    output has both conventions for observed actions without a reference, and the published table.
    """
    from timeful.annotation import alignment
    from timeful.cli.options import refuse_idle
    from timeful.metrics.proactor.alignment import SIGMAS, Unmatched

    refuse_idle({"unmatched": (out is not None, "--filter; the table has both")})
    result = alignment.align(file, sigmas or SIGMAS)
    kept_count = None
    sigma = result.skip[-1].sigma
    if out is not None:
        convention = cast(Unmatched, unmatched)
        kept_count = alignment.write_kept(file, out, sigma=sigma, unmatched=convention)
    if as_json:
        print(json.dumps({**alignment.align_json(result), "n_kept": kept_count}, indent=2))
        return
    print(alignment.align_table(result))
    if out is not None:
        print(f"\nkept       {kept_count} of {result.n_dialogues} dialogues, by sigma {sigma}")
        print(f"filtered   {out}")


def _log(settings: "Logging", folder: Path) -> "logging.Logger":
    """A logger of this annotation with the handlers from the settings."""
    import logging

    log = logging.Logger("annotation", settings.level)
    handlers: list[logging.Handler] = []
    if settings.log_file:
        handlers.append(
            logging.FileHandler(folder / settings.log_file, encoding="utf-8", delay=True)
        )
    if settings.log_to_console:
        handlers.append(logging.StreamHandler(sys.stderr))
    for handler in handlers or [logging.NullHandler()]:
        handler.setFormatter(logging.Formatter("%(asctime)s %(levelname)s %(message)s"))
        log.addHandler(handler)
    return log


class _Progress(Progress):
    """The progress of an annotation, which is also logged."""

    def __init__(self, log: "logging.Logger") -> None:
        super().__init__("dialogues")
        self._log = log

    def start(self, total: int, done: int = 0) -> None:
        super().start(total, done)
        self._log.info("%d of %d dialogues are done", done, total)

    def advance(self, entry: "Entry") -> None:  # type: ignore[override]
        self.count(has_failed=entry.failure is not None)
        if entry.failure is None:
            self._log.info("dialogue %s: done", entry.id)
        else:
            self._log.error("dialogue %s: %s", entry.id, entry.error)

    def stopped(self, done: int) -> None:  # type: ignore[override]
        self.end()
        self._done = done
        super().stopped("the output's folder")
