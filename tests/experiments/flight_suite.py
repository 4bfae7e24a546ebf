"""A suite whose agent asks a model behind an endpoint three times; each answer scores."""

from dataclasses import dataclass
from typing import Any

import timeful
from timeful import EventWorld, Suite, seconds
from timeful.models.chat import OpenAIModel
from timeful.models.live_answer import ready
from timeful.models.request import Timeouts
from timeful.records.recorder import Recorder


class Sums(EventWorld):
    """A world whose score is the sum of the numbers that the agent gives."""

    def start(self, rng: object) -> None:
        self.finish(seconds(100))

    def begin(self, action: object) -> Any:
        return seconds(1)

    def happen(self, event: str, data: object) -> float:
        return float(str(data)) if event == "done" else 0.0

    def state(self) -> dict[str, Any]:
        return {}


@dataclass(frozen=True)
class FlightEpisode:
    """An agent that asks three times."""

    url: str = ""
    """Base URL."""
    rounds: int = 3
    """Requests."""
    number: int = 0
    hasty: bool = False
    """Odd episodes give up soon."""
    patience_ms: int = 60_000
    """Milliseconds that a request waits for limits of a rate."""

    @property
    def is_live(self) -> bool:
        return True


def play(episode: FlightEpisode, recorder: Recorder) -> None:
    first, idle = (1.0, 0.5) if episode.hasty and episode.number % 2 else (60.0, 30.0)
    patience_s = episode.patience_ms / 1000
    times = Timeouts(first_token_s=first, idle_s=idle, backoff_s=0.01, patience_s=patience_s)
    model = ready(OpenAIModel(model="fake", base_url=episode.url, timeouts=times))

    async def agent(session: timeful.Session) -> None:
        for turn in range(episode.rounds):
            text = f"episode {episode.number} turn {turn}"
            answer = await session.think(model, text, max_tokens=500)
            await session.act(answer.split()[-1])

    timeful.play(agent, Sums(0), interface="event-driven", record=recorder)


suite = Suite(name="flight", episode=FlightEpisode, play=play, sweep={"number": range(12)})
