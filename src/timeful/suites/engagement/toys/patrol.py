"""The patrol experiments: modules and phases, learned and hand-written, under EP and Loop.

Engagement Process, section 5.1.2, Tables 2 and 10 to 16, Figures 5 and 6. Bins and learning
rates are not published; those of the paper-like learner give the published numbers. The
converged learners say what the world allows: one with the same bins, one that sees everything.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
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
from timeful.suites.engagement.toys.episode import ToyEpisode
from timeful.suites.engagement.toys.rows import Evaluation

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


def policies(level: Level) -> list[tuple[str, str]]:
    """The method and the learner of each policy."""
    laws = [law for world, law in LEARNED if world == level]
    fixed = [(method, name) for world, method, name, _ in FIXED if world == level]
    return [(law, learner) for law in laws for learner in learners(level)] + fixed


def play(episode: ToyEpisode, level: Level) -> Evaluation:
    """Train a policy or take a hand-written one, then play it."""
    fixed = {(world, method, name): policy for world, method, name, policy in FIXED}
    policy = fixed.get((level, episode.method, episode.learner))
    table = train_table(episode, level) if policy is None else tabulate(policy, WORLDS[level])
    counts = evaluate(
        WORLDS[level],
        table,
        is_loop=episode.method == "Loop",
        episodes=episode.evaluation,
        rng=_evaluation(episode, level),
    )
    return Evaluation(counts=counts)


def train_table(episode: ToyEpisode, level: Level) -> NDArray[np.bool_]:
    """Train a policy."""
    return train(
        WORLDS[level],
        learners(level)[episode.learner],
        is_loop=episode.method == "Loop",
        episodes=episode.training,
        rng=child(episode.seed, "patrol", level, "training", episode.method),
    )


def _evaluation(episode: ToyEpisode, level: Level) -> np.random.Generator:
    return child(episode.seed, "patrol", level, "evaluation", episode.method)


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


def traces(training: int) -> list[Trace]:
    """The published five-tick traces, of the paper-like learner with the first seed.

    Each is the first in the first evaluation episode that meets its criterion: for EP, handling
    is interrupted; for Loop, an alarm goes off in the middle of handling.

    Args:
        training: The number of episodes of training.

    Returns:
        One for EP and one for Loop, except for what did not happen in that episode.
    """
    events: dict[Law, Callable[[Frame, Frame], bool]] = {"EP": _interrupts, "Loop": _must_wait}
    traces_of_laws = []
    for law, is_event in events.items():
        episode = ToyEpisode(experiment="patrol/module", method=law, training=training)
        table = train_table(episode, "module")
        frames = list(_frames(table, law, _evaluation(episode, "module")))
        starts = range(len(frames) - TICKS + 1)
        start = next((n for n in starts if is_event(frames[n], frames[n + 1])), None)
        if start is not None:
            traces_of_laws.append(Trace(law=law, frames=tuple(frames[start : start + TICKS])))
    return traces_of_laws


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
