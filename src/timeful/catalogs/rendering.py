"""Renders types to a catalog with a Jinja2 template; the output is parsed and checked."""

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
        metadata: The name of the catalog.
        types: Its actions.
        template: A Jinja2 template as text, with the variables `metadata` and `types` and the
            filters `json` and `schema`. It runs in a sandbox. None is the bundled template.
        name: The name of the template in errors.

    Raises:
        SettingsError: If the template is invalid, its output is not a catalog, or Jinja2 is
            missing.
    """
    jinja2, sandbox = extra("jinja2"), extra("jinja2.sandbox")
    if template is None:
        template = (files("timeful.catalogs") / "templates" / "catalog.json.j2").read_text()
    # Autoescape is for HTML; here the filter `json` escapes each value.
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
    catalog = catalog_of(parse(text, f"the output of {name}"), f"the output of {name}")
    if missing := [action for action in types if action not in catalog.actions]:
        raise SettingsError(f"{name} leaves out {', '.join(missing)}")
    return catalog


def _json(value: Any) -> str:
    return msgspec.json.encode(value).decode()


def _schema(action_type: ActionType) -> dict[str, Any]:
    return schema_of(action_type.parameters, action_type.at_least)
