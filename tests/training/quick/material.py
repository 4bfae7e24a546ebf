"""A run of the smallest recipe, whole in this process; and graded rows that nobody played."""

from collections.abc import Callable, Sequence
from dataclasses import fields
from pathlib import Path
from typing import Any

import msgspec

from timeful.experiments.run import Results, report_suite
from timeful.experiments.sweep import Choice, plan_episodes, run_settings
from timeful.reports.results import ResultRow
from timeful.training.quick.answers import read_answers
from timeful.training.quick.cells import make_all_cells
from timeful.training.quick.claims import SeedClaim, check_claims
from timeful.training.quick.plan import QuickRun
from timeful.training.quick.recipe import BASE, find_recipe
from timeful.training.quick.rows import ClockRow
from timeful.training.quick.steps import Step, perform
from timeful.training.quick.suite import suite

Says = Callable[[Step, int], tuple[int, bool]]
"""How a model answers under a budget of so many tokens: its own tokens, and whether it is right."""


def asked(recipe: str = "smoke", **others: Any) -> QuickRun:
    """A run of all arms on its first seed."""
    found = find_recipe(recipe)
    usual = {"arms": tuple(arm.name for arm in found.arms), "seeds": found.seeds[:1]}
    return QuickRun(recipe=found, **{**usual, **others})


def begin(out: Path, what: QuickRun) -> None:
    """Write the settings of a run."""
    out.mkdir(parents=True, exist_ok=True)
    (out / "settings.json").write_bytes(msgspec.json.encode(settings_of(what)))


def settings_of(what: QuickRun) -> dict[str, Any]:
    """The settings of a run, as its folder has them."""
    choice = Choice(fixed={field.name: getattr(what, field.name) for field in fields(what)})
    return run_settings(suite, choice, plan_episodes(suite, choice))


def write_report(out: Path) -> Results:
    """Write the report of a folder."""
    return report_suite(suite, out)


def work(out: Path, what: QuickRun) -> None:
    """Do all steps, one after the other."""
    for step in what.steps(out):
        perform(step)


def pretend(out: Path, what: QuickRun, says: Says, *, skip: Sequence[str] = ()) -> None:
    """Write the rows of all gradings, as if models had answered so."""
    begin(out, what)
    for step in what.steps(out):
        if step.kind not in ("grade", "hurry") or step.name in skip:
            continue
        step.result.parent.mkdir(parents=True, exist_ok=True)
        language = what.recipe.language
        steps = [(what.recipe.budget(n), n) for n in language.budgets]
        if step.kind == "hurry":
            steps = [(f"{f:g}x", language.budgets[0]) for f in what.recipe.factors]
        rows = [row(name, n, *says(step, n)) for name, n in steps for _ in range(30)]
        step.result.write_bytes(b"".join(msgspec.json.encode(one) + b"\n" for one in rows))


def row(budget: str, allowed: int, tokens: int, is_right: bool) -> ClockRow:
    """An answer of so many tokens at 100 ms each."""
    each = 100_000_000
    empty = dict.fromkeys(ClockRow.__struct_fields__)
    return ClockRow(
        **{
            **empty,
            **{"family": "reasoning", "case": "levels:6/0", "who": BASE, "stand_in": False},
            **{"run": 0, "budget": budget, "budget_ns": allowed * each, "latency": "none"},
            **{"status": "ok", "reason": "answered", "value": float(is_right)},
            **{"correct": is_right, "calls": 0, "timer_calls": 0, "bad_calls": 0, "rounds": 1},
            **{"tokens": tokens, "counted_ns": tokens * each, "tool_ns": 0, "notes": ()},
            **{"thinking_ns": tokens * each, "sha256": ""},
            **{"alpha": 1.0, "scale": 1.0, "before": tokens, "after": 0, "behind_s": 0.0},
        }
    )


def claims_of(out: Path, what: QuickRun) -> dict[tuple[str, str], SeedClaim]:
    """The claims, by name and model."""
    return {(c.name, c.model): c for c in check_claims(what, out, read_answers(what, out))}


def cells_of(out: Path, what: QuickRun) -> dict[tuple[str, ...], ResultRow]:
    """The cells, by experiment, setting, method and metric."""
    claims = list(claims_of(out, what).values())
    cells = make_all_cells(what, read_answers(what, out), claims=claims)
    keyed = {(c.experiment, c.setting, c.method, c.metric): c for c in cells}
    assert len(keyed) == len(cells)
    return keyed
