"""`timeful dialogues`: make dialogues with references, from a domain."""

from collections import Counter
from pathlib import Path

import click


@click.group()
def dialogues() -> None:
    """Make dialogues to annotate, to play and to score."""


@dialogues.command()
@click.argument("domain")
@click.option("--n", type=click.IntRange(min=1), required=True, help="How many dialogues.")
@click.option("--seed", default=0, show_default=True, help="The same seed makes the same bytes.")
@click.option(
    "--out",
    type=click.Path(path_type=Path),
    required=True,
    help="One dialogue a line (.jsonl, .jsonl.gz), or all in ABCD's shape (.json, .json.gz).",
)
@click.option("--times", is_flag=True, help="With instants, by the domain's pace (not in .json).")
def make(domain: str, n: int, seed: int, out: Path, times: bool) -> None:
    """Make dialogues of DOMAIN: shop, loan, or a folder of your own.

    They carry references for every turn, ready ranges, questions and observed actions. Of ten,
    eight are in the split train, one in dev, one in test. Nobody ever held them.
    """
    from timeful.dialogues.abcd_shape import is_abcd_shape, write_abcd
    from timeful.dialogues.jsonl import write_jsonl
    from timeful.domains.generator import generate
    from timeful.domains.library import load_domain
    from timeful.errors import SettingsError

    if not out.name.removesuffix(".gz").endswith((".json", ".jsonl")):
        raise SettingsError(f"dialogues are written to .jsonl, .json or either .gz, got {out.name}")
    if times and is_abcd_shape(out):
        raise SettingsError(f"{out.name}: ABCD's shape has no place for --times; use .jsonl")
    # All of them before the file is touched: a domain may fail on the last.
    made = list(generate(load_domain(domain), n=n, seed=seed, times=times))
    out.parent.mkdir(parents=True, exist_ok=True)
    if is_abcd_shape(out):
        write_abcd(out, made)
    else:
        write_jsonl(out, made)
    turns = sum(len(one.turns) for one in made)
    ready = sum(len(found) for one in made for found in one.ready_ranges.values())
    splits = Counter(one.split for one in made)
    print(
        f"{len(made)} dialogues ({', '.join(f'{count} {name}' for name, count in splits.items())})"
        f", {turns / len(made):.1f} turns each, {ready / turns:.2f} ready actions a turn, "
        f"{sum(len(one.observed) for one in made) / len(made):.1f} observed actions each"
    )
    print(f"dialogues  {out}")
