"""`timeful report`: make the report of a folder again, of a run or of a training."""

from collections.abc import Callable
from functools import partial
from pathlib import Path

import click

from timeful.cli.proactor_plan import pages_of, pages_option
from timeful.cli.suite import refuse_idle, show
from timeful.errors import RecordError, unknown


@click.command()
@click.argument("out", type=click.Path(path_type=Path))
@pages_option
def report(out: Path, pages: str) -> None:
    """Print the tables of the run in folder OUT and write its report again.

    Both are made from the run's records alone; of a training, which may be going on, from its
    metrics. --pages is for runs of proactor.
    """
    from timeful.cli.suite_command import load_suite
    from timeful.cli.suite_command import show as show_results
    from timeful.experiments.run import read_settings, report_suite
    from timeful.registry import names

    reports: dict[str, Callable[[Path], None]] = {
        "engagement/toys": _toys,
        "proactor": partial(_proactor, pages=pages),
        "train/quick": _quick,
        "train": _train,
    }
    settings = read_settings(out)
    if "suite" not in settings and settings.keys() >= {"model", "run"}:
        settings["suite"] = "train"
    suite = str(settings.get("suite"))
    if suite in names("suite") or "file" in settings:
        show_results(report_suite(load_suite(settings.get("file", suite)), out))
        return
    if suite not in reports:
        raise RecordError(f"{out} holds a run of an {unknown('experiment', suite, reports)}")
    refuse_idle({"pages": (suite == "proactor", "runs of proactor")})
    reports[suite](out)


def _proactor(out: Path, pages: str) -> None:
    from timeful.runs.experiment import read_settings, report_again
    from timeful.suites.proactor.judging import read_bench
    from timeful.suites.proactor.numbers import main_cells, make_cells
    from timeful.suites.proactor.run import experiment
    from timeful.suites.proactor.tables import text_tables

    finished = report_again(experiment(pages=pages_of(pages)), out)
    bench = read_bench(out, main_cells(make_cells(finished.rows)))
    show(finished, out, text_tables(finished.rows, read_settings(out), bench))


def _quick(out: Path) -> None:
    from timeful.cli.train_quick import show as show_quick

    show_quick(out)


def _train(out: Path) -> None:
    from timeful.training.report import write_report

    written = write_report(out)
    print(written.text)
    print(f"report   {written.page}")


def _toys(out: Path) -> None:
    raise RecordError(
        f"{out} holds toys, of which no episodes are kept: give the run's command again, it is "
        "done in a minute"
    )
