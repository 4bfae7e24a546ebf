"""The cost of settled counting: real time of an episode on an endpoint of 50 tokens/s.

No thought is cut. *one* thinks one thought at a time. *two* thinks a long thought and short ones
side by side: settled counting reads the long one to its end before time passes, so that the real
times add up. That is the price of an exact count, and has no target.
"""

import os
from statistics import median

from benchmarks.flight import endpoint
from timeful import Pace, Session, play, seconds
from timeful.core.clock import monotonic_ns
from timeful.core.units import milliseconds
from timeful.models.chat import OpenAIModel
from timeful.models.counting import Counting

ROUNDS, TURNS, TOKENS = 3, 5, 40
TARGET = 1.05
WAYS: tuple[Counting, ...] = ("running", "settled")


def measure(url: str, counting: Counting, agent_name: str) -> float:
    """The seconds of real time that an episode takes."""
    pace = Pace(per_token=milliseconds(20))
    model = OpenAIModel(model="paced", base_url=url, pace=pace, counting=counting)
    model.warm_up()

    async def one(session: Session) -> None:
        for turn in range(TURNS):
            await session.think(model, f"Turn {turn}", max_tokens=TOKENS)

    async def two(session: Session) -> None:
        plan = session.think(model, "Plan", max_tokens=TURNS * TOKENS)
        await one(session)
        await plan

    began = monotonic_ns()
    play(one if agent_name == "one" else two, "freeway", step=seconds(10))
    model.close()
    return (monotonic_ns() - began) / 1e9


def main() -> None:
    """Take turns, so that a busy machine slows both alike, and print medians."""
    os.environ["NO_PROXY"] = "127.0.0.1"
    print(f"{'thoughts at a time':<20}{'running/s':>12}{'settled/s':>12}{'ratio':>8}{'target':>8}")
    with endpoint() as url:
        for name in ("one", "two"):
            rounds = [[measure(url, way, name) for way in WAYS] for _ in range(ROUNDS)]
            running, settled = (median(column) for column in zip(*rounds, strict=True))
            ratio = median(slow / quick for quick, slow in rounds)
            target = f"{TARGET:.2f}" if name == "one" else ""
            print(f"{name:<20}{running:>12.2f}{settled:>12.2f}{ratio:>8.3f}{target:>8}")


if __name__ == "__main__":
    main()
