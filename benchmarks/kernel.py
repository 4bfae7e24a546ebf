"""The kernel beside SimPy: sleeps with the log off and on, and interrupts."""

import gc
from collections.abc import Callable, Generator
from statistics import median
from typing import Any

import simpy

from timeful.core.activity import Activity, Interrupted
from timeful.core.clock import cpu_seconds
from timeful.core.instruments import EventLog
from timeful.core.kernel import Kernel
from timeful.core.units import Duration

PROCESSES, SLEEPS, INTERRUPTS, ROUNDS = 100, 3_000, 100_000, 7


def timeful_sleeps(*, log: EventLog | None = None) -> int:
    kernel = Kernel(log=log)
    woken = 0

    async def sleeper(span: Duration) -> None:
        nonlocal woken
        for _ in range(SLEEPS):
            await kernel.sleep(span)
            woken += 1

    for i in range(PROCESSES):
        kernel.start(sleeper(Duration(1_000 + i)))
    kernel.run()
    return woken


def timeful_sleeps_logged() -> int:
    log = EventLog()
    woken = timeful_sleeps(log=log)
    assert len(log.events) == PROCESSES * (SLEEPS + 3)
    return woken


def simpy_sleeps() -> int:
    env = simpy.Environment()
    woken = 0

    def sleeper(span: int) -> Generator[Any, Any, None]:
        nonlocal woken
        for _ in range(SLEEPS):
            yield env.timeout(span)
            woken += 1

    for i in range(PROCESSES):
        env.process(sleeper(1_000 + i))
    env.run()
    return woken


def timeful_interrupts() -> int:
    kernel = Kernel()
    caught = 0

    async def target() -> None:
        nonlocal caught
        while caught < INTERRUPTS:
            try:
                await kernel.sleep(Duration(1_000_000))
            except Interrupted:
                caught += 1

    async def interrupter(victim: Activity[None]) -> None:
        for _ in range(INTERRUPTS):
            await kernel.sleep(Duration(1))
            victim.interrupt("now")

    kernel.start(interrupter(kernel.start(target())))
    kernel.run()
    return caught


def simpy_interrupts() -> int:
    env = simpy.Environment()
    caught = 0

    def target() -> Generator[Any, Any, None]:
        nonlocal caught
        while caught < INTERRUPTS:
            try:
                yield env.timeout(1_000_000)
            except simpy.Interrupt:
                caught += 1

    def interrupter(victim: simpy.Process) -> Generator[Any, Any, None]:
        for _ in range(INTERRUPTS):
            yield env.timeout(1)
            victim.interrupt("now")

    victim = env.process(target())
    env.process(interrupter(victim))
    env.run()
    return caught


def rate(job: Callable[[], int], expected: int) -> float:
    """Events per CPU second of one round, checked to have done all the work."""
    gc.collect()
    begin = cpu_seconds()
    done = job()
    spent = cpu_seconds() - begin
    assert done == expected, f"{job.__name__} did {done} of {expected}"
    return expected / spent


def main() -> None:
    """Interleave the rivals, so that a busy machine slows both alike, and print medians."""
    sleeps = PROCESSES * SLEEPS
    jobs: list[tuple[Callable[[], int], int]] = [
        (simpy_sleeps, sleeps),
        (timeful_sleeps, sleeps),
        (timeful_sleeps_logged, sleeps),
        (simpy_interrupts, INTERRUPTS),
        (timeful_interrupts, INTERRUPTS),
    ]
    rounds = [[rate(job, expected) for job, expected in jobs] for _ in range(ROUNDS)]
    medians = [median(column) for column in zip(*rounds, strict=True)]
    targets = ["", "0.9", "0.4", "", "1.0"]
    print(f"{'job':<26}{'events/CPU s':>14}{'x SimPy':>10}{'target':>8}")
    for k, (job, _) in enumerate(jobs):
        peer = 0 if k < 3 else 3
        ratio = median(row[k] / row[peer] for row in rounds)
        print(f"{job.__name__:<26}{medians[k]:>14,.0f}{ratio:>10.2f}{targets[k]:>8}")


if __name__ == "__main__":
    main()
