"""`timeful pri`, `timeful ec` and `timeful metrics proactor-turns`: score what lies in files."""

import json
from pathlib import Path

import click


@click.command()
@click.argument("file", type=click.Path(path_type=Path))
@click.option("--json", "as_json", is_flag=True, help="A list of objects, the best first.")
def pri(file: Path, as_json: bool) -> None:
    """Rank the methods in FILE by the proactiveness ranking index.

    FILE is CSV with the columns name, ac, max_ac, difference, pt, ftr and rar. Its rows are the
    group: the index is made within it, and is another in another group.
    """
    from timeful.metrics.proactor import tables
    from timeful.metrics.proactor.files import read_results
    from timeful.metrics.proactor.ranking import rank

    ranked = rank(read_results(file))
    if as_json:
        print(json.dumps(tables.ranking_json(ranked), indent=2))
    else:
        print(tables.ranking_table(ranked))


@click.command()
@click.argument("dialogues", type=click.Path(path_type=Path))
@click.option(
    "--sigma",
    type=click.IntRange(min=0),
    help="How many turns before it was done an action must be ready.  [default: 4 to 0; 0 with "
    "--json]",
)
@click.option(
    "--unmatched",
    type=click.Choice(["skip", "zero"]),
    default="skip",
    show_default=True,
    help="What becomes of observed actions that the reference does not have.",
)
@click.option("--json", "as_json", is_flag=True, help="One object.")
def ec(dialogues: Path, sigma: int | None, unmatched: str, as_json: bool) -> None:
    """Ask of DIALOGUES whether their reference foresaw what was done.

    DIALOGUES is a file in ABCD's shape, packed with gzip or not, whose dialogues carry a
    reference_ready_range (action name -> turns). All its splits are scored together.
    """
    from typing import cast

    from timeful.dialogues.abcd import read_abcd
    from timeful.errors import SettingsError
    from timeful.metrics.proactor import tables
    from timeful.metrics.proactor.alignment import SIGMAS, Unmatched, alignments

    if ".jsonl" in dialogues.suffixes:
        raise SettingsError(f"{dialogues.name} is JSONL and not in ABCD's shape: `timeful align`")
    if sigma is not None:
        sigmas: tuple[int, ...] = (sigma,)
    else:
        sigmas = (0,) if as_json else SIGMAS
    found = alignments(
        read_abcd(dialogues, needs_ranges=True), sigmas, unmatched=cast(Unmatched, unmatched)
    )
    if as_json:
        print(json.dumps(tables.alignment_json(found[0]), indent=2))
    else:
        print(tables.alignment_table(found))


@click.command("proactor-turns")
@click.argument("file", type=click.Path(path_type=Path))
@click.option("--json", "as_json", is_flag=True, help="One object.")
def turns(file: Path, as_json: bool) -> None:
    """Score the predictions in FILE, made elsewhere, turn by turn.

    A line of FILE is {"dialogue": "7", "turn": 3, "predictions": [OPPORTUNITY, ...],
    "references": [OPPORTUNITY, ...], "ready_ranges": {NAME: [TURN, ...]}}. Printed are means over
    the turns with predictions.
    """
    from timeful.metrics.proactor import tables
    from timeful.metrics.proactor.files import read_turns
    from timeful.metrics.proactor.turns import mean_scores

    found = mean_scores(turn.scores() for turn in read_turns(file))
    if as_json:
        print(json.dumps(tables.turns_json(found), indent=2))
    else:
        print(tables.turns_table(found))
