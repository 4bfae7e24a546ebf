"""`timeful prepare`: make an ML case from an archive of the user."""

import sys
from pathlib import Path

import click


@click.command()
@click.argument("case")
@click.option(
    "--zip",
    "archive",
    required=True,
    type=click.Path(path_type=Path),
    help="Archive of the competition, as downloaded from Kaggle.",
)
@click.option(
    "--out",
    type=click.Path(path_type=Path),
    help="Folder to make.  [default: ./CASE]",
)
def prepare(*, case: str, archive: Path, out: Path | None) -> None:
    """Split and lay out the data of CASE, one of Timely-Eval's four tasks of machine learning.

    CASE is leaf-classification, spaceship-titanic, random-acts-of-pizza or
    detecting-insults-in-social-commentary. The folder gets public/, which programs see, and
    private/, which has the labels of the test split.
    """
    from timeful.environments.coding.prepare import prepare as make

    case_data = make(case, archive, Path(case) if out is None else out)
    for warning in case_data.warnings:
        print(f"warning: {warning}", file=sys.stderr)
    rows = f"{case_data.train_rows} rows with labels, {case_data.test_rows} in the test split"
    print(f"{case_data.folder}: {rows}")
