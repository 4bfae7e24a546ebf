"""`timeful view`: look at runs and episodes in a browser, or in one file."""

import logging
import sys
import webbrowser
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

import click

from timeful.cli.options import FILE, refuse_idle

if TYPE_CHECKING:
    from timeful.viewer.catalogue import Runs
    from timeful.viewer.export import Choice
    from timeful.viewer.reading import RawRecord


@click.command()
@click.argument("paths", metavar="[PATH]...", nargs=-1, type=FILE)
@click.option("--export", type=FILE, help="Write one .html file, or a folder, and start no server.")
@click.option(
    "--episodes",
    "where",
    multiple=True,
    metavar="COLUMN=VALUE",
    help="Only episodes with this value. Repeatable.",
)
@click.option(
    "--without",
    multiple=True,
    type=click.Choice(["prompts", "texts", "states"]),
    help="Part to leave out of an export. Repeatable.",
)
@click.option("--fill", is_flag=True, help="Play stand-ins again to complete short records.")
@click.option("--single", is_flag=True, help="Allow one file of more than 50 MB.")
@click.option("--host", default="127.0.0.1", show_default=True, help="Address to listen at.")
@click.option(
    "--port",
    type=click.IntRange(0, 65535),
    default=7800,
    show_default=True,
    help="Port; the next free one if it is taken.",
)
@click.option(
    "--open/--no-open", "opens", default=None, help="Open a browser.  [default: open at a terminal]"
)
@click.option("--no-token", is_flag=True, help="Serve without a token.")
def view(
    paths: tuple[Path, ...],
    export: Path | None,
    where: tuple[str, ...],
    without: tuple[str, ...],
    fill: bool,
    single: bool,
    host: str,
    port: int,
    opens: bool | None,
    no_token: bool,
) -> None:
    """Show runs and episodes as a page, with every thought and action on one timeline.

    PATH is a run, a folder of runs, a training or a record; the folder `runs` by default. Without
    a run there, three bundled examples are shown. The page is served to this machine until Ctrl-C;
    with --export it is a file that opens without a network.
    """
    from timeful.errors import SettingsError
    from timeful.viewer.catalogue import EXAMPLES, Runs
    from timeful.viewer.export import find_place

    need = (export is not None, "--export")
    refuse_idle({"without": need, "single": need})
    need = (export is None, "a server, so no --export")
    refuse_idle(dict.fromkeys(("host", "port", "opens", "no_token"), need))
    for path in paths:
        if not path.exists():
            raise SettingsError(f"{path} does not exist; give a run, a folder of runs or a record")
        if path.is_file() and not _is_record(path):
            raise SettingsError(f"{path} is no record: its first line is no JSON object")
    runs = Runs(paths or (Path("runs"),), examples=EXAMPLES, fill=_fill if fill else None)
    if export is not None:
        _export(runs, export, _choice(where, without), single=single)
    else:
        fragment = find_place(runs, _choice(where, without)) if where else ""
        _serve(runs, host, port, fragment, opens=opens, no_token=no_token)


def _is_record(path: Path) -> bool:
    with path.open("rb") as file:
        return path.suffix == ".xz" or file.read(64).lstrip().startswith(b"{")


def _serve(
    runs: "Runs", host: str, port: int, fragment: str, *, opens: bool | None, no_token: bool
) -> None:
    from timeful.errors import SettingsError
    from timeful.viewer.guard import is_loopback
    from timeful.viewer.server import bind, make_token, serve

    if not is_loopback(host):
        if no_token:
            raise SettingsError(f"{host} is reached from other machines: leave out --no-token")
        print(f"warning  other machines can reach {host}; each needs the token", file=sys.stderr)
    bound, address = bind(host, port)
    token = "" if no_token else make_token()
    url = address.url + (f"?token={token}" if token else "") + fragment
    print(f"look     {url}", flush=True)
    print("stop     Ctrl-C", file=sys.stderr, flush=True)
    if sys.stdout.isatty() if opens is None else opens:
        webbrowser.open(url)
    # asyncio warns of each client that leaves during a stream, which is no fault.
    logging.getLogger("asyncio").setLevel(logging.ERROR)
    with suppress(KeyboardInterrupt):
        serve(runs, bound, address, token)


def _fill(record: "RawRecord", folder: Path) -> "RawRecord":
    """A record with the words of its stand-ins; the same record if they cannot be made again."""
    from timeful.experiments.remake import remake
    from timeful.viewer.pack import has_texts
    from timeful.viewer.reading import from_events

    if has_texts(record) or record.end is None:
        return record
    events = remake(record.entries, record.settings, folder)
    if isinstance(events, str):
        record.notices.append(events)
        return record
    filled = from_events(events, record.name)
    filled.notices.append("The texts were not kept; they come from playing the episode again.")
    return filled


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


def _export(runs: "Runs", path: Path, choice: "Choice", *, single: bool) -> None:
    from timeful.reports.html import link_report
    from timeful.viewer.export import export_file, export_folder

    if path.suffix.lower() in (".html", ".htm"):
        size = export_file(runs, path, choice, is_single=single)
    else:
        size = export_folder(runs, path, choice)
        path = path / "index.html"
    report = None if choice.where else link_report(path)
    print(f"page     {path}")
    print(f"size     {size / 1e6:.2f} MB")
    if report is not None:
        print(f"report   {report}")
