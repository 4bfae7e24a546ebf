"""Hand-written answers to one question: leave everything for the alarm, or go on?

A policy is a pure function of the settings and a situation; whether it is asked in every tick or
at boundaries only is the interface's law. `tabulate` asks it once about every situation.
"""

from collections.abc import Callable
from typing import NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from timeful.environments.patrol.settings import PatrolSettings
from timeful.errors import SettingsError


class Situation(NamedTuple):
    """What a decision may depend on; see `dynamics.situation`.

    `phase` is None while going to a checkpoint; `left` are ticks of that phase, `deadline` the
    ticks until the alarm expires, and `distance` the steps to it.
    """

    phase: int | None
    left: int
    deadline: int
    distance: int


T = TypeVar("T")
Policy = Callable[[PatrolSettings, Situation], bool]


def always_respond(settings: PatrolSettings, situation: Situation) -> bool:
    """Respond; asked at boundaries only, this is the published Loop at state level."""
    return True


PATCH_DEADLINES = {2: (None, 6), 3: (None, 8, 0)}
"""By depth and phase: the greatest deadline to respond to; None for any."""


def patch(settings: PatrolSettings, situation: Situation) -> bool:
    """Respond by phase and deadline alone (appendix C, table 10).

    Raises:
        SettingsError: If handling has neither two phases nor three.
    """
    limits = _for_depth("Patch", PATCH_DEADLINES, settings)
    limit = None if situation.phase is None else limits[situation.phase]
    return limit is None or situation.deadline <= limit


class Threshold(NamedTuple):
    """When PatchPro leaves a phase: the greatest deadline, the progress below, the cost ratio."""

    deadline: int
    progress: float
    ratio: float


PATCH_PRO = {
    2: (Threshold(16, 1.0, 2.0), Threshold(8, 0.5, 3.5)),
    3: (Threshold(18, 1.0, 2.0), Threshold(12, 0.8, 3.0), Threshold(8, 0.5, 4.5)),
}
"""By depth and phase."""

VERY_URGENT = 3
"""With so many ticks or fewer left, PatchPro responds whatever it is at, if it can be in time."""


def patch_pro(settings: PatrolSettings, situation: Situation) -> bool:
    """Respond by reach, urgency, progress and cost, in that order (appendix C, table 11).

    Raises:
        SettingsError: If handling has neither two phases nor three.
    """
    thresholds = _for_depth("PatchPro", PATCH_PRO, settings)
    required = situation.distance + settings.resolve_ticks
    if required > situation.deadline:
        return False
    if situation.deadline <= VERY_URGENT or situation.phase is None:
        return True
    later = sum(phase.ticks for phase in settings.phases[situation.phase + 1 :])
    if situation.left + later + required <= situation.deadline:
        return False  # the routine can be finished first
    phase, threshold = settings.phases[situation.phase], thresholds[situation.phase]
    done = phase.ticks - situation.left
    cutoff = threshold.progress * phase.ticks
    is_early = done < cutoff or (done == cutoff and not settings.dynamics.is_cutoff_strict)
    value = settings.resolve_reward + settings.expire_penalty
    return (
        situation.deadline <= threshold.deadline
        and is_early
        and value > threshold.ratio * phase.cost
    )


def tabulate(policy: Policy, settings: PatrolSettings) -> NDArray[np.bool_]:
    """Ask a policy about every situation.

    Returns:
        Whether to respond, indexed as `dynamics.situation` says.

    Raises:
        SettingsError: If the policy is not made for these settings.
    """
    table = np.zeros(settings.situations, np.bool_)
    for kind, remaining, deadline, distance in np.ndindex(table.shape):
        phase = kind - 1 if kind else None
        if phase is not None and remaining > settings.phases[phase].ticks:
            continue
        situation = Situation(phase, remaining, deadline, distance)
        table[kind, remaining, deadline, distance] = policy(settings, situation)
    return table


def look_up(table: NDArray[np.bool_], situation: Situation) -> bool:
    """Whether a policy that was tabulated responds."""
    kind = 0 if situation.phase is None else situation.phase + 1
    return bool(table[kind, situation.left, situation.deadline, situation.distance])


def _for_depth(name: str, by_depth: dict[int, T], settings: PatrolSettings) -> T:
    depth = len(settings.phases)
    if depth not in by_depth:
        raise SettingsError(f"{name} is written for handling in 2 or 3 phases, not in {depth}")
    return by_depth[depth]
