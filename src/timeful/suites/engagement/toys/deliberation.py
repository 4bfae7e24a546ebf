"""The deliberation experiments: single and sequential, learned and played in EP and in Step.

Engagement Process, section 5.1.1, Tables 6 to 9. Bins, rates and exploration are not published;
those of the paper-like learners reproduce the published numbers, the converged learner differs
from the paper-like one in its learning rate and exploration alone.
"""

from functools import partial
from typing import Literal

from timeful.agents.tabular.deliberation import DeliberationLearner, evaluate, train
from timeful.core.units import seconds
from timeful.environments.deliberation.optimum import best_return
from timeful.environments.deliberation.settings import (
    SEQUENTIAL,
    SINGLE,
    DeliberationSettings,
)
from timeful.seeding import child
from timeful.suites.engagement.comparison import Metric
from timeful.suites.engagement.toys.evaluated import Evaluated, Job, Plan

Kind = Literal["single", "sequential"]
World = Literal["EP", "Step"]

WORLDS: dict[Kind, DeliberationSettings] = {"single": SINGLE, "sequential": SEQUENTIAL}
"""The worlds of Tables 6 and 7, in which thinking takes time."""

_GAPS = tuple(seconds(edge) for edge in (0.4, 0.9, 1.6, 3.5, 5.5))

LEARNERS: dict[Kind, dict[str, DeliberationLearner]] = {
    "single": {
        # Every slack has a bin of its own.
        "paper-like": DeliberationLearner(slack_edges=SINGLE.gaps[1:]),
    },
    "sequential": {
        "paper-like": DeliberationLearner(
            slack_edges=_GAPS, rate=0.1, epsilon=(1.0, 0.05), decay=0.8
        ),
        "converged": DeliberationLearner(slack_edges=_GAPS),
    },
}

METRICS = (
    Metric(name="return", count="return", decimals=2),
    Metric(name="success %", count="succeeded", of="tasks", scale=100),
    Metric(name="timeout %", count="timed out", of="tasks", scale=100),
    Metric(name="mode 5 %", count="deepest", of="chosen", scale=100),
)
"""The columns of Tables 8 and 9; tasks that expired by themselves had no mode."""


def cell(trained: World, played: World) -> str:
    """The name of a row, such as "EP -> Step"."""
    return f"{trained} -> {played}"


CELLS = (cell("EP", "EP"), cell("EP", "Step"), cell("Step", "Step"), cell("Step", "EP"))
"""The rows of Tables 8 and 9, in their order."""


def jobs(plan: Plan) -> list[Job]:
    """One job for each learner, seed and world to learn in; each gives two rows."""
    worlds: tuple[World, ...] = ("EP", "Step")
    return [
        partial(_cross_evaluated, plan, kind=kind, learner=learner, seed=seed, trained=trained)
        for kind, learners in LEARNERS.items()
        for learner in learners
        for seed in plan.seeds
        for trained in worlds
    ]


def _cross_evaluated(
    plan: Plan, *, kind: Kind, learner: str, seed: int, trained: World
) -> list[Evaluated]:
    """Learn in one world, then play in both."""
    purpose = ("deliberation", kind)
    worlds: dict[World, DeliberationSettings] = {
        "EP": WORLDS[kind],
        "Step": WORLDS[kind].as_step(),
    }
    policy = train(
        worlds[trained],
        LEARNERS[kind][learner],
        episodes=plan.training,
        rng=child(seed, *purpose, "training", trained),
    )
    rows = []
    for played, world in worlds.items():
        method = cell(trained, played)
        done = evaluate(
            world,
            policy,
            episodes=plan.evaluation,
            rng=child(seed, *purpose, "evaluation", method),
        )
        rows.append(
            Evaluated(
                experiment=f"deliberation/{kind}",
                method=method,
                learner=learner,
                seed=seed,
                counts=done.counts,
                totals={"modes": done.modes},
            )
        )
    return rows


def optima() -> dict[tuple[str, str], float]:
    """The best mean return there can be, by experiment and row, where a policy fits its world."""
    return {
        (f"deliberation/{kind}", cell(world, world)): best_return(
            settings if world == "EP" else settings.as_step()
        )
        for kind, settings in WORLDS.items()
        for world in ("EP", "Step")
    }
