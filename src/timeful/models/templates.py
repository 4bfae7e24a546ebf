"""Prompts as settings: texts with `{names}` that are filled in.

Only the names that there are stand for something; other braces are left as they are, so that a
prompt may show JSON. `{{` and `}}` are one brace each, as the prompts of ProActor have it.
"""

from collections.abc import Collection, Mapping
from re import compile as pattern

from timeful.errors import check_known

_MARK = pattern(r"\{\{|\}\}|\{([a-z_]+)\}")
_BRACES = {"{{": "{", "}}": "}"}


def fill(template: str, values: Mapping[str, str]) -> str:
    """Fill in a template; what is filled in is not looked at again, whatever it holds."""
    return _MARK.sub(
        lambda match: _BRACES.get(match[0]) or values.get(match[1], match[0]), template
    )


def names_in(template: str) -> frozenset[str]:
    """The names that a template wants filled in."""
    return frozenset(match[1] for match in _MARK.finditer(template) if match[1])


def check_template(kind: str, template: str, names: Collection[str]) -> None:
    """Refuse a template that wants what there is not.

    Raises:
        SettingsError: With the name, and the nearest one that there is.
    """
    for name in sorted(names_in(template)):
        check_known(f"name in {kind}", name, names)
