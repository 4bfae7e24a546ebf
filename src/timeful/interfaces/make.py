"""Interfaces by name, with the span that some of them have: "polling:30s"."""

import re
from functools import partial
from typing import Any

from timeful.agents.connection import Interface
from timeful.core.units import NO_TIME, Duration, milliseconds, seconds
from timeful.errors import SettingsError, check_known
from timeful.interfaces.compatibility import INTERFACES
from timeful.interfaces.event_driven import EventDriven
from timeful.interfaces.fixed_rate import FixedRate
from timeful.interfaces.frozen import Frozen
from timeful.interfaces.loop import Loop
from timeful.interfaces.polling import Polling
from timeful.interfaces.reflex import Reflex, Rule
from timeful.models.pace import TOKEN
from timeful.registry import is_file_name, load, names

_UNITS = {"ms": milliseconds(1), "s": seconds(1), "min": seconds(60), "tokens": TOKEN}
_SPAN = re.compile(r"([0-9]+(?:\.[0-9]+)?)(ms|s|min|tokens)")


def make_interface(
    name: str,
    *,
    span: Duration | None = None,
    cost: Duration = NO_TIME,
    rule: Rule | None = None,
    full: bool = True,
) -> Interface:
    """Make an interface from its name.

    Args:
        name: One of `INTERFACES`, with its span if it has one, as in "polling:30s"; or the name of
            a plug-in or `FILE.py:NAME`, called with kernel, environment, recorder and `full`.
        span: The interval of polling, the delay of a reflex, the period of a fixed rate in a
            world of events, or the patience of a frozen world.
        cost: The time that a look of polling takes.
        rule: The reaction of a reflex.
        full: Whether the record holds the states that the agent saw.

    Raises:
        SettingsError: If the name is unknown, or a span or a rule is missing or of no use.
    """
    if is_file_name(name) or (name not in INTERFACES and name in names("interface")):
        factory: Any = load("interface", name)
        return partial(factory, full=full)
    name, colon, text = name.partition(":")
    check_known("interface", name, INTERFACES)
    if colon:
        span = _read_span(name, text)
    match name:
        case "polling":
            if span is None:
                raise SettingsError("polling needs an interval, as in polling:30s")
            return partial(Polling, interval=span, cost=cost, full=full)
        case "reflex":
            if rule is None:
                raise SettingsError("a reflex needs a rule: an action for a view, or None")
            return partial(Reflex, rule=rule, delay=span or NO_TIME, full=full)
        case "fixed-rate":
            return partial(FixedRate, period=span, full=full)
        case "frozen":
            return partial(Frozen, patience=seconds(600) if span is None else span, full=full)
    if span is not None:
        raise SettingsError(f"the interface {name} has no span")
    return partial(Loop if name == "loop" else EventDriven, full=full)


def _read_span(name: str, text: str) -> Duration:
    match = _SPAN.fullmatch(text)
    if match is None:
        raise SettingsError(
            f"the span of an interface is a number with the unit {', '.join(_UNITS)}; "
            f"got {name}:{text}"
        )
    return Duration(round(float(match[1]) * _UNITS[match[2]]))
