"""Which parameters an action requires, estimated from samples of it (D.1).

A parameter that every sample of an action has is required, any other is optional; what an action
has no samples of stays as it was declared; an override wins over both. In one noisy sample too
few a parameter is optional, hence the table: it shows the counts behind every decision.

Samples must name their values. Where a recording has bare values, name them first, as `slots.py`
does for ABCD; on unnamed alternatives the estimate would be that nearly nothing is required. A
call that takes any one of several inputs is told by `at_least`: the fewest that samples have, named
or not, one in twenty left aside **(chosen)**. So an account that is found by a name or by a number
is found by neither only if that is no slip.
"""

from collections.abc import Iterable, Mapping
from typing import Annotated, Literal

import msgspec

from timeful.catalogs.ontology import ActionType, Types
from timeful.catalogs.reading import nearest
from timeful.errors import SettingsError

_SLIPS = 20
"""One sample in so many may have fewer inputs than a call needs."""

Property = Literal["required", "optional"]


class Sample(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """An action that was run, with the names of the parameters that it had.

    `unnamed` is how many more it had, such as a misspelt value that fits no parameter.
    """

    action: str
    parameters: frozenset[str]
    unnamed: Annotated[int, msgspec.Meta(ge=0)] = 0


class Override(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What a person knows better of an action."""

    properties: dict[str, Property] = {}
    at_least: int | None = None


class Row(msgspec.Struct, frozen=True, kw_only=True):
    """A parameter in the table: in how many samples of its action it was, and what follows."""

    action: str
    parameter: str
    seen: int
    samples: int
    declared: Property
    decided: Property
    by: Literal["declared", "samples", "override"]


def estimate(
    types: Types, samples: Iterable[Sample], overrides: Mapping[str, Override] | None = None
) -> tuple[dict[str, ActionType], list[Row]]:
    """Decide which parameters are required.

    Args:
        types: The actions, with what is declared of their parameters.
        samples: Actions that were run.
        overrides: What wins, by action.

    Returns:
        The actions with what was decided, and the table behind it.

    Raises:
        SettingsError: If a sample or an override names an action or parameter that there is not.
    """
    overrides = overrides or {}
    lengths, seen = _count(types, samples)
    for name, override in overrides.items():
        _check(types, name, override.properties, "an override")
        most = len(types[name].parameters)
        if not 0 <= (override.at_least or 0) <= most:
            raise SettingsError(
                f"an override of {name!r}: at_least must be 0 to {most}, got {override.at_least}"
            )
    found, rows = {}, []
    for name, one in types.items():
        override = overrides.get(name, Override())
        parameters = []
        for parameter in one.parameters:
            row = Row(
                action=name,
                parameter=parameter.name,
                seen=seen.get((name, parameter.name), 0),
                samples=len(lengths.get(name, ())),
                declared="required" if parameter.required else "optional",
                decided="required" if parameter.required else "optional",
                by="declared",
            )
            row = _decide(row, override.properties.get(parameter.name))
            rows.append(row)
            required = row.decided == "required"
            parameters.append(msgspec.structs.replace(parameter, required=required))
        at_least = _fewest(lengths[name], one) if name in lengths else one.at_least
        if override.at_least is not None:
            at_least = override.at_least
        found[name] = msgspec.structs.replace(one, parameters=tuple(parameters), at_least=at_least)
    return found, rows


def table(rows: Iterable[Row]) -> str:
    """The table of parameters as text, one line each."""
    lines = [("action", "parameter", "seen", "declared", "decided", "by")]
    for row in rows:
        share = f"{row.seen}/{row.samples}"
        lines.append((row.action, row.parameter, share, row.declared, row.decided, row.by))
    widths = [max(len(line[column]) for line in lines) for column in range(len(lines[0]))]
    return "\n".join(
        "  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip()
        for line in lines
    )


def _count(
    types: Types, samples: Iterable[Sample]
) -> tuple[dict[str, list[int]], dict[tuple[str, str], int]]:
    """How many inputs each sample has, by action, and samples by action and parameter."""
    lengths: dict[str, list[int]] = {}
    seen: dict[tuple[str, str], int] = {}
    for sample in samples:
        name = sample.action
        _check(types, name, sample.parameters, "a sample")
        lengths.setdefault(name, []).append(len(sample.parameters) + sample.unnamed)
        for parameter in sample.parameters:
            seen[name, parameter] = seen.get((name, parameter), 0) + 1
    return lengths, seen


def _fewest(lengths: list[int], one: ActionType) -> int:
    """The fewest inputs of a sample that is no slip; no more than there are parameters."""
    return min(sorted(lengths)[len(lengths) // _SLIPS], len(one.parameters))


def _decide(row: Row, override: Property | None) -> Row:
    if override is not None:
        return msgspec.structs.replace(row, decided=override, by="override")
    if row.samples:
        always: Property = "required" if row.seen == row.samples else "optional"
        return msgspec.structs.replace(row, decided=always, by="samples")
    return row


def _check(types: Types, action: str, parameters: Iterable[str], who: str) -> None:
    if action not in types:
        raise SettingsError(f"{who} names the unknown action {action!r}; {nearest(action, types)}")
    known = {one.name for one in types[action].parameters}
    for one in parameters:
        if one not in known:
            raise SettingsError(
                f"{who} of {action!r} names the unknown parameter {one!r}; {nearest(one, known)}"
            )
