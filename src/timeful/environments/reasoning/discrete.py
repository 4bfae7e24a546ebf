"""Exercises with things: equations, choosing, roads between towns, and days between dates."""

from calendar import monthrange
from dataclasses import dataclass, field
from math import comb

import numpy as np

from timeful.environments.reasoning.exercise import Exercise, join_names

_UNKNOWNS = "xyzuvw"
_PEOPLE = ("painters", "cooks", "singers", "sailors", "bakers", "judges", "nurses", "pilots")
# fmt: off
_MONTHS = (
    "January", "February", "March", "April", "May", "June", "July", "August", "September",
    "October", "November", "December",
)
# fmt: on


# --- linear systems ------------------------------------------------------------------------------


@dataclass(slots=True)
class _Row:
    """An equation: coefficients of the unknowns, and the other side."""

    of: list[int]
    value: int

    def minus(self, times: int, row: "_Row") -> "_Row":
        of = [a - times * b for a, b in zip(self.of, row.of, strict=True)]
        return _Row(of, self.value - times * row.value)

    @property
    def text(self) -> str:
        terms = [(c, name) for c, name in zip(self.of, _UNKNOWNS, strict=False) if c]
        text = ""
        for c, name in terms:
            size = "" if abs(c) == 1 else str(abs(c))
            sign = (" + " if c > 0 else " - ") if text else ("" if c > 0 else "-")
            text += f"{sign}{size}{name}"
        return f"{text} = {self.value}"


def linear(rng: np.random.Generator, terms: int) -> Exercise:
    """A system of so many equations, solved in whole numbers; their sum is asked for.

    Its matrix is a lower times an upper triangular one, both with ones on the diagonal, so that
    elimination never leaves the whole numbers.
    """
    solution = [int(value) for value in rng.integers(-9, 10, size=terms)]
    upper = [_Row(_upper(rng, i, terms), 0) for i in range(terms)]
    for row in upper:
        row.value = sum(c * x for c, x in zip(row.of, solution, strict=True))
    rows = []
    for i, row in enumerate(upper):
        for j in range(i):
            row = row.minus(int(rng.choice((-2, -1, 1, 2))), upper[j])
        rows.append(row)
    names = join_names(list(_UNKNOWNS[:terms]))
    question = f"{'; '.join(row.text for row in rows)}. What is the sum of {names}?"
    worked = _eliminated(rows) + _put_back(rows)
    values = _values(rows)
    total = sum(values)
    worked.append(f"Now add up all of the unknowns: {_chain(values)} = {total}.")
    return Exercise(question=question, answer=str(total), worked=tuple(worked))


def _upper(rng: np.random.Generator, i: int, terms: int) -> list[int]:
    return [0] * i + [1] + [int(c) for c in rng.integers(-3, 4, size=terms - i - 1)]


def _eliminated(rows: list[_Row]) -> list[str]:
    """Bring the rows into upper triangular form, in place, and say how."""
    lines = []
    for j, pivot in enumerate(rows):
        for i in range(j + 1, len(rows)):
            times = rows[i].of[j]
            rows[i] = rows[i].minus(times, pivot)
            lines.append(
                f"Get rid of {_UNKNOWNS[j]} in equation {i + 1} by taking {times} times "
                f"equation {j + 1} from it: {rows[i].text}."
            )
    return lines


def _values(rows: list[_Row]) -> list[int]:
    values = [0] * len(rows)
    for i in reversed(range(len(rows))):
        total = sum(c * x for c, x in zip(rows[i].of[i + 1 :], values[i + 1 :], strict=True))
        values[i] = rows[i].value - total
    return values


def _put_back(rows: list[_Row]) -> list[str]:
    values, lines = _values(rows), []
    for i in reversed(range(len(rows))):
        products = [c * x for c, x in zip(rows[i].of[i + 1 :], values[i + 1 :], strict=True) if c]
        sum_text = _chain([rows[i].value, *(-product for product in products)])
        lines.append(
            f"Put what is known into equation {i + 1}, which leaves {_UNKNOWNS[i]} alone: "
            f"{sum_text} = {values[i]}."
        )
    return lines


def _chain(values: list[int]) -> str:
    tail = "".join(f" {'+' if value >= 0 else '-'} {abs(value)}" for value in values[1:])
    return f"{values[0]}{tail}"


# --- counting ------------------------------------------------------------------------------------


def counting(rng: np.random.Generator, terms: int) -> Exercise:
    """In how many ways some can be chosen from each of so many groups."""
    people = [_PEOPLE[i] for i in rng.permutation(len(_PEOPLE))[:terms]]
    sizes = [int(size) for size in rng.integers(4, 10, size=terms)]
    counts = [int(rng.integers(2, size - 1)) for size in sizes]
    worked, ways = list[str](), 1
    for i, (kind, size, take) in enumerate(zip(people, sizes, counts, strict=True)):
        of = comb(size, take)
        worked.append(
            f"Choosing {take} of the {size} {kind} does not depend on the other groups: "
            f"C({size}, {take}) = {of}."
        )
        if i:
            worked.append(
                f"Each of the {ways} ways so far goes with each of these {of}: "
                f"{ways} * {of} = {ways * of}."
            )
        ways *= of
    has = join_names([f"{size} {kind}" for size, kind in zip(sizes, people, strict=True)])
    wants = join_names([f"{take} {kind}" for take, kind in zip(counts, people, strict=True)])
    return Exercise(
        question=f"A club has {has}. In how many ways can a team of {wants} be chosen?",
        answer=str(ways),
        worked=tuple(worked),
    )


# --- shortest paths ------------------------------------------------------------------------------


@dataclass(slots=True)
class _Search:
    """Dijkstra's search from the first town: where each town is known to be, and from where."""

    routes: dict[str, tuple[int, str]]
    settled: list[str] = field(default_factory=list)

    def settle(self, roads: dict[tuple[str, str], int]) -> str:
        """Settle the nearest town that is not settled yet, the first by name of equals."""
        town = min(
            (town for town in self.routes if town not in self.settled),
            key=lambda town: (self.routes[town][0], town),
        )
        self.settled.append(town)
        at = self.routes[town][0]
        for ends, length in roads.items():
            if town in ends:
                neighbour = ends[0] if ends[1] == town else ends[1]
                if neighbour not in self.routes or at + length < self.routes[neighbour][0]:
                    self.routes[neighbour] = (at + length, town)
        return town


def paths(rng: np.random.Generator, terms: int) -> Exercise:
    """The shortest way between two of so many towns, the second one farthest from the first."""
    towns = [chr(ord("A") + i) for i in range(terms)]
    roads = _roads(rng, towns)
    search = _Search({towns[0]: (0, "")})
    search.settle(roads)
    worked = []
    for _ in towns[1:]:
        town = search.settle(roads)
        at, over = search.routes[town]
        before = search.routes[over][0]
        worked.append(
            f"Of the towns not settled yet {town} is nearest, reached by way of {over}: "
            f"{before} + {at - before} = {at}."
        )
    edges = ", ".join(f"{a}-{b} {length} km" for (a, b), length in roads.items())
    return Exercise(
        question=f"Roads join these towns: {edges}. How many km is the shortest way from "
        f"{towns[0]} to {search.settled[-1]}?",
        answer=str(search.routes[search.settled[-1]][0]),
        worked=tuple(worked),
    )


def _roads(rng: np.random.Generator, towns: list[str]) -> dict[tuple[str, str], int]:
    ends = {(towns[int(rng.integers(i))], towns[i]) for i in range(1, len(towns))}
    for _ in towns:
        a, b = sorted(rng.choice(len(towns), size=2, replace=False))
        ends.add((towns[a], towns[b]))
    return {pair: int(rng.integers(3, 30)) for pair in sorted(ends)}


# --- dates ---------------------------------------------------------------------------------------


def dates(rng: np.random.Generator, terms: int) -> Exercise:
    """How many days there are between two dates, so many ends of months apart."""
    year, month = int(rng.integers(1950, 2050)), int(rng.integers(1, 13))
    day, last_day = int(rng.integers(1, 28)), int(rng.integers(1, 28))
    first = f"{day} {_MONTHS[month - 1]} {year}"
    long = monthrange(year, month)[1]
    days = long - day
    worked = [
        f"{_MONTHS[month - 1]} {year} has {long} days, of which {day} are over: "
        f"{long} - {day} = {days}."
    ]
    for _ in range(terms - 1):
        year, month = (year, month + 1) if month < 12 else (year + 1, 1)
        long = monthrange(year, month)[1]
        worked.append(
            f"All of {_MONTHS[month - 1]} {year} lies between, which has {long} days: "
            f"{days} + {long} = {days + long}."
        )
        days += long
    year, month = (year, month + 1) if month < 12 else (year + 1, 1)
    worked.append(
        f"Then come {last_day} days of {_MONTHS[month - 1]} {year}, the last of them being the "
        f"end: {days} + {last_day} = {days + last_day}."
    )
    return Exercise(
        question=f"How many days after {first} is {last_day} {_MONTHS[month - 1]} {year}?",
        answer=str(days + last_day),
        worked=tuple(worked),
    )
