"""Claims: statements about cells that a report checks."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise

from timeful.reports.page import Entry, Grid
from timeful.reports.results import ResultRow, Scalar
from timeful.reports.table import Context, distinct


@dataclass(frozen=True, slots=True, kw_only=True)
class Claim:
    """A statement, the number of cases it was checked in, and in how many it holds.

    Attributes:
        text: The statement.
        held: In how many cases it holds.
        cases: The number of cases, such as seeds; 1 for a statement on means.
        is_promised: Whether it must hold in every case.
    """

    text: str
    held: int
    cases: int = 1
    is_promised: bool = True

    @property
    def holds(self) -> bool:
        """Whether it holds in every case."""
        return self.held == self.cases


@dataclass(frozen=True, slots=True, kw_only=True)
class Order:
    """The claim that means of metrics have an order, checked in each group of cells.

    Attributes:
        column: The column whose values are ordered.
        order: The values, the best first.
        metrics: The metrics, each by its own direction.
        within: The columns of which each combination of values is checked on its own.
    """

    column: str
    order: tuple[Scalar, ...]
    metrics: tuple[str, ...]
    within: tuple[str, ...] = ()


Check = Callable[[Sequence[ResultRow]], Sequence[Claim]]
"""A claim of another form: from cells to claims."""


def check_claims(
    claims: Sequence[Order | Check], cells: Sequence[ResultRow], context: Context
) -> list[Claim]:
    """Check claims; a claim about cells that were not run is left out."""
    results: list[Claim] = []
    for claim in claims:
        results += _check_order(claim, cells, context) if isinstance(claim, Order) else claim(cells)
    return results


def _check_order(order: Order, cells: Sequence[ResultRow], context: Context) -> list[Claim]:
    claims = []
    computed = [cell for cell in cells if cell.value is not None]
    for where in distinct(computed, order.within):
        for metric in order.metrics:
            values = [
                next(
                    (
                        cell.value
                        for cell in computed
                        if cell.metric == metric and cell.matches({**where, order.column: level})
                    ),
                    None,
                )
                for level in order.order
            ]
            if any(value is None for value in values):
                continue
            sign, mark = (-1, "<") if context.metrics[metric].better == "lower" else (1, ">")
            names = f" {mark} ".join(context.label(order.column, level) for level in order.order)
            is_ordered = all(
                sign * (a - b) > 0 for a, b in pairwise(v for v in values if v is not None)
            )
            prefix = f"{context.title(where)}: " if where else ""
            claims.append(Claim(text=f"{prefix}{metric} {names}", held=int(is_ordered)))
    return claims


def claims_grid(claims: Sequence[Claim]) -> Grid:
    """Which claims hold."""
    alarms = [claim.is_promised and not claim.holds for claim in claims]
    rows = tuple(
        (claim.text, Entry(show_verdict(claim), tone="alarm" if is_alarm else ""))
        for claim, is_alarm in zip(claims, alarms, strict=True)
    )
    return Grid(head=("claim", ""), rows=rows, words=2)


def show_verdict(claim: Claim) -> str:
    """Whether a claim holds; in how many cases, if it has several."""
    if claim.cases > 1:
        return f"holds in {claim.held} of {claim.cases}"
    return "holds" if claim.holds else "does not hold"
