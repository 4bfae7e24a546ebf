"""The ledger of a run folder: what requests to endpoints cost, also those that failed.

Before a request is sent, its line counts it as cut, with an estimate of its prompt; at its end
another line of the same name replaces that one. So a request of a process that was killed is
counted. The processes of a run append to one file; a new session of the run adds its lines up.
"""

import os
from collections.abc import Iterable
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from threading import Lock
from typing import Any

import msgspec
from msgspec.structs import replace

from timeful.errors import RecordError
from timeful.models.prices import ANY, Price
from timeful.records.store import read_log, write_atomically
from timeful.records.usage import sum_counts

LEDGER = "spending.jsonl"
"""The file of a run folder with what all sessions of the run spent."""


class Expense(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, tag="expense"):
    """One request to a model in one role, or the sum of several.

    Attributes:
        model: The name of the model at its server.
        role: The label of the prompts.
        id: The name of a single request; "" of a sum.
        requests: The number of requests.
        retries: Those that repeat another one.
        failed: Those that were refused, or whose answer broke.
        cut: Those whose answer nobody read to its end.
        estimated: Those whose tokens the server did not count, or not all of them.
        unpriced: Those of a model without a price.
        prompt: The tokens of prompts.
        cached: The part of these that was in a cache; None if no server says so.
        completion: The generated tokens, reasoning included.
        reasoning: The part of these that is reasoning; None if no server says so.
        wall_s: The seconds from sending to the end, of each request.
        cost: The USD of the requests with a price.
    """

    model: str
    role: str
    id: str = ""
    requests: int = 1
    retries: int = 0
    failed: int = 0
    cut: int = 0
    estimated: int = 0
    unpriced: int = 0
    prompt: int = 0
    cached: int | None = None
    completion: int = 0
    reasoning: int | None = None
    wall_s: float = 0.0
    cost: float = 0.0


class PriceLine(msgspec.Struct, frozen=True, kw_only=True, tag="price"):
    """The price by which expenses of a model were computed."""

    model: str
    price: Price


_SUMMED = (
    *("requests", "retries", "failed", "cut", "estimated", "unpriced"),
    *("prompt", "completion", "wall_s", "cost"),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Accounts:
    """What a run spent: a sum for each model and role, and the prices."""

    expenses: tuple[Expense, ...] = ()
    prices: dict[str, Price] = field(default_factory=dict)

    @property
    def total(self) -> Expense:
        """The sum of all."""
        return add_expenses(self.expenses, model="", role="")


def add_expenses(expenses: Iterable[Expense], *, model: str, role: str) -> Expense:
    """Add up expenses."""
    parts = list(expenses)
    sums: dict[str, Any] = {name: sum(getattr(part, name) for part in parts) for name in _SUMMED}
    return Expense(
        model=model,
        role=role,
        cached=sum_counts(part.cached for part in parts),
        reasoning=sum_counts(part.reasoning for part in parts),
        **sums,
    )


def read_accounts(folder: Path) -> Accounts:
    """Read what the run in a folder spent; nothing if it asked no endpoint.

    Raises:
        RecordError: If the file cannot be read.
    """
    groups, prices = _read(folder / LEDGER)
    by_name: dict[tuple[str, str], list[Expense]] = {}
    for (model, role, _), parts in groups.items():
        by_name.setdefault((model, role), []).extend(parts)
    sums = (add_expenses(by_name[key], model=key[0], role=key[1]) for key in sorted(by_name))
    return Accounts(expenses=tuple(sums), prices=dict(sorted(prices.items())))


def fold_ledger(folder: Path, prices: dict[str, Price] | None = None) -> None:
    """Add up the lines of earlier sessions, before a new one begins.

    Args:
        folder: The run folder.
        prices: Prices given by hand; they hold for earlier requests that had no price as well.

    Raises:
        RecordError: If the file cannot be read.
    """
    path = folder / LEDGER
    if not path.exists():
        return
    by_hand = prices or {}
    groups, prices = _read(path)
    lines: list[Expense | PriceLine] = [
        PriceLine(model=model, price=price) for model, price in prices.items()
    ]
    for (model, role, is_priced), parts in sorted(groups.items()):
        total = add_expenses(parts, model=model, role=role)
        price = by_hand.get(model) or by_hand.get(ANY)
        if not is_priced and price is not None:
            cost = price.cost(total.prompt, total.completion, cached=total.cached or 0)
            total = replace(total, unpriced=0, cost=cost)
        lines.append(total)
    write_atomically(path, b"".join(msgspec.json.encode(line) + b"\n" for line in lines))


_Groups = dict[tuple[str, str, bool], list[Expense]]


def _read(path: Path) -> tuple[_Groups, dict[str, Price]]:
    """The expenses by model, role and whether they have a price; and the prices."""
    sums: list[Expense] = []
    requests: dict[str, Expense] = {}
    prices: dict[str, Price] = {}
    kind: Any = Expense | PriceLine
    try:
        for line in read_log(path, kind):
            if isinstance(line, PriceLine):
                prices[line.model] = line.price
            elif line.id:
                requests[line.id] = line
            else:
                sums.append(line)
    except RecordError as error:
        raise RecordError(f"not the spending of a run: {error}; delete the file") from error
    groups: _Groups = {}
    for expense in (*sums, *requests.values()):
        key = expense.model, expense.role, not expense.unpriced
        groups.setdefault(key, []).append(expense)
    return groups, prices


class Ledger:
    """Appends to the file of a run folder, in any thread of any process.

    Args:
        path: The file.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._lock = Lock()
        self._file: int | None = None
        self._is_closed = False
        self._name = os.urandom(6).hex()  # of this object, in whatever process and session
        self._numbers = count()
        self._priced: set[str] = set()

    def __reduce__(self) -> tuple[type["Ledger"], tuple[Path]]:
        return Ledger, (self.path,)  # another process opens the file itself

    def new_id(self) -> str:
        """A name for a request."""
        return f"{self._name}-{next(self._numbers)}"

    def write(self, expense: Expense, price: Price | None) -> None:
        """Append an expense, and at first the price of its model."""
        lines: list[Expense | PriceLine] = [expense]
        with self._lock:
            if self._is_closed:
                return
            if price is not None and expense.model not in self._priced:
                self._priced.add(expense.model)
                lines.insert(0, PriceLine(model=expense.model, price=price))
            if self._file is None:
                self._file = os.open(self.path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o666)
            # One call, so that lines of several processes are not mixed.
            os.write(self._file, b"".join(msgspec.json.encode(line) + b"\n" for line in lines))

    def close(self) -> None:
        """Close the file; what streams of an ended run write later is dropped."""
        with self._lock:
            self._is_closed = True
            if self._file is not None:
                os.close(self._file)
                self._file = None
