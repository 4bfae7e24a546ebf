"""The tokens and requests of a run in its report: by model and role, with what they cost."""

from collections.abc import Iterator, Mapping, Sequence

from timeful.models.ledger import Accounts, Expense
from timeful.records.usage_total import UsageTotal
from timeful.reports.page import Block, Grid, Paragraph, Section
from timeful.reports.results import ResultRow

EXPERIMENT, SPENDING = "usage", "spending"
"""The experiments of the result rows with the tokens in records, and with all requests."""

_HEAD = ("model", "role", "thoughts", "prompt", "cached", "generated", "reasoning", "counted")
_TOKENS_HEAD = ("model", "role", "prompt", "cached", "reasoning", "answer")
_REQUESTS_HEAD = ("model", "role", "requests", "retries", "failed", "cut", "time, s", "USD")


def usage_sections(
    totals: Sequence[UsageTotal], accounts: Accounts | None = None
) -> Iterator[Section]:
    """The tables of tokens and requests; nothing if no endpoint answered.

    Args:
        totals: The tokens of the thoughts in records.
        accounts: What all requests cost; the records of a replay have tokens without requests.
    """
    has_requests = accounts is not None and bool(accounts.expenses)
    if accounts is not None and has_requests:
        yield Section("Requests and cost", tuple(_spending_blocks(accounts)), is_printed=True)
    if not totals:
        return
    blocks: list[Block] = [
        Grid(head=_HEAD, rows=tuple(map(_row, totals)), caption="Tokens", words=2)
    ]
    estimated = sum(total.counted.get("estimated", 0) for total in totals)
    if estimated:
        thoughts = sum(total.thoughts for total in totals)
        text = (
            f"The tokens of {estimated} of {thoughts} thoughts are estimates: the server reported "
            "no total in time."
        )
        blocks.append(Paragraph(text))
    yield Section("Tokens of finished episodes", tuple(blocks), is_printed=not has_requests)


def _spending_blocks(accounts: Accounts) -> Iterator[Block]:
    lines = list(accounts.expenses)
    if len(lines) > 1:
        lines.append(accounts.total)
    tokens = tuple(_tokens_row(line) for line in lines)
    requests = tuple(map(_requests_row, lines))
    yield Grid(head=_REQUESTS_HEAD, rows=requests, caption="Requests and cost", words=2)
    yield Grid(head=_TOKENS_HEAD, rows=tokens, caption="Tokens of all requests", words=2)
    text = "Requests of unfinished episodes, of probes, and those that failed or were cut count."
    if estimated := accounts.total.estimated:
        text += f" The tokens of {estimated:,} of {accounts.total.requests:,} are estimates."
    yield Paragraph(text)
    prices = [f"{model}: {price}, {price.source}" for model, price in accounts.prices.items()]
    if prices:
        yield Paragraph(f"Prices in USD per million tokens: {'; '.join(prices)}.")
    unpriced = sorted({line.model for line in accounts.expenses if line.unpriced})
    if unpriced:
        yield Paragraph(f"Requests without a known price: {', '.join(unpriced)}.")


def _requests_row(line: Expense) -> tuple[str, ...]:
    numbers = (line.requests, line.retries, line.failed, line.cut)
    return (
        line.model or "all",
        line.role,
        *(f"{number:,}" for number in numbers),
        f"{line.wall_s:,.0f}" if line.wall_s >= 10 else f"{line.wall_s:.1f}",
        format_cost(line),
    )


def _tokens_row(line: Expense) -> tuple[str, ...]:
    numbers = (line.prompt, line.cached, line.reasoning, line.completion - (line.reasoning or 0))
    shown = ("" if number is None else f"{number:,}" for number in numbers)
    return (line.model or "all", line.role, *shown)


def format_cost(line: Expense) -> str:
    """The USD of expenses; "" if no price is known, and more than a number if not all are."""
    if line.unpriced == line.requests:
        return ""
    cost = f"{line.cost:,.2f}" if line.cost >= 1 else f"{line.cost:.3g}"
    return f"> {cost}" if line.unpriced else cost


def usage_rows(totals: Sequence[UsageTotal], suite: str) -> Iterator[ResultRow]:
    """The tokens in records as result rows: the setting is the role, the method the model."""
    for total in totals:
        numbers: dict[str, float | None] = {
            "prompt tokens": total.prompt,
            "cached tokens": total.cached,
            "generated tokens": total.completion,
            "reasoning tokens": total.reasoning,
            **{f"{way} thoughts": count for way, count in total.counted.items()},
        }
        yield from _result_rows(
            numbers, (suite, EXPERIMENT), model=total.model, role=total.role, n=total.thoughts
        )


def spending_rows(accounts: Accounts, suite: str) -> Iterator[ResultRow]:
    """The requests and their cost as result rows; the cost only where all prices are known."""
    for line in accounts.expenses:
        numbers: dict[str, float | None] = {
            "requests": line.requests,
            "retries": line.retries,
            "failed requests": line.failed,
            "cut requests": line.cut,
            "estimated requests": line.estimated,
            "prompt tokens": line.prompt,
            "cached tokens": line.cached,
            "generated tokens": line.completion,
            "reasoning tokens": line.reasoning,
            "request s": round(line.wall_s, 3),
            "cost USD": None if line.unpriced else line.cost,
        }
        yield from _result_rows(
            numbers, (suite, SPENDING), model=line.model, role=line.role, n=line.requests
        )


def _result_rows(
    numbers: Mapping[str, float | None],
    place: tuple[str, str],
    *,
    model: str,
    role: str,
    n: int,
) -> Iterator[ResultRow]:
    for metric, value in numbers.items():
        if value is not None:
            yield ResultRow(
                suite=place[0],
                experiment=place[1],
                setting=role,
                method=model,
                metric=metric,
                value=float(value),
                low=None,
                high=None,
                n=n,
                published=None,
                source=None,
                stand_in=False,
                where={"model": model, "role": role},
            )


def describe_usage(totals: Sequence[UsageTotal]) -> dict[str, str]:
    """The tokens in words, by model and role."""
    return {
        f"{total.model}, {total.role}": (
            f"{total.prompt or 0:,} tokens of prompts, {total.completion:,} generated "
            f"({', '.join(total.counted)})"
        )
        for total in totals
    }


def _row(total: UsageTotal) -> tuple[str, ...]:
    numbers = (total.thoughts, total.prompt, total.cached, total.completion, total.reasoning)
    ways = list(total.counted)
    counted = ways[0] if len(ways) == 1 else ", ".join(f"{total.counted[w]} {w}" for w in ways)
    return (
        total.model,
        total.role,
        *("" if number is None else f"{number:,}" for number in numbers),
        counted,
    )
