"""Parts that tables and reports share: numbers as text, and as entries of a page."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar

import msgspec

from timeful.errors import RecordError
from timeful.runs.batch import Row
from timeful.runs.page import Bullets, Entry, Notice, Section, Table
from timeful.suites.engagement.comparison import Band, Claim
from timeful.suites.engagement.numbers import Number

R = TypeVar("R", bound=Row)
W = TypeVar("W")

_SHOWN_FAILURES = 50
_FEW = 0.05  # of the answers


# --- as text --------------------------------------------------------------------------------------


def with_half(mean: float, half_width: float, decimals: int) -> str:
    """A mean and half of its interval, such as "0.787±.010"."""
    width = f"{half_width:.{decimals}f}"
    return f"{mean:.{decimals}f}±{width.removeprefix('0') or '0'}"


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


def unusable(count: int, answers: int) -> str:
    """How many answers of a model could not be used, and of how many."""
    share = 100 * count / max(answers, 1)
    return f"answers that could not be used: {share:.0f} % ({count} of {answers})"


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


def unusable_notice(count: int, answers: int, what_then: str) -> list[Notice]:
    """That answers of a model could not be used, if they were more than a few.

    Args:
        count: How many could not be used.
        answers: Of how many.
        what_then: What became of them, as a sentence.
    """
    if count <= _FEW * answers:
        return []
    said = unusable(count, answers)
    return [Notice(f"{said[0].upper()}{said[1:]}. {what_then} All numbers include them.")]


def order_table(claims: Sequence[Claim]) -> list[Table]:
    """Which orders on means hold; no table if there is none."""
    rows = tuple(
        (claim.text, Entry("holds") if claim.holds else Entry("does not hold", tone="alarm"))
        for claim in claims
    )
    return [Table(head=("order of means", ""), rows=rows, words=2)] if rows else []


def failures(rows: Sequence[R], name: Callable[[R], str]) -> list[Section]:
    """The episodes that failed, each with its name and its error; no section if none did."""
    failed = [row for row in rows if row.status == "failed"]
    items = tuple(f"{name(row)}: {row.error}" for row in failed[:_SHOWN_FAILURES])
    return [Section(f"Failed episodes ({len(failed)})", (Bullets(items),))] if failed else []


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
