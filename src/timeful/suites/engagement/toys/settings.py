"""The settings of the toy experiments as tables: the published ones, and what had to be found."""

from collections.abc import Sequence

from timeful.core.units import in_seconds
from timeful.environments.patrol.policies import PATCH_DEADLINES, PATCH_PRO, VERY_URGENT
from timeful.reports.page import Block
from timeful.reports.page import Grid as Table
from timeful.suites.engagement.toys import patrol
from timeful.suites.engagement.toys.deliberation import LEARNERS, WORLDS, Kind
from timeful.suites.engagement.toys.evaluated import Plan

FOUND = "found by trial"
"""Where a setting comes from that the paper does not print."""

_DEPTHS = {2: patrol.WORLDS["depth-2"], 3: patrol.WORLDS["depth-3"]}


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
    """Tables 12, 13, 10 and 11, and the learners."""
    made: list[Block] = [_patrol_table(level, plan) for level in patrol.WORLDS]
    return (*made, _patch_table(), _patch_pro_table())


def _patrol_table(level: patrol.Level, plan: Plan) -> Table:
    world = patrol.WORLDS[level]
    source = "Table 12" if level == "module" else "Table 13"
    phases = "; ".join(
        f"{phase.name} {phase.ticks} ticks" + (f", cost {phase.cost:g}" if phase.cost else "")
        for phase in world.phases
    )
    law = world.dynamics
    rows = [
        ("grid", f"{world.size} x {world.size}", source),
        ("checkpoints", ", ".join(map(str, world.checkpoints)), source),
        ("ticks per episode", f"{world.horizon:,}", source),
        ("handling a checkpoint", phases, source),
        ("reward for a checkpoint", f"{world.checkpoint_reward:+g}", source),
        ("new alarm per tick without one", f"{world.alarm_probability:g}", source),
        ("least distance of an alarm", f"{world.alarm_distance} cells", source),
        ("deadline", "{} to {} ticks".format(*world.deadlines), source),
        ("resolving", f"{world.resolve_ticks} ticks after arrival", source),
        (
            "alarm resolved, expired, active",
            f"{world.resolve_reward:+g}, {-world.expire_penalty:+g}, "
            f"{-world.tick_penalty:+g} a tick",
            source,
        ),
        ("episodes", f"{plan.training:,} and {plan.evaluation:,}", source),
        ("where alarms go off", law.alarms, FOUND),
        ("after an interruption", f"handling: {law.after_interruption}", FOUND),
        ("after an alarm", f"on to the {law.after_alarm} checkpoint", FOUND),
        ("leaving at the start of a phase", _free(law.is_free_at_start), FOUND),
        ("a deadline comes nearer", _order(law.is_aged_first), FOUND),
    ]
    for name, learner in patrol.learners(level).items():
        seen = "every tick and cell, ticks left of a phase"
        if learner.bins is not None:
            edges = [", ".join(map(str, e)) for e in (learner.bins.deadline, learner.bins.distance)]
            seen = f"deadline {edges[0]}; distance {edges[1]}"
        rows.append((f"{name}: bins", seen, FOUND))
        rate = "1/N" if learner.rate is None else f"{learner.rate:g}"
        epsilon = f"max({learner.least_epsilon:g}, {learner.epsilon_decay:g}^episode)"
        rows.append((f"{name}: rate, epsilon", f"{rate}, {epsilon}", FOUND))
        rows.append((f"{name}: discount", f"{learner.discount:g} a tick", source))
    return _table(f"{source}: settings, {level}", rows)


def _free(is_free: bool) -> str:
    return "is free" if is_free else "costs as much as later"


def _order(is_aged_first: bool) -> str:
    return "before the agent acts" if is_aged_first else "after the agent has acted"


def _patch_table() -> Table:
    """Table 10, from the numbers that the policy is played with."""
    rows = [("2 or 3", "going to a checkpoint", "respond")]
    for depth, world in _DEPTHS.items():
        for phase, limit in zip(world.phases, PATCH_DEADLINES[depth], strict=True):
            rule = "continue" if limit == 0 else f"respond with at most {limit} ticks left"
            rows.append((str(depth), phase.name, "respond" if limit is None else rule))
    head = ("phases", "state", "Patch, with an alarm")
    return Table(caption="Table 10: Patch", head=head, rows=tuple(rows), words=3)


def _patch_pro_table() -> Table:
    """Table 11, from the numbers that the policy is played with."""
    rows = [
        (str(depth), phase.name, str(limit.deadline), str(limit.progress), str(limit.ratio))
        for depth, world in _DEPTHS.items()
        for phase, limit in zip(world.phases, PATCH_PRO[depth], strict=True)
    ]
    return Table(
        caption="Table 11: PatchPro. It skips what cannot be reached, responds with at most "
        f"{VERY_URGENT} ticks left and while going to a checkpoint, and finishes handling first "
        "where time allows; else it responds within these limits",
        head=("phases", "state", "greatest deadline", "progress below", "cost ratio"),
        rows=tuple(rows),
        words=2,
    )
