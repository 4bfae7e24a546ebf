"""What is run of each family unless more is said: a small version, and the paper's size."""

from collections.abc import Mapping
from dataclasses import dataclass

from timeful.tasks.episode import Family


@dataclass(frozen=True, slots=True, kw_only=True)
class Preset:
    """A sweep by its parts, as a command line writes them."""

    cases: tuple[str, ...]
    players: tuple[str, ...]
    budgets: tuple[str, ...]
    latencies: tuple[str, ...]
    runs: int
    size: int | None = None


_STEPS = ("30steps", "50steps", "100steps", "200steps")
_FEW = ("1steps", "2steps", "3steps", "4steps", "5steps")
_TIMES = ("0.75x", "1x", "2x", "3x")

PRESETS: Mapping[Family, Mapping[str, Preset]] = {
    "fiction": {
        "quick": Preset(
            cases=("skerry", "cave"),
            players=("hasty", "careful"),
            budgets=("30@careful", "100@careful"),
            latencies=("none", "10s"),
            runs=2,
        ),
        "figure2": Preset(
            cases=("skerry", "cave"),
            players=("hasty", "careful"),
            budgets=("30@careful", "50@careful", "100@careful", "200@careful"),
            latencies=("none", "2s", "10s", "50s"),
            runs=8,
        ),
        "paper": Preset(
            cases=("skerry", "cave"),
            players=("hasty", "careful"),
            budgets=_STEPS,
            latencies=("2s",),
            runs=8,
        ),
    },
    "coding": {
        "quick": Preset(
            cases=("digits", "reviews"),
            players=("climber", "stubborn"),
            budgets=("1steps", "3steps"),
            latencies=("measured",),
            runs=1,
        ),
        "paper": Preset(
            cases=("digits", "cancer", "wine", "reviews"),
            players=("climber", "one-shot", "stubborn"),
            budgets=_FEW,
            latencies=("measured",),
            runs=8,
        ),
    },
    "reasoning": {
        "quick": Preset(
            cases=("mixed",),
            players=("paced", "steady", "curt"),
            budgets=_TIMES,
            latencies=("none",),
            runs=1,
            size=28,
        ),
        "paper": Preset(
            cases=("mixed",),
            players=("paced", "steady", "curt"),
            budgets=_TIMES,
            latencies=("none",),
            runs=1,
            size=105,
        ),
    },
}
"""Budgets, runs and latencies of the paper are those of section 5 of the Timely Machine.

Under budgets of one's own steps, everybody does as many steps with any latency. So `paper`, which
is for Table 1, has a single one, and Figure 2 gives everybody the same time.
"""
