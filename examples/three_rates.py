"""Modules at three rates: a planner that takes seconds, a controller at 10 Hz, senses at 30 Hz.

A rabbit hops about on a line, and a robot catches it where it sits. The planner's world is the
controller, the controller's world the body, the body's world the line. The same planner is played
twice: called when a hop is seen, so that it replans in motion; and as a loop, which looks up when
an order is carried out.
"""

from dataclasses import dataclass
from functools import partial
from math import fsum

from timeful import Pace, Prompt, Session, make_interface, milliseconds, play
from timeful.environments.ticking import Ticking
from timeful.models.rules import Answer, RuleModel
from timeful.records.events import Acted
from timeful.records.recorder import within
from timeful.runs.module import Module
from timeful.seeding import child


@dataclass(frozen=True)
class LineView:
    turn: int
    robot: float
    rabbit: float

    def text(self) -> str:
        return f"robot at {self.robot:.1f} m, rabbit at {self.rabbit:.1f} m"


class Line:
    """100 m, a minute in turns of 20 ms; the robot goes 10 m/s, the rabbit hops now and then."""

    name, actions, horizon, restarted, busy = "line", ("L", "R", "-"), 3000, False, False

    def __init__(self, seed: int) -> None:
        self.seed = seed
        self.reset()

    def reset(self) -> None:
        self.rng = child(self.seed, "rabbit")
        self.turn, self.score, self.done = 0, 0.0, False
        self.robot, self.default_action = 50.0, "-"
        self.hop()

    def hop(self) -> None:
        self.rabbit = self.rng.uniform(0, 100)
        self.next_hop = self.turn + self.rng.integers(200, 400)

    def step(self, action: str) -> float:
        self.default_action = action  # it goes on as it was told
        self.turn += 1
        self.done = self.turn == self.horizon
        self.robot += {"L": -0.2, "R": 0.2, "-": 0.0}[action]
        caught = float(action == "-" and abs(self.robot - self.rabbit) < 1)
        if caught or self.turn == self.next_hop:
            self.hop()
        self.score += caught
        return caught

    def legal_actions(self) -> tuple[str, ...]:
        return self.actions

    def view(self) -> LineView:
        return LineView(self.turn, self.robot, self.rabbit)


async def sense(session: Session, noise) -> None:
    """Report 30 times a second what is seen, with noise; pass on what the legs shall do."""
    while not session.over:
        for seen in session.observe():
            if seen.event == "order":
                session.act(seen.data["text"])
        line, blur = session.view.world, noise.normal(0, 0.2, size=2)
        session.act(f"report {line.robot + blur[0]:.2f} {line.rabbit + blur[1]:.2f}")
        await session.sleep(milliseconds(100 / 3))


async def control(session: Session) -> None:
    """Steer towards the place that was ordered, by the mean of what was seen since last time."""
    goal = known = None
    while not session.over:
        seen = session.observe()
        for order in (what.data["text"] for what in seen if what.event == "order"):
            goal = float(order.removeprefix("go "))
        if looks := [what.data["text"].split() for what in seen if what.event == "report"]:
            robot, rabbit = fsum(float(look[0]) for look in looks) / len(looks), float(looks[-1][1])
            if known is None or abs(rabbit - known) > 2:
                known = rabbit
                session.act(f"report {rabbit}")
            if goal is not None:
                way = goal - robot
                session.act("-" if abs(way) < 0.6 else "R" if way > 0 else "L")
                if abs(way) < 0.6:
                    session.act("done")
                    goal = None
        await session.wait_for_tick()


async def plan(session: Session, model: RuleModel) -> None:
    """Think about where the rabbit was seen last, order to go there, and see what comes."""
    while not session.over:
        await session.run_until_event()
        hops = [what.data["text"] for what in session.observe() if what.event == "report"]
        if hops:
            ask = Prompt(label="plan", view=hops[-1], render=lambda: "Where?")
            session.act(await session.think(model, ask))


def catch(interface: str, seed: int) -> tuple[float, ...]:
    """A minute under an interface: rabbits, what the planner and the controller did, and looks."""
    pace = Pace(per_token=milliseconds(40))  # 1.2 s for a plan of 30 tokens
    model = RuleModel(lambda seen, _: Answer(f"go {seen}", 30), name="planner", pace=pace)
    body = Module(
        partial(sense, noise=child(seed, "noise")),
        Ticking(Line(seed), milliseconds(20)),
        make_interface("event-driven", full=False),
        name="body",
        orders=Line.actions,
    )
    ten_hz = make_interface("fixed-rate:100ms", full=False)
    controller = Module(control, body, ten_hz, name="controller", orders=["go"])
    agent = partial(plan, model=model)
    episode = play(agent, controller, interface=interface, seed=seed, transcripts="answers")
    events = episode.events
    layers = [events, *(within(events, name) for name in ("controller", "controller/body"))]
    acts = [[e.action for e in layer if isinstance(e, Acted)] for layer in layers]
    steps = [action for action in acts[1] if action in Line.actions]
    looks = [action for action in acts[2] if action.startswith("report")]
    return controller.score, len(acts[0]), len(steps), len(looks)


for name, interface in (("in motion", "event-driven"), ("at the end of a run", "loop")):
    means = [
        sum(column) / 5
        for column in zip(*(catch(interface, seed) for seed in range(5)), strict=True)
    ]
    print("replanned {}: {} rabbits; {} plans, {} steps, {} looks".format(name, *means))

# It prints:
# > replanned in motion: 8.0 rabbits; 13.2 plans, 460.6 steps, 1801.0 looks
# > replanned at the end of a run: 6.2 rabbits; 11.6 plans, 446.0 steps, 1801.0 looks
