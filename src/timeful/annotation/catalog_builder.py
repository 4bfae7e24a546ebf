"""Builds a catalog from a YAML file of settings: sources, ontology, samples, overrides, template.

    catalog_metadata: {name: shop, version: 1.0.0, domain: retail}
    sources:
      - mcp: {name: desk, command: [python, server.py]}     # or url: http://...
      - openapi: {file: orders.yaml, include: [getOrder], prefix: orders-}
      - types: types.yaml                                   # a type specification
      - agents: agents.yaml                                 # custom agents, with steps
      - domain: shop                                        # a bundled domain, or a folder
      - abcd: {folder: abcd, samples: abcd/abcd_v1.1.json.gz}
    ontology: ontology.yaml         # all else is optional
    samples: samples.jsonl          # {"action": ..., "parameters": [...]} a line
    overrides: overrides.yaml       # {action: {properties: {parameter: required}, at_least: 1}}
    template: catalog.json.j2

Paths are relative to the folder of the file.
"""

from collections.abc import Iterator
from pathlib import Path

import msgspec

from timeful.catalogs.abcd import AbcdSource, abcd_ontology, abcd_samples, abcd_types
from timeful.catalogs.catalog import Catalog, CustomAgent, Metadata
from timeful.catalogs.mcp_source import McpSource, mcp_types
from timeful.catalogs.ontology import ActionType, Ontology, join_types
from timeful.catalogs.openapi import OpenApiSource, openapi_types
from timeful.catalogs.parameters import Override, Row, Sample, estimate
from timeful.catalogs.reading import convert, parse, read_as
from timeful.catalogs.rendering import render
from timeful.domains.library import domain_from, domain_types
from timeful.errors import SettingsError
from timeful.files import MOST_BYTES, read_text


class Source(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A source of actions: exactly one of these."""

    mcp: McpSource | None = None
    openapi: OpenApiSource | None = None
    types: str | None = None
    agents: str | None = None
    domain: str | None = None
    abcd: AbcdSource | None = None

    def __post_init__(self) -> None:
        fields = self.__struct_fields__
        if sum(getattr(self, field) is not None for field in fields) != 1:
            raise ValueError(f"a source needs exactly one of {', '.join(fields)}")

    def read(self, folder: Path) -> dict[str, ActionType]:
        """The actions of this source.

        Raises:
            SettingsError: If the source cannot be read.
        """
        if self.mcp:
            return mcp_types(self.mcp, folder)
        if self.openapi:
            return openapi_types(self.openapi, folder)
        if self.abcd:
            return abcd_types(self.abcd, folder)
        if self.domain:
            return domain_types(domain_from(self.domain, folder))
        if self.agents:
            return _agents(folder / self.agents)
        return read_as(folder / (self.types or ""), dict[str, ActionType])


class Settings(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The settings of a catalog."""

    catalog_metadata: Metadata
    sources: tuple[Source, ...]
    ontology: str | None = None
    samples: str | None = None
    overrides: str | None = None
    template: str | None = None


class CatalogBuild(msgspec.Struct, frozen=True, kw_only=True):
    """A catalog, its ontology, and the decisions about its parameters."""

    catalog: Catalog
    ontology: Ontology
    rows: tuple[Row, ...]


def build_catalog(path: Path) -> CatalogBuild:
    """Build the catalog of a settings file.

    Raises:
        SettingsError: If a setting, a source or another file is wrong; names the file, the entry
            and the field.
    """
    settings, folder = read_as(path, Settings), path.parent
    sources = [
        (f"{path}: sources[{index}]", source.read(folder))
        for index, source in enumerate(settings.sources)
    ]
    types = join_types(sources)
    if not types:
        raise SettingsError(f"{path}: sources: at least one action is required")
    overrides = _read_overrides(settings, folder)
    types, rows = estimate(types, _samples(settings, folder), overrides)
    ontology = _ontology(settings, folder)
    ontology.check(types, settings.ontology or str(path))
    template = None
    if settings.template:
        template = read_text(folder / settings.template)
    catalog = render(
        settings.catalog_metadata,
        types,
        template=template,
        name=settings.template or "the bundled template",
    )
    return CatalogBuild(catalog=catalog, ontology=ontology, rows=tuple(rows))


def _ontology(settings: Settings, folder: Path) -> Ontology:
    if settings.ontology:
        return read_as(folder / settings.ontology, Ontology)
    for source in settings.sources:
        if source.abcd:
            return abcd_ontology(source.abcd, folder)
    return Ontology()


def _samples(settings: Settings, folder: Path) -> Iterator[Sample]:
    """The samples of all sources and of the file of JSON lines."""
    for source in settings.sources:
        if source.abcd:
            yield from abcd_samples(source.abcd, folder)
    if settings.samples is None:
        return
    path = folder / settings.samples
    for number, line in enumerate(read_text(path, MOST_BYTES).splitlines(), 1):
        if line.strip():
            name = f"{path}, line {number}"
            yield convert(parse(line, name), Sample, name)


def _read_overrides(settings: Settings, folder: Path) -> dict[str, Override]:
    if settings.overrides is None:
        return {}
    return read_as(folder / settings.overrides, dict[str, Override])


def _agents(path: Path) -> dict[str, ActionType]:
    """Custom agents, a list in YAML or JSON."""
    types: dict[str, ActionType] = {}
    for agent in read_as(path, tuple[CustomAgent, ...]):
        if agent.name in types:
            raise SettingsError(f"{path}: two agents are called {agent.name!r}")
        types[agent.name] = ActionType(
            kind="agent",
            description=agent.description,
            steps=agent.steps,
            parameters=agent.parameters,
            at_least=agent.at_least,
        )
    return types
