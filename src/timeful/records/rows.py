"""One row an episode: what tables, statistics and figures are made from."""

from typing import Literal

import msgspec


class EpisodeRow(msgspec.Struct, frozen=True, kw_only=True):
    """The outcome of one episode, with everything that says which episode it was.

    `score` is the raw return R, None if the episode failed. `tokens_per_step` is the time
    pressure in token time. In paced time (virtual seconds, at a measured pace) and in wall time
    it is None and `seconds_per_step` is set. `reserve` is the reactor's budget in tokens or,
    outside token time, milliseconds (agents with two threads only). `reactor_tokens` holds the
    length of each reactive call, in order, and `reactor_cut` how many were cut by their limit.
    """

    suite: str
    game: str
    difficulty: str
    mode: str
    agent: str
    model: str
    stand_in: bool
    clock: Literal["token", "paced", "wall"]
    tokens_per_step: int | None
    seconds_per_step: float | None
    reserve: int | None
    game_seed: int
    sample: int
    status: Literal["ok", "failed"]
    score: float | None
    turns: int
    late_turns: int
    """Turns in which the default action was taken because none had come."""
    tokens: int
    reactor_tokens: tuple[int, ...]
    reactor_cut: int
    error: str | None
    sha256: str
    """Of the episode's record, wall-clock fields apart."""
    behind_s: float = 0.0
    """The greatest delay of the timeline after the wall clock, in s; 0 in virtual time."""
