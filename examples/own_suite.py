"""A suite of your own, `timeful run examples/own_suite.py`: how fast must an agent think?"""

from dataclasses import dataclass
from functools import partial

from own_world import Door, ponder, slow_model

import timeful
from timeful import Lines, Metric, Suite, Table, tokens


@dataclass(frozen=True)
class DoorEpisode:
    """Nine turns before a door that opens and shuts."""

    interface: str = "fixed-rate"
    """Interface, such as frozen."""
    thinking: int = 100
    """Length of a thought in tokens."""
    turn: int = 100
    """Length of a turn in tokens."""


def play(episode, recorder):
    timeful.play(
        partial(ponder, model=slow_model(episode.thinking)),
        Door(),
        interface=episode.interface,
        step=tokens(episode.turn),
        record=recorder,
    )


suite = Suite(
    name="door",
    episode=DoorEpisode,
    play=play,
    sweep={"interface": ("fixed-rate", "frozen"), "thinking": (50, 100, 150, 300)},
    metrics=[Metric("Score", "score")],
    tables=[Table("", rows="interface", columns="thinking")],
    figures=[Lines(x="thinking", y="Score", hue="interface", x_label="tokens a thought")],
)
