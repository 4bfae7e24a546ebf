"""`timeful show` and `timeful list`: what a record says, and what there is."""

import sys
from collections.abc import Iterable, Mapping
from pathlib import Path
from shutil import get_terminal_size
from textwrap import fill

import click

_LINE = 79
_COLUMN = 18
"""Where the names of a list begin."""


@click.command()
@click.argument("record", type=click.Path(path_type=Path))
@click.option(
    "--messages",
    type=click.IntRange(min=1),
    metavar="N",
    help="What thought N was asked and what it answered, in full, instead of the events.",
)
def show(record: Path, messages: int | None) -> None:
    """Print the events of RECORD, one line each, with their instants in seconds.

    A record is a .jsonl file in the folder `episodes` of a run; for a run, its first record is
    printed. Chunks of a thought that follow each other are one line; long texts are cut, and at a
    terminal lines are as well. What a world calls a deadline, horizon, ..._at, ..._end or the like
    is in seconds too; settings stand as they were given, with spans in nanoseconds.
    """
    from timeful.cli.record_files import record_files
    from timeful.records.recorder import read_record
    from timeful.records.timeline import conversation, line, merge_chunks

    if record.is_dir():
        records = record_files([record])
        record = records[0]
        print(f"1 of {len(records)} records: {record}", file=sys.stderr)
    events = read_record(record)
    if messages is not None:
        for said in conversation(events, messages):
            print(said)
        return
    width = get_terminal_size().columns if sys.stdout.isatty() else None
    for event in merge_chunks(events):
        text = line(event)
        print(text if width is None or len(text) <= width else f"{text[: width - 1]}…")


@click.command("list")
def list_parts() -> None:
    """List what there is to run, and of what parts."""
    from timeful.cli import main as front
    from timeful.cli.train import NAMED
    from timeful.environments.coding.cases import case_names
    from timeful.environments.fiction.library import game_names
    from timeful.environments.reasoning.files import BENCHMARKS
    from timeful.environments.reasoning.problems import set_names
    from timeful.rewards.registry import REWARDS
    from timeful.training.config_io import recipes

    parts: dict[str, Mapping[str, Iterable[str]]] = {
        "train": {
            "trainings": (*NAMED, *recipes(), "CONFIG.toml"),
            "rewards": REWARDS,
        },
    }
    from timeful.cli.suite_command import list_values, load_suite
    from timeful.errors import SettingsError
    from timeful.registry import BUILT_IN, KINDS, registered

    broken: dict[str, str] = {}
    for item in registered("suite"):
        if not item.problem:
            try:
                parts[item.name] = list_values(load_suite(item.name))
            except SettingsError as error:
                broken[item.name] = str(error)
    for kind in KINDS:
        for item in registered(kind):
            if kind == "suite" and item.name in broken:
                print(f"{kind:<{_COLUMN}}{broken[item.name]}")
            elif item.origin != "timeful" or item.problem:
                print(f"{kind:<{_COLUMN}}{item.name}  ({item.problem or item.origin})")
        _print_part(f"{kind}s", list(BUILT_IN[kind]))
    parts["timely/fiction"] = {**parts["timely/fiction"], "games": game_names()}
    parts["timely/coding"] = {**parts["timely/coding"], "cases": case_names()}
    sets = (*set_names(), "gym:TASK")
    parts["timely/reasoning"] = {**parts["timely/reasoning"], "sets": sets, "files": BENCHMARKS}
    _print_part("runs", front.run.list_commands(click.get_current_context()))
    for suite, options in parts.items():
        print(suite)
        for option, values in options.items():
            _print_part(f"  {option}", values)


def _print_part(kind: str, names: Iterable[str]) -> None:
    """Print the names of a kind, in lines of at most 79 columns."""
    print(
        fill(
            ", ".join(names),
            width=_LINE,
            initial_indent=f"{kind:<{_COLUMN}}",
            subsequent_indent=" " * _COLUMN,
            break_on_hyphens=False,
        )
    )
