"""A catalog from a YAML file of settings: sources, ontology, samples, overrides, template.

    catalog_metadata: {name: shop, version: 1.0.0, domain: retail}
    sources:
      - mcp: {name: desk, command: [python, server.py]}     # or url: http://...
      - openapi: {file: orders.yaml, include: [getOrder], prefix: orders-}
      - types: types.yaml                                   # a type specification
      - agents: agents.yaml                                 # agents of one's own, with steps
      - domain: shop                                        # ours, or a folder
      - abcd: {folder: abcd, samples: abcd/abcd_v1.1.json.gz}
    ontology: ontology.yaml         # all else is optional
    samples: samples.jsonl          # {"action": ..., "parameters": [...]} a line
    overrides: overrides.yaml       # {action: {properties: {parameter: required}, at_least: 1}}
    template: catalog.json.j2

Paths start at the folder of the file.
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


class Source(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Where actions come from: exactly one of these."""

    mcp: McpSource | None = None
    openapi: OpenApiSource | None = None
    types: str | None = None
    agents: str | None = None
    domain: str | None = None
    abcd: AbcdSource | None = None

    def __post_init__(self) -> None:
        fields = self.__struct_fields__
        if sum(getattr(self, one) is not None for one in fields) != 1:
            raise ValueError(f"a source is exactly one of {', '.join(fields)}")

    def read(self, folder: Path) -> dict[str, ActionType]:
        """The actions of this source.

        Raises:
            SettingsError: If it cannot be read.
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
    """What a catalog is made of."""

    catalog_metadata: Metadata
    sources: tuple[Source, ...]
    ontology: str | None = None
    samples: str | None = None
    overrides: str | None = None
    template: str | None = None


class CatalogBuild(msgspec.Struct, frozen=True, kw_only=True):
    """A catalog, and what was decided on its parameters."""

    catalog: Catalog
    ontology: Ontology
    rows: tuple[Row, ...]


def build_catalog(path: Path) -> CatalogBuild:
    """Make the catalog that a file of settings says.

    Raises:
        SettingsError: If a setting, a source or another file is wrong; the message names the file,
            the entry and the field.
    """
    settings, folder = read_as(path, Settings), path.parent
    parts = [
        (f"{path}: sources[{index}]", source.read(folder))
        for index, source in enumerate(settings.sources)
    ]
    types = join_types(parts)
    if not types:
        raise SettingsError(f"{path}: sources: there is no action")
    overrides = _read_overrides(settings, folder)
    types, rows = estimate(types, _samples(settings, folder), overrides)
    ontology = _ontology(settings, folder)
    ontology.check(types, settings.ontology or str(path))
    template = None
    if settings.template:
        try:
            template = (folder / settings.template).read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError) as error:
            raise SettingsError(f"{settings.template} cannot be read: {error}") from None
    catalog = render(
        settings.catalog_metadata,
        types,
        template=template,
        name=settings.template or "our template",
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
    """The samples of all sources and of the file, which has one JSON object a line."""
    for source in settings.sources:
        if source.abcd:
            yield from abcd_samples(source.abcd, folder)
    if settings.samples is None:
        return
    path = folder / settings.samples
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise SettingsError(f"{path} cannot be read: {error}") from None
    for number, line in enumerate(lines, 1):
        if line.strip():
            name = f"{path}, line {number}"
            yield convert(parse(line, name), Sample, name)


def _read_overrides(settings: Settings, folder: Path) -> dict[str, Override]:
    if settings.overrides is None:
        return {}
    return read_as(folder / settings.overrides, dict[str, Override])


def _agents(path: Path) -> dict[str, ActionType]:
    """Agents of one's own, a list in YAML or JSON."""
    found: dict[str, ActionType] = {}
    for one in read_as(path, tuple[CustomAgent, ...]):
        if one.name in found:
            raise SettingsError(f"{path}: two agents are called {one.name!r}")
        found[one.name] = ActionType(
            kind="agent",
            description=one.description,
            steps=one.steps,
            parameters=one.parameters,
            at_least=one.at_least,
        )
    return found
