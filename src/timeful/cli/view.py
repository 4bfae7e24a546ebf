"""`timeful view`: look at runs and episodes in a browser, or in one file."""

from pathlib import Path
from typing import TYPE_CHECKING

import click

from timeful.cli.options import FILE

if TYPE_CHECKING:
    from timeful.viewer.export import Choice


@click.command()
@click.argument("paths", metavar="[PATH]...", nargs=-1, type=FILE)
@click.option("--export", type=FILE, help="Write one .html file, or a folder, and start no server.")
@click.option(
    "--episodes",
    "where",
    multiple=True,
    metavar="COLUMN=VALUE",
    help="Only episodes with this value in an export. Repeatable.",
)
@click.option(
    "--without",
    multiple=True,
    type=click.Choice(["prompts", "texts", "states"]),
    help="Part to leave out of an export. Repeatable.",
)
@click.option("--single", is_flag=True, help="Allow one file of more than 50 MB.")
def view(
    paths: tuple[Path, ...],
    export: Path | None,
    where: tuple[str, ...],
    without: tuple[str, ...],
    single: bool,
) -> None:
    """Show runs and episodes as a page, with every thought and action on one timeline.

    PATH is a run, a folder of runs, a training or a record; the folder `runs` by default. With
    --export the page is a file that opens without a network.
    """
    from timeful.errors import SettingsError
    from timeful.viewer.catalogue import Runs

    chosen = paths or (Path("runs"),)
    for path in paths:
        if not path.exists():
            raise SettingsError(f"{path} does not exist; give a run, a folder of runs or a record")
    if export is None:
        raise SettingsError("give --export FILE.html; there is no server yet")
    runs = Runs(chosen)
    _export(runs, export, _choice(where, without), single=single)


def _choice(where: tuple[str, ...], without: tuple[str, ...]) -> "Choice":
    from timeful.errors import SettingsError
    from timeful.viewer.export import Choice

    pairs = []
    for text in where:
        name, has_value, value = text.partition("=")
        if not has_value:
            raise SettingsError(f"--episodes must be COLUMN=VALUE, got {text!r}")
        pairs.append((name, value))
    return Choice(where=tuple(pairs), without=without)


def _export(runs: "object", path: Path, choice: "Choice", *, single: bool) -> None:
    from timeful.viewer.catalogue import Runs
    from timeful.viewer.export import export_file, export_folder

    assert isinstance(runs, Runs)
    if path.suffix.lower() in (".html", ".htm"):
        size = export_file(runs, path, choice, is_single=single)
    else:
        size = export_folder(runs, path, choice)
        path = path / "index.html"
    print(f"page     {path}")
    print(f"size     {size / 1e6:.2f} MB")
