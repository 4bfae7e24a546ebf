"""A suite of a user's own, `timeful run examples/pager.py`: alerts, and an agent that writes."""

from dataclasses import dataclass

import timeful
from timeful import EventWorld, IllegalActionError, Lines, Metric, Pace, Suite, Table, seconds


class Pager(EventWorld):
    def __init__(self, rate, seed=0):
        self.rate = rate
        super().__init__(seed)

    def start(self, rng):
        self.waiting = []
        arrivals = rng.exponential(60 / self.rate, size=100).cumsum()
        for alert, at in enumerate(at for at in arrivals if at < 270):
            self.schedule(seconds(at), "alert", alert)
            self.schedule(seconds(at + 30), "expired", alert)
        self.finish(seconds(300))

    def begin(self, action):
        if action not in map(str, self.waiting):
            raise IllegalActionError(f"no alert {action} is waiting")
        return seconds(5)

    def happen(self, event, alert):
        if event == "alert":
            self.waiting.append(alert)
        elif int(alert) in self.waiting:  # expired, or fixed in time
            self.waiting.remove(int(alert))
            return event == "done"

    def state(self):
        return {"waiting": list(self.waiting)}


async def on_call(session):
    writer = timeful.ScriptedModel(lambda _: "text " * 750, pace=Pace(per_token=seconds(0.05)))
    while not session.over:
        report = session.think(writer, "Write a section of the report.")
        while not await session.run_until_event(report):
            for alert in session.view.waiting:
                await session.act(str(alert))  # has no effect if the alert has expired


@dataclass(frozen=True)
class PagerEpisode:
    """An agent on call fixes alerts while it writes a report."""

    interface: str = "event-driven"
    """Interface, such as polling:20s."""
    rate: float = 3.0
    """Alerts a minute."""
    seed: int = 0


def play(episode, recorder):
    pager = Pager(episode.rate, episode.seed)
    timeful.play(on_call, pager, interface=episode.interface, record=recorder)


def summarize(events):
    return {"alerts": sum(getattr(event, "what", "") == "alert" for event in events)}


suite = Suite(
    name="pager",
    episode=PagerEpisode,
    play=play,
    summarize=summarize,
    sweep={
        "interface": ("event-driven", "polling:20s", "loop"),
        "rate": (1.0, 3.0, 9.0),
        "seed": range(20),
    },
    metrics=[Metric("Fixed in time", "score", per="alerts")],
    tables=[Table("", rows="interface", columns="rate")],
    figures=[Lines(x="rate", y="Fixed in time", hue="interface", x_label="alerts a minute")],
)
