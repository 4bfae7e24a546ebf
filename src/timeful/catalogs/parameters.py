"""Estimates the required parameters of actions from samples (D.1).

A parameter in every sample of an action is required, any other is optional. Without samples the
declaration holds; an override takes precedence over both. One noisy sample makes a parameter
optional, so the table shows the counts behind every decision.

Samples must name their values. Name bare values first, as `slots.py` does for ABCD: with unnamed
alternatives nearly nothing would be required. `at_least` describes calls that take any of several
inputs: it is the smallest number of inputs of a sample, named or not, after one sample in twenty
is dropped as an error **(chosen)**.
"""

from collections.abc import Iterable, Mapping
from typing import Annotated, Literal

import msgspec

from timeful.catalogs.ontology import ActionType, Types
from timeful.errors import SettingsError, unknown

_SAMPLES_PER_ERROR = 20
"""One of this number of samples may have fewer inputs than a call needs."""

Property = Literal["required", "optional"]


class Sample(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A recorded action, with the names of its parameters.

    `unnamed` counts values without a name, such as a misspelt value that fits no parameter.
    """

    action: str
    parameters: frozenset[str]
    unnamed: Annotated[int, msgspec.Meta(ge=0)] = 0


class Override(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A manual decision about an action."""

    properties: dict[str, Property] = {}
    at_least: int | None = None


class Row(msgspec.Struct, frozen=True, kw_only=True):
    """A parameter in the table: its count in the samples of its action, and the decision."""

    action: str
    parameter: str
    count: int
    samples: int
    declared: Property
    decided: Property
    by: Literal["declared", "samples", "override"]


def estimate(
    types: Types, samples: Iterable[Sample], overrides: Mapping[str, Override] | None = None
) -> tuple[dict[str, ActionType], list[Row]]:
    """Decide which parameters are required.

    Args:
        types: The actions with the declarations of their parameters.
        samples: Recorded actions.
        overrides: Manual decisions, by action.

    Returns:
        The actions with the decisions, and the table.

    Raises:
        SettingsError: If a sample or an override names an unknown action or parameter.
    """
    overrides = overrides or {}
    lengths, counts = _count(types, samples)
    for name, override in overrides.items():
        _check(types, name, override.properties, "an override")
        most = len(types[name].parameters)
        if not 0 <= (override.at_least or 0) <= most:
            raise SettingsError(
                f"an override of {name!r}: at_least must be 0 to {most}, got {override.at_least}"
            )
    types_by_name, rows = {}, []
    for name, action_type in types.items():
        override = overrides.get(name, Override())
        parameters = []
        for parameter in action_type.parameters:
            row = Row(
                action=name,
                parameter=parameter.name,
                count=counts.get((name, parameter.name), 0),
                samples=len(lengths.get(name, ())),
                declared="required" if parameter.required else "optional",
                decided="required" if parameter.required else "optional",
                by="declared",
            )
            row = _decide(row, override.properties.get(parameter.name))
            rows.append(row)
            required = row.decided == "required"
            parameters.append(msgspec.structs.replace(parameter, required=required))
        at_least = _fewest(lengths[name], action_type) if name in lengths else action_type.at_least
        if override.at_least is not None:
            at_least = override.at_least
        types_by_name[name] = msgspec.structs.replace(
            action_type, parameters=tuple(parameters), at_least=at_least
        )
    return types_by_name, rows


def table(rows: Iterable[Row]) -> str:
    """The table of parameters as text, one line each."""
    lines = [("action", "parameter", "seen", "declared", "decided", "by")]
    for row in rows:
        share = f"{row.count}/{row.samples}"
        lines.append((row.action, row.parameter, share, row.declared, row.decided, row.by))
    widths = [max(len(line[column]) for line in lines) for column in range(len(lines[0]))]
    return "\n".join(
        "  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip()
        for line in lines
    )


def _count(
    types: Types, samples: Iterable[Sample]
) -> tuple[dict[str, list[int]], dict[tuple[str, str], int]]:
    """The numbers of inputs by action, and the numbers of samples by action and parameter."""
    lengths: dict[str, list[int]] = {}
    counts: dict[tuple[str, str], int] = {}
    for sample in samples:
        name = sample.action
        _check(types, name, sample.parameters, "a sample")
        lengths.setdefault(name, []).append(len(sample.parameters) + sample.unnamed)
        for parameter in sample.parameters:
            counts[name, parameter] = counts.get((name, parameter), 0) + 1
    return lengths, counts


def _fewest(lengths: list[int], action_type: ActionType) -> int:
    """The fewest inputs of a sample after errors are dropped, at most all parameters."""
    return min(sorted(lengths)[len(lengths) // _SAMPLES_PER_ERROR], len(action_type.parameters))


def _decide(row: Row, override: Property | None) -> Row:
    if override is not None:
        return msgspec.structs.replace(row, decided=override, by="override")
    if row.samples:
        always: Property = "required" if row.count == row.samples else "optional"
        return msgspec.structs.replace(row, decided=always, by="samples")
    return row


def _check(types: Types, action: str, parameters: Iterable[str], source: str) -> None:
    if action not in types:
        raise SettingsError(f"{source}: {unknown('action', action, types)}")
    names = {parameter.name for parameter in types[action].parameters}
    for name in parameters:
        if name not in names:
            raise SettingsError(f"{source} of {action!r}: {unknown('parameter', name, names)}")
