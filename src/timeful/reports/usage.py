"""The tokens of a run in its report: by model and role, with how they were counted."""

from collections.abc import Iterator, Sequence

from timeful.records.usage_total import UsageTotal
from timeful.reports.page import Block, Grid, Paragraph, Section
from timeful.reports.results import ResultRow

EXPERIMENT = "usage"
"""The experiment of the result rows that hold the usage of a run."""

_HEAD = ("model", "role", "thoughts", "prompt", "cached", "generated", "reasoning", "counted")


def usage_sections(totals: Sequence[UsageTotal]) -> Iterator[Section]:
    """The table of tokens; nothing if no endpoint answered."""
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
    yield Section("Tokens", tuple(blocks), is_printed=True)


def usage_rows(totals: Sequence[UsageTotal], suite: str) -> Iterator[ResultRow]:
    """The tokens as result rows: the setting is the role, the method the model."""
    for total in totals:
        numbers: dict[str, int | None] = {
            "prompt tokens": total.prompt,
            "cached tokens": total.cached,
            "generated tokens": total.completion,
            "reasoning tokens": total.reasoning,
            **{f"{way} thoughts": count for way, count in total.counted.items()},
        }
        for metric, value in numbers.items():
            if value is not None:
                yield ResultRow(
                    suite=suite,
                    experiment=EXPERIMENT,
                    setting=total.role,
                    method=total.model,
                    metric=metric,
                    value=float(value),
                    low=None,
                    high=None,
                    n=total.thoughts,
                    published=None,
                    source=None,
                    stand_in=False,
                    where={"model": total.model, "role": total.role},
                )


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
