"""Spending: each request counts once, whatever becomes of it, and a budget holds for all."""

import os
import pickle
from asyncio import CancelledError
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from threading import Barrier, Thread

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from timeful.errors import BudgetError, RecordError, SettingsError
from timeful.models.ledger import LEDGER, Accounts, Expense, read_accounts
from timeful.models.prices import ANY, Price
from timeful.models.spending import Bill, Budget, Spending, track_spending
from timeful.records.usage import Usage

EXPECTED = 60
"""The tokens that a request is expected to have."""

PRICE = Price(prompt=10, cached=1, completion=100)
PRICED = Budget(prices={"m": PRICE})


@dataclass(frozen=True)
class Sent:
    """A request, as far as its cost is concerned."""

    model: str = "m"
    endpoint: str = "http://localhost/v1"
    label: str = "react"
    prompt_estimate: int = 50
    expected_tokens: int = EXPECTED


def whole(prompt: int = 100, completion: int = 10) -> Usage:
    return Usage(prompt=prompt, completion=completion, counted="settled")


def admit(spending: Spending, request: Sent | None = None, *, is_retry: bool = False) -> Bill:
    """Let a request be sent, as soon as there is room for it in the budget."""
    while True:
        if bill := spending.admit(request or Sent(), is_retry=is_retry):
            return bill
        os.sched_yield()


def spend(spending: Spending, usage: Usage, request: Sent | None = None) -> None:
    with admit(spending, request).measured(lambda: usage):
        pass


def one(out: Path) -> Expense:
    (expense,) = read_accounts(out).expenses
    return expense


def test_a_request_is_counted_by_model_and_role_with_its_cost(tmp_path: Path) -> None:
    with track_spending(tmp_path, PRICED) as spending:
        usage = Usage(prompt=100, cached=40, completion=10, reasoning=8, counted="settled")
        spend(spending, usage)
        spend(spending, usage, Sent(label="plan"))
        with admit(spending, is_retry=True).measured(lambda: usage):
            assert spending.now.in_flight == 1
        now = spending.now
    assert (now.requests, now.retries, now.answers, now.in_flight) == (3, 1, 3, 0)
    plan, react = read_accounts(tmp_path).expenses
    assert (plan.role, plan.requests, plan.retries) == ("plan", 1, 0)
    assert (react.role, react.requests, react.retries, react.cut) == ("react", 2, 1, 0)
    assert (react.prompt, react.cached, react.completion, react.reasoning) == (200, 80, 20, 16)
    cost = PRICE.cost(100, 10, cached=40)
    assert react.cost == pytest.approx(2 * cost)
    assert now.cost == pytest.approx(3 * cost)
    assert read_accounts(tmp_path).prices == {"m": PRICE}


def test_an_answer_that_breaks_or_is_cut_costs_what_is_known_of_it(tmp_path: Path) -> None:
    usage = Usage(completion=7, counted="estimated")
    with track_spending(tmp_path, PRICED) as spending:
        for error in (RuntimeError(), CancelledError()):
            with pytest.raises(type(error)), admit(spending).measured(lambda: usage):
                raise error
    expense = one(tmp_path)
    assert (expense.failed, expense.cut, expense.estimated) == (1, 1, 2)
    assert (expense.prompt, expense.completion) == (100, 14)
    assert expense.cost == pytest.approx(2 * PRICE.cost(50, 7))


def test_a_refused_request_costs_nothing(tmp_path: Path) -> None:
    with track_spending(tmp_path, PRICED) as spending:
        bill = admit(spending)
        with suppress(RuntimeError), bill.measured(lambda: whole(0, 0)):
            bill.is_refused = True
            raise RuntimeError
    expense = one(tmp_path)
    assert (expense.requests, expense.failed, expense.estimated, expense.cost) == (1, 1, 0, 0)


def test_a_bill_is_paid_once(tmp_path: Path) -> None:
    with track_spending(tmp_path, PRICED) as spending:
        bill = admit(spending)
        with suppress(CancelledError), bill.measured(lambda: whole(1, 1)):
            bill.pay(whole())
            raise CancelledError
        assert spending.now.in_flight == spending.now.reserved == 0
    expense = one(tmp_path)
    assert (expense.prompt, expense.completion, expense.cut) == (100, 10, 0)


def test_a_request_waits_for_those_that_may_use_up_the_budget(tmp_path: Path) -> None:
    with track_spending(tmp_path, Budget(tokens=130)) as spending:
        first, second = admit(spending), admit(spending)
        assert spending.admit(Sent(), is_retry=False) is None
        copy = pickle.loads(pickle.dumps(spending))
        assert copy.admit(Sent(), is_retry=False) is None
        first.pay(whole(10, 10))
        assert spending.admit(Sent(), is_retry=False) is None
        second.release()
        second.pay(whole(0, 0))
        third = admit(spending)
        assert spending.admit(Sent(), is_retry=False) is None
        fourth = spending.admit(Sent(), is_retry=False, can_wait=False)
        assert fourth is not None
        fourth.pay(whole(0, 0))
        third.pay(whole(100, 10))
        with pytest.raises(BudgetError):
            spending.admit(Sent(), is_retry=False)
    assert one(tmp_path).requests == 4


def test_a_request_of_a_killed_process_is_counted_as_cut(tmp_path: Path) -> None:
    with track_spending(tmp_path, PRICED) as spending:
        killed = pickle.loads(pickle.dumps(spending))
        admit(killed)
        spend(spending, whole())
    assert (one(tmp_path).requests, one(tmp_path).cut, one(tmp_path).prompt) == (2, 1, 150)


def test_a_resumed_run_adds_up_and_keeps_what_a_kill_left(tmp_path: Path) -> None:
    with track_spending(tmp_path, PRICED) as spending:
        spend(spending, whole())
    before = one(tmp_path)
    with (tmp_path / LEDGER).open("ab") as file:
        file.write(b'{"type":"expense","mod')
    with track_spending(tmp_path, PRICED) as spending:
        assert one(tmp_path) == before
        assert (spending.total.tokens, spending.now.tokens) == (110, 0)
        spend(spending, whole())
    assert one(tmp_path).requests == 2
    assert len((tmp_path / LEDGER).read_bytes().splitlines()) < 6


def test_requests_without_a_price_have_no_cost_until_one_is_given(tmp_path: Path) -> None:
    with track_spending(tmp_path) as spending:
        spend(spending, whole())
    assert (one(tmp_path).unpriced, one(tmp_path).cost) == (1, 0)
    assert read_accounts(tmp_path).prices == {}
    with track_spending(tmp_path, Budget(prices={ANY: PRICE})) as spending:
        assert spending.total.cost == pytest.approx(PRICE.cost(100, 10))
    assert one(tmp_path).unpriced == 0


def test_another_folder_counts_towards_the_budget(tmp_path: Path) -> None:
    first, second = tmp_path / "a", tmp_path / "b"
    for folder in (first, second):
        folder.mkdir()
    with track_spending(first, PRICED) as spending:
        spend(spending, whole())
    with track_spending(second, Budget(tokens=110), others=[first]) as spending:
        with pytest.raises(BudgetError):
            spend(spending, whole())
        assert spending.now.requests == 0
    assert read_accounts(second) == Accounts()


def test_a_limited_cost_refuses_a_model_without_a_price(tmp_path: Path) -> None:
    with track_spending(tmp_path, Budget(cost=1, prices={"m": PRICE})) as spending:
        spend(spending, whole())
        with pytest.raises(BudgetError):
            spend(spending, whole(), Sent(model="n"))
    assert one(tmp_path).requests == 1


@pytest.mark.parametrize("line", [b"no\n", b'{"type":"expense"}\n', b'{"type":"other"}\n'])
def test_a_damaged_ledger_is_named(tmp_path: Path, line: bytes) -> None:
    (tmp_path / LEDGER).write_bytes(line)
    with pytest.raises(RecordError, match=LEDGER), track_spending(tmp_path):
        pass


@pytest.mark.parametrize("limit", [{"tokens": 0}, {"cost": -1}, {"cost": float("nan")}])
def test_a_budget_that_is_not_above_0_is_refused(limit: dict[str, float]) -> None:
    with pytest.raises(SettingsError):
        Budget(**limit)  # type: ignore[arg-type]


counts = st.tuples(st.integers(0, EXPECTED // 2), st.integers(0, EXPECTED // 2))


@settings(max_examples=30)
@given(
    tasks=st.lists(st.lists(counts, min_size=1, max_size=6), min_size=1, max_size=5),
    most=st.integers(1, 300),
    by_cost=st.booleans(),
)
def test_no_request_begins_after_the_budget_of_threads_and_processes_is_used_up(
    tmp_path_factory: pytest.TempPathFactory,
    tasks: list[list[tuple[int, int]]],
    most: int,
    by_cost: bool,
) -> None:
    """Copies stand for processes: each has a file, a lock and a stop of its own."""
    out = tmp_path_factory.mktemp("run")
    price = Price(prompt=1e6, completion=1e6)  # a token costs 1 USD
    limit = {"cost": float(most)} if by_cost else {"tokens": most}
    with track_spending(out, Budget(**limit, prices={ANY: price})) as spending:  # type: ignore[arg-type]
        paid = _spend_side_by_side(spending, tasks)
        now = spending.now
    assert now.tokens == sum(paid)
    assert now.in_flight == 0
    # No request is longer than expected, so the last one alone exceeds the limit.
    assert now.tokens <= most - 1 + EXPECTED
    total = read_accounts(out).total
    assert (total.requests, total.prompt + total.completion) == (now.requests, now.tokens)
    assert total.cost == pytest.approx(now.tokens)
    if sum(sum(tokens) for task in tasks for tokens in task) < most:
        assert len(paid) == sum(map(len, tasks))


def _spend_side_by_side(
    spending: Spending, tasks: Sequence[Sequence[tuple[int, int]]]
) -> list[int]:
    """Send the requests of each task in a thread, of the same or another process in turn."""
    paid: list[int] = []
    barrier = Barrier(len(tasks))

    def work(mine: Spending, task: Sequence[tuple[int, int]]) -> None:
        barrier.wait()
        for prompt, completion in task:
            try:
                spend(mine, whole(prompt, completion))
            except BudgetError:
                return
            paid.append(prompt + completion)

    copies = [
        pickle.loads(pickle.dumps(spending)) if index % 2 else spending.share()
        for index in range(len(tasks))
    ]
    threads = [Thread(target=work, args=pair) for pair in zip(copies, tasks, strict=True)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return paid
