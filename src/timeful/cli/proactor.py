"""`timeful pri`, `timeful ec` and `timeful metrics proactor-turns`: metrics of files."""

import json
from pathlib import Path

import click


@click.command()
@click.argument("file", type=click.Path(path_type=Path))
@click.option(
    "--json", "as_json", is_flag=True, help="Print a JSON list of objects, the best first."
)
def pri(file: Path, as_json: bool) -> None:
    """Rank the methods in FILE by the proactiveness ranking index.

    FILE is CSV with the columns name, ac, max_ac, difference, pt, ftr and rar. The
    index compares the rows of the file, so it changes with the rows.
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
    help="Turns that an action must be ready before it is observed.  [default: 4 to 0; 0 with "
    "--json]",
)
@click.option(
    "--unmatched",
    type=click.Choice(["skip", "zero"]),
    default="skip",
    show_default=True,
    help="Score of observed actions without a reference.",
)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def ec(dialogues: Path, sigma: int | None, unmatched: str, as_json: bool) -> None:
    """Compare the references of DIALOGUES with the observed actions.

    DIALOGUES is a file in ABCD's shape, packed with gzip or not, whose dialogues carry a
    reference_ready_range (action name -> turns). All splits are scored together.
    """
    from typing import cast

    from timeful.dialogues.abcd import read_abcd
    from timeful.errors import SettingsError
    from timeful.metrics.proactor import tables
    from timeful.metrics.proactor.alignment import SIGMAS, Unmatched, alignments

    if ".jsonl" in dialogues.suffixes:
        raise SettingsError(f"{dialogues.name} is JSONL, not ABCD's shape; use `timeful align`")
    if sigma is not None:
        sigmas: tuple[int, ...] = (sigma,)
    else:
        sigmas = (0,) if as_json else SIGMAS
    scores = alignments(
        read_abcd(dialogues, needs_ranges=True), sigmas, unmatched=cast(Unmatched, unmatched)
    )
    if as_json:
        print(json.dumps(tables.alignment_json(scores[0]), indent=2))
    else:
        print(tables.alignment_table(scores))


@click.command("proactor-turns")
@click.argument("file", type=click.Path(path_type=Path))
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def turns(file: Path, as_json: bool) -> None:
    """Score the predictions in FILE, made by any program, turn by turn.

    A line of FILE is {"dialogue": "7", "turn": 3, "predictions": [OPPORTUNITY, ...],
    "references": [OPPORTUNITY, ...], "ready_ranges": {NAME: [TURN, ...]}}. The output has means
    over the turns with predictions.
    """
    from timeful.metrics.proactor import tables
    from timeful.metrics.proactor.files import read_turns
    from timeful.metrics.proactor.turns import mean_scores

    means = mean_scores(turn.scores() for turn in read_turns(file))
    if as_json:
        print(json.dumps(tables.turns_json(means), indent=2))
    else:
        print(tables.turns_table(means))
