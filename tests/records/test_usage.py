"""Token usage is added up by model and role."""

from pathlib import Path

from msgspec.structs import replace

from timeful.models.ledger import Accounts, Expense
from timeful.records.events import ThoughtEnded, ThoughtStarted, Within
from timeful.records.recorder import Recorder
from timeful.records.usage import Usage, sum_usage
from timeful.records.usage_total import read_usage
from timeful.reports.text import render_text
from timeful.reports.usage import format_cost, spending_rows, usage_rows, usage_sections


def started(number: int, model: str, purpose: str) -> ThoughtStarted:
    return ThoughtStarted(
        at=0,
        thought=number,
        model=model,
        purpose=purpose,
        turn=0,
        limit=None,
        max_tokens=None,
        seed=0,
        messages=None,
    )


def ended(number: int, usage: Usage | None, answer: str = "") -> ThoughtEnded:
    values = {} if usage is None else {"usage": usage}
    return ThoughtEnded(
        at=1,
        thought=number,
        state="completed",
        cause=None,
        tokens=1,
        finish="stop",
        text_sha256="",
        answer=answer,
        **values,  # type: ignore[arg-type]
    )


def record(path: Path) -> Path:
    """Two models, a module with the same number of a thought, and a stand-in."""
    recorder = Recorder(path)
    full = Usage(prompt=10, cached=4, completion=30, reasoning=20, counted="settled")
    for event in (
        started(1, "m", "plan"),
        started(2, "n", "react"),
        Within(at=0, module="body", what=started(1, "n", "react")),
        ended(1, full),
        Within(at=1, module="body", what=ended(1, Usage(completion=5, counted="estimated"))),
        ended(2, Usage(prompt=1, completion=2, counted="running")),
        started(3, "rules", "react"),
        ended(3, None, answer='"usage":{'),
    ):
        recorder.write(event)
    recorder.close()
    return path


def test_usage_is_added_up_by_model_and_role(tmp_path: Path) -> None:
    path = record(tmp_path / "a.jsonl")
    judge = (("j", "judge"), Usage(completion=3, counted="settled"))
    totals = read_usage([path, path], [judge])
    assert [(t.model, t.role, t.thoughts, t.prompt, t.completion) for t in totals] == [
        ("j", "judge", 1, None, 3),
        ("m", "plan", 2, 20, 60),
        ("n", "react", 4, 2, 14),
    ]
    assert totals[2].counted == {"estimated": 2, "running": 2}
    assert (totals[1].cached, totals[1].reasoning) == (8, 40)


def test_the_report_says_how_many_thoughts_are_estimates(tmp_path: Path) -> None:
    totals = read_usage([record(tmp_path / "a.jsonl")])
    (section,) = usage_sections(totals)
    assert section.is_printed
    assert any("1 of 3" in getattr(block, "text", "") for block in section.blocks)
    rows = list(usage_rows(totals, "suite"))
    assert {row.metric for row in rows if row.method == "n"} == {
        "prompt tokens",
        "generated tokens",
        "running thoughts",
        "estimated thoughts",
    }
    assert list(usage_sections([])) == []


def test_tables_of_any_size_fit_80_columns_and_name_each_role() -> None:
    largest = dict.fromkeys(("prompt", "cached", "completion", "reasoning"), 9999999999)
    expenses = tuple(
        Expense(model=model, role=role, requests=10**6, wall_s=1e6, cost=1e5, **largest)
        for model in ("m" * 45, "n")
        for role in ("plan", "react")
    )
    text = render_text(usage_sections([], Accounts(expenses=expenses)))
    assert max(map(len, text.splitlines())) <= 80
    lines = [line.split() for line in text.splitlines() if line.startswith("n ")]
    assert {line[1] for line in lines} == {"plan", "react"}
    assert len(lines) > 4
    rows = list(spending_rows(Accounts(expenses=expenses), "suite"))
    assert sum(row.metric == "cost USD" for row in rows) == 4


def test_a_cost_is_empty_without_a_price_and_more_than_a_number_without_some() -> None:
    line = Expense(model="m", role="r", requests=3, unpriced=3)
    assert format_cost(line) == ""
    assert format_cost(replace(line, unpriced=1, cost=2.5)) == "> 2.50"
    assert format_cost(replace(line, unpriced=0)) == "0"
    rows = spending_rows(Accounts(expenses=(line,)), "suite")
    assert "cost USD" not in {row.metric for row in rows}


def test_the_usage_of_several_answers_is_as_sure_as_the_least_of_them() -> None:
    parts = [Usage(completion=3, counted="settled"), Usage(completion=4, counted="estimated")]
    assert sum_usage(parts) == Usage(completion=7, counted="estimated")
    assert sum_usage([]) is None
