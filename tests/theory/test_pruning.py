"""Vectors are kept if and only if they are the best somewhere: against scipy's linear programs."""

import numpy as np
import pytest
import scipy
from hypothesis import given, settings
from hypothesis import strategies as st

from timeful.theory.process import Array
from timeful.theory.pruning import undominated, witness

ROUGH = st.sampled_from([-2.0, -1.0, 0.0, 0.5, 1.0, 3.0])  # ties are where programs go wrong


def matrices(numbers: st.SearchStrategy[float]) -> st.SearchStrategy[Array]:
    shapes = st.tuples(st.integers(1, 12), st.integers(1, 5))
    return shapes.flatmap(
        lambda shape: st.lists(
            numbers, min_size=shape[0] * shape[1], max_size=shape[0] * shape[1]
        ).map(lambda flat: np.array(flat).reshape(shape))
    )


def margin(vector: Array, others: Array) -> float:
    """The same by scipy: maximise d with (vector - others).b >= d for a belief b."""
    rows, states = others.shape
    found = scipy.optimize.linprog(
        [0.0] * states + [-1.0],
        A_ub=np.hstack([others - vector, np.ones((rows, 1))]),
        b_ub=np.zeros(rows),
        A_eq=[[1.0] * states + [0.0]],
        b_eq=[1.0],
        bounds=[(0, None)] * states + [(None, None)],
    )
    return -float(found.fun)


@settings(max_examples=150, deadline=None)
@given(matrices(ROUGH) | matrices(st.floats(-100, 100)))
def test_the_greatest_margin_is_that_of_scipy_and_is_reached(vectors: Array) -> None:
    vector, others = vectors[0], vectors[1:] if len(vectors) > 1 else vectors
    found, belief = witness(vector, others)
    assert belief.sum() == pytest.approx(1, abs=1e-12)
    assert (belief >= 0).all()
    assert ((vector - others) @ belief).min() == found
    assert found == pytest.approx(margin(vector, others), abs=1e-7)


@settings(max_examples=100, deadline=None)
@given(matrices(ROUGH) | matrices(st.floats(-100, 100)), st.integers(0, 2**32 - 1))
def test_what_is_dropped_is_nowhere_the_best(vectors: Array, seed: int) -> None:
    kept = undominated(vectors)
    beliefs = np.random.default_rng(seed).dirichlet(np.full(vectors.shape[1], 0.5), 300)
    beliefs = np.vstack([beliefs, np.eye(vectors.shape[1])])
    best = (beliefs @ vectors.T).max(axis=1)
    assert (beliefs @ vectors[kept].T).max(axis=1) == pytest.approx(best, abs=1e-9)
    for place in set(range(len(vectors))) - set(kept):
        assert margin(vectors[place], vectors[kept]) <= 1e-7


@settings(max_examples=100, deadline=None)
@given(matrices(ROUGH))
def test_what_is_kept_is_needed(vectors: Array) -> None:
    kept = undominated(vectors)
    for place in kept:
        rest = [other for other in kept if other != place]
        if rest:
            assert margin(vectors[place], vectors[rest]) > 1e-9


def test_one_of_equal_vectors_is_kept() -> None:
    assert len(undominated(np.array([[1.0, 2.0]] * 3 + [[2.0, 1.0]] * 2))) == 2


def test_a_vector_that_only_touches_the_others_is_dropped() -> None:
    corners = np.array([[1.0, 0.0], [0.0, 1.0], [0.5, 0.5]])
    assert undominated(corners) == [0, 1]
    assert undominated(corners[::-1]) == [1, 2], "in whatever order they come"
    above = np.array([[1.0, 0.0], [0.0, 1.0], [0.51, 0.51]])
    assert undominated(above) == [0, 1, 2]
