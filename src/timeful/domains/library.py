"""Loads domains: the bundled ones and the user's folders."""

from collections.abc import Iterator
from contextlib import contextmanager
from importlib.resources import as_file, files
from pathlib import Path
from typing import TypeVar

from timeful.catalogs.knowledge import Guideline, Knowledge
from timeful.catalogs.ontology import ActionType, Ontology
from timeful.catalogs.reading import read_as
from timeful.catalogs.rendering import render
from timeful.domains.domain import Domain, DomainFile, check_domain
from timeful.domains.nlg import Speech
from timeful.errors import SettingsError, nearest

T = TypeVar("T")

_SUFFIXES = (".yaml", ".yml", ".json")


def domain_names() -> tuple[str, ...]:
    """The names of the bundled domains."""
    folder = files("timeful.domains") / "bundled"
    return tuple(sorted(path.name for path in folder.iterdir() if path.is_dir()))


def domain_from(name: str, folder: Path) -> str | Path:
    """Resolve a domain in a settings file: a bundled name, or a path relative to `folder`."""
    return name if name in domain_names() else folder / name


def load_domain(name: str | Path) -> Domain:
    """Load a domain.

    Args:
        name: One of `domain_names()`, or the path of a folder.

    Raises:
        SettingsError: If the domain is unknown, a file is missing or wrong (named with entry and
            field), or the extra `proactor` is not installed.
    """
    with _folder(name) as folder:
        return _read(folder)


def domain_types(name: str | Path) -> dict[str, ActionType]:
    """The actions of a domain, as a type specification.

    Raises:
        SettingsError: If the domain is unknown or its file is wrong.
    """
    with _folder(name) as folder:
        return _read_file(folder, "types", dict[str, ActionType])


@contextmanager
def _folder(name: str | Path) -> Iterator[Path]:
    if str(name) in domain_names():
        with as_file(files("timeful.domains") / "bundled" / str(name)) as folder:
            yield folder
        return
    if not Path(name).is_dir():
        raise SettingsError(
            f"unknown domain {str(name)!r}, and not a folder; {nearest(str(name), domain_names())}"
        )
    yield Path(name)


def _read(folder: Path) -> Domain:
    settings = _read_file(folder, "domain", DomainFile)
    types = _read_file(folder, "types", dict[str, ActionType])
    knowledge = Knowledge(
        catalog=render(settings.catalog_metadata, types),
        ontology=_read_file(folder, "ontology", Ontology),
        guidelines=_read_file(folder, "guidelines", dict[str, Guideline]),
    )
    domain = Domain(
        settings=settings, knowledge=knowledge, speech=_read_file(folder, "speech", Speech)
    )
    check_domain(domain, folder.name, types=types)
    return domain


def _read_file(folder: Path, name: str, kind: type[T]) -> T:
    for suffix in _SUFFIXES:
        path = folder / f"{name}{suffix}"
        if path.exists():
            return read_as(path, kind)
    raise SettingsError(f"the domain {folder.name} has no file {name}.yaml")
