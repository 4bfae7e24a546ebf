"""What a model is told before it works against the clock."""

import pytest

from tests.environments.timed.tasks import Counting
from timeful.agents.prompts.timely import BRIEFINGS, Calls
from timeful.agents.tool_user import find_calls
from timeful.core.units import seconds
from timeful.environments.timed.view import TimedView
from timeful.environments.timed.world import TimedTask, TimeSettings
from timeful.tools import read_call


def view(budget: float | None) -> TimedView:
    span = None if budget is None else seconds(budget)
    return TimedTask(Counting(), TimeSettings(budget=span), seed=0).view()


def told(kind: str, calls: Calls, budget: float | None = 5.31) -> tuple[str, str]:
    system, user = BRIEFINGS[kind](view(budget), calls)
    assert (system.role, user.role) == ("system", "user")
    return system.content, user.content


every_kind = pytest.mark.parametrize("kind", BRIEFINGS)


@every_kind
@pytest.mark.parametrize("calls", ["native", "text"])
def test_the_case_comes_in_its_own_words_with_its_limit_if_it_has_one(
    kind: str, calls: Calls
) -> None:
    system, user = told(kind, calls)
    assert user == "Count as far as you can.\n\nFinish within 5.31 seconds."
    unhurried, alone = told(kind, calls, None)
    assert alone == "Count as far as you can."
    assert unhurried == system, "a baseline is told the same, but for the limit"


@every_kind
def test_each_kind_is_told_how_to_use_its_time_and_what_to_put_at_the_end(kind: str) -> None:
    system, _ = told(kind, "native")
    steps = [system.index(step) for step in ("Gauge", "Allot", "Adapt", "Converge")]
    assert steps == sorted(steps)
    tags = {
        "fiction": ["<score>"],
        "coding": ["<accuracy>"],
        "reasoning": ["<summary>", "<answer>"],
    }
    for tag in ["<conclusion>total duration: ", *tags[kind]]:
        assert tag in system


@every_kind
def test_tools_are_described_in_words_only_where_the_api_does_not_offer_them(kind: str) -> None:
    native, _ = told(kind, "native")
    assert "tool_call" not in native
    assert "get_duration" not in native
    words, _ = told(kind, "text")
    shown = words[words.index("each with a call") :]
    calls = [read_call(text) for text in find_calls(shown)]
    assert [one.name for one in calls] == ["count", "quit", "dig", "get_duration"]
    assert list(calls[0].arguments) == ["by"]
    assert "by (integer): How much." in words
