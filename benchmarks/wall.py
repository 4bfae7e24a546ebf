"""Does the world keep its pace in wall time, whatever a model does?

A source that never says anything stalls both threads of AgileThinker. The world must make
floor(t / T_E) steps all the same, with one request in flight a thread.
"""

import threading
from collections.abc import Callable
from functools import partial

from timeful.agents.agile import agile
from timeful.agents.prompt_kit import prompt_kit
from timeful.core.clock import WallClock, cpu_seconds, monotonic_ns
from timeful.core.source import Chunk, End
from timeful.core.units import in_seconds, milliseconds
from timeful.models.model import Prompt
from timeful.models.pace import Pace
from timeful.runs.play import play

TICK_MS, TURNS = 50, 100


class Stalled:
    """A source of which nothing ever comes."""

    def __init__(self, model: "StalledModel") -> None:
        self._model = model
        self._closed = threading.Event()
        self._notify: Callable[[], None] = lambda: None

    def pull(self) -> Chunk | End:
        self._closed.wait()
        return End("closed")

    def when_ready(self, notify: Callable[[], None]) -> None:
        self._notify = notify

    def close(self) -> None:
        if not self._closed.is_set():
            self._closed.set()
            self._model.in_flight -= 1
            self._notify()


class StalledModel:
    """Counts its requests in flight."""

    name, live = "stalled", True
    pace: Pace | None = None

    def __init__(self) -> None:
        self.in_flight = self.most = self.asked = 0

    def open(self, prompt: Prompt, *, max_tokens: int | None, seed: int) -> Stalled:
        self.asked += 1
        self.in_flight += 1
        self.most = max(self.most, self.in_flight)
        return Stalled(self)


def main() -> None:
    planner, reactor = StalledModel(), StalledModel()
    agent = partial(
        agile,
        planner=planner,
        reactor=reactor,
        prompts=prompt_kit("overcooked"),
        reserve=milliseconds(TICK_MS / 2),
    )
    began, cpu = monotonic_ns(), cpu_seconds()
    played = play(agent, "overcooked", step=milliseconds(TICK_MS), clock=WallClock())
    took_s = in_seconds(monotonic_ns() - began)
    expected_s = TURNS * TICK_MS / 1000
    assert played.turns == played.late == TURNS, "every turn happened, none with an action"
    assert planner.asked == planner.most == 1, "the planner is asked once, and waited for"
    assert reactor.asked == TURNS, "the reactor is asked once a turn"
    assert reactor.most == 1, "one request in flight a thread"
    print(f"{TURNS} turns of {TICK_MS} ms took {took_s:.3f} s of {expected_s:.3f} s")
    print(f"late by {took_s / expected_s - 1:.2%} (target 5 %), {cpu_seconds() - cpu:.2f} CPU s")


if __name__ == "__main__":
    main()
