"""What a run spends on endpoints, while it runs: one count for progress, budgets and tables.

Each attempt of a request enters the tokens that its server counted. The processes of a run share
the numbers in a file.
"""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from tempfile import TemporaryDirectory

import msgspec

from timeful.core.clock import monotonic_ns
from timeful.errors import BudgetError, ModelError, RecordError, check_range
from timeful.models.prices import Price, find_price
from timeful.models.shared_state import State
from timeful.records.store import write_atomically
from timeful.records.usage import Usage

SPENDING = "spending.json"
"""The file of a run folder with what all sessions of the run spent."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Budget:
    """The most that a run may spend, those of its earlier sessions included.

    A request is refused once the budget is used up. Answers in flight may exceed it.

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
        answers: The answers, whole or in part.
        prompt: The tokens of prompts.
        completion: The generated tokens, reasoning included.
        cost: The USD for models of known price.
        in_flight: The requests that are answered at this moment.
    """

    requests: float = 0
    retries: float = 0
    answers: float = 0
    prompt: float = 0
    completion: float = 0
    cost: float = 0
    in_flight: float = 0

    @property
    def tokens(self) -> int:
        """The tokens of prompts and answers."""
        return int(self.prompt + self.completion)


_NAMES = tuple(f.name for f in fields(Spent))


@contextmanager
def track_spending(out: Path, budget: Budget | None = None) -> Iterator["Spending"]:
    """The spending of the run in a folder, which continues that of its earlier sessions.

    Raises:
        RecordError: If the numbers of earlier sessions cannot be read.
    """
    file = out / SPENDING
    earlier = Spent()
    try:
        if file.exists():
            earlier = msgspec.json.decode(file.read_bytes(), type=Spent)
    except msgspec.DecodeError as error:
        raise RecordError(f"{file}: not the spending of a run ({error}); delete it") from error
    with TemporaryDirectory(prefix="timeful-spending-", ignore_cleanup_errors=True) as folder:
        spending = Spending(
            Path(folder, "numbers"), budget=budget, earlier=earlier, is_run=True, file=file
        )
        try:
            yield spending
        finally:
            spending.save()


class Spending:
    """The numbers of a run, safe for threads; a copy in another process shares them.

    Args:
        path: The file that processes share; None for a process alone.
        budget: The most that may be spent.
        earlier: What earlier sessions of the run spent.
        is_run: Whether an endpoint that refuses for good ends all that follows.
        file: Where the numbers of the run are kept.
    """

    def __init__(
        self,
        path: Path | None = None,
        *,
        budget: Budget | None = None,
        earlier: Spent | None = None,
        is_run: bool = False,
        file: Path | None = None,
    ) -> None:
        self.budget = budget or Budget()
        self.earlier = earlier or Spent()
        self.stopped: ModelError | None = None
        """The reason for which no further request is sent."""
        self._path = path
        self._is_run = is_run
        self._file = file
        self._saved_at = 0
        self._state = State(path, size=len(_NAMES))

    def __reduce__(self) -> tuple[object, ...]:
        return _open, (self._path, self.budget, self.earlier, self._is_run)

    def share(self, *, is_run: bool = True) -> "Spending":
        """The same numbers, with a stop of its own."""
        shared = _open(None, self.budget, self.earlier, is_run)
        shared._state = self._state
        return shared

    def save(self, *, at_most_every_s: float = 0.0) -> None:
        """Write the numbers of all sessions to the file of the run, if anything was spent."""
        now = monotonic_ns()
        if self._file is None or now - self._saved_at < at_most_every_s * 1e9:
            return
        self._saved_at = now
        if self.now.requests:
            write_atomically(self._file, msgspec.json.encode(replace(self.total, in_flight=0)))

    @property
    def now(self) -> Spent:
        """The numbers of this session."""
        with self._state.locked() as numbers:
            return Spent(**dict(zip(_NAMES, numbers, strict=True)))

    @property
    def total(self) -> Spent:
        """The numbers of all sessions of the run."""
        now = self.now
        return Spent(**{name: getattr(now, name) + getattr(self.earlier, name) for name in _NAMES})

    @contextmanager
    def measured(
        self, model: str, endpoint: str, read: Callable[[], Usage], *, is_retry: bool
    ) -> Iterator[None]:
        """Send a request in the block, and count what it costs.

        Args:
            model: The name of the model.
            endpoint: The address of its server.
            read: Reads the usage after the block.
            is_retry: Whether the request repeats another one.

        Raises:
            BudgetError: If the budget is used up.
            ModelError: If the run was stopped.
        """
        if self.stopped is not None:
            raise self.stopped
        if words := self._used_up():
            error = BudgetError(words)
            self.stop(error)
            raise error
        self._add(requests=1, retries=is_retry, in_flight=1)
        try:
            yield
        finally:
            usage = read()
            prompt, completion = usage.prompt or 0, usage.completion
            price = find_price(model, endpoint, self.budget.prices)
            self._add(
                answers=bool(completion),
                prompt=prompt,
                completion=completion,
                cost=0.0
                if price is None
                else price.cost(prompt, completion, cached=usage.cached or 0),
                in_flight=-1,
            )

    def stop(self, reason: ModelError) -> None:
        """Send no further request, in this process, if this is a run."""
        if self._is_run and self.stopped is None:
            self.stopped = reason

    def end_run(self) -> None:
        """Stop, whatever the reason is."""
        self.stopped = self.stopped or ModelError("the run was stopped")

    def _used_up(self) -> str:
        budget = self.budget
        if budget.tokens is None and budget.cost is None:
            return ""
        total, resume = self.total, "; the same command with a larger budget resumes"
        if budget.tokens is not None and total.tokens >= budget.tokens:
            return f"{total.tokens:,} tokens are spent, the budget is {budget.tokens:,}{resume}"
        if budget.cost is not None and total.cost >= budget.cost:
            return f"{total.cost:.4g} USD are spent, the budget is {budget.cost:g}{resume}"
        return ""

    def _add(self, **amounts: float) -> None:
        with self._state.locked() as numbers:
            for name, amount in amounts.items():
                numbers[_NAMES.index(name)] += amount


def _open(path: Path | None, budget: Budget, earlier: Spent, is_run: bool) -> Spending:
    return Spending(path, budget=budget, earlier=earlier, is_run=is_run)
