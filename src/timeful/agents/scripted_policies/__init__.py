"""Offline players: rules that stand in for a language model on tasks with tools.

They are asked like a model and answer in its words, so that everything around them is what a
model gets. What they know beyond the transcript (a script, a worked solution) no model knows:
their numbers say how the platform works, and nothing about models.
"""

from collections.abc import Callable
from dataclasses import dataclass

from timeful.models.pace import Pace
from timeful.models.rules import Rule


@dataclass(frozen=True, slots=True, kw_only=True)
class Player:
    """A stand-in by its name.

    Attributes:
        name: For records and tables.
        says: What it is and does, in one line.
        pace: How fast it speaks, unless a run says otherwise.
        make: Makes its rule; what it is given depends on the family.
    """

    name: str
    says: str
    pace: Pace
    make: Callable[..., Rule]
