"""Models that gave no token in a whole episode."""

from msgspec import UNSET

from timeful.records.events import Entry, ThoughtEnded, ThoughtStarted, Within
from timeful.records.outage import find_outage


def thought(
    number: int, model: str, state: str, *, tokens: int = 0, failure: str = ""
) -> list[Entry]:
    return [
        ThoughtStarted(
            at=0,
            thought=number,
            model=model,
            purpose="react",
            turn=0,
            limit=None,
            max_tokens=None,
            seed=0,
            messages=None,
        ),
        ThoughtEnded(
            at=1,
            thought=number,
            state=state,
            cause="no route" if state == "failed" else None,
            tokens=tokens,
            finish=None,
            text_sha256="",
            answer="",
            failure=failure or UNSET,
        ),
    ]


def test_failed_attempts_of_a_model_without_a_token_are_an_outage() -> None:
    dead = thought(1, "m", "cancelled", failure="500") + thought(2, "m", "orphaned", failure="429")
    assert "429" in (find_outage(dead) or "")
    assert find_outage(dead + thought(3, "m", "cancelled", tokens=1)) is None
    assert find_outage(dead + thought(3, "m", "completed")) is None
    assert find_outage(dead + thought(3, "other", "completed")) is not None


def test_thoughts_that_were_only_too_slow_are_none() -> None:
    assert find_outage(thought(1, "m", "cancelled")) is None
    assert find_outage([]) is None


def test_an_error_that_the_agent_handled_counts_if_nothing_answered() -> None:
    handled = thought(1, "m", "failed")
    assert "no route" in (find_outage(handled) or "")
    assert find_outage(handled + thought(2, "other", "completed")) is None


def test_modules_are_read_too() -> None:
    inner = thought(1, "m", "cancelled", failure="500")
    outer = thought(1, "other", "completed")
    events: list[Entry] = [Within(at=e.at, module="body", what=e) for e in inner]  # type: ignore[arg-type]
    assert find_outage(outer + events) is not None
