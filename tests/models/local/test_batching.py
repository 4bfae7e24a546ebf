"""Promises of batches from many threads: who waits for whom, and that nobody waits for ever."""

import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext

import pytest

from tests.models.local.scripted import WholeBatch
from tests.models.local.tiny import checkpoint
from timeful.errors import ModelError
from timeful.models.local.batching import Batcher
from timeful.models.local.request import Completion, Request, Sampling
from timeful.models.local.sampler import Sampler

PATIENCE_S = 30
"""What a test waits in real time before it says that somebody hangs."""


class FakeSampler:
    """Answers with the prompt's first token, and notes its batches."""

    policy = 3
    rows = 256

    def __init__(self):
        self.asked: list[list[int]] = []
        self.hold: threading.Event | None = None
        self.began = threading.Event()
        self.fails = False

    def check(self, request):
        if not request.prompt_ids:
            raise ModelError("an empty prompt")

    def batch(self):
        return nullcontext(WholeBatch(self))

    def generate(self, requests, *, listeners=()):
        self.asked.append([one.prompt_ids[0] for one in requests])
        self.began.set()
        if self.hold is not None:
            assert self.hold.wait(PATIENCE_S)
        if self.fails:
            raise RuntimeError("out of memory")
        return [
            Completion(ids=one.prompt_ids[:1], logprobs=(0.0,), finish="stop") for one in requests
        ]


def asked(token: int) -> Request:
    return Request(prompt_ids=(token,), sampling=Sampling(max_tokens=1, seed=0))


def played(batcher, slots, episode) -> list:
    """Run an episode for each slot, all at once; errors are returned."""

    def play(i):
        with slots[i]:
            return episode(i, slots[i])

    with batcher, ThreadPoolExecutor(len(slots)) as pool:
        waiting = [pool.submit(play, i) for i in range(len(slots))]
        return [one.exception(PATIENCE_S) or one.result() for one in waiting]


# --- together ------------------------------------------------------------------------------------


def test_episodes_that_all_wait_are_one_batch_in_their_order():
    for _ in range(5):
        sampler = FakeSampler()
        batcher = Batcher(sampler, policy="together")
        slots = batcher.slots(20)

        def episode(i, slot):
            # Of 20 episodes the i-th has i + 1 rounds.
            return [slot.submit(asked(100 * n + i)).result().ids[0] for n in range(i + 1)]

        found = played(batcher, slots, episode)
        assert found == [[100 * n + i for n in range(i + 1)] for i in range(20)]
        assert sampler.asked == [[100 * n + i for i in range(n, 20)] for n in range(20)]


def test_an_episode_that_fails_is_waited_for_no_more():
    sampler = FakeSampler()
    batcher = Batcher(sampler, policy="together")

    def episode(i, slot):
        slot.submit(asked(i)).result()
        if i == 1:
            raise ValueError("broken")
        return slot.submit(asked(10 + i)).result().ids[0]

    first, second, third = played(batcher, batcher.slots(3), episode)
    assert (first, third) == (10, 12)
    assert isinstance(second, ValueError)
    assert sampler.asked == [[0, 1, 2], [10, 12]]


def test_two_thoughts_at_once_are_in_one_batch():
    sampler = FakeSampler()
    batcher = Batcher(sampler, policy="together")

    def episode(i, slot):
        both = [slot.submit(asked(10 * i + n)) for n in range(2)]
        return [one.result().ids[0] for one in reversed(both)]

    assert played(batcher, batcher.slots(2), episode) == [[1, 0], [11, 10]]
    assert sampler.asked == [[0, 1, 10, 11]]


def test_a_request_that_was_withdrawn_is_in_no_batch_and_wakes_its_waiter():
    sampler = FakeSampler()
    batcher = Batcher(sampler, policy="together")

    def episode(i, slot):
        unwanted = slot.submit(asked(90 + i))
        unwanted.withdraw()
        with pytest.raises(ModelError, match="withdrawn"):
            unwanted.result()
        return slot.submit(asked(i)).result().ids[0]

    assert played(batcher, batcher.slots(2), episode) == [0, 1]
    assert sampler.asked == [[0, 1]]


def test_a_request_cancelled_from_another_thread_wakes_its_waiter():
    sampler = FakeSampler()
    batcher = Batcher(sampler, policy="together")
    ready = threading.Event()
    tickets = []

    def episode(i, slot):
        if i == 0:
            tickets.append(slot.submit(asked(0)))
            ready.set()
            with pytest.raises(ModelError, match="withdrawn"):
                tickets[0].result()
            return slot.submit(asked(1)).result().ids[0]
        assert ready.wait(PATIENCE_S)
        tickets[0].withdraw()
        return slot.submit(asked(2)).result().ids[0]

    assert played(batcher, batcher.slots(2), episode) == [1, 2]
    assert sampler.asked == [[1, 2]]


def test_an_episode_that_never_thinks_holds_nobody_up():
    batcher = Batcher(FakeSampler(), policy="together")

    def episode(i, slot):
        return None if i else slot.submit(asked(5)).result().ids[0]

    assert played(batcher, batcher.slots(3), episode) == [5, None, None]


# --- whatever the policy -------------------------------------------------------------------------


@pytest.mark.parametrize("policy", ["together", "at once"])
def test_a_sampler_that_fails_fails_its_batch_and_goes_on(policy):
    sampler = FakeSampler()
    sampler.fails = True
    with Batcher(sampler, policy=policy) as batcher, batcher.slots(1)[0] as slot:
        with pytest.raises(ModelError, match="RuntimeError: out of memory"):
            slot.submit(asked(1)).result()
        sampler.fails = False
        assert slot.submit(asked(1)).result().ids == (1,)


@pytest.mark.parametrize("policy", ["together", "at once"])
def test_closing_wakes_everybody_also_whoever_is_being_answered(policy):
    sampler = FakeSampler()
    sampler.hold = threading.Event()
    batcher = Batcher(sampler, policy=policy)
    slots = batcher.slots(3)
    told = []
    with ThreadPoolExecutor(3) as pool:
        tickets = [slot.submit(asked(i)) for i, slot in enumerate(slots)]
        tickets[0].when_done(lambda: told.append("done"))
        waiting = [pool.submit(one.result) for one in tickets]
        assert sampler.began.wait(PATIENCE_S)
        closing = threading.Thread(target=batcher.close)
        closing.start()
        for one in waiting:
            assert "closed" in str(one.exception(PATIENCE_S))
        sampler.hold.set()
        closing.join(PATIENCE_S)
    assert not closing.is_alive()
    assert told == ["done"]
    with pytest.raises(ModelError, match="closed"):
        slots[0].submit(asked(1))
    with pytest.raises(ModelError, match="closed"):
        batcher.slots(1)


def test_a_prompt_that_cannot_be_answered_is_refused_before_it_spoils_a_batch():
    nothing = Request(prompt_ids=(), sampling=Sampling(max_tokens=1, seed=0))
    with Batcher(FakeSampler()) as batcher, pytest.raises(ModelError, match="empty"):
        batcher.slots(1)[0].submit(nothing)


def test_a_seat_that_was_left_asks_for_nothing_more():
    with Batcher(FakeSampler()) as batcher:
        (slot,) = batcher.slots(1)
        slot.leave()
        with pytest.raises(ModelError, match="left"):
            slot.submit(asked(1))


# --- at once -------------------------------------------------------------------------------------


def test_whatever_waits_is_a_batch():
    sampler = FakeSampler()
    sampler.hold = threading.Event()
    with Batcher(sampler) as batcher:
        one, other, _ = batcher.slots(3)  # the third never asks, and nobody cares
        first = one.submit(asked(1))
        assert sampler.began.wait(PATIENCE_S)
        rest = [other.submit(asked(2)), one.submit(asked(3))]
        sampler.hold.set()
        assert [ticket.result().ids[0] for ticket in (first, *rest)] == [1, 2, 3]
    assert sampler.asked == [[1], [2, 3]]


def test_whoever_would_wait_behind_too_many_is_sent_away(monkeypatch):
    monkeypatch.setattr("timeful.models.local.batching.MAX_QUEUED", 3)
    sampler = FakeSampler()
    sampler.hold = threading.Event()
    with Batcher(sampler) as batcher, batcher.slots(1)[0] as slot:
        first = slot.submit(asked(1))
        assert sampler.began.wait(PATIENCE_S)
        waiting = [slot.submit(asked(i)) for i in (2, 3, 4)]
        with pytest.raises(ModelError, match="3 requests"):
            slot.submit(asked(5))
        waiting.pop().withdraw()
        waiting.append(slot.submit(asked(6)))
        sampler.hold.set()
        assert [one.result().ids[0] for one in (first, *waiting)] == [1, 2, 3, 6]


@pytest.mark.parametrize("rows", [2, 1])
def test_a_short_answer_waits_for_no_long_one_if_there_is_room(rows):
    done = []
    with Batcher(Sampler(checkpoint(), rows=rows)) as batcher, batcher.slots(1)[0] as slot:
        heard = []

        def listen(drawn):
            heard.append(drawn)
            if len(heard) == 3:
                slot.submit(asked(7)).when_done(lambda: done.append("short"))
            return True

        request = Request(prompt_ids=(5, 6), sampling=Sampling(max_tokens=60, seed=0))
        slot.submit(request, listener=listen).when_done(lambda: done.append("long"))
        slot.submit(asked(8)).result()  # came before the short one
        while len(done) < 2:
            slot.submit(asked(9)).result()
    assert done == (["short", "long"] if rows == 2 else ["long", "short"])


def test_whoever_waits_for_an_answer_is_told_also_afterwards():
    told = []
    with Batcher(FakeSampler()) as batcher, batcher.slots(1)[0] as slot:
        ticket = slot.submit(asked(1))
        ticket.result()
        ticket.when_done(lambda: told.append("at once"))
    assert told == ["at once"]


def test_a_withdrawn_request_stops_drawing():
    with Batcher(Sampler(checkpoint())) as batcher, batcher.slots(1)[0] as slot:
        heard = []

        def listen(drawn):
            heard.append(drawn)
            if len(heard) == 3:
                ticket.withdraw()
            return True

        made = threading.Event()

        def patient(drawn):
            assert made.wait(PATIENCE_S)
            return listen(drawn)

        request = Request(prompt_ids=(5, 6), sampling=Sampling(max_tokens=60, seed=0))
        ticket = slot.submit(request, listener=patient)
        made.set()
        with pytest.raises(ModelError, match="withdrawn"):
            ticket.result()
        slot.submit(request).result()  # the thread goes on
    assert len(heard) in (3, 4)
