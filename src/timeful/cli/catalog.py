"""`timeful catalog`: make, check and show catalogs of actions."""

from pathlib import Path
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from timeful.catalogs.catalog import Catalog

_FILE = click.Path(path_type=Path)


@click.group()
def catalog() -> None:
    """Make, check and show catalogs of the actions that software offers."""


@catalog.command()
@click.argument("config", type=_FILE)
@click.option("--out", type=_FILE, required=True, help="File for the catalog, as JSON.")
@click.option(
    "--table",
    "with_table",
    is_flag=True,
    help="Print the evidence that each parameter is required or optional.",
)
def make(config: Path, out: Path, with_table: bool) -> None:
    """Make a catalog from the settings in CONFIG, a YAML file.

    Actions come from MCP servers, OpenAPI files, type specifications, custom agents or ABCD's
    files. Required inputs follow from declarations, samples and overrides.
    """
    from timeful.annotation.catalog_builder import build_catalog
    from timeful.catalogs.catalog import write_catalog
    from timeful.catalogs.parameters import table

    result = build_catalog(config)
    write_catalog(result.catalog, out)
    if with_table:
        print(table(result.rows))
    print(_summary(result.catalog))
    print(f"catalog  {out}")


@catalog.command()
@click.argument("file", type=_FILE)
def check(file: Path) -> None:
    """Check FILE, a catalog; an error names the entry and the field, with exit code 2."""
    from timeful.catalogs.catalog import read_catalog

    print(_summary(read_catalog(file)))


@catalog.command()
@click.argument("file", type=_FILE)
def show(file: Path) -> None:
    """Print the actions of FILE, a catalog; required inputs have a star."""
    from timeful.catalogs.catalog import read_catalog

    content = read_catalog(file)
    print(_summary(content))
    for action in content.actions.values():
        print(f"\n{action.name}  ({action.kind})")
        if action.description:
            print(f"    {action.description}")
        for parameter in action.parameters:
            closed = ": " + ", ".join(map(str, parameter.enum)) if parameter.enum else ""
            star = "*" if parameter.required else ""
            print(f"    {parameter.name}{star}  {parameter.type}{closed}")
        if action.at_least > sum(parameter.required for parameter in action.parameters):
            print(f"    at least {action.at_least} of them")


def _summary(content: "Catalog") -> str:
    metadata = content.catalog_metadata
    silent = [name for name, action in content.actions.items() if not action.description]
    clauses = [
        f"{metadata.name} {metadata.version}: {len(content.actions)} actions",
        f"{len(content.mcp_tools)} tools, {len(content.api_definitions)} REST, "
        f"{len(content.custom_agents)} agents",
    ]
    if silent:
        clauses.append(f"without a description: {', '.join(silent)}")
    return "; ".join(clauses)
