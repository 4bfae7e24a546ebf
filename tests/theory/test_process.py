"""A process is checked when it is made, and says which row is wrong."""

from typing import Any

import numpy as np
import pytest

from tests.theory.models import alarm
from timeful.errors import SettingsError
from timeful.theory.process import NOTHING, Process, independent, subsets

GO, BOTH = frozenset({"go"}), frozenset({"go", "shout"})


def parts(**changes: Any) -> dict[str, Any]:
    """A process of two states that is right, but for the changes."""
    return {
        "states": ("in", "out"),
        "interventions": (NOTHING, BOTH),
        "event_sets": (NOTHING, GO),
        "transition": [[[1, 0], [0, 1]], [[0, 1], [0.5, 0.5]]],
        "observation": [[1, 0], [0.25, 0.75]],
        "utility": [[0, 1], [2, 3]],
        "discount": 0.9,
        "start": [1, 0],
    } | changes


def test_what_is_checked_once_cannot_change_later() -> None:
    start = np.array([1.0, 0.0])
    process = Process(**parts(start=start))
    start[:] = 7.0
    assert process.start.tolist() == [1, 0]
    with pytest.raises(ValueError, match="read-only"):
        process.transition[0, 0, 0] = 0.5


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        (
            {"transition": [[[1, 0], [0, 1]], [[0, 1], [0.5, 0.4]]]},
            r"'out' under \{'go', 'shout'\}",
        ),
        (
            {"transition": [[[1, 0], [0, 1]], [[-1, 2], [0.5, 0.5]]]},
            r"'in' under \{'go', 'shout'\}",
        ),
        ({"observation": [[1, 0], [0.25, 0.7]]}, r"observation at state 'out'.*sums to 0.95"),
        ({"start": [0.5, 0.4]}, "start is no distribution"),
        ({"start": [np.nan, 1]}, "start is no distribution"),
        ({"start": [1]}, r"start must have shape \(2,\) .* got \(1,\)"),
        ({"transition": [[1, 0], [0, 1]]}, r"transition must have shape \(2, 2, 2\)"),
        ({"utility": [[0, 1]]}, r"utility must have shape \(2, 2\) or \(2, 2, 2\)"),
        ({"utility": [[0, np.nan], [2, 3]]}, r"utility of \{\} in state 'out'.*got nan"),
        ({"utility": [[0, np.inf], [2, 3]]}, "got inf"),
        ({"utility": [[0, -np.inf], [2, -np.inf]]}, "no intervention is admissible in state 'out'"),
        ({"utility": [["a", 1], [2, 3]]}, "utility must be an array of numbers"),
        ({"discount": 0.0}, r"discount must be in \(0, 1\], got 0.0"),
        ({"discount": 1.5}, r"discount must be in \(0, 1\], got 1.5"),
        ({"states": ("in", "in")}, "all different"),
        ({"states": ()}, "one or more"),
        ({"interventions": ("go", BOTH)}, "must be a frozenset"),
    ],
)
def test_what_is_wrong_is_named(changes: dict[str, Any], says: str) -> None:
    with pytest.raises(SettingsError, match=says):
        Process(**parts(**changes))


def test_utility_that_depends_on_the_next_state_is_averaged() -> None:
    worth = np.array([[[1, 9], [9, 2]], [[9, 3], [4, 8]]])
    process = Process(**parts(utility=worth))
    assert process.utility.tolist() == [[1, 2], [3, 6]]


def test_an_unknown_name_is_answered_with_those_there_are() -> None:
    process = Process(**parts())
    with pytest.raises(SettingsError, match="no state 'up'; there are: 'in', 'out'"):
        process.state_at("up")
    with pytest.raises(SettingsError, match=r"no intervention \{'go'\}; there are: \{\}, "):
        process.intervention_at(GO)
    with pytest.raises(SettingsError, match="no event set"):
        process.events_at(BOTH)


def test_functions_make_the_states_that_can_be_reached() -> None:
    count = Process.from_functions(
        {0: 1.0},
        subsets(["up"]),
        transition=lambda n, did: {n: 0.5, n + 1: 0.5} if did and n < 3 else {n: 1.0},
        observation=lambda n: {frozenset({"odd"}) if n % 2 else NOTHING: 1.0},
        utility=lambda n, did: float(n) if did else 0.0,
        discount=1.0,
    )
    assert count.states == (0, 1, 2, 3)
    assert count.event_sets == (NOTHING, frozenset({"odd"}))
    assert count.transition[1, 0].tolist() == [0.5, 0.5, 0, 0]
    assert count.over.tolist() == [False] * 4, "what pays is not over"


def test_where_an_intervention_is_not_admissible_its_transition_is_not_asked_for() -> None:
    def transition(state: object, did: frozenset[object]) -> dict[object, float]:
        assert did or state != "closed"
        return {"closed": 1.0}

    process = Process.from_functions(
        {"open": 1.0},
        subsets(["close"]),
        transition=transition,
        observation=lambda _: {NOTHING: 1.0},
        utility=lambda state, did: 0.0 if did or state == "open" else -np.inf,
        discount=1.0,
    )
    assert process.admissible.tolist() == [[True, False], [True, True]]
    assert process.over.tolist() == [False, True]


def test_a_state_space_without_end_is_refused() -> None:
    with pytest.raises(SettingsError, match="more than 50 states can be reached"):
        Process.from_functions(
            {0: 1.0},
            [NOTHING],
            transition=lambda n, _: {n + 1: 1.0},  # type: ignore[operator]
            observation=lambda _: {NOTHING: 1.0},
            utility=lambda *_: 0.0,
            discount=1.0,
            limit=50,
        )


def test_subsets_begin_with_none_and_count_like_binomials() -> None:
    assert subsets("ab", most=2) == (NOTHING, frozenset("a"), frozenset("b"), frozenset("ab"))
    assert len(subsets("abcde", most=2)) == 1 + 5 + 10
    assert len(subsets("ab", most=9)) == 4


def test_independent_events_make_sets_of_which_the_empty_one_is_one() -> None:
    sets = independent({"a": 0.5, "b": 0.25})
    assert sets == {
        NOTHING: 0.375,
        frozenset("a"): 0.375,
        frozenset("b"): 0.125,
        frozenset("ab"): 0.125,
    }
    assert independent({"sure": 1.0}) == {frozenset({"sure"}): 1.0}


def test_fewer_interventions_leave_the_rest_as_it_was() -> None:
    full = alarm()
    waits = full.with_only([NOTHING])
    assert waits.interventions == (NOTHING,)
    assert waits.utility.tolist() == [[0.0, 0.0]]
    assert waits.states == full.states
