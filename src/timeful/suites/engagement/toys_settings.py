"""The settings of the toy experiments as tables: the published ones, and what had to be found."""

from collections.abc import Sequence

from timeful.core.units import in_seconds
from timeful.runs.page import Block, Table
from timeful.suites.engagement.deliberation import LEARNERS, WORLDS, Kind
from timeful.suites.engagement.evaluated import Plan

FOUND = "found by trial"
"""Where a setting comes from that the paper does not print."""


def _table(caption: str, rows: Sequence[tuple[str, str, str]]) -> Table:
    return Table(caption=caption, head=("setting", "value", "from"), rows=tuple(rows), words=3)


def _seconds(spans: Sequence[int]) -> str:
    return ", ".join(f"{in_seconds(span):g}" for span in spans) + " s"


def deliberation_table(kind: Kind, plan: Plan) -> Table:
    """Tables 6 and 7, and the learners."""
    source = {"single": "Table 6", "sequential": "Table 7"}[kind]
    world = WORLDS[kind]
    one = kind == "single"
    learners = LEARNERS[kind]
    like = learners["paper-like"]
    rows = [
        ("tasks per episode", str(world.tasks), source),
        ("slack" if one else "gaps between deadlines", _seconds(world.gaps), source),
        ("difficulty", "uniform between 0 and 1", source),
        ("edges of difficulty bins", ", ".join(map(str, like.difficulty_edges)), source),
        ("durations of modes", _seconds(world.durations), source),
        ("qualities of modes", ", ".join(map(str, world.qualities)), source),
        ("beta", str(world.beta), "section 5.1.1"),
        ("reward, penalty", f"{world.reward:+g}, {world.penalty:+g}", source),
    ]
    if not one:
        discounts = f"{like.second_discount:g} a second, {like.task_discount:g} a task"
        rows += [
            ("discounts", discounts, source),
            ("tasks are open", "from the start, until their deadline", FOUND),
            ("an answer that comes too late", "has taken its full time", FOUND),
        ]
    rows.append(("episodes", f"{plan.training:,} and {plan.evaluation:,}", source))
    for name, learner in learners.items():
        rate = "1/N" if learner.rate is None else f"{learner.rate:g}"
        first, last = learner.epsilon
        epsilon = f"{first:g}"
        if first != last:
            epsilon += f" to {last:g} over {learner.decay:.0%} of training"
        edges = "one for each slack" if one else f"edges {_seconds(learner.slack_edges)}"
        rows.append((f"{name}: slack bins", edges, FOUND))
        rows.append((f"{name}: rate, epsilon", f"{rate}, {epsilon}", FOUND))
    return _table(f"{source}: settings", rows)


def patrol_tables(plan: Plan) -> tuple[Block, ...]:
    """Tables 10 to 13, and the learners."""
    return ()
