"""Loads the tools of an annotation and their workflows."""

from pathlib import Path

from timeful.annotation.settings import ToolCatalog
from timeful.catalogs.abcd import abcd_knowledge
from timeful.catalogs.catalog import Catalog, Metadata
from timeful.catalogs.knowledge import Knowledge, read_knowledge
from timeful.catalogs.ontology import Ontology
from timeful.catalogs.rendering import render
from timeful.domains.library import domain_from, load_domain
from timeful.errors import SettingsError


def load_tools(settings: ToolCatalog, folder: Path) -> Knowledge:
    """Load the tools of settings.

    Args:
        settings: The section `tool_catalog`.
        folder: The folder of relative paths.

    Raises:
        SettingsError: If a file cannot be read, or a tool name is duplicated.
    """
    common = _common(settings, folder) if settings.use_common_tools else None
    if common is not None and not settings.custom_tools:
        return common
    custom = render(Metadata(name="custom"), settings.custom_tools, name="custom_tools")
    if common is None:
        return Knowledge(catalog=custom, ontology=Ontology(), guidelines={})
    joined_catalog = Catalog(
        catalog_metadata=common.catalog.catalog_metadata,
        mcp_tools=common.catalog.mcp_tools + custom.mcp_tools,
        api_definitions=common.catalog.api_definitions + custom.api_definitions,
        custom_agents=common.catalog.custom_agents + custom.custom_agents,
    )
    for name in settings.custom_tools:
        if name in common.catalog.actions:
            raise SettingsError(f"tool_catalog.custom_tools: {name!r} is also a common tool")
    return Knowledge(catalog=joined_catalog, ontology=common.ontology, guidelines=common.guidelines)


def _common(settings: ToolCatalog, folder: Path) -> Knowledge | None:
    if settings.domain:
        return load_domain(domain_from(settings.domain, folder)).knowledge
    if settings.abcd is not None:
        return abcd_knowledge(settings.abcd, folder)
    if not settings.catalog:
        return None
    ontology = folder / settings.ontology if settings.ontology else None
    return read_knowledge(folder / settings.catalog, ontology)
