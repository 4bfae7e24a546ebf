"""`timeful prepare`: makes a case of machine learning from an archive that the user brings."""

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
    help="The archive, as Kaggle gives it to those who accepted the rules of the competition.",
)
@click.option(
    "--out",
    type=click.Path(path_type=Path),
    help="The folder to make. [default: the case's name, here]",
)
def prepare(*, case: str, archive: Path, out: Path | None) -> None:
    """Split and lay out the data of CASE, one of Timely-Eval's four tasks of machine learning.

    CASE is leaf-classification, spaceship-titanic, random-acts-of-pizza or
    detecting-insults-in-social-commentary. The folder gets public/, which programs see, and
    private/, which has the labels of the test split.
    """
    from timeful.environments.coding.prepare import prepare as make

    made = make(case, archive, Path(case) if out is None else out)
    for warning in made.warnings:
        print(f"warning: {warning}", file=sys.stderr)
    print(f"{made.folder}: {made.train_rows} rows with labels, {made.test_rows} in the test split")
