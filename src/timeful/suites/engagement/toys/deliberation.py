"""The deliberation experiments: single and sequential, learned and played in EP and in Step.

Engagement Process, section 5.1.1, Tables 6 to 9. Bins, rates and exploration are not published;
those of the paper-like learners reproduce the published numbers, the converged learner differs
from the paper-like one in its learning rate and exploration alone.
"""

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
from timeful.suites.engagement.toys.episode import ToyEpisode
from timeful.suites.engagement.toys.rows import Evaluation

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


def cell(training: World, evaluation: World) -> str:
    """The name of a row, such as "EP -> Step"."""
    return f"{training} -> {evaluation}"


CELLS = (cell("EP", "EP"), cell("EP", "Step"), cell("Step", "Step"), cell("Step", "EP"))
"""The rows of Tables 8 and 9, in their order."""


def policies(kind: Kind) -> list[tuple[str, str]]:
    """The method and the learner of each policy."""
    return [(method, learner) for learner in LEARNERS[kind] for method in CELLS]


def play(episode: ToyEpisode, kind: Kind) -> Evaluation:
    """Train in one world, then play in another."""
    purpose = ("deliberation", kind)
    training_world, _, world = episode.method.partition(" -> ")
    worlds = {"EP": WORLDS[kind], "Step": WORLDS[kind].as_step()}
    policy = train(
        worlds[training_world],
        LEARNERS[kind][episode.learner],
        episodes=episode.training,
        rng=child(episode.seed, *purpose, "training", training_world),
    )
    outcome = evaluate(
        worlds[world],
        policy,
        episodes=episode.evaluation,
        rng=child(episode.seed, *purpose, "evaluation", episode.method),
    )
    return Evaluation(counts=outcome.counts, modes=outcome.modes)


def optima() -> dict[tuple[str, str], float]:
    """The greatest possible mean return, by experiment and row, where a policy fits its world."""
    return {
        (f"deliberation/{kind}", cell(world, world)): best_return(
            settings if world == "EP" else settings.as_step()
        )
        for kind, settings in WORLDS.items()
        for world in ("EP", "Step")
    }
