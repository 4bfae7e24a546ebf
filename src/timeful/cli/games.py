"""`timeful games`: list, fetch and add story games."""

from pathlib import Path

import click

_LINE = 79
_FOLDER = click.option(
    "--folder",
    type=click.Path(file_okay=False, path_type=Path),
    help="Folder of story files.  [default: $TIMEFUL_GAMES, else the XDG data folder]",
)


@click.group(context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 88})
def games() -> None:
    """List story games, fetch freely licensed ones, and add your own."""


@games.command("list")
@_FOLDER
def list_games(folder: Path | None) -> None:
    """List the games: points, licence, required extra, and the command that installs it."""
    from timeful.environments.fiction.library import entries

    print(f"{'name':<24}{'points':<8}{'licence':<18}{'extra':<22}state")
    for entry in entries(data=folder):
        points = "?" if entry.max_score is None else str(entry.max_score)
        status = "missing" if entry.install else "installed"
        extra = f"{entry.extra}: {status}" if entry.extra else ""
        lacks = [line for line in (entry.fetch, entry.install) if line]
        state = "" if lacks else "ready"
        print(f"{entry.name:<24}{points:<8}{entry.licence:<18}{extra:<22}{state}".rstrip())
        for line in lacks:
            print(f"{'':<24}{line}"[:_LINE])


@games.command()
@click.argument("name")
@_FOLDER
@click.option(
    "--from",
    "base",
    metavar="URL",
    help="Mirror to fetch from: a server, or file:// and a folder.",
)
def fetch(name: str, folder: Path | None, base: str | None) -> None:
    """Fetch the game NAME: zork1, zork2 or zork3.

    The file comes from its owner's repository at a fixed commit. It is kept only if its checksum is
    that of the file whose licence was reviewed.
    """
    from timeful.environments.fiction.store import GITHUB, fetch_story, stories_folder

    path, licence = fetch_story(name, folder or stories_folder(), base=base or GITHUB)
    print(licence)
    print()
    print(f"kept as {path}, under the licence above")


@games.command()
@click.argument("name")
@click.argument("file", type=click.Path(path_type=Path))
@_FOLDER
def add(name: str, file: Path, folder: Path | None) -> None:
    """Copy FILE, a story file of your own, and add it as the game NAME.

    Check its licence yourself.
    """
    from timeful.environments.fiction.library import BUILT_IN
    from timeful.environments.fiction.store import add_story, stories_folder

    path = add_story(name, file, folder or stories_folder(), reserved=frozenset(BUILT_IN))
    print(f"kept as {path}; play it as {name}")
