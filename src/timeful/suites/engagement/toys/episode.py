"""One toy episode: the training of a policy with a seed, and its evaluation."""

from dataclasses import asdict, dataclass
from re import sub
from typing import Any, Literal

from timeful.errors import check_range
from timeful.experiments.options import option

NAME = "engagement/toys"

Experiment = Literal[
    "deliberation/single",
    "deliberation/sequential",
    "patrol/module",
    "patrol/depth-2",
    "patrol/depth-3",
]

MOST_EPISODES = 10_000_000
"""The most episodes of training or evaluation: what a compiled loop plays in about an hour."""

FIRST_SEED = 42


@dataclass(frozen=True, slots=True, kw_only=True)
class ToyEpisode:
    """Deliberation and patrol: tabular policies next to Tables 1, 2 and 8 to 16.

    Every policy is trained once for each seed. It takes about a minute with numba, which compiles
    its loops first; without numba an hour, or a minute with --preset quick.

    Raises:
        SettingsError: If a number is out of range.
    """

    experiment: Experiment = "deliberation/single"
    """World."""
    method: str = "EP -> EP"
    """Row of the published table: interface, worlds of training and of play, or policy."""
    learner: str = "paper-like"
    """Learner of the policy, or that it is written by hand."""
    run: int = option(0, flag="seeds")
    """Training seeds from 42 on."""
    training: int = 8_000
    """Episodes of training."""
    evaluation: int = 3_000
    """Episodes of evaluation."""

    def __post_init__(self) -> None:
        for name in ("training", "evaluation"):
            check_range(f"episodes of {name}", getattr(self, name), least=1, most=MOST_EPISODES)
        check_range("the number of a seed", self.run, least=0)

    @property
    def seed(self) -> int:
        """The seed of training, and of the streams of evaluation."""
        return FIRST_SEED + self.run

    @property
    def key(self) -> str:
        """The episode's name: unique in a run, and fit for a file."""
        words = f"{self.experiment} {self.method} {self.learner}".lower()
        return f"{sub('[^a-z0-9]+', '-', words)}-seed{self.seed}"

    def settings(self) -> dict[str, Any]:
        """All that identifies the episode, as its record begins."""
        return {"suite": NAME, "episode": asdict(self)}
