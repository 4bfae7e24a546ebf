"""`timeful dialogues`: generate dialogues with references from a domain."""

from collections import Counter
from pathlib import Path

import click


@click.group()
def dialogues() -> None:
    """Make dialogues to annotate, to play and to score."""


@dialogues.command()
@click.argument("domain")
@click.option("--n", type=click.IntRange(min=1), required=True, help="Number of dialogues.")
@click.option(
    "--seed", default=0, show_default=True, help="Random seed; the same seed gives the same bytes."
)
@click.option(
    "--out",
    type=click.Path(path_type=Path),
    required=True,
    help="Output: one dialogue a line (.jsonl[.gz]), or ABCD's shape (.json[.gz]).",
)
@click.option(
    "--times", is_flag=True, help="Add the time of each turn, by the domain's pace (.jsonl only)."
)
def make(domain: str, n: int, seed: int, out: Path, times: bool) -> None:
    """Make dialogues of DOMAIN: shop, loan, or a folder of your own.

    The dialogues are synthetic. They have references for each turn, ready ranges, questions and
    observed actions. 80 % are in the split train, 10 % in dev and 10 % in test.
    """
    from timeful.dialogues.abcd_shape import is_abcd_shape, write_abcd
    from timeful.dialogues.jsonl import write_jsonl
    from timeful.domains.generator import generate
    from timeful.domains.library import load_domain
    from timeful.errors import SettingsError

    if not out.name.removesuffix(".gz").endswith((".json", ".jsonl")):
        raise SettingsError(
            f"--out must end in .jsonl, .json, .jsonl.gz or .json.gz; got {out.name}"
        )
    if times and is_abcd_shape(out):
        raise SettingsError(
            f"{out.name}: ABCD's shape cannot hold times; use .jsonl or leave out --times"
        )
    # Generated before the file is opened: a domain may fail on the last dialogue.
    batch = list(generate(load_domain(domain), n=n, seed=seed, times=times))
    out.parent.mkdir(parents=True, exist_ok=True)
    if is_abcd_shape(out):
        write_abcd(out, batch)
    else:
        write_jsonl(out, batch)
    turns = sum(len(dialogue.turns) for dialogue in batch)
    ready = sum(len(span) for dialogue in batch for span in dialogue.ready_ranges.values())
    observed = sum(len(dialogue.observed) for dialogue in batch)
    splits = Counter(dialogue.split for dialogue in batch)
    print(
        f"{len(batch)} dialogues ({', '.join(f'{count} {name}' for name, count in splits.items())})"
        f", {turns / len(batch):.1f} turns each, {ready / turns:.2f} ready actions a turn, "
        f"{observed / len(batch):.1f} observed actions each"
    )
    print(f"dialogues  {out}")
