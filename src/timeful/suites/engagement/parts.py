"""Parts that the tables and reports of this suite share: numbers as text, and on a page."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar

import msgspec

from timeful.errors import RecordError
from timeful.reports.page import Entry
from timeful.reports.page import Grid as Table
from timeful.suites.engagement.comparison import Band, Claim
from timeful.suites.engagement.numbers import Number

W = TypeVar("W")


# --- as text --------------------------------------------------------------------------------------


def short(number: float, decimals: int) -> str:
    """A number without a leading zero."""
    text = f"{number:.{decimals}f}"
    return text.removeprefix("0") if float(text) else "0"


def brief(number: float) -> str:
    """About two digits of a positive number."""
    decimals = 0 if number >= 9.95 else 1 if number >= 0.995 else 2
    return short(number, decimals)


BAND_WORDS = "Band: where a number counts as reproduced, set beforehand; in or OUT of it."


def verdict(band: Band | None, mean: float) -> str:
    """Whether a number is in its band; nothing if it has none."""
    return "" if band is None else "in" if band.holds(mean) else "OUT"


def order_lines(claims: Sequence[Claim]) -> list[str]:
    """How many orders on means hold, and which do not; nothing if there is none."""
    if not claims:
        return []
    lines = [f"Orders on means: {sum(claim.holds for claim in claims)} of {len(claims)} hold."]
    for claim in claims:
        if not claim.holds:
            lines += ["does not hold:", f"  {claim.text}"]
    return lines


# --- on a page ------------------------------------------------------------------------------------


def entry(number: Number | None, band: Band | None) -> Entry:
    """A number with its interval, and below it its spread and its band; None if all failed."""
    if number is None:
        return Entry("failed", tone="alarm")
    if not number.is_known:
        return Entry("")
    digits = number.metric.decimals
    text = f"{number.mean:.{digits}f} ±{number.half_width:.{digits}f}"
    small = [] if number.spread is None else [f"[{brief(number.spread)}]"]
    if band is None:
        return Entry(text, " ".join(small), "strong")
    is_in = band.holds(number.mean)
    small.append(f"{'in' if is_in else 'outside'} {band.words}")
    return Entry(text, " ".join(small), "strong" if is_in else "alarm")


def order_table(claims: Sequence[Claim]) -> list[Table]:
    """Which orders on means hold; no table if there is none."""
    rows = tuple(
        (claim.text, Entry("holds") if claim.holds else Entry("does not hold", tone="alarm"))
        for claim in claims
    )
    return [Table(head=("order of means", ""), rows=rows, words=2)] if rows else []


def world_table(
    settings: Mapping[str, Any], usual: W, shown: Callable[[W], list[tuple[str, str]]]
) -> Table:
    """The world of a run, and what is usual where it is not.

    Args:
        settings: What the run's folder keeps; the world stands under "world".
        usual: The world of the paper.
        shown: All settings of a world by name, in words.

    Raises:
        RecordError: If they are the settings of another world.
    """
    try:
        world = msgspec.convert(settings["world"], type(usual))
    except (KeyError, msgspec.ValidationError) as error:
        raise RecordError(f"the run's settings hold no {type(usual).__name__}: {error}") from error
    usually = dict(shown(usual))
    rows = tuple(
        (name, Entry(text, "" if text == usually[name] else f"usual: {usually[name]}"))
        for name, text in shown(world)
    )
    return Table(head=("setting", "value"), rows=rows, words=2)
