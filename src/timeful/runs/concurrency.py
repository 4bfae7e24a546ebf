"""How many episodes of a run are in flight, and how many processes play them."""

import os
from collections.abc import Sequence
from dataclasses import fields, is_dataclass
from math import ceil

from timeful.models.model_spec import ModelSpec
from timeful.models.role import ModelRole
from timeful.models.traffic import Limits

_IN_PROCESS = 32
"""Episodes on an endpoint that one process plays before a second one is worth its start."""


def choose_concurrency(
    episodes: Sequence[object], *, workers: int | None, limits: Limits | None
) -> tuple[int, Limits | None]:
    """The number of processes, and the limits of the traffic to endpoints.

    Episodes on an endpoint wait, so many of them share a process. Other episodes compute, and so
    does a wall clock that must not be late: one a process.

    Args:
        episodes: The episodes of a run.
        workers: The number of processes; None for as many as the work needs.
        limits: The limits; None for the defaults where an endpoint answers.

    Returns:
        The processes; and the limits, None if each process plays one episode at a time.
    """
    is_wall = any(getattr(episode, "clock", None) == "wall" for episode in episodes)
    if limits is None and not is_wall and any(map(is_live, episodes)):
        limits = Limits()
    cores = os.cpu_count() or 1
    if limits is None:
        return workers or (1 if is_wall else cores), None
    if workers is None:
        in_flight = min(limits.connections, len(episodes))
        workers = min(cores, ceil(in_flight / _IN_PROCESS)) or 1
    return min(workers, limits.connections), limits


def is_live(episode: object) -> bool:
    """Whether an endpoint answers in an episode: its property `is_live`, else a role that is."""
    own = getattr(episode, "is_live", None)
    return own if isinstance(own, bool) else _has_role(episode, "is_live")


def is_limited(episode: object) -> bool:
    """Whether limits of endpoints have an effect: also on a user's own model, or on judges."""
    has_role = is_live(episode) or any(_has_role(episode, n) for n in ("is_live", "is_own"))
    return has_role or bool(getattr(episode, "judge", None))


def has_own_model(episode: object) -> bool:
    """Whether a role of an episode has a user's own model, which may ask endpoints itself."""
    return _has_role(episode, "is_own")


def find_live_models(episodes: Sequence[object]) -> list[ModelSpec]:
    """The models behind endpoints that the roles of episodes have, each once."""
    values = [value for episode in episodes for value in _values(episode)]
    choices = [value.choice if isinstance(value, ModelRole) else value for value in values]
    return list(dict.fromkeys(c for c in choices if isinstance(c, ModelSpec) and c.is_live))


def _has_role(episode: object, name: str) -> bool:
    return any(getattr(value, name, False) is True for value in _values(episode))


def _values(episode: object) -> list[object]:
    return [getattr(episode, f.name) for f in fields(episode)] if is_dataclass(episode) else []
