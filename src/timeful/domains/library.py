"""The domains that there are: two of our own, and the user's folders."""

from collections.abc import Iterator
from contextlib import contextmanager
from importlib.resources import as_file, files
from pathlib import Path
from typing import TypeVar

from timeful.catalogs.knowledge import Guideline, Knowledge
from timeful.catalogs.ontology import ActionType, Ontology
from timeful.catalogs.reading import nearest, read_as
from timeful.catalogs.rendering import render
from timeful.domains.domain import Domain, DomainFile, check_domain
from timeful.domains.nlg import Speech
from timeful.errors import SettingsError

T = TypeVar("T")

_SUFFIXES = (".yaml", ".yml", ".json")


def domain_names() -> tuple[str, ...]:
    """The domains of our own."""
    folder = files("timeful.domains") / "bundled"
    return tuple(sorted(one.name for one in folder.iterdir() if one.is_dir()))


def domain_from(name: str, folder: Path) -> str | Path:
    """A domain as a file of settings names it: ours, or a folder, from that of the file on."""
    return name if name in domain_names() else folder / name


def load_domain(name: str | Path) -> Domain:
    """Load a domain.

    Args:
        name: One of `domain_names()`, or the path of a folder.

    Raises:
        SettingsError: If there is none, or a file is missing or wrong, with the entry and the
            field; or if the extra `proactor` is not installed.
    """
    with _folder(name) as folder:
        return _read(folder)


def domain_types(name: str | Path) -> dict[str, ActionType]:
    """The actions of a domain, as a type specification.

    Raises:
        SettingsError: If there is none, or its file is wrong.
    """
    with _folder(name) as folder:
        return _part(folder, "types", dict[str, ActionType])


@contextmanager
def _folder(name: str | Path) -> Iterator[Path]:
    """Where the files of a domain lie."""
    if str(name) in domain_names():
        with as_file(files("timeful.domains") / "bundled" / str(name)) as folder:
            yield folder
        return
    if not Path(name).is_dir():
        raise SettingsError(
            f"unknown domain {str(name)!r}, and no folder of this name; "
            f"{nearest(str(name), domain_names())}"
        )
    yield Path(name)


def _read(folder: Path) -> Domain:
    settings = _part(folder, "domain", DomainFile)
    types = _part(folder, "types", dict[str, ActionType])
    knowledge = Knowledge(
        catalog=render(settings.catalog_metadata, types),
        ontology=_part(folder, "ontology", Ontology),
        guidelines=_part(folder, "guidelines", dict[str, Guideline]),
    )
    domain = Domain(settings=settings, knowledge=knowledge, speech=_part(folder, "speech", Speech))
    check_domain(domain, folder.name, types=types)
    return domain


def _part(folder: Path, name: str, kind: type[T]) -> T:
    for suffix in _SUFFIXES:
        path = folder / f"{name}{suffix}"
        if path.exists():
            return read_as(path, kind)
    raise SettingsError(f"the domain {folder.name} has no file {name}.yaml")
