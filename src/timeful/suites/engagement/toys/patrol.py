"""The patrol experiments: modules and phases, learned and hand-written, under EP and Loop.

Engagement Process, section 5.1.2, Tables 2 and 10 to 16, Figures 5 and 6. Bins and learning
rates are not published; those of the paper-like learner give the published numbers. The
converged learners say what the world allows: one with the same bins, one that sees everything.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from functools import partial
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from timeful.agents.tabular.patrol import Bins, PatrolLearner, evaluate, train
from timeful.environments.patrol.policies import (
    Policy,
    always_respond,
    look_up,
    patch,
    patch_pro,
    tabulate,
)
from timeful.environments.patrol.settings import DEPTH_2, DEPTH_3, MODULE, PatrolSettings
from timeful.environments.patrol.view import PatrolView
from timeful.environments.patrol.world import CONTINUE, RESPOND, Patrol
from timeful.seeding import child
from timeful.suites.engagement.toys.evaluated import Evaluated, Job, Plan

Level = Literal["module", "depth-2", "depth-3"]
Law = Literal["EP", "Loop"]

WORLDS: dict[Level, PatrolSettings] = {
    "module": MODULE,
    "depth-2": DEPTH_2,
    "depth-3": DEPTH_3,
}
"""The worlds of Tables 12 and 13."""

_PAPER_BINS: dict[Level, Bins] = {
    "module": Bins(deadline=(8, 16), distance=(4, 8, 12)),
    "depth-2": Bins(deadline=(3, 6, 9), distance=(3, 6, 9)),
    "depth-3": Bins(deadline=(3, 6, 9), distance=(3, 6, 9)),
}


def learners(level: Level) -> dict[str, PatrolLearner]:
    """The learners of a level by name; they differ in learning rate and bins alone."""
    paper_like = PatrolLearner(bins=_PAPER_BINS[level], rate=0.1)
    return {
        "paper-like": paper_like,
        "converged": replace(paper_like, rate=None),
        "converged, all seen": replace(paper_like, rate=None, bins=None),
    }


LEARNED: tuple[tuple[Level, Law], ...] = (
    ("module", "EP"),
    ("module", "Loop"),
    ("depth-2", "EP"),
    ("depth-3", "EP"),
)
"""The rows that are learned."""

FIXED: tuple[tuple[Level, str, str, Policy], ...] = (
    ("module", "EP", "always respond", always_respond),
    ("module", "Loop", "always respond", always_respond),
    *(
        (level, method, "fixed", policy)
        for level in ("depth-2", "depth-3")
        for method, policy in (("PatchPro", patch_pro), ("Patch", patch), ("Loop", always_respond))
    ),
)
"""The rows that are not: level, method, what stands for the learner, and the policy.

Without costs there is nothing for a module's policy to weigh: to respond always is the yardstick
beside the learned ones.
"""


def jobs(plan: Plan) -> list[Job]:
    """One job for each row, learner and seed."""
    learned: list[Job] = [
        partial(_learned, plan, level=level, law=law, learner=learner, seed=seed)
        for level, law in LEARNED
        for learner in learners(level)
        for seed in plan.seeds
    ]
    fixed: list[Job] = [
        partial(_fixed, plan, level=level, method=method, name=name, policy=policy, seed=seed)
        for level, method, name, policy in FIXED
        for seed in plan.seeds
    ]
    return learned + fixed


def _learned(plan: Plan, *, level: Level, law: Law, learner: str, seed: int) -> list[Evaluated]:
    table = _train(plan, level=level, law=law, learner=learner, seed=seed)
    return [_evaluated(plan, table, level=level, method=law, learner=learner, seed=seed)]


def _fixed(
    plan: Plan, *, level: Level, method: str, name: str, policy: Policy, seed: int
) -> list[Evaluated]:
    table = tabulate(policy, WORLDS[level])
    return [_evaluated(plan, table, level=level, method=method, learner=name, seed=seed)]


def _train(plan: Plan, *, level: Level, law: Law, learner: str, seed: int) -> NDArray[np.bool_]:
    return train(
        WORLDS[level],
        learners(level)[learner],
        is_loop=law == "Loop",
        episodes=plan.training,
        rng=child(seed, "patrol", level, "training", law),
    )


def _evaluated(
    plan: Plan, table: NDArray[np.bool_], *, level: Level, method: str, learner: str, seed: int
) -> Evaluated:
    """Play by a table; whoever learned it meets the same chance in the first episode."""
    counts = evaluate(
        WORLDS[level],
        table,
        is_loop=method == "Loop",
        episodes=plan.evaluation,
        rng=_evaluation(level, method, seed),
    )
    return Evaluated(
        experiment=f"patrol/{level}", method=method, learner=learner, seed=seed, counts=counts
    )


def _evaluation(level: Level, method: str, seed: int) -> np.random.Generator:
    return child(seed, "patrol", level, "evaluation", method)


# --- Figures 5 and 6 -------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class Frame:
    """What is seen at the start of a tick, and what the agent does in it."""

    view: PatrolView
    responds: bool

    @property
    def doing(self) -> str:
        """What the agent does in this tick; a response begins at once."""
        return "to alarm" if self.responds else self.view.doing


@dataclass(frozen=True, slots=True, kw_only=True)
class Trace:
    """A few ticks in a row of an evaluation episode, the second of which is the event."""

    law: Law
    frames: tuple[Frame, ...]


TICKS = 5


def traces(plan: Plan) -> list[Trace]:
    """The published five-tick traces, of the paper-like learner with the plan's first seed.

    Each is the first in the first evaluation episode that meets its criterion: for EP, handling
    is interrupted; for Loop, an alarm goes off in the middle of handling.

    Returns:
        One for EP and one for Loop, but for what did not happen in that episode.
    """
    events: dict[Law, Callable[[Frame, Frame], bool]] = {"EP": _interrupts, "Loop": _must_wait}
    found = []
    for law, is_event in events.items():
        table = _train(plan, level="module", law=law, learner="paper-like", seed=plan.seeds[0])
        frames = list(_frames(table, law, _evaluation("module", law, plan.seeds[0])))
        starts = range(len(frames) - TICKS + 1)
        start = next((at for at in starts if is_event(frames[at], frames[at + 1])), None)
        if start is not None:
            found.append(Trace(law=law, frames=tuple(frames[start : start + TICKS])))
    return found


def _frames(table: NDArray[np.bool_], law: Law, rng: np.random.Generator) -> Iterable[Frame]:
    """Step through an episode."""
    world = Patrol(MODULE, rng)
    while not world.is_over:
        view = world.view()
        is_asked = view.choice is not None and (law == "EP" or view.at_boundary)
        responds = is_asked and view.choice is not None and look_up(table, view.choice)
        yield Frame(view=view, responds=responds)
        world.step(RESPOND if responds else CONTINUE)


def _interrupts(before: Frame, now: Frame) -> bool:
    return before.doing == now.view.doing == "handling" and now.responds


def _must_wait(before: Frame, now: Frame) -> bool:
    """Whether an alarm has just gone off that the agent cannot turn to."""
    is_new = before.view.alarm is None and now.view.alarm is not None
    return is_new and before.doing == now.doing == "handling" and not now.view.at_boundary
