"""From types to a catalog, by a Jinja2 template; what it gives is read back and checked."""

from importlib.resources import files
from typing import Any

import msgspec

from timeful.catalogs.catalog import Catalog, Metadata, catalog_of
from timeful.catalogs.ontology import ActionType, Types
from timeful.catalogs.reading import extra, parse
from timeful.catalogs.schema import schema_of
from timeful.errors import SettingsError


def render(
    metadata: Metadata, types: Types, *, template: str | None = None, name: str = "the template"
) -> Catalog:
    """Render a catalog.

    Args:
        metadata: What it is called.
        types: Its actions, with what is required decided.
        template: A Jinja2 template of one's own, as text; it is given `metadata` and `types`, and
            the filters `json` and `schema`. It is run in a sandbox. The default is ours.
        name: What the template is called in errors.

    Raises:
        SettingsError: If the template is none, or gives no catalog, or Jinja2 is missing.
    """
    jinja2, sandbox = extra("jinja2"), extra("jinja2.sandbox")
    if template is None:
        template = (files("timeful.catalogs") / "templates" / "catalog.json.j2").read_text()
    # Autoescape is for HTML; here each value passes `json`.
    environment = sandbox.ImmutableSandboxedEnvironment(
        undefined=jinja2.StrictUndefined, autoescape=False
    )
    environment.filters |= {"json": _json, "schema": _schema}
    try:
        text = environment.from_string(template).render(
            metadata=metadata, types=list(types.items())
        )
    except (jinja2.TemplateError, TypeError, ValueError, ArithmeticError) as error:
        number = getattr(error, "lineno", None)
        raise SettingsError(f"{name}{f', line {number}' if number else ''}: {error}") from None
    catalog = catalog_of(parse(text, f"what {name} gives"), f"what {name} gives")
    if missing := [one for one in types if one not in catalog.actions]:
        raise SettingsError(f"{name} leaves out {', '.join(missing)}")
    return catalog


def _json(value: Any) -> str:
    return msgspec.json.encode(value).decode()


def _schema(one: ActionType) -> dict[str, Any]:
    return schema_of(one.parameters, one.at_least)
