"""Verdicts, by one rule for each kind of world."""

import json
from typing import Any

import pytest

from timeful.records.events import (
    Acted,
    CallEnded,
    Entry,
    EpisodeEnded,
    EpisodeStarted,
    Happened,
    ThoughtEnded,
    Turned,
)
from timeful.records.verdicts import judge


def started(**episode: Any) -> EpisodeStarted:
    return EpisodeStarted(at=0, version="0", settings={"episode": episode})


def happened(at: int, what: str, **data: Any) -> Happened:
    return Happened(at=at, number=at, what=what, data=data, reward=0.0, score=0.0)


def acted(at: int, action: str = "a", **fields: Any) -> Acted:
    return Acted(at=at, turn=0, action=action, **{"legal": True, "error": None, **fields})


def ended(at: int, state: str, **fields: Any) -> ThoughtEnded:
    values = {"cause": None, "tokens": 1, "finish": "stop", "text_sha256": "", "answer": ""}
    return ThoughtEnded(at=at, thought=1, state=state, **{**values, **fields})


def verdicts(*events: Entry) -> list[tuple[str, str, int | None]]:
    return [(v.kind, v.slot, v.slack) for v in judge(events).verdicts]


def test_the_last_legal_action_of_a_turn_counts_also_at_the_very_instant() -> None:
    turn = Turned(at=10, turn=1, action="a", late=False, reward=0.0, score=0.0)
    assert verdicts(acted(4), acted(10), turn) == [
        ("superseded", "turn 1", 6),
        ("in time", "turn 1", 0),
    ]
    default = Turned(at=20, turn=2, action="b", late=True, reward=0.0, score=0.0)
    assert verdicts(turn, default) == [("default", "turn 2", None)]


def test_an_email_is_in_time_late_or_lost() -> None:
    emails = [happened(0, "email", email=n, deadline=10) for n in (1, 2, 3, 4)]
    events = [
        *emails,
        happened(10, "handled", email=1),
        happened(10, "expired", email=2),
        happened(12, "late", email=3),
    ]
    assert verdicts(*events) == [
        ("in time", "email 1", 0),
        ("lost", "email 2", None),
        ("late", "email 3", -2),
    ]
    assert [slot.deadline for slot in judge(events).slots] == [10] * 4


def test_a_dish_that_is_never_finished_is_lost_at_the_end() -> None:
    end = EpisodeEnded(at=30, reason="", turns=0, score=0.0)
    events = [
        happened(1, "signal", dish="A", deadline=9),
        happened(2, "signal", dish="B", deadline=9),
        happened(8, "finished", dish="A"),
        end,
    ]
    assert verdicts(*events) == [("in time", "dish A", 1), ("lost", "dish B", None)]


def test_a_prediction_is_for_the_turn_that_is_open() -> None:
    events = [
        happened(0, "turn", turn=1),
        acted(3),
        happened(3, "prediction", turn=1, late=False),
        happened(5, "begins", turn=2),
        acted(6),
        ended(6, "completed"),
        happened(6, "prediction", turn=1, late=True),
        happened(7, "turn", turn=2),
        happened(9, "over"),
    ]
    assert verdicts(*events) == [
        ("in time", "turn 1", 2),
        ("late", "turn 1", -1),
        ("too late", "turn 1", -1),
        ("lost", "turn 2", None),
    ]


def test_a_conversation_that_waits_has_no_deadlines() -> None:
    events = [
        started(timing="by-turn"),
        happened(0, "turn", turn=1),
        acted(3),
        happened(3, "prediction", turn=1, late=False),
        happened(3, "over"),
    ]
    assert verdicts(*events) == [("in time", "turn 1", None)]


def test_a_prediction_before_the_first_ready_turn_is_early() -> None:
    ready = {
        **{"name": "pay", "description": "", "inputs": {"required": [], "optional": []}},
        **{"readiness_maturity": "high", "trigger_confidence": "high"},
        "action_trigger_status": "ready_to_trigger",
    }
    prediction = json.dumps({"turn": 1, "opportunities": [ready], "questions": []})
    events = [
        happened(0, "turn", turn=1),
        acted(3, prediction),
        happened(3, "prediction", turn=1, late=False),
        happened(9, "over", ready_ranges={"pay": [2]}),
    ]
    assert verdicts(*events) == [("in time", "turn 1", 6), ("early", "pay", None)]


@pytest.mark.parametrize(
    ("counted", "reason", "verdict"),
    [
        (8, "answered", ("in time", "budget", 2)),
        (12, "ended", ("late", "budget", -2)),
        (10, "deadline", ("lost", "budget", None)),
    ],
)
def test_a_task_ends_in_its_budget_or_not(
    counted: int, reason: str, verdict: tuple[str, str, int | None]
) -> None:
    events = [started(budget_ns=10), happened(12, "over", counted=counted, reason=reason)]
    assert verdicts(*events) == [verdict]


@pytest.mark.parametrize(
    ("event", "kind"),
    [
        (ended(1, "cancelled", cause="limit"), "cut"),
        (ended(1, "completed", finish="length"), "cut"),
        (ended(1, "cancelled", cause="its user"), "cancelled"),
        (ended(1, "orphaned"), "orphaned"),
        (ended(1, "failed"), "failed"),
        (CallEnded(at=1, call=1, state="completed", cause=None, error="x"), "failed"),
        (acted(1, legal=False, error="no"), "illegal"),
        (acted(1, by="reflex"), "reflex"),
    ],
)
def test_ends_and_refusals_are_judged_in_any_world(event: Entry, kind: str) -> None:
    assert [v.kind for v in judge([event]).verdicts] == [kind]


def test_a_thought_that_came_to_its_end_has_no_verdict() -> None:
    assert not judge([ended(1, "completed")]).verdicts
    assert not judge([]).verdicts
