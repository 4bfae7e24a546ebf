"""`timeful report`: make the report of a folder again, of a run or of a training."""

from pathlib import Path
from typing import TYPE_CHECKING

import click

from timeful.errors import RecordError, SettingsError, unknown

if TYPE_CHECKING:
    from timeful.experiments.suite import Suite


@click.command()
@click.argument("out", type=click.Path(path_type=Path))
@click.option("--pages", help="Dialogues of proactor that get a page: a number, all, or a name.")
def report(out: Path, pages: str | None) -> None:
    """Print the tables of the run in folder OUT and write its report again.

    Both are made from the run's records alone; of a training, which may be going on, from its
    metrics.
    """
    from timeful.cli.suite_command import load_suite
    from timeful.cli.suite_command import show as show_results
    from timeful.experiments.run import report_suite
    from timeful.records.folder import read_settings
    from timeful.registry import names

    settings = read_settings(out)
    if "suite" not in settings and settings.keys() >= {"model", "run"}:
        settings["suite"] = "train"
    suite = str(settings.get("suite"))
    if suite in names("suite") or "file" in settings:
        value = load_suite(settings.get("file", suite))
        options = {} if pages is None else {"pages": _read_pages(value, pages)}
        show_results(report_suite(value, out, options))
        return
    if pages is not None:
        raise SettingsError("--pages has no effect here; it requires a run of proactor")
    if suite != "train":
        kinds = [*names("suite"), "train"]
        raise RecordError(f"{out} holds a run of an {unknown('experiment', suite, kinds)}")
    from timeful.training.report import write_report

    results = write_report(out)
    print(results.text)
    print(f"report   {results.page}")


def _read_pages(suite: "Suite", pages: str) -> object:
    from timeful.experiments.options import read_value, suite_options

    for option in suite_options(suite):
        if option.name == "pages":
            return read_value(option, pages)
    raise SettingsError(f"--pages has no effect here; {suite.name} draws no pages")
