"""Exercises with numbers: long sums, the same with choices, and remainders of products."""

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from timeful.environments.reasoning.exercise import Exercise

LETTERS = "ABCD"
_PRIMES = (11, 13, 17, 19, 23, 29, 31, 37, 41, 43, 47, 53, 59, 61, 67, 71, 73, 79, 83, 89, 97)


@dataclass(frozen=True, slots=True)
class _Term:
    """What a sum adds or takes away: a number, or a product of two."""

    sign: int
    factors: tuple[int, ...]

    @property
    def size(self) -> int:
        size = 1
        for factor in self.factors:
            size *= factor
        return size

    @property
    def text(self) -> str:
        return " * ".join(map(str, self.factors))


def sums(rng: np.random.Generator, terms: int) -> Exercise:
    """A sum of numbers and products; every third term is a product."""
    parts = _parts(rng, terms)
    return Exercise(
        question=f"What is {_written(parts)}?",
        answer=str(_total(parts)),
        worked=tuple(_added_up(parts)),
    )


def choices(rng: np.random.Generator, terms: int) -> Exercise:
    """The same, with four values to choose from: three are what usual mistakes come to."""
    parts = _parts(rng, terms)
    right = _total(parts)
    wrong = _mistakes(parts, rng)
    values = [right, *wrong[: len(LETTERS) - 1]]
    order = rng.permutation(len(values))
    return Exercise(
        question=f"Which is the value of {_written(parts)}?",
        answer=LETTERS[list(order).index(0)],
        worked=tuple(_added_up(parts)),
        choices=tuple(str(values[i]) for i in order),
    )


def modular(rng: np.random.Generator, terms: int) -> Exercise:
    """The remainder of a product of so many factors by a prime."""
    modulus = int(rng.choice(_PRIMES))
    # A multiple of the modulus would make all the rest of the work idle.
    factors = [_other_than_multiple(rng, modulus) for _ in range(terms)]
    left = factors[0] % modulus
    worked = [
        f"Only remainders by {modulus} matter, so begin with the first factor: "
        f"{factors[0]} mod {modulus} = {left}."
    ]
    for factor in factors[1:]:
        product = left * factor
        worked.append(
            f"The next factor is {factor}, so multiply what is left by it and reduce: "
            f"{left} * {factor} = {product} and {product} mod {modulus} = {product % modulus}."
        )
        left = product % modulus
    return Exercise(
        question=f"What is the remainder when {' * '.join(map(str, factors))} is divided by "
        f"{modulus}?",
        answer=str(left),
        worked=tuple(worked),
    )


# --- sums ----------------------------------------------------------------------------------------


def _parts(rng: np.random.Generator, terms: int) -> list[_Term]:
    parts = []
    for i in range(terms):
        sign = 1 if i == 0 or rng.integers(2) else -1
        if i % 3 == 1:
            factors = (int(rng.integers(3, 13)), int(rng.integers(3, 13)))
            parts.append(_Term(sign, factors))
        else:
            parts.append(_Term(sign, (int(rng.integers(11, 100)),)))
    return parts


def _written(parts: list[_Term]) -> str:
    rest = "".join(f" {'+' if part.sign > 0 else '-'} {part.text}" for part in parts[1:])
    return parts[0].text + rest


def _total(parts: list[_Term]) -> int:
    return sum(part.sign * part.size for part in parts)


def _added_up(parts: list[_Term]) -> Iterator[str]:
    total = parts[0].size
    for part in parts[1:]:
        if len(part.factors) > 1:
            yield (
                "The next term is a product, which comes before the sum: "
                f"{part.text} = {part.size}."
            )
        after = total + part.sign * part.size
        does, sign = ("adds", "+") if part.sign > 0 else ("takes away", "-")
        yield (
            f"The total so far is {total}, and the next term {does} {part.size}: "
            f"{total} {sign} {part.size} = {after}."
        )
        total = after


def _mistakes(parts: list[_Term], rng: np.random.Generator) -> list[int]:
    """Wrong values, all different: by haste, by a sign, by a term left out, by a carry."""
    right = _total(parts)
    which = int(rng.integers(1, len(parts)))
    part = parts[which]
    flipped = [*parts[:which], replace(part, sign=-part.sign), *parts[which + 1 :]]
    left_out = [*parts[:which], *parts[which + 1 :]]
    carry = 10 if rng.integers(2) else -10
    slips = [_from_left_to_right(parts), _total(flipped), _total(left_out)]
    drawn = [slips[i] for i in rng.permutation(len(slips))]
    found = dict.fromkeys([*drawn, right + carry, right - carry, right + 2 * carry])
    return [value for value in found if value != right]


def _from_left_to_right(parts: list[_Term]) -> int:
    """The value to somebody who forgets that products come first."""
    total = 0
    for part in parts:
        total += part.sign * part.factors[0]
        for factor in part.factors[1:]:
            total *= factor
    return total


def _other_than_multiple(rng: np.random.Generator, modulus: int) -> int:
    factor = int(rng.integers(12, 200))
    return factor if factor % modulus else factor + 1
