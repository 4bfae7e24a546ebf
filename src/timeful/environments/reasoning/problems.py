"""Problems: what is asked, what the answer is, and how it is checked; sets of our own.

| family | difficulty counts | in a set by default |
| --- | --- | --- |
| sums | terms, every third a product | 4, 8, 12, 16 |
| modular | factors | 3, 5, 7, 9 |
| linear | unknowns | 2, 3, 4 |
| counting | groups | 2, 3, 4, 5 |
| paths | towns | 4, 6, 8, 10 |
| dates | ends of months | 3, 6, 9, 12 |
| choices | terms, as in sums; four values to choose from | 4, 7, 10 |
| levels | events; not in the mixed set | 8, 16, 24 |
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from hashlib import sha256
from itertools import count
from typing import Literal

import numpy as np

from timeful.environments.reasoning import arithmetic, discrete
from timeful.environments.reasoning.exercise import Exercise
from timeful.environments.reasoning.levels import levels
from timeful.environments.reasoning.split import Split, split_of
from timeful.errors import SettingsError, check_known
from timeful.seeding import child

Kind = Literal["exact", "letter", "math", "gym"]
"""How an answer is checked: see `checking.py`."""

MIXED = "mixed"
"""The set of our families, one after the other; those with `is_mixed` alone."""

_TRIES = 1000


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Problem:
    """A question with one answer.

    Attributes:
        id: A name that goes with this very question, on every machine.
        family: What it belongs to, for tables.
        question: In words.
        answer: The right one; a letter if there are choices.
        kind: How answers are checked.
        choices: What there is to choose from, A first.
        worked: How one comes to the answer, step by step; only of our own problems.
        terms: How hard it is, as its family counts; 0 if nobody knows.
        private: Whether its words must not be shown: its makers ask for that.
        source: Where its maker finds it again, as JSON; of reasoning-gym's problems only.
    """

    id: str
    family: str
    question: str
    answer: str
    kind: Kind
    choices: tuple[str, ...] = ()
    worked: tuple[str, ...] = ()
    terms: int = 0
    private: bool = False
    source: str = ""

    def __repr__(self) -> str:
        """Only its name: what is printed may end in a log."""
        return f"<problem {self.id!r}>"


@dataclass(frozen=True, slots=True)
class Family:
    """Problems of one kind.

    Attributes:
        make: Makes one, of so many terms.
        usual: The numbers of terms that a set mixes.
        least: The fewest terms it can have.
        most: The most.
        is_mixed: Whether the mixed set has it.
    """

    make: Callable[[np.random.Generator, int], Exercise]
    usual: tuple[int, ...]
    least: int
    most: int
    is_mixed: bool = True


FAMILIES = {
    "sums": Family(arithmetic.sums, (4, 8, 12, 16), 2, 200),
    "modular": Family(arithmetic.modular, (3, 5, 7, 9), 2, 200),
    "linear": Family(discrete.linear, (2, 3, 4), 2, 6),
    "counting": Family(discrete.counting, (2, 3, 4, 5), 1, 8),
    "paths": Family(discrete.paths, (4, 6, 8, 10), 3, 26),
    "dates": Family(discrete.dates, (3, 6, 9, 12), 1, 200),
    "choices": Family(arithmetic.choices, (4, 7, 10), 3, 200),
    "levels": Family(levels, (8, 16, 24), 1, 200, is_mixed=False),
}


MIXED_FAMILIES = tuple(name for name, family in FAMILIES.items() if family.is_mixed)


def set_names() -> tuple[str, ...]:
    """The names that `load` takes; a family's may be followed by a number of terms, `sums:8`."""
    return (MIXED, *FAMILIES)


def load(name: str, *, size: int, seed: int, split: Split | None = None) -> tuple[Problem, ...]:
    """Make a set of our own problems, all different; a longer one begins with the shorter one.

    Args:
        name: A family, for its usual difficulties in turn; `family:terms`, for one; or `mixed`.
        size: How many, 1 or more.
        seed: The same one makes the same set.
        split: Only problems that are on this side; None takes all.

    Raises:
        SettingsError: If there is no such set, or not so many different problems in it.
    """
    if size < 1:
        raise SettingsError(f"a set needs at least one problem, got {size}")
    plan = _plan(name)
    questions, problems = set[str](), list[Problem]()
    for i in count():
        if len(problems) == size:
            break
        family, terms = next(plan)
        problem = _new(family, terms, seed, i, questions)
        questions.add(problem.question)
        if split is None or split_of(problem.question) == split:
            problems.append(problem)
    return tuple(problems)


def _plan(name: str) -> Iterator[tuple[str, int]]:
    """Which family and how many terms, without end."""
    family, _, terms = name.partition(":")
    check_known("set of problems", family, set_names())
    if not terms:
        return _in_turn(MIXED_FAMILIES if family == MIXED else (family,))
    if family == MIXED:
        raise SettingsError(f"{MIXED!r} mixes difficulties; give a family, such as 'sums:8'")
    law = FAMILIES[family]
    if not terms.isdecimal() or not law.least <= int(terms) <= law.most:
        raise SettingsError(
            f"problems of {family} have {law.least} to {law.most} terms, got {terms!r}"
        )
    return _always(family, int(terms))


def _in_turn(families: Sequence[str]) -> Iterator[tuple[str, int]]:
    turn = 0
    while True:
        for family in families:
            usual = FAMILIES[family].usual
            yield family, usual[turn % len(usual)]
        turn += 1


def _always(family: str, terms: int) -> Iterator[tuple[str, int]]:
    while True:
        yield family, terms


def _new(family: str, terms: int, seed: int, i: int, questions: set[str]) -> Problem:
    for again in range(_TRIES):
        exercise = FAMILIES[family].make(child(seed, "reasoning", family, terms, i, again), terms)
        if exercise.question not in questions:
            return Problem(
                id=f"{family}-{terms}-{fingerprint(exercise.question, *exercise.choices)}",
                family=family,
                question=exercise.question,
                answer=exercise.answer,
                kind="letter" if exercise.choices else "exact",
                choices=exercise.choices,
                worked=exercise.worked,
                terms=terms,
            )
    raise SettingsError(f"there are hardly more than {i} different problems of {family}:{terms}")


def fingerprint(*words: str) -> str:
    """Ten characters that go with these words."""
    return sha256("\x1f".join(words).encode()).hexdigest()[:10]
