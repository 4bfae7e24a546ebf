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
    terms_drawn = _draw_terms(rng, terms)
    return Exercise(
        question=f"What is {_format_terms(terms_drawn)}?",
        answer=str(_total(terms_drawn)),
        worked=tuple(_added_up(terms_drawn)),
    )


def choices(rng: np.random.Generator, terms: int) -> Exercise:
    """The same, with four values to choose from: three are what usual mistakes come to."""
    terms_drawn = _draw_terms(rng, terms)
    right = _total(terms_drawn)
    wrong = _mistakes(terms_drawn, rng)
    values = [right, *wrong[: len(LETTERS) - 1]]
    order = rng.permutation(len(values))
    return Exercise(
        question=f"Which is the value of {_format_terms(terms_drawn)}?",
        answer=LETTERS[list(order).index(0)],
        worked=tuple(_added_up(terms_drawn)),
        choices=tuple(str(values[i]) for i in order),
    )


def modular(rng: np.random.Generator, terms: int) -> Exercise:
    """The remainder of a product of so many factors by a prime."""
    modulus = int(rng.choice(_PRIMES))
    # A multiple of the modulus would make all the rest of the work idle.
    factors = [_other_than_multiple(rng, modulus) for _ in range(terms)]
    remainder = factors[0] % modulus
    worked = [
        f"Only remainders by {modulus} matter, so begin with the first factor: "
        f"{factors[0]} mod {modulus} = {remainder}."
    ]
    for factor in factors[1:]:
        product = remainder * factor
        worked.append(
            f"The next factor is {factor}, so multiply what is left by it and reduce: "
            f"{remainder} * {factor} = {product} and {product} mod {modulus} = {product % modulus}."
        )
        remainder = product % modulus
    return Exercise(
        question=f"What is the remainder when {' * '.join(map(str, factors))} is divided by "
        f"{modulus}?",
        answer=str(remainder),
        worked=tuple(worked),
    )


# --- sums ----------------------------------------------------------------------------------------


def _draw_terms(rng: np.random.Generator, terms: int) -> list[_Term]:
    drawn_terms = []
    for i in range(terms):
        sign = 1 if i == 0 or rng.integers(2) else -1
        if i % 3 == 1:
            factors = (int(rng.integers(3, 13)), int(rng.integers(3, 13)))
            drawn_terms.append(_Term(sign, factors))
        else:
            drawn_terms.append(_Term(sign, (int(rng.integers(11, 100)),)))
    return drawn_terms


def _format_terms(terms: list[_Term]) -> str:
    tail = "".join(f" {'+' if term.sign > 0 else '-'} {term.text}" for term in terms[1:])
    return terms[0].text + tail


def _total(terms: list[_Term]) -> int:
    return sum(term.sign * term.size for term in terms)


def _added_up(terms: list[_Term]) -> Iterator[str]:
    total = terms[0].size
    for term in terms[1:]:
        if len(term.factors) > 1:
            yield (
                "The next term is a product, which comes before the sum: "
                f"{term.text} = {term.size}."
            )
        after = total + term.sign * term.size
        does, sign = ("adds", "+") if term.sign > 0 else ("takes away", "-")
        yield (
            f"The total so far is {total}, and the next term {does} {term.size}: "
            f"{total} {sign} {term.size} = {after}."
        )
        total = after


def _mistakes(terms: list[_Term], rng: np.random.Generator) -> list[int]:
    """Wrong values, all different: by haste, by a sign, by a term left out, by a carry."""
    right = _total(terms)
    index = int(rng.integers(1, len(terms)))
    term = terms[index]
    flipped = [*terms[:index], replace(term, sign=-term.sign), *terms[index + 1 :]]
    left_out = [*terms[:index], *terms[index + 1 :]]
    carry = 10 if rng.integers(2) else -10
    slips = [_from_left_to_right(terms), _total(flipped), _total(left_out)]
    shuffled = [slips[i] for i in rng.permutation(len(slips))]
    values = dict.fromkeys([*shuffled, right + carry, right - carry, right + 2 * carry])
    return [value for value in values if value != right]


def _from_left_to_right(terms: list[_Term]) -> int:
    """The value to somebody who forgets that products come first."""
    total = 0
    for term in terms:
        total += term.sign * term.factors[0]
        for factor in term.factors[1:]:
            total *= factor
    return total


def _other_than_multiple(rng: np.random.Generator, modulus: int) -> int:
    factor = int(rng.integers(12, 200))
    return factor if factor % modulus else factor + 1
