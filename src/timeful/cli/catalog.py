"""`timeful catalog`: make, check and show catalogs of actions."""

from pathlib import Path

import click

_FILE = click.Path(path_type=Path)


@click.group()
def catalog() -> None:
    """Make, check and show catalogs: what software can do, for who reads a dialogue."""


@catalog.command()
@click.argument("config", type=_FILE)
@click.option("--out", type=_FILE, required=True, help="The catalog, as JSON.")
@click.option(
    "--table", "with_table", is_flag=True, help="Print why each parameter is required or not."
)
def make(config: Path, out: Path, with_table: bool) -> None:
    """Make the catalog that CONFIG, a YAML file, says.

    Its actions come from MCP servers, OpenAPI files, type specifications, agents of one's own or
    ABCD's files; what they require from what is declared, samples and overrides.
    """
    from timeful.annotation.catalog_builder import build_catalog
    from timeful.catalogs.catalog import write_catalog
    from timeful.catalogs.parameters import table

    made = build_catalog(config)
    write_catalog(made.catalog, out)
    if with_table:
        print(table(made.rows))
    print(_summary(made.catalog))
    print(f"catalog  {out}")


@catalog.command()
@click.argument("file", type=_FILE)
def check(file: Path) -> None:
    """Check FILE, a catalog; say what is wrong, by entry and field, with exit code 2."""
    from timeful.catalogs.catalog import read_catalog

    print(_summary(read_catalog(file)))


@catalog.command()
@click.argument("file", type=_FILE)
def show(file: Path) -> None:
    """Print the actions of FILE, a catalog; an input that is required has a star."""
    from timeful.catalogs.catalog import read_catalog

    found = read_catalog(file)
    print(_summary(found))
    for action in found.actions.values():
        print(f"\n{action.name}  ({action.kind})")
        if action.description:
            print(f"    {action.description}")
        for one in action.parameters:
            closed = ": " + ", ".join(map(str, one.enum)) if one.enum else ""
            print(f"    {one.name}{'*' if one.required else ''}  {one.type}{closed}")
        if action.at_least > sum(one.required for one in action.parameters):
            print(f"    at least {action.at_least} of them")


def _summary(found: object) -> str:
    from timeful.catalogs.catalog import Catalog

    assert isinstance(found, Catalog)
    told = found.catalog_metadata
    silent = [name for name, one in found.actions.items() if not one.description]
    parts = [
        f"{told.name} {told.version}: {len(found.actions)} actions",
        f"{len(found.mcp_tools)} tools, {len(found.api_definitions)} REST, "
        f"{len(found.custom_agents)} agents",
    ]
    if silent:
        parts.append(f"without a description: {', '.join(silent)}")
    return "; ".join(parts)
