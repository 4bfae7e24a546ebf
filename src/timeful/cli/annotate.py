"""`timeful annotate` and `timeful align`: references for conversations, and whether they hold."""

import json
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, cast

import click

if TYPE_CHECKING:
    import logging

    from click._termui_impl import ProgressBar

    from timeful.annotation.settings import Logging
    from timeful.annotation.worklog import Entry

_FILE = click.Path(path_type=Path)


@click.command()
@click.argument("config", type=_FILE)
@click.option("--out", type=_FILE, help="The annotated dialogues.  [default: beside the others]")
@click.option("--dialogues", type=_FILE, help="Other dialogues than CONFIG says.")
@click.option("--oracle", type=click.Choice(["llm", "rules"]), help="Who annotates.")
@click.option("--model", help="The model's name at the endpoint.")
@click.option("--base-url", envvar="OPENAI_BASE_URL", help="The endpoint's API.")
@click.option("--batch-size", type=click.IntRange(min=1), help="Turns in a request.")
@click.option("--max-workers", type=click.IntRange(min=1), help="Dialogues side by side.")
@click.option("--start-index", type=click.IntRange(min=0), help="The first dialogue, from 0.")
@click.option(
    "--annotated-max-dialogues-num", type=click.IntRange(min=1), help="How many dialogues at most."
)
@click.option("--retry-failed", is_flag=True, help="Ask again for dialogues that failed.")
@click.option("--replace", is_flag=True, help="Start afresh if OUT has another annotation.")
def annotate(
    config: Path,
    out: Path | None,
    dialogues: Path | None,
    oracle: str | None,
    model: str | None,
    base_url: str | None,
    batch_size: int | None,
    max_workers: int | None,
    start_index: int | None,
    annotated_max_dialogues_num: int | None,
    retry_failed: bool,
    replace: bool,
) -> None:
    """Annotate dialogues with what a program could have done at each turn, as CONFIG says.

    CONFIG is YAML with the fields of ProActor's Figure 9; options win over it. The same command
    goes on where it was stopped. The key is read from the environment, from OPENAI_API_KEY or
    what `llm.api_key_name` says. Exits with 1 if dialogues could not be annotated.
    """
    from timeful.annotation.pipeline import output_path, run_annotation
    from timeful.annotation.settings import read_settings
    from timeful.cli.suite import is_given, refuse_idle

    given = {
        # Its paths start here, not at the file's folder.
        "dialogues.file": str(dialogues.absolute()) if dialogues else None,
        "annotation.oracle": oracle,
        "llm.model": model,
        "llm.base_url": base_url if is_given("base_url") else None,
        "annotation.batch_size": batch_size,
        "annotation.max_workers": max_workers,
        "annotation.start_index": start_index,
        "annotation.annotated_max_dialogues_num": annotated_max_dialogues_num,
    }
    settings = read_settings(config, given, base_url=base_url or "")
    asks = settings.annotation.oracle == "llm"
    need = (asks, "an endpoint, --oracle llm")
    refuse_idle(dict.fromkeys(("model", "base_url", "batch_size", "retry_failed"), need))
    folder = config.parent
    out = out or output_path(settings, folder)
    log = _log(settings.logging, folder)
    progress = _Progress(log)
    try:
        finished = run_annotation(
            settings,
            folder,
            out,
            api_key=os.environ.get(settings.llm.api_key_name, ""),
            watcher=progress,
            on_event=log.warning,
            replace=replace,
            retry_failed=retry_failed,
        )
    except KeyboardInterrupt:
        raise SystemExit(130) from None  # else it would be said once more
    finally:
        progress.end()
        for handler in log.handlers:
            handler.close()
    failed = finished.failed
    print(f"{len(finished.done) - len(failed)} dialogues annotated, {len(failed)} failed")
    if finished.unknown_actions:
        print(f"unknown    what was observed names {finished.unknown_actions}; EC cannot match it")
    for one in failed:
        print(f"failed     {one.id} (number {one.index}): {one.error}")
    if len(failed) < len(finished.done):
        packed = ", packed with gzip" if finished.out.suffix == ".gz" else ""
        print(f"annotated  {finished.out}{packed}")
    print(f"about it   {finished.meta}")
    if failed:
        if asks:
            # By the endpoint is asked again anyway.
            by_answers = any(one.failure == "answer" for one in failed)
            print(f"again      the same command{' with --retry-failed' if by_answers else ''}")
        raise SystemExit(1)


@click.command()
@click.argument("file", type=_FILE)
@click.option(
    "--sigma",
    "sigmas",
    type=click.IntRange(min=0),
    multiple=True,
    help="How many turns before it was done an action must be ready; repeatable.  [default: 0 "
    "to 4]",
)
@click.option(
    "--unmatched",
    type=click.Choice(["skip", "zero"]),
    default="skip",
    show_default=True,
    help="What becomes of observed actions without a reference, in the filter.",
)
@click.option(
    "--filter",
    "out",
    type=_FILE,
    help="Write the dialogues whose mean is above 0.8, at the smallest sigma, to this file.",
)
@click.option("--json", "as_json", is_flag=True, help="One object.")
def align(
    file: Path, sigmas: tuple[int, ...], unmatched: str, out: Path | None, as_json: bool
) -> None:
    """Ask of FILE whether its references foresaw what was done, and keep the dialogues that did.

    FILE is what `timeful annotate` wrote, or has ABCD's shape with a reference_ready_range. Shown
    are both conventions for observed actions without a reference, and the published table.
    """
    from timeful.annotation import alignment
    from timeful.cli.suite import refuse_idle
    from timeful.metrics.proactor.alignment import SIGMAS, Unmatched

    refuse_idle({"unmatched": (out is not None, "--filter; the table has both")})
    found = alignment.align(file, sigmas or SIGMAS)
    kept = None
    sigma = found.skip[-1].sigma
    if out is not None:
        convention = cast(Unmatched, unmatched)
        kept = alignment.write_kept(file, out, sigma=sigma, unmatched=convention)
    if as_json:
        print(json.dumps({**alignment.align_json(found), "n_kept": kept}, indent=2))
        return
    print(alignment.align_table(found))
    if out is not None:
        print(f"\nkept       {kept} of {found.n_dialogues} dialogues, by sigma {sigma}")
        print(f"filtered   {out}")


def _log(settings: "Logging", folder: Path) -> "logging.Logger":
    """The log that settings ask for, of this annotation alone."""
    import logging

    log = logging.Logger("annotation", settings.level)
    handlers: list[logging.Handler] = []
    if settings.log_file:
        handlers.append(logging.FileHandler(folder / settings.log_file, encoding="utf-8"))
    if settings.log_to_console:
        handlers.append(logging.StreamHandler(sys.stderr))
    for handler in handlers or [logging.NullHandler()]:
        handler.setFormatter(logging.Formatter("%(asctime)s %(levelname)s %(message)s"))
        log.addHandler(handler)
    return log


class _Progress:
    """A bar on a terminal, else a line for each tenth; with the time that is left."""

    def __init__(self, log: "logging.Logger") -> None:
        self._log = log
        self._bar: ProgressBar[int] | None = None
        self._total = self._done = self._before = self._failed = 0
        self._began = 0

    def start(self, total: int, done: int) -> None:
        from timeful.core.clock import monotonic_ns

        self._total, self._done, self._before = total, done, done
        self._began = monotonic_ns()
        self._log.info("%d of %d dialogues are done", done, total)
        if sys.stderr.isatty():
            self._bar = click.progressbar(
                length=total, label="dialogues", file=sys.stderr, show_pos=True, width=0
            )
            self._bar.update(done)
        else:
            print(f"{done} of {total} dialogues", file=sys.stderr)

    def advance(self, entry: "Entry") -> None:
        self._done += 1
        if entry.failure is None:
            self._log.info("dialogue %s: done", entry.id)
        else:
            self._failed += 1
            self._log.error("dialogue %s: %s", entry.id, entry.error)
        if self._bar is not None:
            if self._failed:
                self._bar.label = f"dialogues, {self._failed} failed"
            self._bar.update(1)
        elif self._done * 10 // self._total > (self._done - 1) * 10 // self._total:
            print(f"{self._done} of {self._total} dialogues{self._timing()}", file=sys.stderr)

    def _timing(self) -> str:
        """How long it took, and how long it will take if it goes on like this."""
        from timeful.core.clock import monotonic_ns

        taken_s = (monotonic_ns() - self._began) / 1e9
        left_s = taken_s / (self._done - self._before) * (self._total - self._done)
        return f", {_span(taken_s)} so far, about {_span(left_s)} left"

    def end(self) -> None:
        if self._bar is not None:
            self._bar.render_finish()
            self._bar = None

    def stopped(self, done: int) -> None:
        self.end()
        print(
            f"stopped: {done} of {self._total} dialogues are done and kept; the same "
            "command goes on from there",
            file=sys.stderr,
        )


def _span(seconds: float) -> str:
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"
