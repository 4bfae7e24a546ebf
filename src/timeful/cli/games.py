"""`timeful games`: the games of words there are, and how to bring more."""

from pathlib import Path

import click

_LINE = 79
_FOLDER = click.option(
    "--folder",
    type=click.Path(file_okay=False, path_type=Path),
    help="Where story files lie, instead of your own folder for them ($TIMEFUL_GAMES, else that "
    "of XDG).",
)


@click.group(context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 88})
def games() -> None:
    """List games of words, fetch those that may be fetched, add your own."""


@games.command("list")
@_FOLDER
def list_games(folder: Path | None) -> None:
    """List the games: points, licence, the extra that is needed, and what is to be typed."""
    from timeful.environments.fiction.library import entries

    print(f"{'name':<24}{'points':<8}{'licence':<18}{'extra':<22}state")
    for one in entries(data=folder):
        points = "?" if one.max_score is None else str(one.max_score)
        extra = f"{one.extra}: {'missing' if one.install else 'installed'}" if one.extra else ""
        lacks = [line for line in (one.fetch, one.install) if line]
        state = "" if lacks else "ready"
        print(f"{one.name:<24}{points:<8}{one.licence:<18}{extra:<22}{state}".rstrip())
        for line in lacks:
            print(f"{'':<24}{line}"[:_LINE])


@games.command()
@click.argument("name")
@_FOLDER
@click.option(
    "--from",
    "base",
    metavar="URL",
    help="Fetch from a mirror: a server, or file:// and a folder. The file must be the same.",
)
def fetch(name: str, folder: Path | None, base: str | None) -> None:
    """Fetch the game NAME: zork1, zork2 or zork3.

    The file comes from the repository in which its owner published it, at a commit that is
    written down here, and is kept only if it is the very file whose licence was read. This is
    the only command that reaches out to the network by itself.
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
    """Add a story file of your own, FILE, as the game NAME.

    It is copied; whether you may play it is for you to know.
    """
    from timeful.environments.fiction.library import BUILT_IN
    from timeful.environments.fiction.store import add_story, stories_folder

    path = add_story(name, file, folder or stories_folder(), reserved=frozenset(BUILT_IN))
    print(f"kept as {path}; play it as {name}")
