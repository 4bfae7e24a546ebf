"""Parts that the tables and reports of several suites share."""

from collections.abc import Callable, Sequence
from typing import TypeVar

from timeful.reports.page import Bullets, Notice, Section
from timeful.runs.batch import Row

R = TypeVar("R", bound=Row)

_SHOWN_FAILURES = 50
_FEW = 0.05  # of the answers


def with_half(mean: float, half_width: float, decimals: int) -> str:
    """A mean and half of its interval, such as "0.787±.010"."""
    width = f"{half_width:.{decimals}f}"
    return f"{mean:.{decimals}f}±{width.removeprefix('0') or '0'}"


def unusable(count: int, answers: int) -> str:
    """How many answers of a model could not be used, and of how many."""
    share = 100 * count / max(answers, 1)
    return f"answers that could not be used: {share:.0f} % ({count} of {answers})"


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


def failures(rows: Sequence[R], name: Callable[[R], str]) -> list[Section]:
    """The episodes that failed, each with its name and its error; no section if none did."""
    failed = [row for row in rows if row.status == "failed"]
    items = tuple(f"{name(row)}: {row.error}" for row in failed[:_SHOWN_FAILURES])
    return [Section(f"Failed episodes ({len(failed)})", (Bullets(items),))] if failed else []
