"""`timeful report`: make the report of a run folder again."""

from pathlib import Path

import click


@click.command()
@click.argument("out", type=click.Path(path_type=Path))
def report(out: Path) -> None:
    """Print the table of the run in folder OUT and write its report again.

    Both are made from the run's records alone.
    """
    from timeful.suites.realtime.run import report_again
    from timeful.suites.realtime.tables import text_table

    finished = report_again(out)
    print(text_table(finished.rows))
    print(f"report   {finished.report}")
