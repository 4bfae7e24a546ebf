"""The assistant's main task: a document in one part, or in four milestones of uneven length.

The paper replays recorded texts from a cache, chosen by a seeded hash, and prints neither them
nor their lengths. Here a task is drawn by the episode's seed: its matter from a short list, its
lengths from distributions under which the published numbers come out (engagement facts, 3.2).
"""

from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np

from timeful.errors import check_known

Decomposition = Literal["single", "milestones"]
DECOMPOSITIONS: tuple[Decomposition, ...] = get_args(Decomposition)

_MATTERS = (
    (
        "a delivery plan for the new scheduling service",
        ("Goals and limits", "Work packages", "Order and owners", "Risks and reserves"),
    ),
    (
        "a root-cause analysis of last week's outage",
        ("What happened", "Chain of causes", "What hid it", "What changes now"),
    ),
    (
        "a launch-readiness document for the mobile app",
        ("Scope of the launch", "Evidence so far", "Open points", "Go or no-go"),
    ),
    (
        "a migration guide to the new billing system",
        ("Why and when", "Before the switch", "The switch", "After the switch"),
    ),
    (
        "a proposal to merge two support teams",
        ("The case", "Who does what", "The transition", "How we will know"),
    ),
)

_FEWEST = 40
"""Tokens that even the shortest part has."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """A part of the document: its heading, its length in tokens, and its worth in progress."""

    heading: str
    tokens: int
    progress: int


@dataclass(frozen=True, slots=True, kw_only=True)
class MainTask:
    """What is to be written."""

    title: str
    parts: tuple[Part, ...]

    @property
    def units(self) -> tuple[int, ...]:
        """The progress that each part is worth."""
        return tuple(part.progress for part in self.parts)


@dataclass(frozen=True, slots=True, kw_only=True)
class Lengths:
    """How long the document is, in tokens: a normal distribution, and how it is split.

    Attributes:
        mean: Of the whole document.
        spread: Its standard deviation.
        unevenness: The coefficient of variation of a milestone's share.
    """

    mean: float
    spread: float
    unevenness: float = 0.0


FITTED: dict[Decomposition, Lengths] = {
    "single": Lengths(mean=990, spread=224),
    "milestones": Lengths(mean=1166, spread=224, unevenness=0.5),
}
"""At 0.05 s a token: 49.5 and 58.3 s, with a standard deviation of 11.2 s. Fitted, not known."""


def draw_task(decomposition: Decomposition, *, target: int, rng: np.random.Generator) -> MainTask:
    """Draw the main task of an episode.

    Args:
        decomposition: Into one part that is worth the target, or into as many as the target.
        target: The progress of the whole task.
        rng: Draws the matter, then the lengths.

    Raises:
        SettingsError: If there is no such decomposition.
    """
    check_known("decomposition", decomposition, DECOMPOSITIONS)
    title, headings = _MATTERS[int(rng.integers(len(_MATTERS)))]
    lengths = FITTED[decomposition]
    whole = max(_FEWEST, round(rng.normal(lengths.mean, lengths.spread)))
    if decomposition == "single":
        return MainTask(title=title, parts=(Part(heading=title, tokens=whole, progress=target),))
    # Shares of a Dirichlet distribution with this parameter vary by just that coefficient.
    alpha = ((target - 1) / lengths.unevenness**2 - 1) / target if target > 1 else 1.0
    shares = rng.dirichlet([alpha] * target)
    return MainTask(
        title=title,
        parts=tuple(
            Part(
                heading=headings[index % len(headings)],
                tokens=max(_FEWEST, round(whole * float(share))),
                progress=1,
            )
            for index, share in enumerate(shares)
        ),
    )
