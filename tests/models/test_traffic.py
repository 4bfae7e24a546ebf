"""Gates of endpoints: windows, rates, and the state that processes share."""

import asyncio
from collections.abc import Callable
from pathlib import Path

import pytest

from timeful.errors import SettingsError
from timeful.models.shared_state import State
from timeful.models.traffic import _FIELDS, Gate, Limits, Traffic


class Clock:
    """A clock that stands still until it is moved."""

    def __init__(self) -> None:
        self.now = 1.0

    def __call__(self) -> float:
        return self.now


async def settle() -> None:
    """Let all tasks do what they can."""
    for _ in range(5):
        await asyncio.sleep(0)


async def enter_all(gate: Gate, count: int) -> list["asyncio.Task[None]"]:
    """Start tasks that enter, in order."""
    tasks = [asyncio.create_task(gate.enter()) for _ in range(count)]
    await settle()
    return tasks


async def end(tasks: list["asyncio.Task[None]"]) -> None:
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)


def play(script: Callable[[], object]) -> None:
    asyncio.run(script())  # type: ignore[arg-type]


def test_requests_beyond_the_window_wait_in_order() -> None:
    async def script() -> None:
        gate = Gate(Limits(connections=2))
        tasks = await enter_all(gate, 5)
        assert [task.done() for task in tasks] == [True, True, False, False, False]
        gate.leave()
        await settle()
        assert [task.done() for task in tasks] == [True, True, True, False, False]
        tasks[3].cancel()
        await settle()
        gate.leave()
        await settle()
        assert tasks[4].done()
        assert gate.in_flight == 2
        await end(tasks)

    play(script)


def test_a_refusal_halves_the_window_once_and_it_grows_back() -> None:
    clock = Clock()
    gate = Gate(Limits(connections=64), now=clock)
    assert gate.window == 64
    gate.refuse(sent_at=0.5, wait_s=None)
    gate.refuse(sent_at=0.6, wait_s=None)  # in flight together with the first one
    assert gate.window == 32
    clock.now += 10
    assert gate.window == 42
    gate.refuse(sent_at=5.0, wait_s=None)
    assert gate.window == 21
    clock.now += 1000
    assert gate.window == 64


def test_the_window_never_closes() -> None:
    clock = Clock()
    gate = Gate(Limits(connections=4), now=clock)
    for _ in range(9):
        gate.refuse(sent_at=clock.now, wait_s=None)
    assert gate.window == 1


def test_a_wait_that_the_server_names_holds_for_all() -> None:
    async def script() -> None:
        clock = Clock()
        gate = Gate(Limits(connections=8), now=clock)
        gate.refuse(sent_at=0.0, wait_s=30.0)
        tasks = await enter_all(gate, 2)
        assert not any(task.done() for task in tasks)
        clock.now += 31
        more = await enter_all(gate, 1)
        await end(tasks[:1])  # the next one in line looks again
        await settle()
        assert tasks[1].done()
        assert more[0].done()
        await end(tasks)

    play(script)


@pytest.mark.parametrize(
    ("limits", "tokens", "span_s"),
    [(Limits(rpm=30), 0, 2.0), (Limits(tpm=6000), 500, 5.0), (Limits(rpm=60, tpm=6000), 500, 5.0)],
)
def test_rates_space_requests(limits: Limits, tokens: int, span_s: float) -> None:
    async def script() -> None:
        clock = Clock()
        gate = Gate(limits, now=clock)
        await gate.enter(tokens)
        for elapsed, is_admitted in ((span_s - 0.1, False), (span_s + 0.1, True)):
            clock.now = 1.0 + elapsed
            task = asyncio.create_task(gate.enter(tokens))
            await settle()
            assert task.done() is is_admitted
            await end([task])

    play(script)


def test_tokens_beyond_the_estimate_count() -> None:
    async def script() -> None:
        clock = Clock()
        gate = Gate(Limits(tpm=6000), now=clock)
        await gate.enter(100)
        gate.correct(400)
        clock.now += 4.9
        task = asyncio.create_task(gate.enter(100))
        await settle()
        assert not task.done()
        await end([task])

    play(script)


def test_processes_share_a_window_and_its_state(tmp_path: Path) -> None:
    async def script() -> None:
        clock = Clock()
        gates = [
            Gate(
                Limits(connections=5),
                State(tmp_path / "state", size=_FIELDS),
                index=i,
                processes=2,
                now=clock,
            )
            for i in range(2)
        ]
        tasks = [await enter_all(gate, 5) for gate in gates]
        assert [gate.in_flight for gate in gates] == [3, 2]
        gates[0].refuse(sent_at=0.5, wait_s=7.0)
        assert gates[1].window == 2.5
        await end([task for group in tasks for task in group])

    play(script)


def test_a_stream_that_waits_for_its_consumer_gives_its_place_away() -> None:
    async def script() -> None:
        gate = Gate(Limits(connections=1))
        await gate.enter()
        tasks = await enter_all(gate, 2)
        with gate.outside():
            await settle()
            assert [task.done() for task in tasks] == [True, False]
        assert gate.in_flight == 2
        gate.leave()
        await settle()
        assert not tasks[1].done()
        gate.leave()
        await settle()
        assert tasks[1].done()

    play(script)


def test_an_endpoint_has_one_gate() -> None:
    traffic = Traffic(Limits())
    assert traffic.gate("http://a/v1") is traffic.gate("http://a/v1")
    assert traffic.gate("http://a/v1") is not traffic.gate("http://b/v1")


@pytest.mark.parametrize(
    "wrong",
    [
        *({"connections": 0}, {"rpm": 0.0}, {"tpm": -1.0}),
        *({"retries": -1}, {"first_token_s": 0.0}, {"idle_s": float("nan")}),
    ],
)
def test_limits_are_above_zero(wrong: dict[str, float]) -> None:
    with pytest.raises(SettingsError):
        Limits(**wrong)  # type: ignore[arg-type]
