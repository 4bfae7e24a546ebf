"""`timeful report`: make the report of a run folder again."""

from pathlib import Path
from typing import Annotated

import typer


def report(
    out: Annotated[Path, typer.Argument(help="A run folder, as given to `timeful run --out`.")],
) -> None:
    """Print the table of a run and write its report again, from its records alone."""
    from timeful.suites.realtime.run import report_again
    from timeful.suites.realtime.tables import text_table

    finished = report_again(out)
    print(text_table(finished.rows))
    print(f"report   {finished.report}")
