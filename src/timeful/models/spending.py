"""What a run spends on endpoints, while it runs: one count for progress, budgets and tables.

Each attempt of a request enters the tokens that its server counted, or an estimate where it counts
none. The processes of a run share the numbers in a file; `ledger` keeps them by model and role.
"""

from asyncio import CancelledError
from collections.abc import Callable, Iterable, Iterator, Mapping, MutableSequence, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, fields
from pathlib import Path
from tempfile import TemporaryDirectory
from threading import Condition, Lock
from typing import Protocol

from msgspec.structs import replace

from timeful.core.clock import monotonic_ns
from timeful.errors import BudgetError, ModelError, check_range
from timeful.models.ledger import (
    LEDGER,
    Expense,
    Ledger,
    add_expenses,
    fold_ledger,
    read_accounts,
)
from timeful.models.prices import Price, find_price, refuse_unpriced
from timeful.models.shared_state import State
from timeful.records.usage import Usage


@dataclass(frozen=True, slots=True, kw_only=True)
class Budget:
    """The most that a run may spend, those of its earlier sessions included.

    A request is refused once the budget is used up. Near the end a request waits for those in
    flight that may use it up, so that one answer exceeds it, or answers longer than expected.

    Args:
        tokens: The most tokens, prompts included; None for no limit.
        cost: The most USD; None for no limit.
        prices: Prices given by hand by the name of the model; see `prices.price_of`.

    Raises:
        SettingsError: If a limit is not above 0.
    """

    tokens: int | None = None
    cost: float | None = None
    prices: Mapping[str, Price] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for name, value in (("tokens", self.tokens), ("USD", self.cost)):
            if value is not None:
                check_range(f"a budget of {name}", value, above=0)


@dataclass(frozen=True, slots=True, kw_only=True)
class Spent:
    """Numbers of a run so far.

    Attributes:
        requests: The requests that were sent.
        retries: The part of these that repeat another one.
        limited: The part of these that the server refused for a limit of its rate.
        answers: The answers, whole or in part.
        prompt: The tokens of prompts.
        completion: The generated tokens, reasoning included.
        cost: The USD for models of known price.
        in_flight: The requests that are answered at this moment.
        reserved: The part of these that reserve a part of the budget.
        reserved_tokens: The tokens that these are expected to use.
        reserved_cost: The USD that these are expected to cost.
    """

    requests: float = 0
    retries: float = 0
    limited: float = 0
    answers: float = 0
    prompt: float = 0
    completion: float = 0
    cost: float = 0
    in_flight: float = 0
    reserved: float = 0
    reserved_tokens: float = 0
    reserved_cost: float = 0

    @property
    def tokens(self) -> int:
        """The tokens of prompts and answers."""
        return int(self.prompt + self.completion)


_NAMES = tuple(f.name for f in fields(Spent))

_SETTLE_S = 1.0
"""The longest wait for the counts of requests that are ending."""


@contextmanager
def track_spending(
    out: Path, budget: Budget | None = None, *, others: Sequence[Path] = ()
) -> Iterator["Spending"]:
    """The spending of the run in a folder, which continues that of its earlier sessions.

    Args:
        out: The run folder.
        budget: The most that may be spent.
        others: Other folders whose spending counts towards the budget.

    Raises:
        RecordError: If the numbers of earlier sessions cannot be read.
    """
    budget = budget or Budget()
    fold_ledger(out, dict(budget.prices))
    earlier = [read_accounts(folder).total for folder in (out, *others)]
    with TemporaryDirectory(prefix="timeful-spending-", ignore_cleanup_errors=True) as folder:
        spending = Spending(
            Path(folder, "numbers"),
            budget=budget,
            earlier=_read_total(add_expenses(earlier, model="", role="")),
            is_run=True,
            ledger=Ledger(out / LEDGER),
        )
        try:
            yield spending
        finally:
            spending.close()


def _read_total(total: Expense) -> Spent:
    return Spent(
        requests=total.requests,
        retries=total.retries,
        answers=total.requests - total.failed - total.cut,
        prompt=total.prompt,
        completion=total.completion,
        cost=total.cost,
    )


class Billed(Protocol):
    """A request that may cost money."""

    @property
    def model(self) -> str:
        """The name of the model at its server."""
        ...

    @property
    def endpoint(self) -> str:
        """The address of the server."""
        ...

    @property
    def label(self) -> str:
        """The role that the prompt is for."""
        ...

    @property
    def prompt_estimate(self) -> int:
        """A guess of the tokens of the prompt."""
        ...

    @property
    def expected_tokens(self) -> int:
        """A guess of the tokens of prompt and answer."""
        ...


class Spending:
    """The numbers of a run, safe for threads; a copy in another process shares them.

    Args:
        path: The file that processes share; None for a process alone.
        budget: The most that may be spent.
        earlier: What earlier sessions of the run spent.
        is_run: Whether an endpoint that refuses for good ends all that follows.
        ledger: Keeps what each request costs; None if nothing is kept.
        is_uniform: Whether all requests are alike, so that a refusal of the first one's settings
            is that of all.
    """

    def __init__(
        self,
        path: Path | None = None,
        *,
        budget: Budget | None = None,
        earlier: Spent | None = None,
        is_run: bool = False,
        ledger: Ledger | None = None,
        is_uniform: bool = True,
    ) -> None:
        self.is_uniform = is_uniform
        self.budget = budget or Budget()
        self.earlier = earlier or Spent()
        self.stopped: ModelError | None = None
        """The reason for which no further request is sent."""
        self._path = path
        self._is_run = is_run
        self._ledger = ledger
        self._state = State(path, size=len(_NAMES))
        self._open = _OpenBills()

    def __reduce__(self) -> tuple[object, ...]:
        return _make, (self._path, self.budget, self.earlier, self._is_run, self._ledger)

    def share(self, *, is_run: bool = True) -> "Spending":
        """The same numbers, with a stop of its own."""
        shared = self.probe(is_run=is_run)
        shared._state = self._state
        return shared

    def probe(self, *, is_run: bool = True) -> "Spending":
        """The same budget and ledger, with numbers and a stop of its own."""
        probing = _make(None, self.budget, self.earlier, is_run, self._ledger)
        probing._open = self._open
        return probing

    def enter(self, expenses: Iterable[Expense]) -> None:
        """Count and keep expenses of before the folder was there."""
        for expense in expenses:
            self._count(
                requests=expense.requests,
                retries=expense.retries,
                answers=expense.requests - expense.failed - expense.cut,
                prompt=expense.prompt,
                completion=expense.completion,
                cost=expense.cost,
            )
            if self._ledger is not None:
                self._ledger.write(expense, None)

    def close(self) -> None:
        """Wait a moment for requests of this process that are ending, and close the ledger."""
        self._open.wait(_SETTLE_S)
        if self._ledger is not None:
            self._ledger.close()

    @property
    def now(self) -> Spent:
        """The numbers of this session."""
        with self._state.locked() as numbers:
            return Spent(**dict(zip(_NAMES, numbers, strict=True)))

    @property
    def total(self) -> Spent:
        """The numbers of all sessions of the run."""
        with self._state.locked() as numbers:
            return self._add_earlier(numbers)

    def admit(self, request: Billed, *, is_retry: bool, can_wait: bool = True) -> "Bill | None":
        """Let a request be sent, and count it.

        Of requests in flight, those that may use up the budget reserve their part of it, so that
        one request alone exceeds it.

        Args:
            request: The request.
            is_retry: Whether it repeats another one.
            can_wait: Whether it may have to wait.

        Returns:
            The bill of the request, to be paid after it; None while other requests in flight may
            use up the budget.

        Raises:
            BudgetError: If the budget is used up.
            ModelError: If the run was stopped.
        """
        if self.stopped is not None:
            raise self.stopped
        price = find_price(request.model, request.endpoint, self.budget.prices)
        reserved = _reserve(request, price)
        with self._state.locked() as numbers:
            total = self._add_earlier(numbers)
            words = self._refuse(request, price, total)
            if not words and can_wait and self._is_tight(total, reserved):
                return None
            if not words:
                _add(numbers, requests=1, retries=is_retry, in_flight=1, **reserved)
        if words:
            error = BudgetError(words)
            self.stop(error)
            raise error
        self._open.add(1)
        return Bill(self, request, price, is_retry=is_retry, reserved=reserved)

    def note_limit(self) -> None:
        """Count a request that was refused for a limit of the server's rate."""
        self._count(limited=1)

    def stop(self, reason: ModelError) -> None:
        """Send no further request, in this process, if this is a run."""
        if self._is_run and self.stopped is None:
            self.stopped = reason

    def end_run(self) -> None:
        """Stop, whatever the reason is."""
        self.stopped = self.stopped or ModelError("the run was stopped")

    def _refuse(self, request: Billed, price: Price | None, total: Spent) -> str:
        """The reason for which no request may be sent; "" if there is none."""
        budget, resume = self.budget, "the same command with a larger budget resumes what is kept"
        if budget.cost is not None and price is None:
            return refuse_unpriced(request.model)
        if budget.tokens is not None and total.tokens >= budget.tokens:
            return f"{total.tokens:,} tokens are spent, the budget is {budget.tokens:,}; {resume}"
        if budget.cost is not None and total.cost >= budget.cost:
            return f"{total.cost:.4g} USD are spent, the budget is {budget.cost:g}; {resume}"
        return ""

    def _is_tight(self, total: Spent, reserved: Mapping[str, float]) -> bool:
        """Whether requests in flight may use up the budget before this one is sent."""
        tokens = total.tokens + total.reserved_tokens + reserved["reserved_tokens"]
        cost = total.cost + total.reserved_cost + reserved["reserved_cost"]
        limits = ((self.budget.tokens, tokens), (self.budget.cost, cost))
        is_over = any(limit is not None and sure > limit for limit, sure in limits)
        return is_over and total.reserved > 0

    def _add_earlier(self, numbers: Sequence[float]) -> Spent:
        sums = (
            number + getattr(self.earlier, name)
            for name, number in zip(_NAMES, numbers, strict=True)
        )
        return Spent(**dict(zip(_NAMES, sums, strict=True)))

    def _count(self, **amounts: float) -> None:
        with self._state.locked() as numbers:
            _add(numbers, **amounts)


def _add(numbers: MutableSequence[float], **amounts: float) -> None:
    for name, amount in amounts.items():
        numbers[_NAMES.index(name)] += amount


def _reserve(request: Billed, price: Price | None) -> dict[str, float]:
    """The part of the budget that a request is expected to use."""
    prompt, tokens = request.prompt_estimate, request.expected_tokens
    cost = 0.0 if price is None else price.cost(prompt, tokens - prompt)
    return {"reserved": 1, "reserved_tokens": tokens, "reserved_cost": cost}


class Bill:
    """What one request costs; it is counted as cut until it is paid.

    Attributes:
        is_refused: Whether the server gave no answer, which costs nothing.
    """

    def __init__(
        self,
        spending: Spending,
        request: Billed,
        price: Price | None,
        *,
        is_retry: bool,
        reserved: Mapping[str, float],
    ) -> None:
        self.is_refused = False
        self._reserved = reserved
        self._spending = spending
        self._request = request
        self._price = price
        self._began = monotonic_ns()
        self._lock = Lock()
        self._is_paid = False
        ledger = spending._ledger
        unknown = Usage(completion=0, counted="estimated")
        self._expense = Expense(
            model=request.model,
            role=request.label,
            id="" if ledger is None else ledger.new_id(),
            retries=int(is_retry),
            unpriced=int(price is None),
        )
        if ledger is not None:
            ledger.write(self._count(unknown, is_cut=True), price)

    @contextmanager
    def measured(self, read: Callable[[], Usage]) -> Iterator[None]:
        """Send the request in the block, and pay the bill, also if the request fails or is cut.

        Args:
            read: Reads the counts of the server so far.
        """
        try:
            yield
        except CancelledError:
            self.pay(read(), is_cut=True)
            raise
        except BaseException:
            self.pay(read(), has_failed=True)
            raise
        finally:
            self.pay(read())

    def release(self) -> None:
        """Reserve nothing more, as of a stream that waits for its consumer."""
        self._spending._count(**self._release())

    def _release(self) -> dict[str, float]:
        with self._lock:
            reserved, self._reserved = self._reserved, {}
        return {name: -amount for name, amount in reserved.items()}

    def pay(self, usage: Usage, *, is_cut: bool = False, has_failed: bool = False) -> None:
        """Count the request at its end; only the first call counts.

        Args:
            usage: The counts of the server.
            is_cut: Whether the answer was not read to its end.
            has_failed: Whether it was refused, or its answer broke.
        """
        with self._lock:
            if self._is_paid:
                return
            self._is_paid = True
        spending = self._spending
        expense = self._count(usage, is_cut=is_cut, has_failed=has_failed)
        try:
            if spending._ledger is not None:
                spending._ledger.write(expense, self._price)
        finally:
            spending._count(
                answers=bool(expense.completion),
                prompt=expense.prompt,
                completion=expense.completion,
                cost=expense.cost,
                in_flight=-1,
                **self._release(),
            )
            spending._open.add(-1)

    def _count(self, usage: Usage, *, is_cut: bool = False, has_failed: bool = False) -> Expense:
        prompt, cached = usage.prompt, usage.cached or 0
        is_estimate = not self.is_refused and (prompt is None or usage.counted == "estimated")
        if prompt is None:
            prompt = 0 if self.is_refused else self._request.prompt_estimate
        price = self._price
        return replace(
            self._expense,
            failed=int(has_failed),
            cut=int(is_cut),
            estimated=int(is_estimate),
            prompt=prompt,
            cached=usage.cached,
            completion=usage.completion,
            reasoning=usage.reasoning,
            wall_s=(monotonic_ns() - self._began) / 1e9,
            cost=0.0 if price is None else price.cost(prompt, usage.completion, cached=cached),
        )


class _OpenBills:
    """The requests of this process that are not paid."""

    def __init__(self) -> None:
        self._number = 0
        self._condition = Condition()

    def add(self, change: int) -> None:
        with self._condition:
            self._number += change
            self._condition.notify_all()

    def wait(self, most_s: float) -> None:
        with self._condition:
            self._condition.wait_for(lambda: self._number <= 0, most_s)


def _make(
    path: Path | None, budget: Budget, earlier: Spent, is_run: bool, ledger: Ledger | None
) -> Spending:
    return Spending(path, budget=budget, earlier=earlier, is_run=is_run, ledger=ledger)
