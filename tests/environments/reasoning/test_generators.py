"""Promises of our own problems: right by another way, the same for a seed, harder with terms."""

import re
from collections import Counter
from datetime import date
from itertools import pairwise, permutations
from math import comb

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from timeful.environments.reasoning import arithmetic, discrete
from timeful.environments.reasoning.checking import Checker
from timeful.environments.reasoning.matching import match_choice
from timeful.environments.reasoning.problems import (
    FAMILIES,
    MIXED,
    MIXED_FAMILIES,
    Problem,
    load,
    set_names,
)
from timeful.errors import SettingsError
from timeful.seeding import child

seeds = st.integers(0, 2**40)


# --- another way to each answer ------------------------------------------------------------------


def evaluated(question):
    """By Python's own precedence; only here, and only of our own questions."""
    sum_text = re.search(r"(?:is|of) ([0-9*+ -]+)\?$", question).group(1)
    return eval(sum_text)


def remainder(question):
    product, modulus = re.fullmatch(r"What .* when (.*) is divided by (\d+)\?", question).groups()
    return eval(product) % int(modulus)


def solved(question):
    """By Cramer's rule, over permutations."""
    equations, unknowns = question.split(". What is the sum of ")
    names = re.findall(r"\b[xyzuvw]\b", unknowns)
    rows, values = [], []
    for equation in equations.split("; "):
        left, value = equation.split(" = ")
        coefficients = dict.fromkeys(names, 0)
        for sign, size, name in re.findall(r"(-?) ?(\d*)([xyzuvw])", left):
            coefficients[name] = int(f"{sign}{size or 1}")
        rows.append([coefficients[name] for name in names])
        values.append(int(value))

    def determinant(matrix):
        total = 0
        for order in permutations(range(len(matrix))):
            product = 1
            for i, j in enumerate(order):
                product *= matrix[i][j]
            swaps = sum(a > b for i, a in enumerate(order) for b in order[i + 1 :])
            total += -product if swaps % 2 else product
        return total

    whole = determinant(rows)
    solution = []
    for k in range(len(names)):
        replaced = [
            [*row[:k], value, *row[k + 1 :]] for row, value in zip(rows, values, strict=True)
        ]
        solution.append(determinant(replaced) / whole)
    return sum(solution)


def counted(question):
    """By the coefficients of products of (1 + t)^n, multiplied out one factor at a time."""
    sizes, takes = (re.findall(r"\d+", part) for part in question.split("can a team of"))
    ways = 1
    for size, take in zip(sizes, takes, strict=True):
        row = [1]
        for _ in range(int(size)):
            row = [a + b for a, b in zip([0, *row], [*row, 0], strict=True)]
        ways *= row[int(take)]
    return ways


def shortest(question):
    """By Floyd and Warshall."""
    roads = re.findall(r"([A-Z])-([A-Z]) (\d+) km", question)
    start, end = re.search(r"from ([A-Z]) to ([A-Z])\?", question).groups()
    towns = sorted({town for a, b, _ in roads for town in (a, b)})
    far = {(a, b): 0 if a == b else 10**9 for a in towns for b in towns}
    for a, b, length in roads:
        far[a, b] = far[b, a] = min(far[a, b], int(length))
    for via in towns:
        for a in towns:
            for b in towns:
                far[a, b] = min(far[a, b], far[a, via] + far[via, b])
    assert far[start, end] == max(far[start, town] for town in towns)
    return far[start, end]


def filled(question):
    """By composing all events into one function, x -> min(max(slope * x + shift, low), high)."""
    slope, shift, low, high = 1, 0, 0, 9
    for sign in question.split("in the end, after")[1].strip(" ?").split():
        if sign == "!":
            slope, shift, low, high = -slope, 9 - shift, 9 - high, 9 - low
        else:
            step = 1 if sign == "+" else -1
            shift += step
            low, high = (min(max(one + step, 0), 9) for one in (low, high))
    start = int(re.search(r"starts at (\d)", question)[1])
    return min(max(slope * start + shift, low), high)


def between(question):
    found = re.fullmatch(r"How many days after (.*) is (.*)\?", question).groups()
    return (day_of(found[1]) - day_of(found[0])).days


def day_of(text):
    day, month, year = text.split()
    return date(int(year), discrete._MONTHS.index(month) + 1, int(day))


ANOTHER_WAY = {
    "sums": evaluated,
    "choices": evaluated,
    "modular": remainder,
    "linear": solved,
    "counting": counted,
    "paths": shortest,
    "dates": between,
    "levels": filled,
}


@pytest.mark.parametrize("family", FAMILIES)
@settings(deadline=None)
@given(seed=seeds, place=st.integers(0, 3))
def test_an_answer_is_found_by_another_way_too(family, seed, place):
    usual = FAMILIES[family].usual
    (problem,) = load(f"{family}:{usual[place % len(usual)]}", size=1, seed=seed)
    right = problem.answer
    if problem.choices:
        right = problem.choices["ABCD".index(right)]
    assert ANOTHER_WAY[family](problem.question) == int(right)


@pytest.mark.parametrize("family", FAMILIES)
def test_the_fewest_and_the_most_terms_can_be_made(family):
    for terms in (FAMILIES[family].least, FAMILIES[family].most):
        assert load(f"{family}:{terms}", size=1, seed=5)[0].terms == terms


# --- worked solutions ----------------------------------------------------------------------------

ROUNDS = re.compile(r": (.*)\.$")


def right_equations(said):
    """The sums of a step that can be checked alone."""
    for part in said.split(" and "):
        left, _, value = part.rpartition(" = ")
        left = re.sub(r"C\((\d+), (\d+)\)", lambda m: str(comb(int(m[1]), int(m[2]))), left)
        if re.fullmatch(r"[0-9+*\- ]+|[0-9+*\- ]+ mod [0-9]+", left):
            yield eval(left.replace("mod", "%")) == int(value)


@settings(deadline=None)
@given(seed=seeds)
def test_every_step_is_right_and_the_last_one_gives_the_answer(seed):
    for problem in load(MIXED, size=14, seed=seed):
        checked = 0
        for step in problem.worked:
            verdicts = list(right_equations(ROUNDS.search(step).group(1)))
            assert all(verdicts), step
            checked += len(verdicts)
        assert checked >= len(problem.worked) / 3
        right = problem.answer
        if problem.choices:
            right = problem.choices["ABCD".index(right)]
        assert re.search(r"(?<![\w.])(-?\d+)\.$", problem.worked[-1]).group(1) == right


@pytest.mark.parametrize("family", FAMILIES)
@settings(deadline=None)
@given(seed=seeds)
def test_more_terms_take_more_steps(family, seed):
    least = FAMILIES[family].least
    lengths = [
        len(FAMILIES[family].make(child(seed, "terms"), terms).worked)
        for terms in range(least, least + 5)
        if terms <= FAMILIES[family].most
    ]
    assert all(b > a for a, b in pairwise(lengths))


# --- choices -------------------------------------------------------------------------------------


@given(seed=seeds, terms=st.integers(3, 20))
def test_choices_differ_and_just_one_is_right(seed, terms):
    made = arithmetic.choices(child(seed, "choices"), terms)
    right = evaluated(made.question)
    assert len(set(made.choices)) == 4
    assert [int(choice) == right for choice in made.choices].index(True) == "ABCD".index(
        made.answer
    )
    assert match_choice(str(right), made.choices) == made.answer


def test_the_right_letter_stands_at_each_place_equally_often():
    letters = Counter(problem.answer for problem in load("choices:8", size=1200, seed=2))
    # A fair draw of 1200 is within 5 standard deviations (15 each) of 300.
    assert all(225 <= letters[letter] <= 375 for letter in "ABCD")


def test_the_right_value_is_not_given_away_by_its_size():
    places = Counter()
    for problem in load("choices:8", size=600, seed=3):
        values = [int(choice) for choice in problem.choices]
        places[sorted(values).index(values["ABCD".index(problem.answer)])] += 1
    assert max(places.values()) < 0.6 * 600


# --- sets ----------------------------------------------------------------------------------------


@settings(deadline=None)
@given(seed=seeds, size=st.integers(1, 30), more=st.integers(0, 30))
def test_a_set_is_the_same_for_its_seed_and_begins_a_longer_one(seed, size, more):
    assert load(MIXED, size=size + more, seed=seed)[:size] == load(MIXED, size=size, seed=seed)


def test_sets_of_other_seeds_are_other_sets():
    a, b = (set(load("sums", size=50, seed=seed)) for seed in (1, 2))
    assert not a & b


@pytest.mark.parametrize("name", set_names())
def test_no_two_problems_of_a_set_are_the_same(name):
    problems = load(name, size=300, seed=4)
    assert len({problem.question for problem in problems}) == 300
    assert len({problem.id for problem in problems}) == 300


def test_a_set_mixes_families_and_difficulties():
    problems = load(MIXED, size=7 * 4, seed=0)
    assert Counter(problem.family for problem in problems) == dict.fromkeys(MIXED_FAMILIES, 4)
    assert {problem.terms for problem in problems if problem.family == "sums"} == {4, 8, 12, 16}


def test_our_own_answers_are_right_by_our_own_rules():
    check = Checker()
    for problem in load(MIXED, size=70, seed=8):
        assert check(problem, f"<answer>{problem.answer}</answer>").correct
        assert check(problem, rf"\boxed{{{problem.answer}}}").correct
        wrong = "A" if problem.answer != "A" else "B"
        assert not check(problem, f"<answer>{wrong}</answer>").correct


def test_the_problems_of_a_seed_do_not_change():
    told = [(problem.id, problem.answer) for problem in load(MIXED, size=7, seed=0)]
    assert told == GOLDEN


GOLDEN = [
    ("sums-4-3adb20c9b4", "11"),
    ("modular-3-c72e9effc4", "5"),
    ("linear-2-442b63c366", "-1"),
    ("counting-2-975443bbc8", "1568"),
    ("paths-4-18a99d238c", "32"),
    ("dates-3-4251188e95", "80"),
    ("choices-4-b58c959b7e", "C"),
]


@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("sum", "Did you mean 'sums'"),
        ("sums:x", "2 to 200 terms"),
        ("sums:1", "2 to 200 terms"),
        ("linear:7", "2 to 6 terms"),
        ("mixed:3", "give a family"),
    ],
)
def test_unknown_sets_are_refused(name, says):
    with pytest.raises(SettingsError, match=says):
        load(name, size=1, seed=0)


def test_a_set_of_nothing_and_one_of_too_many_are_refused():
    with pytest.raises(SettingsError, match="at least one"):
        load("sums", size=0, seed=0)
    with pytest.raises(SettingsError, match="hardly more"):
        load("counting:1", size=2000, seed=0)


def test_a_problem_is_printed_by_its_name_only():
    problem = Problem(
        id="p", family="f", question="secret", answer="hidden", kind="exact", private=True
    )
    assert repr(problem) == "<problem 'p'>"
